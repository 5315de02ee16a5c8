"""Whatever reads text from outside takes a time in proportion to it, and nothing that reads it is left out."""

import ast
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from difflib import SequenceMatcher
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.console.text_diff import word_diff
from mnemon.sessions import sentences
from mnemon.untrusted_text import normalize_text, quote_verbatim, text_blocks
from support.growth import Reader, growth_fault, pumps_for, readers
from support.pumps import Pump

READERS = {reader.name: reader for reader in readers()}
SOURCE = Path(__file__).parents[2] / "src" / "mnemon"
SMALL = 4_000
LARGE = 64_000

OURS = {
    "access": "keys and tokens of at most 120 characters, matched as a whole",
    "api/models.py": "an ETag, matched as a whole with bounded counts",
    "cli": "the operator's own terminal, and what the server wrote",
    "console/forms.py": "names of our own fields",
    "db": "statements of ours and what PostgreSQL says",
    "embedding/fake.py": "tests and the demo alone",
    "engagement/reflect.py": "marked at `read`, which is called across modules",
    "scope.py": "ids, matched as a whole with bounded counts",
    "integrations": "runs in the caller's process",
    "llm/completions/request.py": "schemas of ours",
    "llm/scripted": "tests and the demo alone",
    "runs/adapters": "bounded patterns over a line of an adapter's own output",
    "runs/agent.py": "a model's name, matched as a whole with bounded counts",
    "runs/card_filling.py": "words and symbols, matched as a whole with bounded counts",
    "runs/tokens.py": "tokens, matched as a whole with bounded counts",
}
"""Modules whose patterns read nothing that is both long and from outside, and why."""
BOUNDED = {
    "agentstate/cited_evidence.py": "claims and sentences of at most 2,000 characters, as `sentence_spans` gives them",
    "agentstate/invariant.py": "invariants of at most 300 characters; a longer one is free text",
    "custody/forget_person.py": "a display name of at most 200 characters",
    "custody/redaction.py": "keys and lanes of work, which are ids of ours",
    "evidence/confidence.py": "a source's name, cut at 200 characters",
    "evidence/moods.py": "sentences around a quote, of which `read_words` reads at most 4,000 characters",
    "evidence/contrast.py": "a statement of at most 2,000 and sentences of at most 4,000 characters",
    "evidence/disowned.py": "sentences of at most 4,000 characters, and the 80 that follow a quote",
    "evidence/ending.py": "todos of at most 2,000 and sentences of at most 4,000 characters",
    "evidence/limits.py": "a statement of at most 2,000 and sentences of at most 4,000 characters",
    "evidence/numeral.py": "the first 60 signs or words of a number",
    "evidence/records.py": "fields of a record of which at most 4,000 characters are read",
    "evidence/whose.py": "sentences of at most 4,000 characters, and words of at most 20,000 of their messages",
    "evidence/word_support.py": "sentences of at most 4,000 characters",
    "evidence/statement.py": "600 characters on either side of a quote",
    "engagement/proposal.py": "handles of fewer characters than any id, measured first",
    "engagement/gates.py": "sentences of at most 400 characters, checked first",
    "engagement/withdrawal.py": "sentences of at most 400 characters and at most 40 lines of evidence",
    "llm/failure.py": "an error code, matched as a whole with a bounded count",
    "memory/entities/names.py": "labels of at most 200 characters",
    "memory/entities/spelling.py": "words of labels of at most 200 characters",
    "memory/entities/surroundings.py": "literal words, without a repetition",
    "memory/attributes.py": "rows of our own table, and attributes' names of at most 200 characters",
    "memory/importance.py": "alternatives of plain words, without a repetition but at their end",
    "memory/offline/checks.py": "what a group caught in a clause of at most 300 characters",
    "memory/offline/guards.py": "clauses of at most 300 characters, sentences of at most 600",
    "memory/offline/clauses.py": "called from `clauses`, which leaves long messages unread",
    "memory/offline/readings.py": "sentences of at most 600 characters",
    "memory/offline/rule.py": "clauses of at most 300 characters",
    "memory/quoted_fact.py": "one word at the beginning of a fact of at most 2,000 characters",
    "memory/relative_dates.py": "facts cut at 300 characters, our own lists of dates, names of zones of at most 300",
    "memory/survey.py": "a search word of at most 200 characters",
    "memory/values.py": "statements cut at 300 characters, labels of at most 200",
    "runs/card_coercion.py": "a number, matched as a whole in the short text of a slot",
    "runs/re_examination.py": "a literal, without a repetition",
}
"""Modules in which a function that is not marked applies a pattern to a text whose length is bounded, and by what."""


@pytest.mark.parametrize("name", sorted(READERS))
def test_time_grows_in_proportion_to_the_text(name: str) -> None:
    reader = READERS[name]
    pumps = pumps_for(reader, every=False)
    sample = {how: pump for how, pump in pumps.items() if _drawn(f"{name} {how}")}
    assert _faults(reader, sample, SMALL) == {}


