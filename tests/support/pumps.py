"""Texts that a slow pattern would be slow on, made from the pattern itself and from what people and programs send.

A backtracking pattern is slow where one of its repetitions can be entered at many places, or left at many. So each
unbounded repetition of a pattern is fed with what it repeats, with and without what must stand before it, and with an
end that makes the match fail.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from re import _constants as codes
    from re import _parser as parser  # the tree of a pattern; the standard library offers no other way to it

Pump = Callable[[int], str]
"""A text of about this many characters."""

ENDS = ("", "\x01", "x", "\n", "!", "1")
_CLASSES = {
    codes.CATEGORY_SPACE: (" ", "\n", "\t"),
    codes.CATEGORY_WORD: ("a", "A", "1", "é"),
    codes.CATEGORY_DIGIT: ("1",),
    codes.CATEGORY_NOT_SPACE: ("a", ".", "1"),
    codes.CATEGORY_NOT_WORD: (" ", ".", "-"),
    codes.CATEGORY_NOT_DIGIT: ("a", " "),
}
_PRINTABLE = "aA1 .,;:!?\"'()[]{}<>/\\-_=+*#@&%$`~^|\n\téß’”“–…中"


def _repeated(unit: str, prefix: str, end: str, size: int) -> str:
    return prefix + unit * max(1, (size - len(prefix) - len(end)) // max(1, len(unit))) + end


def pattern_pumps(pattern: re.Pattern[str]) -> dict[str, Pump]:
    """The texts to try on the pattern, by a name that says how they are made."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE | re.UNICODE)
    made: dict[str, Pump] = {}
    bodies: list[tuple[str, str]] = []
    for prefix, body in _repetitions(list(tree), ""):
        for unit in _samples(body, 4):
            if unit and (prefix, unit) not in bodies:
                bodies.append((prefix, unit))
    for prefix, unit in bodies:
        for end in ENDS:
            _add(made, unit, "", end)
            _add(made, unit, prefix, end)
            _add(made, prefix + unit, "", end)
        _add(made, prefix + unit * 3, "", "\x01")
    for prefix, unit in bodies:
        for _, other in bodies:
            if other != unit:
                _add(made, unit + other, prefix, "\x01")
    return made


def _add(made: dict[str, Pump], unit: str, prefix: str, end: str) -> None:
    made.setdefault(f"{prefix!r} + {unit!r} * n + {end!r}", partial(_repeated, unit, prefix, end))


def _repetitions(nodes: list[tuple[Any, Any]], before: str) -> Iterator[tuple[str, list[tuple[Any, Any]]]]:
    """Every unbounded or long repetition below the nodes, with a text that leads to it."""
    for node in nodes:
        for inner in _inner(node):
            yield from _repetitions(inner, before)
        code, value = node
        if code in {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}:
            _, most, body = value
            if most is codes.MAXREPEAT or most > 16:
                yield before, list(body)
        before += next(_samples([node], 1), "")


def _inner(node: tuple[Any, Any]) -> Iterator[list[tuple[Any, Any]]]:
    match node:
        case (codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT, (_, _, body)):
            yield list(body)
        case (codes.BRANCH, (_, branches)):
            yield from (list(branch) for branch in branches)
        case (codes.SUBPATTERN, (_, _, _, body)):
            yield list(body)
        case (codes.ATOMIC_GROUP, body):
            yield list(body)
        case (codes.ASSERT | codes.ASSERT_NOT, (_, body)):
            yield list(body)


def _samples(nodes: list[tuple[Any, Any]], most: int) -> Iterator[str]:
    """Up to `most` texts that the nodes match, without regard to what they assert."""
    texts = [""]
    for node in nodes:
        endings = list(_of_one(node, most))
        texts = [text + ending for ending in endings for text in texts][:most] if endings else texts
    yield from texts


def _of_one(node: tuple[Any, Any], most: int) -> Iterator[str]:
    match node:
        case (codes.LITERAL, int(sign)):
            yield chr(sign)
        case (codes.NOT_LITERAL, int(sign)):
            yield next(other for other in _PRINTABLE if ord(other) != sign)
        case (codes.ANY, _):
            yield from ("a", " ")
        case (codes.IN, choices):
            yield from _of_class(choices, most)
        case (codes.BRANCH, (_, branches)):
            for branch in branches[:most]:
                yield next(_samples(list(branch), 1), "")
        case (codes.SUBPATTERN, (_, _, _, body)):
            yield from _samples(list(body), most)
        case (codes.ATOMIC_GROUP, body):
            yield from _samples(list(body), most)
        case (codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT, (least, _, body)):
            for text in _samples(list(body), most):
                yield text * max(1, least)


def _of_class(choices: list[tuple[Any, Any]], most: int) -> Iterator[str]:
    if choices and choices[0][0] is codes.NEGATE:
        fits = re.compile(_class_text(choices[1:]))
        yield from [sign for sign in _PRINTABLE if not fits.match(sign)][: most + 2]
        return
    for code, value in choices[: most + 2]:
        if code is codes.LITERAL:
            yield chr(value)
        elif code is codes.RANGE:
            yield chr(value[0])
        elif code is codes.CATEGORY:
            yield from _CLASSES[value]


def _class_text(choices: list[tuple[Any, Any]]) -> str:
    names = {
        codes.CATEGORY_SPACE: r"\s", codes.CATEGORY_WORD: r"\w", codes.CATEGORY_DIGIT: r"\d",
        codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_NOT_WORD: r"\W", codes.CATEGORY_NOT_DIGIT: r"\D",
    }  # fmt: skip
    parts = []
    for code, value in choices:
        if code is codes.LITERAL:
            parts.append(re.escape(chr(value)))
        elif code is codes.RANGE:
            parts.append(f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}")
        else:
            parts.append(names[value])
    return f"[{''.join(parts)}]"
