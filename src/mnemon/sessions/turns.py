"""The `turns` table, and the JSON of its columns for tool results, intents and usage."""

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
from mnemon.turn import DependencyPatch, EntityPatch, Intent, ToolOutcome, Turn, TurnMessage

Json = dict[str, Any]


def outcome_json(outcome: ToolOutcome) -> Json:
    """Return a tool's outcome as the JSON stored in the column `tool_results`."""
    return asdict(outcome)


def outcome_from_json(json: Json) -> ToolOutcome:
    """Return the tool's outcome that the JSON of the column `tool_results` describes."""
    return ToolOutcome(
        id=json["id"],
        action=json["action"],
        ids=_tuple_or_none(json["ids"]),
        types=_tuple_or_none(json["types"]),
        count=json["count"],
        entities=tuple(EntityPatch(**one) for one in json["entities"]),
        dependencies=tuple(DependencyPatch(**one) for one in json["dependencies"]),
        output=json["output"],
        # Not in what an earlier release stored.
        **{name: json.get(name) for name in ("error", "expectation_id", "tool_call_id", "key")},
    )


def intent_json(intent: Intent) -> Json:
    """Return an intent as the JSON stored in the column `intents`."""
    return asdict(intent)


def intent_from_json(json: Json) -> Intent:
    """Return the intent that the JSON of the column `intents` describes."""
    return Intent(**{**json, "expected_ids": _tuple_or_none(json["expected_ids"])})


def usage_json(usage: Usage) -> Json:
    """Return a model call's usage as the JSON stored in the column `usage`."""
    return asdict(usage)


def usage_from_json(json: Json) -> Usage:
    """Return the usage that the JSON of the column `usage` describes."""
    return Usage(**json)


def _tuple_or_none(values: list[str] | None) -> tuple[str, ...] | None:
    """Return a JSON list as a tuple, and None as None."""
    return None if values is None else tuple(values)


SQL = load_statements("mnemon.sessions")


class TurnOrigin(StrEnum):
    """Who generated the reply."""

    CHAT = "chat"
    """This server."""
    RECORDED = "recorded"
    """The application, which recorded the turn afterwards."""
    OPENAI = "openai"
    """This server, for a caller of the OpenAI-compatible API, who may run tools of its own."""


@dataclass(frozen=True, kw_only=True)
class TurnError:
    """Why a turn has no complete reply."""

    code: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class StoredTurn:
    """A turn with its status."""

    turn: Turn
    status: TurnStatus
    origin: TurnOrigin
    lease_until: datetime | None
    waits_for: tuple[str, ...]
    """Ids of the tool calls whose results the caller has yet to send."""
    usage: Usage | None
    """The tokens that the reply used."""
    error: TurnError | None
    recited: str | None
    """Engagement state that the reply repeated verbatim."""


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
    """Insert the turn with its first messages, given as rows, with the transaction's next statement."""
    # Deferred: nobody reads a result, and the person's row is locked already (decision 20).
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
    """Return the turn with its messages, or None; searched among the scope's person where it names one."""
    row = await tx.fetch_one_or_none(SQL["turn"], org_id=scope.org_id, user_id=scope.user_id, id=turn_id)
    return None if row is None else await _load_stored_turn(tx, row)


async def list_session_turns(tx: Tx, scope: Scope, session_id: str, *, most: int, after: int = 0) -> list[StoredTurn]:
    """Return up to `most` turns of the session in order, after a position."""
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
    """Lock the turn's row until the transaction ends; return its status, None when there is no such turn."""
    row = await tx.fetch_one_or_none(SQL["lock_turn"], org_id=scope.org_id, user_id=scope.user, id=turn_id)
    return None if row is None else TurnStatus(row["status"])


async def lock_turn_lease(tx: Tx, scope: Scope, turn_id: str) -> datetime | None:
    """Lock the turn's row; return the time its lease ends, None without a lease or a turn."""
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
    """End the turn with this status, with the transaction's next statement.

    The caller holds the turn's lock and has checked that the transition is allowed.
    """
    # Deferred: it leaves with the commit, so that sealing a turn costs no round trip of its own (decision 20).
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
    """Record in the turn the words of the engagement state that its reply repeated."""
    await tx.execute(SQL["flag_recital"], org_id=scope.org_id, user_id=scope.user, id=turn_id, recited=recited)


