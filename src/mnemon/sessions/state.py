"""The session state of a person and persona, and the versions of its rolling summary."""

from psycopg.types.json import Jsonb

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.scope import Scope
from mnemon.sessions.session import CuratorState, RollingError, RollingSummary, SessionState

SQL = load_statements("mnemon.sessions")


async def load_session_state(tx: Tx, scope: Scope) -> SessionState | None:
    """Return the session state of this person and persona; None before their first message."""
    row = await tx.fetch_one_or_none(SQL["session_state"], **_state_key(scope))
    return None if row is None else session_state_from_row(row)


def session_state_from_row(row: Row) -> SessionState:
    """Return a row of `session_states` as a SessionState."""
    error = row["last_rolling_error"]
    curator = CuratorState(last_run_at=row["curator_last_run_at"], last_memory_count_at_run=row["curator_last_count"])
    return from_row(SessionState, row, curator=curator, last_rolling_error=RollingError(**error) if error else None)


async def record_curator_run(tx: Tx, scope: Scope, memory_count: int) -> None:
    """Record in the person's state with every persona that the curator ran now, over this many memories."""
    # The first statement creates the row of the scope's persona when there is none; the second updates all rows.
    await tx.execute(SQL["note_curator_run"], **_state_key(scope), now=tx.now, count=memory_count)
    owner = scope.owner_params
    await tx.execute(SQL["note_curator_run_everywhere"], **owner, now=tx.now, count=memory_count)


async def count_all_messages(tx: Tx, scope: Scope) -> int:
    """Return how many messages the person has sent, over all personas."""
    return int((await tx.fetch_one(SQL["total_messages"], org_id=scope.org_id, user_id=scope.user))["number"])


async def record_rolling_attempt(tx: Tx, scope: Scope) -> None:
    """Record in the session state that a rolling summary is being made now."""
    await tx.execute(SQL["note_rolling_attempt"], **_state_key(scope), now=tx.now)


async def record_rolling_error(tx: Tx, scope: Scope, error: RollingError) -> None:
    """Record in the session state why the last rolling summary could not be made."""
    await tx.execute(
        SQL["note_rolling_error"],
        **_state_key(scope),
        error=Jsonb({"reason": error.reason, "detail": error.detail}),
    )


async def store_rolling_summary(tx: Tx, scope: Scope, version: RollingSummary) -> bool:
    """Store a rolling summary as current and in the history; return False when a later one is current."""
    updated = await tx.execute(
        SQL["set_rolling"],
        **_state_key(scope),
        text=version.text,
        message_count=version.message_count,
        now=tx.now,
    )
    # Turns may be reflected out of order: a summary of fewer messages never replaces one of more.
    if not updated:
        return False
    await tx.execute(
        SQL["keep_rolling"],
        **_state_key(scope),
        message_count=version.message_count,
        text=version.text,
        carried=list(version.carried),
        turn_id=version.turn_id,
        at=version.at,
        sources=list(version.sources),
    )
    return True


async def list_rolling_summaries(tx: Tx, scope: Scope, *, most: int, before: int | None = None) -> list[RollingSummary]:
    """Return up to `most` rolling summaries, newest first, that cover fewer than `before` messages."""
    rows = await tx.fetch_all(SQL["rolling_summaries"], **_state_key(scope), before=before, most=most)
    return [summary_from_row(row) for row in rows]


def summary_from_row(row: Row) -> RollingSummary:
    """Return a row of `rolling_summaries` as a RollingSummary."""
    return from_row(RollingSummary, row)


def _state_key(scope: Scope) -> dict[str, str]:
    """Return the primary key of the person's and persona's row in `session_states`."""
    # The persona is part of the primary key, which cannot be null: the empty text stands for none.
    return {"org_id": scope.org_id, "user_id": scope.user, "persona": scope.persona_id or ""}
