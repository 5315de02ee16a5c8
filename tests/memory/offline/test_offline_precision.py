"""Offline extraction on the labelled set: precision on the half that the rules were not tuned on."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from mnemon.memory.answer import MemoryAnswer
from mnemon.memory.offline.extract import extract_memories

Told = tuple[str, str, str, str, bool]
"""Type, fact type, entity, attribute, private."""


@dataclass(frozen=True, kw_only=True)
class Labelled:
    message: str
    expected: frozenset[Told]


def labelled() -> list[Labelled]:
    """Every labelled message."""
    lines = (Path(__file__).parent / "labelled.txt").read_text(encoding="utf-8").splitlines()
    return [_read(line) for line in lines if line.strip() and not line.startswith("#")]


def _read(line: str) -> Labelled:
    message, _, told = line.partition(" => ")
    facts = [] if told.strip() == "nothing" else told.split(" ; ")
    return Labelled(message=message, expected=frozenset(_told(fact) for fact in facts))


def _told(fact: str) -> Told:
    words = fact.split()
    private = words[-1] == "private"
    kind, fact_type, *middle = words[: len(words) - private]
    return kind, fact_type, " ".join(middle[:-1]), middle[-1], private


def told_by(memory: MemoryAnswer) -> Told:
    entity = f"{memory.entity.type}:{memory.entity.label}" if memory.entity else "self"
    return str(memory.type), str(memory.factType), entity, memory.attribute or "-", bool(memory.private)


def half(message: str) -> str:
    """Where a message belongs, fixed for ever: `tuning` or `held-out`."""
    return "tuning" if hashlib.sha256(message.encode()).digest()[0] % 2 else "held-out"


@dataclass(frozen=True, kw_only=True)
class Score:
    right: int
    found: int
    expected: int

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.expected

    def __str__(self) -> str:
        return (
            f"precision {self.precision:.3f} ({self.right} of {self.found} found), "
            f"recall {self.recall:.3f} ({self.right} of {self.expected} labelled)"
        )


def score(part: str) -> Score:
    right = found = expected = 0
    for item in labelled():
        if half(item.message) == part:
            got = {told_by(memory) for memory in extract_memories(item.message)}
            right += len(got & item.expected)
            found += len(got)
            expected += len(item.expected)
    return Score(right=right, found=found, expected=expected)


def test_the_set_is_large_and_half_of_it_are_traps() -> None:
    items = labelled()
    assert len({item.message for item in items}) == len(items) >= 240
    assert sum(not item.expected for item in items) >= len(items) / 2
    held_out = sum(half(item.message) == "held-out" for item in items)
    assert 0.4 < held_out / len(items) < 0.6


@pytest.mark.parametrize("part", ["tuning", "held-out"])
def test_precision_is_at_least_95_percent(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    measured = score(part)
    with capsys.disabled():
        print(f"\noffline extraction, {part} half: {measured}")  # noqa: T201 the figures are the point
    assert measured.precision >= 0.95
    assert measured.recall >= 0.6


@pytest.mark.parametrize("item", labelled(), ids=lambda item: item.message)
def test_every_memory_is_a_quote(item: Labelled) -> None:
    for memory in extract_memories(item.message):
        assert memory.quote in item.message
        assert memory.content == memory.quote
