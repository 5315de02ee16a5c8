"""Proposals that a model might make, honest ones and lies, and how the gates judge them.

The files were written by hand, by people who had not read the gates. Those in `tests/evidence/proposals` are split by a
seeded hash of their ids, those under `third` and `fourth` by one of their messages: one half is for tuning, the other,
whose texts share no message with it, is only ever counted. The files under `tuning` are for tuning alone.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mnemon.evidence.fold import fold_fault
from mnemon.evidence.quote_gate import Passage, Quotation, find_quote
from mnemon.evidence.statement import StatementKind, StatementSubject
from mnemon.evidence.support import ending_fault, support_fault
from mnemon.memory.words import grounding_fault
from mnemon.turn import Role

FOLDER = Path(__file__).parents[1] / "evidence" / "proposals"
CORPORA = {"first": FOLDER, "third": FOLDER / "third", "fourth": FOLDER / "fourth"}
"""The folders that have a half which nobody tunes on, by name."""
KINDS = ("memories", "todos", "lines", "claims", "folds")
SEED = "mnemon-19:"


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """One proposal, whether it is honest, and what makes it hard."""

    kind: str
    id: str
    honest: bool
    trick: str
    given: dict[str, Any]

    @property
    def source(self) -> str:
        """The text it rests on: proposals about one text are on one side of the split."""
        return self.given.get("message") or "\n".join(self.given["fragments"])

    def fault(self) -> str | None:
        """Why the gate of its room rejects it; None when it is let in."""
        return _fold_fault(self.given) if self.kind == "folds" else _quoted_fault(self.kind, self.given)


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How many proposals of a kind there were, and how many were judged wrongly."""

    honest: int
    honest_rejected: int
    lies: int
    lies_let_in: int


def reported_half(corpus: str = "first") -> list[Proposal]:
    """The proposals of a corpus that figures are reported on; nobody has looked at them to change a rule."""
    seen = {one.source for one in tuning_half()}
    return [one for one in _read(CORPORA[corpus]) if one.source not in seen]


def tuning_half() -> list[Proposal]:
    """The proposals that the rules may be changed for."""
    return [*(one for corpus in CORPORA for one in _tuned(corpus)), *_read(FOLDER / "tuning")]


def _tuned(corpus: str) -> list[Proposal]:
    """The proposals of a corpus whose messages are for tuning."""
    everything = list(_read(CORPORA[corpus]))
    seen = {one.source for one in everything if _is_even(one.id if corpus == "first" else one.source)}
    return [one for one in everything if one.source in seen]


def count(proposals: list[Proposal]) -> dict[str, Tally]:
    """What became of the proposals, by kind."""
    counted: Counter[tuple[str, bool, bool]] = Counter(
        (one.kind, one.honest, one.fault() is not None) for one in proposals
    )
    return {
        kind: Tally(
            honest=counted[kind, True, True] + counted[kind, True, False],
            honest_rejected=counted[kind, True, True],
            lies=counted[kind, False, True] + counted[kind, False, False],
            lies_let_in=counted[kind, False, False],
        )
        for kind in KINDS
    }


def count_tricks(proposals: list[Proposal]) -> dict[str, tuple[int, int]]:
    """By trick, how many proposals were judged wrongly, of how many."""
    judged = [(one.trick, (one.fault() is None) != one.honest) for one in proposals]
    wrong, together = Counter(trick for trick, is_wrong in judged if is_wrong), Counter(trick for trick, _ in judged)
    return {trick: (wrong[trick], together[trick]) for trick in sorted(together)}


def _is_even(what: str) -> bool:
    return hashlib.sha256(f"{SEED}{what}".encode()).digest()[0] % 2 == 0


def _read(folder: Path) -> Iterator[Proposal]:
    for kind in KINDS:
        for line in (folder / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines():
            given = json.loads(line)
            yield Proposal(kind=kind, id=given["id"], honest=given["honest"], trick=given["trick"], given=given)


def _fold_fault(given: dict[str, Any]) -> str | None:
    return grounding_fault(given["content"], given["fragments"]) or fold_fault(given["content"], given["fragments"])


def _quoted_fault(kind: str, given: dict[str, Any]) -> str | None:
    at = datetime.fromisoformat(given["at"])
    role = Role(given.get("role", "user"))
    passage = Passage(message_id="msg_1", text=given["message"], who=given["user"], role=role, at=at)
    speaker = (given["user"],)
    if kind == "claims":
        whole = Quotation(passage=passage, start=0, end=len(passage.text))
        return support_fault(given["hypothesis"], [whole], StatementKind.CLAIM, StatementSubject(speaker=speaker))
    quotation = find_quote(given["quote"], [passage])
    assert quotation is not None, given["id"]
    if kind == "lines":
        return support_fault(given["line"], [quotation], StatementKind.LINE, StatementSubject(speaker=speaker))
    if kind == "memories":
        entity = given["entity"] or {}
        subject = StatementSubject(
            speaker=speaker, entity=entity.get("label"), entity_is_person=entity.get("type") == "person"
        )
        return support_fault(given["content"], [quotation], StatementKind.FACT, subject)
    if given["op"] != "add":
        return ending_fault(quotation, given["content"], done=given["op"] == "done")
    statement = StatementKind.QUESTION if given["kind"] == "thread" else StatementKind.TASK
    return support_fault(given["content"], [quotation], statement, StatementSubject(speaker=speaker))
