"""The `turns` table.

Tool results, intents and usage as they stand in a turn's JSON columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from psycopg.types.json import Jsonb

from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.llm.protocol import Usage
from mnemon.scope import Scope
from mnemon.sessions import messages
from mnemon.sessions.lifecycle import TurnStatus, require_transition
from mnemon.turn import DependencyPatch, EntityPatch, Intent, ToolOutcome, Turn

Json = dict[str, Any]


def outcome_json(outcome: ToolOutcome) -> Json:
    return asdict(outcome)


def outcome_from_json(json: Json) -> ToolOutcome:
    return ToolOutcome(
        id=json["id"],
        action=json["action"],
        ids=_tuple_or_none(json["ids"]),
        types=_tuple_or_none(json["types"]),
        count=json["count"],
        entities=tuple(EntityPatch(**one) for one in json["entities"]),
        dependencies=tuple(DependencyPatch(**one) for one in json["dependencies"]),
        output=json["output"],
    )


def intent_json(intent: Intent) -> Json:
    return asdict(intent)


def intent_from_json(json: Json) -> Intent:
    return Intent(**{**json, "expected_ids": _tuple_or_none(json["expected_ids"])})


def usage_json(usage: Usage) -> Json:
    return asdict(usage)


def usage_from_json(json: Json) -> Usage:
    return Usage(**json)


def _tuple_or_none(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


SQL = load_statements("mnemon.sessions")


class TurnOrigin(StrEnum):
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
    origin: TurnOrigin
    lease_until: datetime | None
    waits_for: tuple[str, ...]
    """Calls whose results the caller owes us."""
    usage: Usage | None
    """What the reply cost."""
    error: TurnError | None
    recited: str | None
    """Engagement state that the reply repeated word for word."""


def add_turn(
    tx: Tx,
    turn: Turn,
    *,
    status: TurnStatus,
    origin: TurnOrigin,
    lease_until: datetime | None,
    rows: Sequence[Mapping[str, object]],
    revision: int,
) -> None:
    """The turn stands in its session with its first messages, given as rows; it is written with the next statement."""
    tx.defer(
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
        tool_results=Jsonb([outcome_json(one) for one in turn.tool_results]),
        intents=Jsonb([intent_json(one) for one in turn.intents]),
        messages=Jsonb(list(rows)),
        revision=revision,
        now=tx.now,
    )


async def find_turn(tx: Tx, scope: Scope, turn_id: str) -> StoredTurn | None:
    """The turn with its messages; looked for among the scope's person, where it names one."""
    row = await tx.fetch_one_or_none(SQL["turn"], org_id=scope.org_id, user_id=scope.user_id, id=turn_id)
    return None if row is None else await _load_stored_turn(tx, row)


async def list_session_turns(tx: Tx, scope: Scope, session_id: str, *, most: int, after: int = 0) -> list[StoredTurn]:
    """The session's turns in order, after a place."""
    rows = await tx.fetch_all(
        SQL["session_turns"],
        org_id=scope.org_id,
        user_id=scope.user,
        session_id=session_id,
        after=after,
        most=most,
    )
    return [await _load_stored_turn(tx, row) for row in rows]


async def lock_turn_status(tx: Tx, scope: Scope, turn_id: str) -> TurnStatus | None:
    """How far the turn is; nobody changes it until this transaction ends."""
    row = await tx.fetch_one_or_none(SQL["lock_turn"], org_id=scope.org_id, user_id=scope.user, id=turn_id)
    return None if row is None else TurnStatus(row["status"])


async def lock_turn_lease(tx: Tx, scope: Scope, turn_id: str) -> datetime | None:
    """Until when whoever answers the turn has promised a sign of life."""
    row = await tx.fetch_one_or_none(SQL["lock_turn"], org_id=scope.org_id, user_id=scope.user, id=turn_id)
    return None if row is None else row["lease_until"]