async def renew_lease(tx: Tx, scope: Scope, turn_id: str, lease_until: datetime) -> bool:
    """Extend the lease of a turn; return False when the turn is no longer being answered."""
    touched = await tx.execute(
        SQL["renew_turn"], org_id=scope.org_id, user_id=scope.user, id=turn_id, lease_until=lease_until
    )
    return touched > 0


async def reopen_turn(tx: Tx, scope: Scope, turn_id: str, lease_until: datetime) -> None:
    """Make the turn `answering` again: its caller sent the results it waited for, or retries a failed turn.

    Raises Conflict when the turn is answered or there is no such turn.
    """
    status = await lock_turn_status(tx, scope, turn_id)
    if status is not TurnStatus.ANSWERING:
        # A turn that does not exist counts as answered, which nothing follows: Conflict.
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
    """Make the turn wait, until the lease ends, for the caller's results of these tool calls."""
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
    """Return the turns of this person and persona that wait for tool results, newest first, each with the calls."""
    rows = await tx.fetch_all(
        SQL["waiting_turns"], org_id=scope.org_id, user_id=scope.user, persona_id=scope.persona_id
    )
    return [(row["id"], frozenset(row["waits_for"])) for row in rows]


async def find_last_turn(tx: Tx, scope: Scope) -> tuple[str, TurnStatus] | None:
    """Return the id and status of the latest turn of this person and persona; None when there is none."""
    row = await tx.fetch_one_or_none(
        SQL["last_turn"], org_id=scope.org_id, user_id=scope.user, persona_id=scope.persona_id
    )
    return None if row is None else (row["id"], TurnStatus(row["status"]))


async def add_tool_results(
    tx: Tx, scope: Scope, turn_id: str, results: Sequence[ToolOutcome], intents: Sequence[Intent] = ()
) -> None:
    """Append these tool results and intents to the turn's row."""
    await tx.execute(
        SQL["add_tool_results"],
        org_id=scope.org_id,
        user_id=scope.user,
        id=turn_id,
        tool_results=Jsonb([outcome_json(one) for one in results]),
        intents=Jsonb([intent_json(one) for one in intents]),
    )


async def _load_stored_turn(tx: Tx, row: Row) -> StoredTurn:
    """Return a row of `turns` as a turn with its messages, which are read with a statement of their own."""
    return stored_turn_from_row(row, await messages.list_turn_messages(tx, _scope_of_row(row), row["id"]))


def _scope_of_row(row: Row) -> Scope:
    """Return the organization, person and persona of a row of `turns`."""
    return Scope(org_id=row["org_id"], user_id=row["user_id"], persona_id=row["persona_id"])


def stored_turn_from_row(row: Row, turn_messages: tuple[TurnMessage, ...]) -> StoredTurn:
    """Return a row of `turns` with its messages as a turn."""
    turn = Turn(
        id=row["id"],
        session_id=row["session_id"],
        seq=row["seq"],
        scope=_scope_of_row(row),
        user_name=row["user_name"],
        at=row["at"],
        messages=turn_messages,
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


async def find_evidence(
    tx: Tx, scope: Scope, session_id: str, ids: Sequence[str], *, held: Sequence[str] = ()
) -> tuple[tuple[TurnMessage, ...], tuple[tuple[ToolOutcome, datetime], ...]]:
    """Return the session's messages, and its tool results with the times of their turns, that have these ids.

    Messages with an id in `held` may be of an earlier session, whose state this one took over.
    """
    if not ids:
        return (), ()
    rows = await tx.fetch_all(
        SQL["session_evidence"],
        org_id=scope.org_id,
        user_id=scope.user,
        session_id=session_id,
        ids=list(ids),
        held=list(held),
    )
    said = tuple(messages.message_from_row(row) for row in rows if row["result"] is None)
    results = tuple((outcome_from_json(row["result"]), row["at"]) for row in rows if row["result"] is not None)
    return said, results
