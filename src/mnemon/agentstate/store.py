"""The tables `agent_states` and `agent_state_journal`, and how often actions did what was expected of them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from psycopg.types.json import Jsonb

from mnemon.agentstate.change import CHANGE_ADAPTER, StateChange
from mnemon.agentstate.state import STATE_ADAPTER, AgentState
from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.scope import Scope

SQL = load_statements("mnemon.agentstate")
NOTIFY_CHANNEL = "mnemon_agent_state"
"""The channel on which each append is notified, with the session's id."""


class ChangeAuthor(StrEnum):
    """Where a change came from."""

    SESSION = "session"
    """The state of the session that this one resumes."""
    PLANNER = "planner"
    TOOL = "tool"
    REFLECTION = "reflection"
    API = "api"
    FORGETTING = "forgetting"


@dataclass(frozen=True, kw_only=True)
class StoredState:
    """A session's state as stored."""

    state: AgentState
    version: int
    """The seq of the journal's last entry; 0 before the first."""


@dataclass(frozen=True, kw_only=True)
class StateEntry:
    """One change in the journal."""

    seq: int
    turn_id: str | None
    """The turn it came from, if any."""
    who: ChangeAuthor
    reason: str
    change: StateChange
    at: datetime
    """When the change happened."""
    recorded_at: datetime
    """When it was written."""


async def load_state(tx: Tx, scope: Scope, session_id: str) -> StoredState:
    """Return the session's agent state with its version; an empty one at version 0 when nothing was recorded."""
    row = await tx.fetch_one_or_none(SQL["state"], org_id=scope.org_id, user_id=scope.user, session_id=session_id)
    return StoredState(state=AgentState(session_id=session_id), version=0) if row is None else state_from_row(row)


async def lock_state(tx: Tx, scope: Scope, session_id: str) -> StoredState:
    """Insert the session's `agent_states` row unless it exists, lock it until the commit, return the state."""
    owner = {"org_id": scope.org_id, "user_id": scope.user, "session_id": session_id}
    # A row that does not exist cannot be locked: without the insert, two first writers would both start at version 0.
    await tx.execute(SQL["begin_state"], **owner, document=_state_jsonb(AgentState(session_id=session_id)), now=tx.now)
    return state_from_row(await tx.fetch_one(SQL["locked_state"], **owner))


async def append_entry(tx: Tx, scope: Scope, state: AgentState, entry: StateEntry) -> None:
    """Append an entry to `agent_state_journal` and store the new state; followers are notified at commit."""
    owner = {"org_id": scope.org_id, "user_id": scope.user, "session_id": state.session_id}
    await tx.execute(
        SQL["append"],
        **owner,
        seq=entry.seq,
        turn_id=entry.turn_id,
        who=entry.who.value,
        reason=entry.reason,
        update=Jsonb(CHANGE_ADAPTER.dump_python(entry.change, mode="json", by_alias=True, exclude_none=True)),
        at=entry.at,
        now=entry.recorded_at,
    )
    await tx.execute(SQL["keep_state"], **owner, version=entry.seq, document=_state_jsonb(state), now=entry.recorded_at)
    # NOTIFY is transactional: followers are notified at commit, and never of an entry that was rolled back.
    await tx.execute(SQL["ring"], session_id=state.session_id)


async def list_entries(tx: Tx, scope: Scope, session_id: str, *, after: int, most: int) -> list[StateEntry]:
    """Return up to `most` entries of the session's agent state journal after this seq, oldest first."""
    rows = await tx.fetch_all(
        SQL["entries"], org_id=scope.org_id, user_id=scope.user, session_id=session_id, after=after, most=most
    )
    return [entry_from_row(row) for row in rows]


async def has_turn_entry(tx: Tx, scope: Scope, session_id: str, turn_id: str, who: ChangeAuthor) -> bool:
    """Say whether the agent state journal has a change that this author made for this turn."""
    row = await tx.fetch_one_or_none(
        SQL["turn_is_in"],
        org_id=scope.org_id,
        user_id=scope.user,
        session_id=session_id,
        turn_id=turn_id,
        who=who.value,
    )
    return row is not None


async def has_later_reflection(tx: Tx, scope: Scope, session_id: str, at: datetime) -> bool:
    """Say whether the agent state journal has a reflection of a turn that is later than this time."""
    row = await tx.fetch_one_or_none(
        SQL["reflected_after"], org_id=scope.org_id, user_id=scope.user, session_id=session_id, at=at
    )
    return row is not None


async def list_session_ids(tx: Tx, scope: Scope) -> list[str]:
    """Return the ids of the person's sessions that have an agent state."""
    rows = await tx.fetch_all(SQL["sessions_of"], org_id=scope.org_id, user_id=scope.user)
    return [str(row["session_id"]) for row in rows]


async def count_settled(tx: Tx, scope: Scope, *, most: int) -> list[tuple[str, int, int]]:
    """Return (action, confirmed, failed): how often expectations of each action came true, most used first."""
    rows = await tx.fetch_all(SQL["hit_rates"], org_id=scope.org_id, user_id=scope.user_id, most=most)
    return [(str(row["action"]), int(row["confirmed"]), int(row["failed"])) for row in rows]


async def delete_person(tx: Tx, scope: Scope) -> dict[str, int]:
    """Delete the person's rows of `agent_states` and `agent_state_journal`; return how many, per table."""
    journal = await tx.execute(SQL["forget_person_journal"], org_id=scope.org_id, user_id=scope.user)
    states = await tx.execute(SQL["forget_person"], org_id=scope.org_id, user_id=scope.user)
    return {"agent_states": states, "agent_state_journal": journal}


def state_from_row(row: Row) -> StoredState:
    """Return the agent state and its version from an `agent_states` row."""
    return StoredState(state=STATE_ADAPTER.validate_python(row["document"]), version=int(row["version"]))


def entry_from_row(row: Row) -> StateEntry:
    """Return the journal entry of an `agent_state_journal` row."""
    return from_row(StateEntry, row, change=CHANGE_ADAPTER.validate_python(row["update"]))


def _state_jsonb(state: AgentState) -> Jsonb:
    """Return the agent state as a jsonb parameter, without None fields."""
    return Jsonb(STATE_ADAPTER.dump_python(state, mode="json", by_alias=True, exclude_none=True))


MAX_ACTIONS = 200
"""The most actions that hit rates are computed for."""


@dataclass(frozen=True, kw_only=True)
class HitRate:
    """The settled expectations of one action, or of all."""

    action: str | None
    """None for all actions together."""
    confirmed: int
    failed: int

    @property
    def rate(self) -> float | None:
        """Return the share of settled expectations that were confirmed; None when none was settled."""
        settled = self.confirmed + self.failed
        return None if settled == 0 else self.confirmed / settled


async def load_hit_rates(tx: Tx, scope: Scope) -> tuple[HitRate, tuple[HitRate, ...]]:
    """Return how often expectations came true: in total, and per action with the most used first.

    Covers the scope's person, or everybody without one.
    """
    actions = tuple(
        HitRate(action=action, confirmed=confirmed, failed=failed)
        for action, confirmed, failed in await count_settled(tx, scope, most=MAX_ACTIONS)
    )
    total = HitRate(action=None, confirmed=sum(a.confirmed for a in actions), failed=sum(a.failed for a in actions))
    return total, actions
