"""The `messages` table: every message, verbatim."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from psycopg.types.json import Jsonb

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.llm.protocol import ToolRequest
from mnemon.scope import Scope
from mnemon.turn import Role, Turn, TurnMessage

SQL = load_statements("mnemon.sessions")


@dataclass(frozen=True, kw_only=True)
class NewMessage:
    """A message to be stored."""

    role: Role
    content: str
    name: str | None = None
    at: datetime | None = None
    """When it was sent; None for the time of the messages around it (`date_messages`), or of storing."""
    tool_requests: tuple[ToolRequest, ...] = ()
    """On a reply: the tool calls it made."""
    tool_id: str | None = None
    """On a tool's message: the id of the call it answers."""


@dataclass(frozen=True, kw_only=True)
class StoredMessage:
    """A message with its position."""

    said: TurnMessage
    turn_id: str
    persona_id: str | None
    seq: int
    """The position of its turn in the session."""
    place: int
    """Its own position in the turn."""
    revision: int


def date_messages(now: datetime, messages: Sequence[NewMessage]) -> tuple[NewMessage, ...]:
    """Return a turn's messages, each with a time: its own, else that of a neighbour in the turn.

    Otherwise a turn of old history with one message undated would last until now, and join sessions that lie between.
    """
    latest = next((message.at for message in messages if message.at is not None), now)
    dated: list[NewMessage] = []
    for message in messages:
        latest = message.at or latest
        dated.append(replace(message, at=latest))
    return tuple(dated)


def prepare_messages(
    tx: Tx, messages: Sequence[NewMessage], first_place: int = 0
) -> tuple[tuple[TurnMessage, ...], list[dict[str, object]]]:
    """Return the messages of a turn with new ids and times, and as rows for a statement."""
    # Ids and times are set here rather than by the database: the caller needs the messages before they are written.
    stored = tuple(
        TurnMessage(
            message_id=tx.new_id("msg"),
            role=message.role,
            content=message.content,
            name=message.name,
            at=message.at or tx.now,
        )
        for message in messages
    )
    rows: list[dict[str, object]] = [
        {
            "id": said.message_id,
            "place": place,
            "role": said.role.value,
            "content": said.content,
            "name": said.name,
            "tool_requests": [_request_json(one) for one in message.tool_requests] or None,
            "tool_id": message.tool_id,
            "at": said.at.isoformat(),
        }
        for place, (said, message) in enumerate(zip(stored, messages, strict=True), start=first_place)
    ]
    return stored, rows


def add_messages(
    tx: Tx,
    scope: Scope,
    messages: Sequence[NewMessage],
    *,
    session_id: str,
    turn_id: str,
    first_place: int,
    revision: int,
) -> tuple[TurnMessage, ...]:
    """Append the messages to an existing turn, in this order, with the transaction's next statement."""
    stored, rows = prepare_messages(tx, messages, first_place)
    # Nobody looks at the result, and the person's row is locked already, so this costs no round trip (decision 20).
    tx.defer(
        SQL["add_messages"],
        org_id=scope.org_id,
        user_id=scope.user,
        persona_id=scope.persona_id,
        session_id=session_id,
        turn_id=turn_id,
        revision=revision,
        messages=Jsonb(rows),
    )
    return stored


async def list_turn_messages(tx: Tx, scope: Scope, turn_id: str) -> tuple[TurnMessage, ...]:
    """Return the turn's messages in order."""
    rows = await tx.fetch_all(SQL["turn_messages"], org_id=scope.org_id, user_id=scope.user, turn_id=turn_id)
    return tuple(message_from_row(row) for row in rows)


async def list_recent_messages(
    tx: Tx, scope: Scope, session_id: str, *, most: int, apart_from_turn: str | None = None
) -> tuple[TurnMessage, ...]:
    """Return the session's last `most` messages, oldest first, without those of one turn."""
    rows = await tx.fetch_all(
        SQL["recent_messages"],
        org_id=scope.org_id,
        user_id=scope.user,
        session_id=session_id,
        most=most,
        # `except` is a Python keyword, so that it cannot be passed as a plain argument.
        **{"except": apart_from_turn or ""},
    )
    return tuple(message_from_row(row) for row in reversed(rows))


