"""The `turns` table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from psycopg.types.json import Jsonb

from mnemon.db.statements import statements
from mnemon.db.tx import Row, Tx
from mnemon.llm.protocol import Usage
from mnemon.scope import Scope
from mnemon.sessions import messages, turn_json
from mnemon.sessions.lifecycle import TurnStatus, become
from mnemon.turn import Intent, ToolOutcome, Turn

SQL = statements("mnemon.sessions")


class Origin(StrEnum):
    """Who made the reply."""

    CHAT = "chat"
    RECORDED = "recorded"
    """The application, which told us afterwards."""
    OPENAI = "openai"
    """We did, for a caller who speaks the OpenAI wire and may run tools of its own."""


@dataclass(frozen=True, kw_only=True)
class TurnError:
    """Why a turn has no complete reply."""

    code: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class StoredTurn:
    """A turn with how far it got."""

    turn: Turn
    status: TurnStatus
    origin: Origin
    lease_until: datetime | None
    waits_for: tuple[str, ...]
    """Calls whose results the caller owes us."""
    usage: Usage | None
    """What the reply cost."""
    error: TurnError | None
    recited: str | None
    """Engagement state that the reply repeated word for word."""


def add(
    tx: Tx,
    turn: Turn,
    *,
    status: TurnStatus,
    origin: Origin,
    lease_until: datetime | None,
    rows: Sequence[Mapping[str, object]],
    revision: int,
) -> None:
    """The turn stands in its session with its first messages, given as rows; it is written with the next statement."""
    tx.later(
        SQL["add_turn"],
        org_id=turn.scope.org_id,
        user_id=turn.scope.user,
        id=turn.id,
        session_id=turn.session_id,
        persona_id=turn.scope.persona_id,
        seq=turn.seq,
        at=turn.at,
        status=status,
        origin=origin,
        lease_until=lease_until,
        message_count=turn.message_count,
        tool_results=Jsonb([turn_json.outcome_json(one) for one in turn.tool_results]),
        intents=Jsonb([turn_json.intent_json(one) for one in turn.intents]),
        messages=Jsonb(list(rows)),
        revision=revision,
        now=tx.now,
    )


async def find(tx: Tx, scope: Scope, turn_id: str) -> StoredTurn | None:
    """The turn with its messages; looked for among the scope's person, where it names one."""
    row = await tx.maybe(SQL["turn"], org_id=scope.org_id, user_id=scope.user_id, id=turn_id)
    return None if row is None else await _whole(tx, row)


async def of_session(tx: Tx, scope: Scope, session_id: str, *, most: int, after: int = 0) -> list[StoredTurn]:
    """The session's turns in order, after a place."""
    rows = await tx.all(
        SQL["session_turns"],
        org_id=scope.org_id,
        user_id=scope.user,
        session_id=session_id,
        after=after,
        most=most,
    )
    return [await _whole(tx, row) for row in rows]


async def locked_status(tx: Tx, scope: Scope, turn_id: str) -> TurnStatus | None:
    """How far the turn is; nobody changes it until this transaction ends."""
    row = await tx.maybe(SQL["lock_turn"], org_id=scope.org_id, user_id=scope.user, id=turn_id)
    return None if row is None else TurnStatus(row["status"])


async def lease_of(tx: Tx, scope: Scope, turn_id: str) -> datetime | None:
    """Until when whoever answers the turn has promised a sign of life."""
    row = await tx.maybe(SQL["lock_turn"], org_id=scope.org_id, user_id=scope.user, id=turn_id)
    return None if row is None else row["lease_until"]


def seal(
    tx: Tx,
    scope: Scope,
    turn_id: str,
    status: TurnStatus,
    *,
    usage: Usage | None = None,
    error: TurnError | None = None,
    recited: str | None = None,
) -> None:
    """The turn is over from the next statement on. The caller holds its lock and knows that the step is drawn."""
    tx.later(
        SQL["seal_turn"],
        org_id=scope.org_id,
        user_id=scope.user,
        id=turn_id,
        status=status,
        usage=Jsonb(turn_json.usage_json(usage)) if usage else None,
        error=Jsonb({"code": error.code, "detail": error.detail}) if error else None,
        recited=recited,
    )