def _drawn(what: str) -> bool:
    """Whether it is among the eighth that the suite tries, always the same; the soak tries them all."""
    return sha256(what.encode("utf-8", "surrogatepass")).digest()[0] % 8 == 0


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(READERS))
def test_time_grows_in_proportion_up_to_long_texts(name: str) -> None:
    reader = READERS[name]
    assert _faults(reader, pumps_for(reader, every=True), LARGE) == {}


def _faults(reader: Reader, pumps: dict[str, Pump], size: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for how, pump in pumps.items():
        fault = growth_fault(reader, pump, size)
        if fault is not None:
            found[how] = fault
            if len(found) == 3:
                break
    return found


def _old_verbatim(label: str, text: str) -> str:
    mark = "====="
    while mark in text:
        mark += "="
    return f"{mark} {label}\n{text}\n{mark}"


def _old_difference(before: str, after: str) -> object:
    old, new = re.findall(r"\s+|\S+", before), re.findall(r"\s+|\S+", after)
    return SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


def _old_normal_form(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _old_sentences(text: str) -> list[str]:
    ends = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+(?=[\"'“‘(]*[A-Z0-9ÄÖÜÀ-Þ])|\s*\n+\s*|(?<=;)\s+")
    return ends.split(text)


@pytest.mark.parametrize(
    ("old", "now"),
    [
        (_old_sentences, sentences.split_sentences),
        (_old_verbatim, quote_verbatim),
        (_old_difference, word_diff),
        (_old_normal_form, normalize_text),
    ],
)
def test_what_once_took_the_square_of_the_length_would_be_found(
    old: Callable[..., object], now: Callable[..., object]
) -> None:
    reader = next(one for one in READERS.values() if one.call is now)
    before = replace(reader, name="old", call=old)
    pumps = pumps_for(reader, every=False)
    assert any(growth_fault(before, pump, SMALL) for pump in pumps.values())


def test_every_function_that_applies_a_pattern_is_marked_or_stands_behind_one() -> None:
    found = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path in sorted(SOURCE.rglob("*.py"))
        for name in _unmarked(ast.parse(path.read_text(encoding="utf-8")))
        if not _excused(str(path.relative_to(SOURCE)))
    }
    assert found == set(), "mark them with @reads_outside_text, or say in this file what bounds their text"


def test_the_search_for_unmarked_functions_sees_what_it_is_for() -> None:
    tree = ast.parse(
        "import re\nA = re.compile('a+b')\nB = (re.compile('a'), A)\n"
        "@reads_outside_text\ndef marked(text): return behind(text)\n"
        "def behind(text): return A.findall(text)\n"
        "def alone(text): return A.sub('', text)\n"
        "def looped(text): return [one.search(text) for one in B]\n"
        "def direct(text): return re.split('a+', text)\n"
        "def harmless(text): return text.upper()\n"
    )
    assert set(_unmarked(tree)) == {"alone", "looped", "direct"}


def _excused(path: str) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in (*OURS, *BOUNDED))


def _unmarked(tree: ast.Module) -> Iterator[str]:
    """The functions that apply a pattern, are not marked and are not called by one of the module that is."""
    patterns = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and "re.compile(" in ast.unparse(node.value)
        for target in ast.walk(node)
        if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
    }
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    calls = {
        name: {ref for n in ast.walk(node) if (ref := _named(n)) in functions and ref != name}
        for name, node in functions.items()
    }
    reached = {name for name, node in functions.items() if "reads_outside_text" in _decorators(node)}
    waiting = list(reached)
    while waiting:
        for called in calls[waiting.pop()] - reached:
            reached.add(called)
            waiting.append(called)
    for name, node in functions.items():
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        direct = re.search(r"\bre\.(search|match|fullmatch|split|findall|finditer|sub)\(", ast.unparse(node))
        if name not in reached and (names & patterns or direct):
            yield name


def _named(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return " ".join(ast.unparse(one) for one in node.decorator_list)


@given(st.text(max_size=60), st.integers(1, 60))
def test_a_normal_form_in_pieces_is_the_normal_form(text: str, times: int) -> None:
    long = text * times
    assert normalize_text("NFKC", long) == unicodedata.normalize("NFKC", long)


@pytest.mark.parametrize("unit", ["ｶﾞ", "한", "e\u0301", "\u1112\u1161\u11ab", "नि", "ﷺ", "a中"])
def test_a_letter_is_never_parted_from_what_joins_it(unit: str) -> None:
    for shift in range(5):
        text = "x" * shift + unit * 1_000
        assert normalize_text("NFKC", text) == unicodedata.normalize("NFKC", text)


@given(st.text(alphabet="a \n", max_size=40), st.integers(0, 3_000))
def test_blocks_are_the_text_and_none_is_longer_than_it_may_be(text: str, times: int) -> None:
    long = text * times
    made = list(text_blocks(long))
    assert "".join(made) == long
    assert max(map(len, made)) <= 20_000