async def list_said_before(tx: Tx, turn: Turn, *, most: int = 3, longest: int = 1_000) -> tuple[str, ...]:
    """Return what the person said last in the session before the turn, oldest first."""
    rows = await tx.fetch_all(
        SQL["said_before"],
        org_id=turn.scope.org_id,
        user_id=turn.scope.user,
        session_id=turn.session_id,
        seq=turn.seq,
        most=most,
        longest=longest,
    )
    return tuple(row["content"] for row in reversed(rows))


async def list_messages_before(tx: Tx, turn: Turn, *, most: int, longest: int = 20_000) -> tuple[TurnMessage, ...]:
    """Return the last messages of the session before the turn, without those of tools, oldest first."""
    rows = await tx.fetch_all(
        SQL["messages_before"],
        org_id=turn.scope.org_id,
        user_id=turn.scope.user,
        session_id=turn.session_id,
        seq=turn.seq,
        most=most,
        longest=longest,
    )
    return tuple(message_from_row(row) for row in reversed(rows))


async def list_others_messages(
    tx: Tx, scope: Scope, *, most: int, longest: int, apart_from_turn: str
) -> tuple[TurnMessage, ...]:
    """Return the last messages to the persona, in any session, that are not the person's own, latest first.

    Each is cut to `longest` characters.
    """
    rows = await tx.fetch_all(
        SQL["messages_of_others"],
        org_id=scope.org_id,
        user_id=scope.user,
        persona_id=scope.persona_id,
        most=most,
        longest=longest,
        **{"except": apart_from_turn},
    )
    return tuple(message_from_row(row) for row in rows)


async def list_session_messages(
    tx: Tx, scope: Scope, session_id: str, *, most: int, after: tuple[int, int] = (0, -1)
) -> list[StoredMessage]:
    """Return up to `most` messages of the session in order, after a position `(seq, place)`."""
    rows = await tx.fetch_all(
        SQL["session_messages"],
        org_id=scope.org_id,
        user_id=scope.user,
        session_id=session_id,
        seq=after[0],
        place=after[1],
        most=most,
    )
    return [from_row(StoredMessage, row, said=message_from_row(row)) for row in rows]


async def list_messages_between(
    tx: Tx, scope: Scope, *, after_count: int, up_to_count: int, most: int = 40
) -> tuple[TurnMessage, ...]:
    """Return the last messages with this persona between two message counts, oldest first."""
    rows = await tx.fetch_all(
        SQL["messages_between"],
        org_id=scope.org_id,
        user_id=scope.user,
        persona_id=scope.persona_id,
        after_count=after_count,
        up_to_count=up_to_count,
        most=most,
    )
    return tuple(message_from_row(row) for row in reversed(rows))


async def list_messages_since(tx: Tx, scope: Scope, revision: int, *, most: int = 200) -> list[tuple[TurnMessage, int]]:
    """Return the messages with all personas after the person's revision, oldest first, each with its revision."""
    rows = await tx.fetch_all(
        SQL["messages_since"], org_id=scope.org_id, user_id=scope.user, revision=revision, most=most
    )
    return [(message_from_row(row), int(row["revision"])) for row in rows]


async def count_user_messages(tx: Tx, scope: Scope, *, since_revision: int = 0) -> int:
    """Return how many messages the person has sent, to any persona, after this revision."""
    row = await tx.fetch_one(
        SQL["count_user_messages"], org_id=scope.org_id, user_id=scope.user, revision=since_revision
    )
    return int(row["number"])


def message_from_row(row: Row) -> TurnMessage:
    """Return a row of `messages` as a TurnMessage."""
    return from_row(TurnMessage, row, message_id=row["id"])


def _request_json(request: ToolRequest) -> dict[str, object]:
    """Return a tool call as the JSON of the column `tool_requests`."""
    return {"id": request.id, "name": request.name, "arguments": request.arguments}
