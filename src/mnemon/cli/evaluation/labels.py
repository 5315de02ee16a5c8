"""The labelled turns of `mnemon eval`: reading their file, whose head describes it, and choosing some of them."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from mnemon.clock import parse_time
from mnemon.errors import Invalid

TURNS_FILE = Path(__file__).parent / "labelled_turns.txt"


class LabelKind(StrEnum):
    """What a label says about a turn."""

    FACT = "fact"
    """A memory says this."""
    DENIED = "not"
    """A memory denies this."""
    OPTIONAL = "may"
    """A memory may say or deny this, or not."""
    PRIVATE = "private"
    """A memory of this persona alone says this."""
    ENDED = "ends"
    """No current memory says this any more."""
    OPENED = "todo"
    """An open todo says this."""
    OPTIONAL_TODO = "maytodo"
    """A todo may say this, or not."""
    CLOSED = "done"
    """No open todo says this any more."""
    EVIDENCE = "evidence"
    """A line of evidence in the engagement says this."""
    UNKNOWN = "unknown"
    """An open question of the engagement asks this."""
    EXPECTATION = "expect"
    """A pending expectation of the session says this."""


_WITHOUT_SUBJECT = frozenset({LabelKind.OPTIONAL_TODO, LabelKind.CLOSED, LabelKind.UNKNOWN, LabelKind.EXPECTATION})
_FOLLOW_UP = "follow"


@dataclass(frozen=True, kw_only=True)
class Label:
    """One thing that holds after a turn."""

    kind: LabelKind
    about: tuple[str, ...]
    """Whom a memory is about, the kinds of a todo, or the stance of evidence: any of these."""
    words: tuple[tuple[str, ...], ...]
    """The words that all occur, each in any of its alternatives."""


@dataclass(frozen=True, kw_only=True)
class LabelledTurn:
    """What a person says, what came back, and what a good memory keeps of it."""

    line: int
    """Its line in the file."""
    says: str
    reply: str
    tool_results: tuple[dict[str, Any], ...]
    labels: tuple[Label, ...]
    follows: bool
    """Whether it can only be understood with the turn before it."""

    @property
    def is_trap(self) -> bool:
        """Say whether nothing of the turn is worth keeping, and nothing that is held changes by it."""
        return not self.labels

    def labels_of(self, *kinds: LabelKind) -> list[Label]:
        """Return the turn's labels of these kinds."""
        return [label for label in self.labels if label.kind in kinds]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One session of a person, which stands by itself."""

    who: str
    domain: str
    at: datetime
    turns: tuple[LabelledTurn, ...]

    @property
    def name(self) -> str:
        """Return the person's first name, as the application calls them."""
        return self.who.partition(",")[0].split()[0]


def read_scenes(path: Path = TURNS_FILE) -> list[Scene]:
    """Return all scenes of a file, in its order; raise Invalid naming a line that cannot be read."""
    who, head = "", ""
    scenes: list[Scene] = []
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith(("@", "%")):
            if head:
                scenes.append(_make_scene(who, head, lines))
                head, lines = "", []
            if line.startswith("@"):
                who = line[1:].strip()
            else:
                head = line[1:].strip()
        elif line.strip() and not line.startswith("#"):
            lines.append((number, line))
    if head:
        scenes.append(_make_scene(who, head, lines))
    if not any(scene.turns for scene in scenes):
        raise Invalid(f"{path.name} holds no labelled turns. docs/evaluation.md shows their form.")
    return scenes


def choose_scenes(scenes: Sequence[Scene], most: int | None) -> list[Scene]:
    """Return scenes with `most` turns in all, always the same ones: in the order of a hash, which mixes the lives.

    The last scene is cut where it would be too long. Without `most`, all are returned.
    """
    if most is None:
        return list(scenes)
    chosen: list[Scene] = []
    left = most
    for scene in sorted(scenes, key=_order_of):
        if left <= 0:
            break
        turns = scene.turns[:left]
        left -= len(turns)
        chosen.append(replace(scene, turns=turns))
    return chosen


def _order_of(scene: Scene) -> bytes:
    """Return what a scene is chosen by: the same for ever, whatever is added to the file."""
    return hashlib.sha256(f"{scene.who}|{scene.at}".encode()).digest()


def _make_scene(who: str, head: str, lines: Sequence[tuple[int, str]]) -> Scene:
    """Return the scene that a head (`2026-03-02T18:05 home`) and the lines after it describe."""
    at, _, domain = head.partition(" ")
    return Scene(who=who, domain=domain, at=parse_time(at), turns=tuple(_read_turns(lines)))


def _read_turns(lines: Sequence[tuple[int, str]]) -> Iterator[LabelledTurn]:
    """Yield the turns that numbered lines describe."""
    starts = [place for place, (_, line) in enumerate(lines) if line.startswith("=")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        number, says = lines[start]
        rest = lines[start + 1 : end]
        marks = [(at, line.strip()) for at, line in rest if line.startswith(" ")]
        yield LabelledTurn(
            line=number,
            says=says[1:].strip(),
            reply=" ".join(line[1:].strip() for _, line in rest if line.startswith("<")),
            tool_results=tuple(_read_result(at, line) for at, line in rest if line.startswith(">")),
            labels=tuple(_read_label(at, line) for at, line in marks if line != _FOLLOW_UP),
            follows=any(line == _FOLLOW_UP for _, line in marks),
        )


def _read_result(number: int, line: str) -> dict[str, Any]:
    """Return the tool result that a line describes, as `POST /api/turns` takes it."""
    action, _, fields = line[1:].strip().partition(" ")
    return {"id": f"result-{number}", "action": action, **json.loads(fields)}


def _read_label(number: int, line: str) -> Label:
    """Return the label that a line describes; raise Invalid where it does not describe one."""
    head, bar, words = line.partition("|")
    kind, _, about = head.strip().partition(" ")
    wanted = tuple(tuple(part.strip().split("/")) for part in words.split(",") if part.strip())
    if kind not in list(LabelKind) or not bar or not wanted or not (about or LabelKind(kind) in _WITHOUT_SUBJECT):
        raise Invalid(f"Line {number} of the labelled turns is no label: {line}")
    return Label(kind=LabelKind(kind), about=tuple(filter(None, about.strip().split("/"))), words=wanted)