def seal_turn(
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
    tx.defer(
        SQL["seal_turn"],
        org_id=scope.org_id,
        user_id=scope.user,
        id=turn_id,
        status=status,
        usage=Jsonb(usage_json(usage)) if usage else None,
        error=Jsonb({"code": error.code, "detail": error.detail}) if error else None,
        recited=recited,
    )


async def flag_recital(tx: Tx, scope: Scope, turn_id: str, recited: str) -> None:
    """The turn says which words of the engagement state its reply repeated."""
    await tx.execute(SQL["flag_recital"], org_id=scope.org_id, user_id=scope.user, id=turn_id, recited=recited)


async def renew_lease(tx: Tx, scope: Scope, turn_id: str, lease_until: datetime) -> bool:
    """Whether the turn is still being answered, now under a longer lease."""
    touched = await tx.execute(
        SQL["renew_turn"], org_id=scope.org_id, user_id=scope.user, id=turn_id, lease_until=lease_until
    )
    return touched > 0


async def reopen_turn(tx: Tx, scope: Scope, turn_id: str, lease_until: datetime) -> None:
    """The turn is being answered again: its caller brought what it waited for, or asks a failed one again."""
    status = await lock_turn_status(tx, scope, turn_id)
    if status is not TurnStatus.ANSWERING:
        require_transition(status or TurnStatus.ANSWERED, TurnStatus.ANSWERING)
    await tx.execute(SQL["reopen_turn"], org_id=scope.org_id, user_id=scope.user, id=turn_id, lease_until=lease_until)


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
    await tx.execute(
        SQL["wait_for_caller"],
        org_id=scope.org_id,
        user_id=scope.user,
        id=turn_id,
        waits_for=list(calls),
        lease_until=lease_until,
        usage=Jsonb(usage_json(usage)) if usage else None,
    )


async def list_waiting_turns(tx: Tx, scope: Scope) -> list[tuple[str, frozenset[str]]]:
    """The turns of this person and persona that wait for their caller, newest first, with the calls they wait for."""
    rows = await tx.fetch_all(
        SQL["waiting_turns"], org_id=scope.org_id, user_id=scope.user, persona_id=scope.persona_id
    )
    return [(row["id"], frozenset(row["waits_for"])) for row in rows]


async def find_last_turn(tx: Tx, scope: Scope) -> tuple[str, TurnStatus] | None:
    """The turn of this person and persona that came in last, and how far it got."""
    row = await tx.fetch_one_or_none(
        SQL["last_turn"], org_id=scope.org_id, user_id=scope.user, persona_id=scope.persona_id
    )
    return None if row is None else (row["id"], TurnStatus(row["status"]))


async def add_tool_results(
    tx: Tx, scope: Scope, turn_id: str, results: Sequence[ToolOutcome], intents: Sequence[Intent] = ()
) -> None:
    """The turn has these results and intents too."""
    await tx.execute(
        SQL["add_tool_results"],
        org_id=scope.org_id,
        user_id=scope.user,
        id=turn_id,
        tool_results=Jsonb([outcome_json(one) for one in results]),
        intents=Jsonb([intent_json(one) for one in intents]),
    )


async def _load_stored_turn(tx: Tx, row: Row) -> StoredTurn:
    scope = Scope(org_id=row["org_id"], user_id=row["user_id"], persona_id=row["persona_id"])
    said = await messages.list_turn_messages(tx, scope, row["id"])
    turn = Turn(
        id=row["id"],
        session_id=row["session_id"],
        seq=row["seq"],
        scope=scope,
        user_name=row["user_name"],
        at=row["at"],
        messages=said,
        tool_results=tuple(outcome_from_json(one) for one in row["tool_results"]),
        intents=tuple(intent_from_json(one) for one in row["intents"]),
        message_count=row["message_count"],
    )
    error: dict[str, Any] | None = row["error"]
    return StoredTurn(
        turn=turn,
        status=TurnStatus(row["status"]),
        origin=TurnOrigin(row["origin"]),
        lease_until=row["lease_until"],
        waits_for=tuple(row["waits_for"]),
        usage=usage_from_json(row["usage"]) if row["usage"] else None,
        error=TurnError(code=error["code"], detail=error["detail"]) if error else None,
        recited=row["recited"],
    )
