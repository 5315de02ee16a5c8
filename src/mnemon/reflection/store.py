"""The `reflections` table."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any

from psycopg.types.json import Jsonb

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.llm.protocol import Usage
from mnemon.reflection.report import Reflection, ReflectionStatus, SectionReport
from mnemon.scope import Scope
from mnemon.section import Rejection

SQL = load_statements("mnemon.reflection")


@dataclass(frozen=True, kw_only=True)
class ReflectionBacklog:
    """The number of reflections that are not done."""

    waiting: int
    parked: int
    oldest: datetime | None
    """When the longest-waiting one was last updated; None if none waits."""


@dataclass(frozen=True, kw_only=True)
class DailyReflectionUsage:
    """The tokens that reflections used on one day in UTC."""

    day: date
    input_tokens: int
    output_tokens: int


def mark_queued(tx: Tx, scope: Scope, turn_id: str, job_id: str) -> None:
    """Insert or requeue the turn's row in `reflections` with the next statement; one that is done does not change."""
    # Deferred like the other marks: it leaves with the next statement and costs no round trip (decision 20).
    tx.defer(SQL["queue_reflection"], **_key_columns(scope, turn_id), job_id=job_id, now=tx.now)


async def find(tx: Tx, scope: Scope, turn_id: str) -> Reflection | None:
    """Return the turn's reflection from the table `reflections`; None if it was never queued."""
    row = await tx.fetch_one_or_none(SQL["reflection"], **_key_columns(scope, turn_id))
    return None if row is None else reflection_from_row(row)


async def find_for_turns(tx: Tx, scope: Scope, turn_ids: Sequence[str]) -> dict[str, Reflection]:
    """Return the reflections of these turns, by turn id; turns that have none are left out."""
    owner = scope.owner_params
    rows = await tx.fetch_all(SQL["reflections_of_turns"], **owner, turns=list(turn_ids))
    return {row["turn_id"]: reflection_from_row(row) for row in rows}


async def reflection_backlog(tx: Tx, scope: Scope) -> ReflectionBacklog:
    """Return how many of the organization's reflections are waiting and parked, and since when."""
    return ReflectionBacklog(**await tx.fetch_one(SQL["waiting"], org_id=scope.org_id))


async def count_reflected(tx: Tx, scope: Scope) -> tuple[int, int]:
    """Return how many of the organization's turns are reflected, and how many there are."""
    every = int((await tx.fetch_one(SQL["reflected"], org_id=scope.org_id))["number"])
    behind = await reflection_backlog(tx, scope)
    return every - behind.waiting - behind.parked, every


async def daily_usage(tx: Tx, scope: Scope, since: datetime) -> list[DailyReflectionUsage]:
    """Return the tokens that reflections used on each day since then, oldest first; days without any are left out."""
    return [
        DailyReflectionUsage(**row)
        for row in await tx.fetch_all(SQL["reflection_days"], org_id=scope.org_id, since=since)
    ]


def mark_started(tx: Tx, scope: Scope, turn_id: str) -> None:
    """Mark in `reflections` that an attempt starts, with the transaction's next statement."""
    tx.defer(SQL["start_reflection"], **_key_columns(scope, turn_id), now=tx.now)


def store_raw_answer(tx: Tx, scope: Scope, turn_id: str, raw: dict[str, Any], usage: Usage | None) -> None:
    """Store the model's raw answer in the turn's reflection, with the transaction's next statement."""
    tx.defer(
        SQL["keep_raw"],
        **_key_columns(scope, turn_id),
        raw=Jsonb(raw),
        usage=Jsonb(asdict(usage)) if usage else None,
        now=tx.now,
    )


def store_report(tx: Tx, scope: Scope, reflection: Reflection) -> None:
    """Store which sections were applied and which were not, with the transaction's next statement."""
    tx.defer(
        SQL["report_reflection"],
        **_key_columns(scope, reflection.turn_id),
        status=reflection.status,
        sections=Jsonb({label: _section_json(section) for label, section in reflection.sections.items()}),
        rejected=Jsonb([asdict(one) for one in reflection.rejected]),
        error=reflection.error,
        now=tx.now,
    )


async def mark_failed(tx: Tx, scope: Scope, turn_id: str, error: str) -> None:
    """Mark the turn's whole reflection as failed with this error."""
    await tx.execute(
        SQL["fail_reflection"],
        **_key_columns(scope, turn_id),
        status=ReflectionStatus.FAILED,
        error=error,
        now=tx.now,
    )


async def mark_parked(tx: Tx, scope: Scope, turn_id: str, error: str) -> None:
    """Mark the turn's reflection as parked: no more attempts are made automatically."""
    await tx.execute(SQL["park_reflection"], org_id=scope.org_id, turn_id=turn_id, error=error, now=tx.now)


def _section_json(section: SectionReport) -> dict[str, Any]:
    """Return a section's report as JSON to store."""
    stored = asdict(section)
    # The previous release cannot read a field that it does not know, and may still run beside this one.
    if not section.repaired:
        del stored["repaired"]
    return stored


def reflection_from_row(row: Row) -> Reflection:
    """Return a row of `reflections` as a Reflection."""
    return from_row(
        Reflection,
        row,
        sections={label: SectionReport(**section) for label, section in row["sections"].items()},
        rejected=tuple(Rejection(**one) for one in row["rejected"]),
        usage=Usage(**row["usage"]) if row["usage"] else None,
    )


def _key_columns(scope: Scope, turn_id: str) -> dict[str, str]:
    """Return the primary key of the turn's row in `reflections`."""
    return {"org_id": scope.org_id, "user_id": scope.user, "turn_id": turn_id}
