"""Conversations in LoCoMo's format, and how much of the marked evidence a ranking finds."""

import json
import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
DEPTHS = (5, 10, 20, 50)
MAIN = "all but adversarial"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One turn of a conversation."""

    id: str
    session: int
    at: datetime
    speaker: str
    text: str
    """With the caption of a picture it shows."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question with the turns that answer it."""

    text: str
    category: str
    evidence: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Conversation:
    name: str
    lines: tuple[Line, ...]
    questions: tuple[Asked, ...]


@dataclass(frozen=True, kw_only=True)
class Quality:
    """Means over questions."""

    questions: int
    recall: dict[int, float]
    """By depth, the share of evidence among so many results."""
    ndcg: float


def load(path: Path) -> list[Conversation]:
    """The conversations of a file."""
    return [_conversation(one) for one in json.loads(path.read_text(encoding="utf-8"))]


def quality(asked: Sequence[Asked], found: Sequence[Sequence[str]]) -> Quality:
    """How much of the evidence stands among what was found, best first, for each question."""
    pairs = list(zip(asked, found, strict=True))
    recall = {
        depth: statistics.fmean(len(one.evidence & set(ids[:depth])) / len(one.evidence) for one, ids in pairs)
        for depth in DEPTHS
    }
    return Quality(questions=len(pairs), recall=recall, ndcg=statistics.fmean(_ndcg(one, ids) for one, ids in pairs))


def by_category(asked: Sequence[Asked], found: Sequence[Sequence[str]]) -> dict[str, Quality]:
    """The same per category, and for all that are not adversarial together."""
    pairs = list(zip(asked, found, strict=True))
    made = {}
    for name in (MAIN, *CATEGORIES.values()):
        some = [
            pair for pair in pairs if name == pair[0].category or (name == MAIN and pair[0].category != CATEGORIES[5])
        ]
        if some:
            made[name] = quality([one for one, _ in some], [ids for _, ids in some])
    return made


def _ndcg(one: Asked, ids: Sequence[str], depth: int = 10) -> float:
    gained = sum(1 / math.log2(place + 2) for place, name in enumerate(ids[:depth]) if name in one.evidence)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(depth, len(one.evidence))))


def _conversation(raw: dict[str, Any]) -> Conversation:
    talk = raw["conversation"]
    numbers = sorted(int(name[8:]) for name in talk if re.fullmatch(r"session_\d+", name))
    lines = [
        Line(
            id=turn["dia_id"],
            session=number,
            at=_time(talk[f"session_{number}_date_time"]) + timedelta(seconds=20 * place),
            speaker=turn["speaker"],
            text=turn["text"] + (f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""),
        )
        for number in numbers
        for place, turn in enumerate(talk[f"session_{number}"])
    ]
    known = {line.id for line in lines}
    questions = [
        Asked(text=one["question"], category=CATEGORIES[one["category"]], evidence=frozenset(one["evidence"]) & known)
        for one in raw["qa"]
        if known & set(one.get("evidence", ()))
    ]
    return Conversation(name=raw["sample_id"], lines=tuple(lines), questions=tuple(questions))


def _time(text: str) -> datetime:
    return datetime.strptime(text.replace(",", ""), "%I:%M %p on %d %B %Y").replace(tzinfo=UTC)
