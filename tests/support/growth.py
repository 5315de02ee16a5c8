"""Finds the functions that read text from outside, calls them with texts made to be slow, and measures growth.

Growth is judged by processor time of the calling thread, not by the clock on the wall: other processes do not count.
Between two sizes that differ by four, linear work takes 4 times as long, `n log n` a little more, quadratic 16 times.
The limit of 8 lies at the geometric middle. The small size is measured several times and the least is taken: one long
time that is in proportion to it clears the reader. What does not is measured several times too, up to larger sizes,
before it counts. So a busy machine delays the verdict and does not change it.
"""

import importlib
import inspect
import pkgutil
import re
import time
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Any

import mnemon
from mnemon.agentstate.state import AgentState
from mnemon.custody.traces import ForgottenTraces
from mnemon.errors import Invalid
from mnemon.evidence.derived import SourceTexts
from mnemon.evidence.quote_gate import Passage, Quotation
from mnemon.evidence.statement import StatementKind, StatementSubject
from mnemon.layer import Layer, LayerItem
from mnemon.memory.attributes import Attribute, ValueKind, known_attributes
from mnemon.memory.offline.endings import HeldStatement
from mnemon.memory.recall.query import ParsedQuery, parse_query
from mnemon.memory.todos.deeds import Report, make_report
from mnemon.scope import Scope
from mnemon.sessions.summary import SessionSummary
from mnemon.turn import Role, ToolOutcome, Turn, TurnMessage
from support.pumps import Pump, pattern_pumps

SIZE = 8_000
STEP = 4
MOST_GROWTH = 8.0
QUICK_S = 0.5e-6
"""Seconds per character of `SIZE` below which no second size is measured: the cheapest quadratic step takes more."""
_ENOUGH_S = 0.015
"""A time that is long enough to be measured well: no larger size is needed."""
_WHOLE_WORDS = 2 * STEP * 120
"""A size of which half a quarter is a multiple of 120, and so of most of the units below."""
_AT = datetime(2026, 4, 12, tzinfo=UTC)
_NOT_INSTALLED = "mnemon.integrations."
"""Its modules need frameworks that are not there in every environment; they run in the caller's process."""