async def flag_recital(tx: Tx, scope: Scope, turn_id: str, recited: str) -> None:
    """The turn says which words of the engagement state its reply repeated."""
    await tx.run(SQL["flag_recital"], org_id=scope.org_id, user_id=scope.user, id=turn_id, recited=recited)


async def renew(tx: Tx, scope: Scope, turn_id: str, lease_until: datetime) -> bool:
    """Whether the turn is still being answered, now under a longer lease."""
    touched = await tx.run(
        SQL["renew_turn"], org_id=scope.org_id, user_id=scope.user, id=turn_id, lease_until=lease_until
    )
    return touched > 0


async def reopen(tx: Tx, scope: Scope, turn_id: str, lease_until: datetime) -> None:
    """The turn is being answered again: its caller brought what it waited for, or asks a failed one again."""
    status = await locked_status(tx, scope, turn_id)
    if status is not TurnStatus.ANSWERING:
        become(status or TurnStatus.ANSWERED, TurnStatus.ANSWERING)
    await tx.run(SQL["reopen_turn"], org_id=scope.org_id, user_id=scope.user, id=turn_id, lease_until=lease_until)


async def wait_for_caller(
    tx: Tx,
    scope: Scope,
    turn_id: str,
    calls: Sequence[str],
    *,
    lease_until: datetime,
    usage: Usage | None,
) -> None:
    """The turn waits until the lease ends for the results of these calls."""
    await tx.run(
        SQL["wait_for_caller"],
        org_id=scope.org_id,
        user_id=scope.user,
        id=turn_id,
        waits_for=list(calls),
        lease_until=lease_until,
        usage=Jsonb(turn_json.usage_json(usage)) if usage else None,
    )


async def waiting(tx: Tx, scope: Scope) -> list[tuple[str, frozenset[str]]]:
    """The turns of this person and persona that wait for their caller, newest first, with the calls they wait for."""
    rows = await tx.all(SQL["waiting_turns"], org_id=scope.org_id, user_id=scope.user, persona_id=scope.persona_id)
    return [(row["id"], frozenset(row["waits_for"])) for row in rows]


async def last_of_person(tx: Tx, scope: Scope) -> tuple[str, TurnStatus] | None:
    """The turn of this person and persona that came in last, and how far it got."""
    row = await tx.maybe(SQL["last_turn"], org_id=scope.org_id, user_id=scope.user, persona_id=scope.persona_id)
    return None if row is None else (row["id"], TurnStatus(row["status"]))


async def add_tool_results(
    tx: Tx, scope: Scope, turn_id: str, results: Sequence[ToolOutcome], intents: Sequence[Intent] = ()
) -> None:
    """The turn has these results and intents too."""
    await tx.run(
        SQL["add_tool_results"],
        org_id=scope.org_id,
        user_id=scope.user,
        id=turn_id,
        tool_results=Jsonb([turn_json.outcome_json(one) for one in results]),
        intents=Jsonb([turn_json.intent_json(one) for one in intents]),
    )


async def _whole(tx: Tx, row: Row) -> StoredTurn:
    scope = Scope(org_id=row["org_id"], user_id=row["user_id"], persona_id=row["persona_id"])
    said = await messages.of_turn(tx, scope, row["id"])
    turn = Turn(
        id=row["id"],
        session_id=row["session_id"],
        seq=row["seq"],
        scope=scope,
        user_name=row["user_name"],
        at=row["at"],
        messages=said,
        tool_results=tuple(turn_json.outcome_of(one) for one in row["tool_results"]),
        intents=tuple(turn_json.intent_of(one) for one in row["intents"]),
        message_count=row["message_count"],
    )
    error: dict[str, Any] | None = row["error"]
    return StoredTurn(
        turn=turn,
        status=TurnStatus(row["status"]),
        origin=Origin(row["origin"]),
        lease_until=row["lease_until"],
        waits_for=tuple(row["waits_for"]),
        usage=turn_json.usage_of(row["usage"]) if row["usage"] else None,
        error=TurnError(code=error["code"], detail=error["detail"]) if error else None,
        recited=row["recited"],
    )
