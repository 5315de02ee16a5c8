"""Read conversations in LoCoMo's format and measure how much of the marked evidence a ranking finds.

Also here: the baselines BM25, vectors, and both fused by reciprocal rank, with the same words and vectors as Mnemon.
"""

import json
import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from mnemon.embedding.embedder import Embedder
from mnemon.memory.words import bm25_scores

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
DEPTHS = (5, 10, 20, 50)
MAIN_GROUP = "all but adversarial"


@dataclass(frozen=True, kw_only=True)
class LocomoLine:
    """One turn of a conversation."""

    id: str
    session: int
    at: datetime
    speaker: str
    text: str
    """The text, with the caption of a picture that was shown."""


@dataclass(frozen=True, kw_only=True)
class LocomoQuestion:
    """A question with the turns that answer it."""

    text: str
    category: str
    evidence: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class LocomoConversation:
    """A conversation of many sessions, with questions about it."""

    name: str
    lines: tuple[LocomoLine, ...]
    questions: tuple[LocomoQuestion, ...]


@dataclass(frozen=True, kw_only=True)
class RetrievalQuality:
    """Retrieval figures, as means over questions."""

    questions: int
    recall: dict[int, float]
    """By depth, the share of the evidence among the first so many results."""
    ndcg: float


def load_conversations(path: Path) -> list[LocomoConversation]:
    """Return the conversations of a JSON file."""
    return [_parse_conversation(one) for one in json.loads(path.read_text(encoding="utf-8"))]


def retrieval_quality(asked: Sequence[LocomoQuestion], found: Sequence[Sequence[str]]) -> RetrievalQuality:
    """Return the quality of the results; `found` has the ids found for each question, best first."""
    pairs = list(zip(asked, found, strict=True))
    recall = {
        depth: statistics.fmean(len(one.evidence & set(ids[:depth])) / len(one.evidence) for one, ids in pairs)
        for depth in DEPTHS
    }
    return RetrievalQuality(
        questions=len(pairs), recall=recall, ndcg=statistics.fmean(_ndcg(one, ids) for one, ids in pairs)
    )


def quality_by_category(asked: Sequence[LocomoQuestion], found: Sequence[Sequence[str]]) -> dict[str, RetrievalQuality]:
    """Return the quality per category, and for all questions that are not adversarial together."""
    pairs = list(zip(asked, found, strict=True))
    made = {}
    for name in (MAIN_GROUP, *CATEGORIES.values()):
        some = [
            pair
            for pair in pairs
            if name == pair[0].category or (name == MAIN_GROUP and pair[0].category != CATEGORIES[5])
        ]
        if some:
            made[name] = retrieval_quality([one for one, _ in some], [ids for _, ids in some])
    return made


def _ndcg(one: LocomoQuestion, ids: Sequence[str], depth: int = 10) -> float:
    """Return the normalized discounted cumulative gain, with every line of evidence worth 1."""
    gained = sum(1 / math.log2(place + 2) for place, name in enumerate(ids[:depth]) if name in one.evidence)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(depth, len(one.evidence))))


def _parse_conversation(raw: dict[str, Any]) -> LocomoConversation:
    talk = raw["conversation"]
    numbers = sorted(int(name[8:]) for name in talk if re.fullmatch(r"session_\d+", name))
    lines = [
        LocomoLine(
            id=turn["dia_id"],
            session=number,
            # LoCoMo has one time per session; 20 s per line keep the order and make times unique.
            at=_parse_time(talk[f"session_{number}_date_time"]) + timedelta(seconds=20 * place),
            speaker=turn["speaker"],
            text=turn["text"] + (f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""),
        )
        for number in numbers
        for place, turn in enumerate(talk[f"session_{number}"])
    ]
    known = {line.id for line in lines}
    questions = [
        LocomoQuestion(
            text=one["question"], category=CATEGORIES[one["category"]], evidence=frozenset(one["evidence"]) & known
        )
        for one in raw["qa"]
        if known & set(one.get("evidence", ()))
    ]
    return LocomoConversation(name=raw["sample_id"], lines=tuple(lines), questions=tuple(questions))


def _parse_time(text: str) -> datetime:
    return datetime.strptime(text.replace(",", ""), "%I:%M %p on %d %B %Y").replace(tzinfo=UTC)


_RRF_K = 60


async def baseline_rankings(
    embedder: Embedder, texts: Sequence[str], queries: Sequence[str]
) -> dict[str, list[list[int]]]:
    """Return for each baseline and query the indexes of the texts, best first."""
    vectors, asked = await embedder.embed(texts), await embedder.embed(queries)
    words = [np.array(bm25_scores(query, texts)) for query in queries]
    meaning = list(asked @ vectors.T)
    fused = [_fuse_ranks(one, two) for one, two in zip(words, meaning, strict=True)]
    methods = {"BM25": words, "vectors": meaning, "RRF of both": fused}
    return {
        name: [np.argsort(-scores, kind="stable").tolist() for scores in by_query] for name, by_query in methods.items()
    }


def _fuse_ranks(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    # The argsort of an argsort is each text's rank.
    places = [np.argsort(np.argsort(-scores, kind="stable")) for scores in (one, two)]
    return np.asarray(sum(1.0 / (_RRF_K + place + 1) for place in places))
