"""Offline todos: opened on clear words, closed only when one open todo is clearly meant."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.memory.offline.extract import extract_memories, extract_todos

LINES = (Path(__file__).parent / "labelled_todos.txt").read_text(encoding="utf-8").splitlines()
LABELLED = [tuple(line.split(" => ")) for line in LINES if line.strip() and not line.startswith("#")]
OPEN = ["I'll go for a walk tomorrow", "I need to send the report by Friday", "I want to meditate every morning"]


def test_precision_over_the_labelled_todos(capsys: pytest.CaptureFixture[str]) -> None:
    right = found = expected = 0
    for message, kind in LABELLED:
        got = [todo.kind for todo in extract_todos(message)]
        right += got == [kind]
        found += len(got)
        expected += kind != "nothing"
    with capsys.disabled():
        told = f"precision {right / found:.3f}, recall {right / expected:.3f} of {len(LABELLED)} messages"
        print(f"\noffline todos: {told}")  # noqa: T201 the figures are the point
    assert right / found >= 0.95
    assert right / expected >= 0.6


@pytest.mark.parametrize("message", [message for message, _ in LABELLED])
def test_every_todo_is_a_quote(message: str) -> None:
    for todo in extract_todos(message):
        assert todo.quote in message


@pytest.mark.parametrize(
    ("message", "op", "content"),
    [
        ("I went for a walk.", "done", OPEN[0]),
        ("I finally sent the report!", "done", OPEN[1]),
        ("I've sent the report, by the way.", "done", OPEN[1]),
        ("Forget about the report.", "drop", OPEN[1]),
        ("I'm not going to send the report after all.", "drop", OPEN[1]),
        ("I decided not to meditate anymore.", "drop", OPEN[2]),
    ],
)
def test_an_open_todo_is_closed_when_it_is_clearly_meant(message: str, op: str, content: str) -> None:
    assert [(todo.op, todo.content) for todo in extract_todos(message, OPEN)] == [(op, content)]


@pytest.mark.parametrize(
    "message",
    [
        "Did I send the report?",
        "I haven't sent the report.",
        "I sent the invoice.",
        "If I sent the report, would he read it?",
        "Tom said I sent the report.",
        "I walked the dog.",
    ],
)
def test_nothing_is_closed_otherwise(message: str) -> None:
    assert [todo for todo in extract_todos(message, OPEN) if todo.op != "add"] == []


def test_two_todos_that_could_be_meant_stay_open() -> None:
    both = ["I'll call mom about the party", "I'll call mom about the trip"]
    assert extract_todos("I called mom.", both) == []


PIECES = [
    "I",
    "I'm",
    "my",
    "live in",
    "work at",
    "for",
    "since",
    "and",
    ",",
    "'",
    '"',
    "Austin",
    "a",
    "is",
    "name",
    " ",
    "not",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=60).map(" ".join))
def test_whatever_is_written_rules_answer_quickly_with_quotes(message: str) -> None:
    for memory in extract_memories(message):
        assert memory.quote in message
    for todo in extract_todos(message, OPEN):
        assert todo.quote in message


@pytest.mark.timeout(120)  # a pattern that tries every way to fail takes hours
@pytest.mark.parametrize(
    "piece", ["for ", "a", "I ", "my ", "' ", '"', "(", ", I ", "A. ", "really ", "every day ", "A"]
)
def test_no_text_makes_the_rules_slow(piece: str) -> None:
    for opening in ("I live in ", "I work at ", "I prefer ", "My sister ", "I'm a ", "I am working on ", "Every "):
        extract_memories(opening + piece * (5000 // len(piece)))
        extract_todos(opening + piece * (5000 // len(piece)), OPEN)
        extract_memories(opening + piece * (290 // len(piece)))
