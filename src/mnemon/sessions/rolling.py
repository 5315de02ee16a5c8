"""The rolling summary: due every four messages of the person, at most 600 characters, and nothing open is lost.

The seed's weakness is that each update replaces the last. Here every version is kept, and what the new one drops
is carried over while it is open: a promise, a question, a person just met.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mnemon.outside import reads_outside_text
from mnemon.sessions.sentences import Open, closes, covers, cut, endings, openness, sentences
from mnemon.turn import Role, Said

EVERY = 4
LIMIT = 600
_CARRIED_SHARE = 300
"""Most characters of a summary that carried lines may take."""
_ORDER = {Open.COMMITMENT: 0, Open.QUESTION: 1, Open.PERSON: 2}
_SAID_LIMIT = 160


@dataclass(frozen=True, kw_only=True)
class Rolled:
    """A new version of the summary."""

    text: str
    carried: tuple[str, ...]


def is_due(message_count: int, said_in_turn: int, every: int = EVERY) -> bool:
    """Whether the turn brought the count to a multiple of `every`, or past one."""
    return said_in_turn > 0 and message_count // every > (message_count - said_in_turn) // every


@reads_outside_text
def roll(new: str, *, previous: str, carried_before: Sequence[str], said: str, open_todos: Sequence[str]) -> Rolled:
    """The new summary with what it dropped and is still open appended, within the limit.

    `said` is what was said since the previous one: it may report something as over. An open todo that the previous
    summary told of is a commitment however it was worded.
    """
    fresh, ended = " ".join(new.split()), endings(said)
    dropped = [
        line
        for line in _lines(previous, carried_before)
        if not covers(fresh, line) and not closes(ended, line) and _still_open(line, carried_before, open_todos)
    ]
    dropped.sort(key=lambda line: _ORDER[openness(line) or Open.COMMITMENT])
    carried = _fitting(dropped, min(_CARRIED_SHARE, LIMIT))
    room = LIMIT - sum(len(line) + 1 for line in carried)
    body = cut(fresh, room)
    return Rolled(text=" ".join(part for part in (body, *carried) if part), carried=tuple(carried))


def _lines(previous: str, carried_before: Sequence[str]) -> list[str]:
    """The previous summary line by line; a line carried already stays one line."""
    own = previous
    for line in carried_before:
        own = own.replace(line, "\n")
    return list(dict.fromkeys([*sentences(own), *carried_before]))


def _still_open(line: str, carried_before: Sequence[str], open_todos: Sequence[str]) -> bool:
    kind = openness(line)
    if kind is Open.PERSON:
        return line not in carried_before  # just met: carried over once, then the memories know them
    return kind is not None or any(covers(line, todo) for todo in open_todos)


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """The first lines that fit whole."""
    kept: list[str] = []
    for line in lines:
        if len(line) + 1 <= room:
            kept.append(line)
            room -= len(line) + 1
    return kept


@reads_outside_text
def summary_by_rule(messages: Sequence[Said], previous: str) -> str:
    """What the person said, in their words: statements first, then questions, newest first as far as there is room."""
    told: list[str] = []
    asked: list[str] = []
    for message in reversed(messages):
        if message.role is not Role.USER:
            continue
        for sentence in sentences(message.content):
            (asked if sentence.endswith("?") else told).append(cut(sentence, _SAID_LIMIT))
    parts = [*(f"Said: {line}" for line in _fitting(told, LIMIT - 150)), *(f"Asked: {line}" for line in asked[:2])]
    return cut(" ".join(_stopped(part) for part in parts) or previous, LIMIT)


def _stopped(sentence: str) -> str:
    return sentence if sentence[-1:] in ".!?…" else sentence + "."
