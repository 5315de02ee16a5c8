"""What the curator did in its runs: folds with their fragments, what was archived and why, what was rejected."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from mnemon.db.tx import Tx
from mnemon.memory import store as memories
from mnemon.memory.lifecycle import ArchiveStatus
from mnemon.memory.memory import StoredMemory
from mnemon.memory.upkeep import store
from mnemon.memory.upkeep.store import CuratorRun
from mnemon.scope import Scope
from mnemon.section import Rejection

MAX_RUNS = 200
"""The most runs of one person that are reported."""


@dataclass(frozen=True, kw_only=True)
class ReportedFold:
    """A fold and what it was made from."""

    memory: StoredMemory
    fragments: tuple[StoredMemory, ...]

    @property
    def is_active(self) -> bool:
        """Say whether the fold can still be undone."""
        return self.memory.status is ArchiveStatus.ACTIVE


@dataclass(frozen=True, kw_only=True)
class CuratorReport:
    """One run of the curator. What was forgotten since then is left out."""

    id: str
    at: datetime
    made_by: str
    """The model, or `offline` for the rules."""
    folds: tuple[ReportedFold, ...]
    archived: tuple[StoredMemory, ...]
    """What was archived as outdated; the note of each says why."""
    rejected: tuple[Rejection, ...]
    forgotten: int
    """How many folds and archived memories of the run were forgotten since then."""

    @property
    def changed_nothing(self) -> bool:
        """Say whether the run left everything as it was."""
        return not self.folds and not self.archived and not self.forgotten


async def load_curator_reports(tx: Tx, scope: Scope, *, most: int) -> list[CuratorReport]:
    """Return the reports of the person's latest runs, newest first."""
    runs = await store.curator_runs(tx, scope, most=min(most, MAX_RUNS))
    named = dict.fromkeys(id_ for run in runs for id_ in (*run.folded, *run.archived))
    found = {one.id: one for one in await memories.by_ids(tx, scope, list(named))}
    sources = dict.fromkeys(id_ for one in found.values() for id_ in one.sources)
    found |= {one.id: one for one in await memories.by_ids(tx, scope, [id_ for id_ in sources if id_ not in found])}
    return [_report_of(run, found) for run in runs]


def _report_of(run: CuratorRun, found: Mapping[str, StoredMemory]) -> CuratorReport:
    """Return a curator run's report, with those of its memories that still exist."""
    folds = [found[id_] for id_ in dict.fromkeys(run.folded) if id_ in found]
    archived = [found[id_] for id_ in run.archived if id_ in found]
    named = {*run.folded, *run.archived}
    return CuratorReport(
        id=run.id,
        at=run.at,
        made_by=run.made_by,
        folds=tuple(
            ReportedFold(memory=one, fragments=tuple(found[id_] for id_ in one.sources if id_ in found))
            for one in folds
        ),
        archived=tuple(archived),
        rejected=run.rejected,
        forgotten=len(named - found.keys()),
    )
