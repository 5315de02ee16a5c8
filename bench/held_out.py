"""How the ranking does on conversations its weights were not chosen on, without one of its parts, and when lines and
questions come in other shapes. `python -m bench.held_out [FILE]` prints the tables of docs/recall.md in a few minutes.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import numpy as np

from bench.recall.locomo import CATEGORIES, LocomoConversation, LocomoLine, load_conversations
from mnemon.embedding.embedder import scale_to_unit
from mnemon.embedding.local import LocalEmbedder
from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.ranking import HYBRID_WEIGHTS
from mnemon.memory.recall.index import build_index
from mnemon.memory.recall.index_entry import IndexEntry, entry_of_memory, entry_of_message
from mnemon.memory.recall.query import parse_query
from mnemon.memory.recall.scoring import score_rows, view_index
from mnemon.turn import Role

DATA = Path("../shared/data/locomo-dev.json")
DEPTHS = (5, 10, 20)
TUNED = {
    "similarity": (0.0, 0.25, 0.5, 0.75, 1.0, 1.5),
    "speaker": (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0),
    "question": (0.0, -0.25, -0.5, -0.75, -1.0, -1.5),
    "time": (0.0, 0.5, 1.0, 1.5, 2.0, 2.5),
}
"""What the search may choose from; it begins at 1, or -1, everywhere."""
Ask = Callable[[str, LocomoConversation], str]
EMBEDDER = LocalEmbedder()


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Every part of every row for every question of one conversation."""

    parts: Mapping[str, np.ndarray]
    evidence: np.ndarray


def entry(line: LocomoLine, place: int, talk: LocomoConversation, shape: str) -> tuple[IndexEntry, str]:
    """The line as it comes in, and the text that is embedded."""
    told = {"said": f"{line.speaker}: {line.text}", "dated": f"[{line.at:%d %B %Y}] {line.speaker}: {line.text}"}
    if shape in ("memories", "memories at one time"):
        content, at = told["said"], line.at if shape == "memories" else talk.lines[0].at
        made = entry_of_memory(
            entry_id=f"{place:06}", revision=place, kind="PROFILE", content=content, entity_refs=(), entity_label=None,
            pinned=False, importance=1, valid_from=at, created_at=at, updated_at=at,
        )  # fmt: skip
        return made, content
    content = told.get(shape, line.text)
    role = Role.USER if line.speaker == talk.lines[0].speaker else Role.ASSISTANT
    made = entry_of_message(
        entry_id=f"{place:06}", revision=place, place=0, session_id=str(line.session), role=role, content=content,
        name=line.speaker if shape == "name" else None, at=line.at,
    )  # fmt: skip
    return made, content


def columns(talk: LocomoConversation, shape: str = "name", ask: Ask | None = None, sessions: int = 0) -> Columns:
    """The scorer's own parts, kept so that other weights cost nothing."""
    lines = [line for line in talk.lines if not sessions or line.session <= sessions]
    known = {line.id: place for place, line in enumerate(lines)}
    asked = [one for one in talk.questions if one.category != CATEGORIES[5] and one.evidence <= known.keys()]
    texts = [ask(one.text, talk) if ask else one.text for one in asked]
    made = [entry(line, place, talk, shape) for place, line in enumerate(lines)]
    book = build_index(list(zip([one for one, _ in made], _vectors([text for _, text in made]), strict=True)))
    parts = {name: np.zeros((len(asked), len(lines)), dtype=np.float32) for name in HYBRID_WEIGHTS}
    evidence = np.zeros((len(asked), len(lines)), dtype=bool)
    later = lines[-1].at + timedelta(days=365)
    for place, (text, vector) in enumerate(zip(texts, _vectors(texts), strict=True)):
        found = score_rows(
            [view_index(book)], parse_query(text), vector, aliases=Aliases(), now=later, limit=len(lines)
        ).best
        rows = [int(one.id) for one, _ in found]
        for name in found[0][0].parts:
            parts[name][place, rows] = [one.parts[name] for one, _ in found]
        evidence[place, [known[name] for name in asked[place].evidence]] = True
    return Columns(parts=parts, evidence=evidence)


