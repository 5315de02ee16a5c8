"""SQL statements that read and write spines, seeds and curator runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.memory.lifecycle import folded_note
from mnemon.memory.memory import StoredMemory
from mnemon.memory.spine import SpineLine, SpinePart, SpineVersion, without_forgotten
from mnemon.memory.store import memory_of
from mnemon.scope import Scope
from mnemon.section import Rejection

SQL = load_statements("mnemon.memory.upkeep")


@dataclass(frozen=True, kw_only=True)
class CuratorRun:
    """What the curator did in one run."""

    id: str
    folded: tuple[str, ...]
    """Ids of the folds."""
    archived: tuple[str, ...]
    """Ids of what was archived as outdated."""
    rejected: tuple[Rejection, ...]
    made_by: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class StoredSeed:
    """The profile as it was loaded."""

    profile: list[dict[str, Any]]
    loaded_at: datetime


async def global_memories(tx: Tx, scope: Scope, *, most: int) -> list[StoredMemory]:
    """Return the active memories that every persona may know, most important first."""
    return [memory_of(row) for row in await tx.fetch_all(SQL["global_memories"], **scope.owner_params, most=most)]


async def fragments_of(tx: Tx, scope: Scope, fold_ids: Sequence[str]) -> list[StoredMemory]:
    """Return the memories that are archived because they were folded into any of these, oldest first."""
    notes = [folded_note(one) for one in fold_ids]
    rows = await tx.fetch_all(SQL["fragments_of"], **scope.owner_params, ids=list(fold_ids), notes=notes)
    return [memory_of(row) for row in rows]


async def folds_containing(tx: Tx, scope: Scope, memory_ids: Sequence[str]) -> list[StoredMemory]:
    """Return the folds in use that any of these memories is a part of, oldest first."""
    rows = await tx.fetch_all(SQL["folds_containing"], **scope.owner_params, ids=list(memory_ids))
    return [memory_of(row) for row in rows]


async def latest_spine(tx: Tx, scope: Scope) -> SpineVersion | None:
    """Return the person's current spine (long-term summary), without lines that no longer hold; None before the first.

    A line goes as soon as anything it was made from is replaced, taken back or closed; the next spine says it anew.
    """
    row = await tx.fetch_one_or_none(SQL["latest_spine"], **scope.owner_params)
    if row is None:
        return None
    gone = row.pop("gone")
    return without_forgotten(spine_from_row(row), gone)


async def list_spines(tx: Tx, scope: Scope, *, most: int, before: int | None = None) -> list[SpineVersion]:
    """Return up to `most` versions of the person's spine, newest first."""
    return [
        spine_from_row(row) for row in await tx.fetch_all(SQL["spines"], **scope.owner_params, before=before, most=most)
    ]


async def add_spine(tx: Tx, scope: Scope, spine: SpineVersion, rejected: Sequence[Rejection]) -> bool:
    """Insert the version of a person's spine; return False if another writer was first."""
    # The statement inserts only the next number, so that two writers at once make one version.
    touched = await tx.execute(
        SQL["add_spine"],
        **scope.owner_params,
        version=spine.version,
        lines=Jsonb(_lines_json(spine)),
        sources=list(spine.sources),
        message_count=spine.message_count,
        total_messages=spine.total_messages,
        made_by=spine.made_by,
        rejected=Jsonb([vars(one) for one in rejected]),
        now=tx.now,
    )
    return touched > 0


async def spines_from(tx: Tx, scope: Scope, sources: Sequence[str]) -> list[SpineVersion]:
    """Return the versions of the spine with a line that was made from any of these sources."""
    return [
        spine_from_row(row)
        for row in await tx.fetch_all(SQL["spines_from"], **scope.owner_params, sources=list(sources))
    ]


async def rewrite_spine(tx: Tx, scope: Scope, spine: SpineVersion) -> None:
    """Replace the lines of one version of the person's spine."""
    # In place: a line made from something forgotten must go from every version, not only the latest.
    params = {"version": spine.version, "lines": Jsonb(_lines_json(spine)), "sources": list(spine.sources)}
    await tx.execute(SQL["rewrite_spine"], **scope.owner_params, **params)


async def get_seed(tx: Tx, scope: Scope) -> StoredSeed | None:
    """Return the profile that the person was seeded with; None if there is none."""
    row = await tx.fetch_one_or_none(SQL["seed"], **scope.owner_params)
    return None if row is None else StoredSeed(profile=row["profile"], loaded_at=row["loaded_at"])


async def put_seed(tx: Tx, scope: Scope, profile: Sequence[Mapping[str, Any]]) -> None:
    """Store the profile as the person's seed in `user_seeds`."""
    await tx.execute(SQL["put_seed"], **scope.owner_params, profile=Jsonb(list(profile)), now=tx.now)


async def add_curator_run(tx: Tx, scope: Scope, run: CuratorRun) -> None:
    """Record what the curator did in one run in `curator_runs`."""
    await tx.execute(
        SQL["add_curator_run"],
        **scope.owner_params,
        id=run.id,
        folded=list(run.folded),
        archived=list(run.archived),
        rejected=Jsonb([vars(one) for one in run.rejected]),
        made_by=run.made_by,
        now=run.at,
    )


async def curator_runs(tx: Tx, scope: Scope, *, most: int) -> list[CuratorRun]:
    """Return up to `most` of the curator's runs over the person's memories, newest first."""
    rows = await tx.fetch_all(SQL["curator_runs"], **scope.owner_params, most=most)
    return [curator_run_from_row(row) for row in rows]


def curator_run_from_row(row: Row) -> CuratorRun:
    """Return a row of `curator_runs` as a CuratorRun."""
    return from_row(CuratorRun, row, rejected=tuple(Rejection(**one) for one in row["rejected"]))


def _lines_json(spine: SpineVersion) -> dict[str, list[dict[str, Any]]]:
    """Return the spine's lines as the JSON that is stored, by section."""
    return {
        part.value: [{"text": line.text, "sources": list(line.sources)} for line in spine.lines.get(part, ())]
        for part in SpinePart
    }


def spine_from_row(row: Row) -> SpineVersion:
    """Return a row of `spines` as a SpineVersion."""
    lines = {
        part: tuple(
            SpineLine(text=one["text"], sources=tuple(one["sources"])) for one in row["lines"].get(part.value, ())
        )
        for part in SpinePart
    }
    return from_row(SpineVersion, row, lines=lines)
