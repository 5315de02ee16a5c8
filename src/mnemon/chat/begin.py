"""The first transaction of a chat turn: the context read, the model asked, the message stored and the turn leased."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from mnemon.agentstate.journal import apply_tool_results
from mnemon.chat.asking import Asking, Begun, Prompt
from mnemon.chat.resent import outcomes_of
from mnemon.context.assemble import assembled
from mnemon.db.tx import Tx
from mnemon.jobs.store import postpone
from mnemon.layer import Ask
from mnemon.llm.protocol import Message
from mnemon.reflection import job as reflection
from mnemon.reflection.job import REFLECTION
from mnemon.scope import Scope
from mnemon.sessions import turns
from mnemon.sessions.close import boundary_of
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.people import hold_person
from mnemon.sessions.record import Incoming, append, named_session, record
from mnemon.sessions.turns import StoredTurn, TurnError
from mnemon.settings import Settings
from mnemon.turn import Role, Said, Turn

LEASE = timedelta(seconds=60)
"""How long a turn may be without a sign of life before it is given up; the stream renews it."""
_MOVED_ON = TurnError(code="interrupted", detail="The caller went on without the results of the tools it was to run.")


async def begin(tx: Tx, asking: Asking, settings: Settings, ask: Callable[[Prompt], None]) -> Begun:
    """The turn is stored and leased, its reflection queued behind it. Writes nothing else.

    `ask` is called as soon as the context is read: the model may think while the message is stored. What it says is
    for nobody until the transaction is committed.
    """
    stored = await _to_continue(tx, asking) or await _asked_again(tx, asking, settings)
    if stored is not None:
        turn = await _continue(tx, asking, stored)
        ask(prompt := await _prompt(tx, asking, settings, turn.scope, turn.session_id, turn_id=turn.id))
        return Begun(prompt=prompt, turn=turn, spent=stored.usage)
    # Before the message is stored: it is given what `/api/context` gives, and is not recalled for itself.
    scope, _ = await named_session(tx, asking.scope, asking.session_id)
    ask(prompt := await _prompt(tx, asking, settings, scope, asking.session_id))
    return Begun(prompt=prompt, turn=await _new(tx, asking, settings))


async def _prompt(
    tx: Tx, asking: Asking, settings: Settings, scope: Scope, session_id: str | None, *, turn_id: str | None = None
) -> Prompt:
    wanted = Ask(
        scope=scope,
        query=asking.query,
        vector=asking.vector,
        now=tx.now,
        session_id=session_id,
        sees_agent_state=asking.sees_agent_state,
        sees_engagement=asking.sees_engagement,
        model=asking.embedder,
        ranking=settings.chat_ranking,
    )
    context = await assembled(tx, wanted, settings, turn_id=turn_id)
    return Prompt(asking=asking, context=context, conversation=_conversation(asking, context.recent))


async def _new(tx: Tx, asking: Asking, settings: Settings) -> Turn:
    until = tx.now + LEASE
    incoming = Incoming(
        user_name=asking.user_name,
        messages=asking.messages,
        session_id=asking.session_id,
        status=TurnStatus.ANSWERING,
        origin=asking.origin,
        lease_until=until,
    )
    turn = await record(tx, asking.scope, incoming, boundary_of(settings))
    reflection.queue_first(tx, turn, due_at=until)
    await _give_up_waiting(tx, asking, turn.id)
    return turn


async def _continue(tx: Tx, asking: Asking, stored: StoredTurn) -> Turn:
    """The turn goes on: what is new is appended, and it is leased again."""
    until = tx.now + LEASE
    await hold_person(tx, stored.turn.scope)
    await turns.reopen(tx, stored.turn.scope, stored.turn.id, until)
    await postpone(tx, stored.turn.scope, REFLECTION, stored.turn.id, due_at=until)
    known = {(said.role, said.content) for said in stored.turn.messages}
    more = [message for message in asking.messages if (message.role, message.content) not in known]
    turn = await append(tx, stored.turn, more)
    outcomes = outcomes_of(asking.messages)
    if outcomes:
        await turns.add_tool_results(tx, turn.scope, turn.id, outcomes)
        await apply_tool_results(tx, turn.scope, turn.session_id, outcomes, turn_id=turn.id, at=tx.now)
    return replace(turn, tool_results=turn.tool_results + outcomes)


async def _to_continue(tx: Tx, asking: Asking) -> StoredTurn | None:
    """The turn that waits for the tool results which the caller brings."""
    brought = {message.tool_id for message in asking.messages if message.role is Role.TOOL}
    if not brought:
        return None
    for turn_id, calls in await turns.waiting(tx, asking.scope):
        if calls & brought:
            return await turns.find(tx, asking.scope, turn_id)
    return None


async def _asked_again(tx: Tx, asking: Asking, settings: Settings) -> StoredTurn | None:
    """The last turn, when it failed and the caller sends the very same again: a client's own retry."""
    if asking.retries is not None:
        return await turns.find(tx, asking.scope, asking.retries)
    if asking.origin is not turns.Origin.OPENAI:
        return None
    last = await turns.last_of_person(tx, asking.scope)
    if last is None or last[1] is not TurnStatus.FAILED:
        return None
    stored = await turns.find(tx, asking.scope, last[0])
    if stored is None or tx.now - stored.turn.at >= settings.session_boundary:
        return None
    said = [one.content for one in stored.turn.messages if one.role is Role.USER]
    return stored if said == [one.content for one in asking.messages] else None


async def _give_up_waiting(tx: Tx, asking: Asking, new_turn: str) -> None:
    """Turns that still wait for the caller's tools are over: the caller went on without them."""
    if asking.origin is not turns.Origin.OPENAI:
        return
    for turn_id, _ in await turns.waiting(tx, asking.scope):
        stored = await turns.find(tx, asking.scope, turn_id)
        if stored is not None and turn_id != new_turn:
            turns.seal(tx, stored.turn.scope, turn_id, TurnStatus.INTERRUPTED, error=_MOVED_ON)
            await reflection.queue(tx, stored.turn)


def _conversation(asking: Asking, recent: tuple[Said, ...]) -> tuple[Message, ...]:
    """The caller's own telling, or the session's recent messages and what is new."""
    if asking.resent is not None:
        return asking.resent
    told = [Message(role=said.role.value, content=said.content) for said in recent]
    return (*told, *(_message(one) for one in asking.messages))


def _message(new: NewMessage) -> Message:
    return Message(role=new.role.value, content=new.content, tool_id=new.tool_id, tool_name=new.name)