def recall(some: Sequence[Columns], weights: Mapping[str, float]) -> list[float]:
    """Evidence recall at each depth, over the questions of all of them."""
    found: dict[int, list[np.ndarray]] = {depth: [] for depth in DEPTHS}
    for one in some:
        scores = sum(weight * one.parts[name] for name, weight in weights.items() if weight)
        order = np.argsort(-np.asarray(scores), axis=1, kind="stable")
        hits = np.cumsum(np.take_along_axis(one.evidence, order, axis=1), axis=1)
        for depth in DEPTHS:
            found[depth].append(hits[:, min(depth, hits.shape[1]) - 1] / one.evidence.sum(axis=1))
    return [float(np.concatenate(found[depth]).mean()) for depth in DEPTHS]


def chosen(some: Sequence[Columns], without: str = "") -> dict[str, float]:
    """Weights by coordinate search for the mean over the depths; one part may be left out."""
    weights = {**HYBRID_WEIGHTS, **{name: float(np.sign(HYBRID_WEIGHTS[name])) for name in TUNED}} | (
        {without: 0.0} if without else {}
    )
    best, better = np.mean(recall(some, weights)), True
    while better:
        better = False
        for name, values in TUNED.items():
            for value in values if name != without else ():
                now = np.mean(recall(some, {**weights, name: value}))
                if now > best + 1e-6:
                    best, better, weights = now, True, {**weights, name: value}
    return weights


def held_out(talks: Sequence[Columns], without: str = "") -> tuple[list[float], list[float]]:
    """Each conversation with weights chosen on the others: over all questions, and R@10 by conversation."""
    each = [recall([one], chosen([two for two in talks if two is not one], without)) for one in talks]
    sizes = [len(one.evidence) for one in talks]
    return list(np.average(each, axis=0, weights=sizes)), [one[1] for one in each]


def _vectors(texts: Sequence[str]) -> np.ndarray:
    return scale_to_unit(EMBEDDER.embed_now(texts).astype(np.float16).astype(np.float32))


def _first_person(text: str, talk: LocomoConversation, *, other: bool = False) -> str:
    me = talk.lines[0].speaker
    text = re.sub(rf"\b{me}\b", "I", re.sub(rf"\b{me}['’]s\b", "my", text))
    for you in sorted({line.speaker for line in talk.lines} - {me}) if other else ():
        text = re.sub(rf"\b{you}\b", "you", re.sub(rf"\b{you}['’]s\b", "your", text))
    return text


def _nameless(text: str, talk: LocomoConversation) -> str:
    return re.sub(rf"\b(?:{'|'.join({line.speaker for line in talk.lines})})(?:['’]s)?\b", "they", text)


SHAPES: Mapping[str, tuple[str, Ask | None, int]] = {
    "messages with a name": ("name", None, 0),
    "messages without": ("none", None, 0),
    "`Anna: text` in the message": ("said", None, 0),
    "`[8 May 2023] Anna: text`": ("dated", None, 0),
    "`Anna: text` as memories": ("memories", None, 0),
    "the same, all at one time": ("memories at one time", None, 0),
    "questions in lower case": ("name", lambda text, _: text.lower(), 0),
    "questions that name nobody": ("name", _nameless, 0),
    "one speaker asks: I, my": ("none", _first_person, 0),
    "one asks the other: I, you": ("none", lambda text, talk: _first_person(text, talk, other=True), 0),
    "the first three sessions only": ("name", None, 3),
}


def main() -> None:
    """The tables."""
    talks = load_conversations(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
    whole = [columns(talk) for talk in talks]
    print("| weights | R@5 | R@10 | R@20 | R@10 by conversation |\n|---|---:|---:|---:|---|")
    _row("as shipped", recall(whole, HYBRID_WEIGHTS), [recall([one], HYBRID_WEIGHTS)[1] for one in whole])
    best = chosen(whole)
    _row("chosen on all of them", recall(whole, best), [recall([one], best)[1] for one in whole])
    _row("chosen on the others", *held_out(whole))
    for name in TUNED:
        _row(f"the same without {name}", *held_out(whole, name))
    print("\n| shape | questions | R@5 | R@10 | R@20 |\n|---|---:|---:|---:|---:|")
    for name, (shape, ask, sessions) in SHAPES.items():
        made = [columns(talk, shape, ask, sessions) for talk in talks]
        found = " | ".join(f"{one:.3f}" for one in recall(made, HYBRID_WEIGHTS))
        print(f"| {name} | {sum(len(one.evidence) for one in made)} | {found} |")


def _row(name: str, found: Sequence[float], each: Sequence[float]) -> None:
    print(f"| {name} | {' | '.join(f'{one:.3f}' for one in found)} | {', '.join(f'{one:.3f}' for one in each)} |")


if __name__ == "__main__":
    main()
