"""The tables `agent_states` and `agent_state_journal`."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from psycopg.types.json import Jsonb

from mnemon.agentstate.change import CHANGE, Change
from mnemon.agentstate.state import DOCUMENT, AgentState
from mnemon.db.statements import statements
from mnemon.db.tx import Row, Tx
from mnemon.scope import Scope

SQL = statements("mnemon.agentstate")
CHANNEL = "mnemon_agent_state"
"""Where each append is notified, with the session's id."""


class Who(StrEnum):
    """Where a change came from."""

    PLANNER = "planner"
    TOOL = "tool"
    REFLECTION = "reflection"
    API = "api"
    FORGETTING = "forgetting"


@dataclass(frozen=True, kw_only=True)
class Held:
    """A session's state as stored."""

    state: AgentState
    version: int
    """The seq of the journal's last entry; 0 before the first."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One change in the journal."""

    seq: int
    turn_id: str | None
    """The turn it came from, if any."""
    who: Who
    reason: str
    change: Change
    at: datetime
    """When what it tells of happened."""
    recorded_at: datetime
    """When it was written."""


async def read(tx: Tx, scope: Scope, session_id: str) -> Held:
    """The session's state; an empty one at version 0 when nothing was recorded yet."""
    row = await tx.maybe(SQL["state"], org_id=scope.org_id, user_id=scope.user, session_id=session_id)
    return Held(state=AgentState(session_id=session_id), version=0) if row is None else _held(row)


async def lock(tx: Tx, scope: Scope, session_id: str) -> Held:
    """The session's state, which nobody else changes until the transaction ends."""
    owner = {"org_id": scope.org_id, "user_id": scope.user, "session_id": session_id}
    await tx.run(SQL["begin_state"], **owner, document=_document(AgentState(session_id=session_id)), now=tx.now)
    return _held(await tx.one(SQL["locked_state"], **owner))


async def append(tx: Tx, scope: Scope, state: AgentState, entry: Entry) -> None:
    """The entry stands in the journal and the document is the state; followers hear of it at commit."""
    owner = {"org_id": scope.org_id, "user_id": scope.user, "session_id": state.session_id}
    await tx.run(
        SQL["append"],
        **owner,
        seq=entry.seq,
        turn_id=entry.turn_id,
        who=entry.who.value,
        reason=entry.reason,
        update=Jsonb(CHANGE.dump_python(entry.change, mode="json", by_alias=True, exclude_none=True)),
        at=entry.at,
        now=entry.recorded_at,
    )
    await tx.run(SQL["keep_state"], **owner, version=entry.seq, document=_document(state), now=entry.recorded_at)
    await tx.run(SQL["ring"], session_id=state.session_id)


async def entries(tx: Tx, scope: Scope, session_id: str, *, after: int, most: int) -> list[Entry]:
    """The journal's entries after this seq, oldest first."""
    rows = await tx.all(
        SQL["entries"], org_id=scope.org_id, user_id=scope.user, session_id=session_id, after=after, most=most
    )
    return [_entry(row) for row in rows]


async def has_turn(tx: Tx, scope: Scope, session_id: str, turn_id: str, who: Who) -> bool:
    """Whether the journal has a change from this turn by this source."""
    row = await tx.maybe(
        SQL["turn_is_in"],
        org_id=scope.org_id,
        user_id=scope.user,
        session_id=session_id,
        turn_id=turn_id,
        who=who.value,
    )
    return row is not None


async def reflected_after(tx: Tx, scope: Scope, session_id: str, at: datetime) -> bool:
    """Whether the journal has a reflection on a turn later than this time."""
    row = await tx.maybe(SQL["reflected_after"], org_id=scope.org_id, user_id=scope.user, session_id=session_id, at=at)
    return row is not None


async def sessions_of(tx: Tx, scope: Scope) -> list[str]:
    """The person's sessions that have a state."""
    rows = await tx.all(SQL["sessions_of"], org_id=scope.org_id, user_id=scope.user)
    return [str(row["session_id"]) for row in rows]


async def settled(tx: Tx, scope: Scope, *, most: int) -> list[tuple[str, int, int]]:
    """Each action with how many of its expectations were confirmed and how many failed."""
    rows = await tx.all(SQL["hit_rates"], org_id=scope.org_id, user_id=scope.user_id, most=most)
    return [(str(row["action"]), int(row["confirmed"]), int(row["failed"])) for row in rows]


async def delete_person(tx: Tx, scope: Scope) -> dict[str, int]:
    """Every state and journal of the person is gone; counted per table."""
    journal = await tx.run(SQL["forget_person_journal"], org_id=scope.org_id, user_id=scope.user)
    states = await tx.run(SQL["forget_person"], org_id=scope.org_id, user_id=scope.user)
    return {"agent_states": states, "agent_state_journal": journal}


def _held(row: Row) -> Held:
    return Held(state=DOCUMENT.validate_python(row["document"]), version=int(row["version"]))


def _entry(row: Row) -> Entry:
    return Entry(
        seq=int(row["seq"]),
        turn_id=row["turn_id"],
        who=Who(row["who"]),
        reason=row["reason"],
        change=CHANGE.validate_python(row["update"]),
        at=row["at"],
        recorded_at=row["recorded_at"],
    )


def _document(state: AgentState) -> Jsonb:
    return Jsonb(DOCUMENT.dump_python(state, mode="json", by_alias=True, exclude_none=True))