UNITS = (
    " ", "\n", "\t", "\r\n", " \n", "\u00a0", "\u2028", "a", "A", "1", "é", "ß", "中", "😀", "\u200b", "\u0301\u0323",
    "\u0323\u0334", "ｶﾞ", "ᄀ", "ᅡ", "'", '"', "’", "“", ".", "…", "?", "!", ",", ";", ":", "-", "–", "_", "=", "<", ">",
    "(", ")", "[", "{", "`", "```", "§", "#", "/", "\\", "@", "&", "½", "%", "$", "*", "•", "> ",
    "1,", "1.", "1.111.", ".111", "1/", "1-", "1:", "1 ", "1\n", "1½", "x1,", "$1 ", "1% ", "1st ", "v1.", "#1 ", "(1)",
    "a ", "A ", "Aa ", "a, ", "a. ", "A. ", "a\n", "a; I ", "'a ", "'a'a", '"a ', "a' ", "a_", "a-", "a.", "a'", "a@",
    "a://", "Aa1", "AB_", "=a", "<think>", "</think>", "<a ", "a=", "- a\n", "1. a\n", "> a\n", "?a", "? ", "x ",
    "one ", "hundred ", "million ", "one point ", "one and ", "a third ", "half ", "between ", "from 1 to ", "up to ",
    "day 1, ", "in 2019 ", "by 2019\n", "Jan 1 ", "Q1 ", "at 1 ", "usually about 1 to 2 ", "1 in 10 ",
    "just between ", "keep this ", "don't tell ", "not ", "not just between us ", "off the record ", "confidentially ",
    "I will call. ", "I ", "my name is ", "I'll ", "met a ", "Anna is my ", "asked ", "done ", "I finished it. ",
    "we don't know why ", "because ", "and it matters because ", "nobody here knows ", "call me ", "called 'a' ",
    "assumption: abc\n", "open question: abc\n", "hypothesis: a\n", "resolved: abc\n", "[a] Aa: ", "Anna: ", "when ",
    "could you tell me ", "you're ", "'s ", "’s ", "and ", "and I ", ", and I ", "https://a.b/c ", "a@b.c ",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A function that reads text from outside."""

    name: str
    call: Callable[..., object]
    module: types.ModuleType
    owner: type | None
    """The class, of a method."""
    longest: int | None
    """The length beyond which it does not read a text."""

    def fed(self, text: str, other: str) -> tuple[Callable[[], object], bool]:
        """A call with this text, and the other one where it takes a further one; whether it does."""
        texts = _Texts(text, other)
        hints = typing.get_type_hints(inspect.unwrap(self.call))
        given: dict[str, object] = {"self": _made(self.owner, texts)} if self.owner else {}
        for name, parameter in inspect.signature(self.call).parameters.items():
            if name in hints and (parameter.default is parameter.empty or _holds_text(hints[name])):
                given[name] = _made(hints[name], texts)
        positional = [given.pop("self")] if self.owner else []

        def run() -> object:
            try:
                result = self.call(*positional, **given)
            except Invalid:  # refusing a text takes its time too
                return None
            return list(result) if isinstance(result, Iterator) else result

        return run, texts.more


def readers() -> list[Reader]:
    """Every function of the package with the mark `reads_outside_text`."""
    found: dict[int, Reader] = {}
    for module in modules():
        for name, thing in list(vars(module).items()):
            if isinstance(thing, type) and thing.__module__ == module.__name__:
                for method, function in vars(thing).items():
                    _add(found, f"{name}.{method}", function, module, thing)
            elif getattr(thing, "__module__", None) == module.__name__:
                _add(found, name, thing, module, None)
    return sorted(found.values(), key=lambda reader: reader.name)


def _add(found: dict[int, Reader], name: str, thing: Any, module: types.ModuleType, owner: type | None) -> None:
    marks = getattr(thing, "__dict__", {})
    if marks.get("reads_outside_text") and not isinstance(thing, type):
        full = f"{module.__name__.removeprefix('mnemon.')}.{name}"
        found.setdefault(
            id(thing), Reader(name=full, call=thing, module=module, owner=owner, longest=marks.get("longest_text"))
        )


def modules() -> Iterator[types.ModuleType]:
    """Every module of the package that can be imported here."""
    for info in pkgutil.walk_packages(mnemon.__path__, "mnemon."):
        if not info.name.startswith(_NOT_INSTALLED) and not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


class _Texts:
    """Gives the one text first and the other one from then on."""

    def __init__(self, text: str, other: str) -> None:
        self._text, self._other, self._given = text, other, False
        self.more = False

    def next(self) -> str:
        text, self.more = (self._other, True) if self._given else (self._text, self.more)
        self._given = True
        return text


def _holds_text(kind: Any) -> bool:
    return kind is str or any(_holds_text(inner) for inner in typing.get_args(kind))


def _made(kind: Any, texts: _Texts) -> Any:
    """A value of this type with the text in it. A type that is new here has to be added."""
    origin = typing.get_origin(kind)
    if origin is tuple and typing.get_args(kind)[-1] is not ...:
        return tuple(_made(inner, texts) for inner in typing.get_args(kind))
    if origin in (Collection, Iterable, Sequence, list, tuple, frozenset):
        return (_made(typing.get_args(kind)[0], texts),)
    if origin in (types.UnionType, typing.Union):
        return _made(typing.get_args(kind)[0], texts)
    if origin is typing.Literal:
        return typing.get_args(kind)[-1]
    make = _MAKERS.get(kind)
    assert make is not None, f"tell tests/support/growth.py how to make a {kind} that holds a text"
    return make(texts)


def _said(texts: _Texts) -> TurnMessage:
    return TurnMessage(message_id="msg_1", role=Role.USER, content=texts.next(), name=None, at=_AT)


def _turn(texts: _Texts) -> Turn:
    said = _said(texts)
    outcome = ToolOutcome(id="tool_1", action="search", output={"text": texts.next(), texts.next()[:500]: ["a", "b"]})
    return replace(_EMPTY_TURN, messages=(said,), tool_results=(outcome,))


def _quotation(texts: _Texts) -> Quotation:
    text = texts.next()
    passage = Passage(message_id="msg_1", text=text, who="Anna", role=Role.USER, at=_AT)
    return Quotation(passage=passage, start=0, end=len(text))


def _traces(texts: _Texts) -> ForgottenTraces:
    text = texts.next()
    marks = frozenset(text[: len(text) // 2].lower().split())
    return ForgottenTraces(phrases=(text[: len(text) // 2], f"{text[: len(text) // 3]} Zanzibar"), marks=marks)


_EMPTY_TURN = Turn(
    id="trn_1", scope=Scope(org_id="acme"), session_id="ses_1", seq=1, at=_AT, messages=(), user_name="Anna",
)  # fmt: skip
_MAKERS: dict[Any, Callable[[_Texts], Any]] = {
    str: _Texts.next,
    bytes: lambda texts: texts.next().encode("utf-8", "replace"),
    int: lambda texts: 600,
    bool: lambda texts: True,
    TurnMessage: _said,
    Turn: _turn,
    HeldStatement: lambda texts: HeldStatement(content=texts.next()),
    tzinfo: lambda texts: UTC,
    AgentState: lambda texts: AgentState(session_id="ses_1"),
    ForgottenTraces: _traces,
    ParsedQuery: lambda texts: parse_query(texts.next()),
    Passage: lambda texts: Passage(message_id="msg_1", text=texts.next(), who="Anna", role=Role.USER, at=_AT),
    Quotation: _quotation,
    SourceTexts: lambda texts: SourceTexts((texts.next(),), _AT),
    SessionSummary: lambda texts: SessionSummary(one_liner=texts.next(), what_mattered=[texts.next()]),
    StatementKind: lambda texts: StatementKind.FACT,
    StatementSubject: lambda texts: StatementSubject(speaker=("Anna",)),
    Attribute: lambda texts: known_attributes()["lives_in"],
    Report: lambda texts: make_report("called", texts.next()),
    ValueKind: lambda texts: ValueKind.PLACE,
    datetime: lambda texts: _AT,
    Layer: lambda texts: Layer(
        name="L4", title="Known", opening="", items=(LayerItem(text=texts.next(), value=1.0, sources=()),), budget=1000
    ),
}


def pumps_for(reader: Reader, *, every: bool) -> dict[str, Pump]:
    """The texts to feed it: the general ones and those made from its module's patterns; with `every`, all of them."""
    made: dict[str, Pump] = {"distinct words": _words, "distinct numbers": _numbers, "distinct lines": _lines}
    for unit in UNITS:
        for prefix, end in (("", ""), ("a", "x"), *((("I will call. ", "x"), (" ", "\x01")) if every else ())):
            made[f"{prefix!r} + {unit!r} * n + {end!r}"] = partial(_filled, prefix, unit, end)
    own = {name: pump for pattern in _patterns(reader.module) for name, pump in pattern_pumps(pattern).items()}
    step = 1 if every else max(1, len(own) // 40)
    return made | dict(list(own.items())[::step])


def _patterns(module: types.ModuleType) -> Iterator[re.Pattern[str]]:
    for value in vars(module).values():
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, re.Pattern) and isinstance(one.pattern, str):
                yield one


def _filled(prefix: str, unit: str, end: str, size: int) -> str:
    return prefix + unit * ((size - len(prefix) - len(end)) // len(unit)) + end


def _words(size: int) -> str:
    return " ".join(f"w{n}x" for n in range(size // 8))


def _numbers(size: int) -> str:
    return ", ".join(f"{n} days" for n in range(size // 12))


def _lines(size: int) -> str:
    return "\n".join(f"I will call {n}." for n in range(size // 18))


def seconds(reader: Reader, pump: Pump, size: int, repeats: int) -> float:
    """The least processor time the reader takes for a text of this size, over the ways of feeding it."""
    text = pump(size)
    worst = 0.0
    for other in (text, text[: size // 2]):
        run, more = reader.fed(text, other)
        times = []
        for _ in range(repeats):
            began = time.thread_time()
            run()
            times.append(time.thread_time() - began)
            _forget(reader)
        worst = max(worst, min(times))
        if not more:
            break
    return worst


def _forget(reader: Reader) -> None:
    clear = getattr(reader.call, "cache_clear", None)
    if clear is not None:
        clear()


def growth_fault(reader: Reader, pump: Pump, size: int = SIZE) -> str | None:
    """How the reader's time grows on this text where that is more than in proportion; None where it is not.

    It is fed small texts first, so that one which would take hours is told from two that take milliseconds.
    """
    largest = min(size, (reader.longest or size) - 1)
    for now in (largest // STEP**2, largest // STEP, largest):
        took = seconds(reader, pump, now, 1)
        if took < QUICK_S * SIZE:
            continue
        if took > MOST_GROWTH * max(seconds(reader, pump, now // STEP, 3), 1e-6):
            fault = _confirmed(reader, pump, now)
            if fault is not None:
                return fault
        if took > _ENOUGH_S:
            return None
    return None


def _confirmed(reader: Reader, pump: Pump, size: int) -> str | None:
    """The same, measured up to three times between two sizes: one time in proportion is enough to be cleared.

    Each time at twice the size where it may: the standard library changes its ways at some lengths, and leaps there,
    and a reader of two texts may be done at once where they differ by the end of a cut word. Where the size is bounded,
    its halves and quarters are such that no word is cut whose length divides 120.
    """
    small = large = 0.0
    for again in range(3):
        if again:
            size = min(size * 2, (reader.longest or 2 * size + 1) - 1)
            size -= size % _WHOLE_WORDS if reader.longest and size > _WHOLE_WORDS else 0
        small, large = seconds(reader, pump, size // STEP, 3), seconds(reader, pump, size, 2)
        if large <= MOST_GROWTH * max(small, 1e-6):
            return None
    return f"{size} characters take {large * 1000:.0f} ms, {large / small:.1f} times as long as {size // STEP}"
