"""The first transaction of a chat turn: the context read, the model asked, the message stored and the turn leased."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from mnemon.agentstate.journal import record_tool_results
from mnemon.chat.request import StartedTurn, TurnPrompt, TurnRequest, tool_outcomes
from mnemon.context.assemble import assemble_context
from mnemon.db.tx import Tx
from mnemon.jobs.store import postpone_work
from mnemon.layer import LayerRequest
from mnemon.llm.protocol import LlmMessage
from mnemon.reflection import job as reflection
from mnemon.reflection.job import REFLECTION_KIND
from mnemon.scope import Scope
from mnemon.sessions import turns
from mnemon.sessions.close import boundary_from_settings
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.people import lock_person
from mnemon.sessions.record import NewTurn, append_messages, find_named_session, store_turn
from mnemon.sessions.turns import StoredTurn, TurnError
from mnemon.settings import Settings
from mnemon.turn import Role, Turn, TurnMessage

TURN_LEASE = timedelta(seconds=60)
"""How long a turn may be without a sign of life before it is given up; the stream renews it."""
_CALLER_MOVED_ON = TurnError(
    code="interrupted", detail="The caller went on without the results of the tools it was to run."
)


async def begin_turn(tx: Tx, asking: TurnRequest, settings: Settings, ask: Callable[[TurnPrompt], None]) -> StartedTurn:
    """The turn is stored and leased, its reflection queued behind it. Writes nothing else.

    `ask` is called as soon as the context is read: the model may think while the message is stored. What it says is
    for nobody until the transaction is committed.
    """
    stored = await _find_waiting_turn(tx, asking) or await _find_failed_turn(tx, asking, settings)
    if stored is not None:
        turn = await _continue_turn(tx, asking, stored)
        ask(prompt := await _build_prompt(tx, asking, settings, turn.scope, turn.session_id, turn_id=turn.id))
        return StartedTurn(prompt=prompt, turn=turn, spent=stored.usage)
    # Before the message is stored: it is given what `/api/context` gives, and is not recalled for itself.
    scope, _ = await find_named_session(tx, asking.scope, asking.session_id)
    ask(prompt := await _build_prompt(tx, asking, settings, scope, asking.session_id))
    return StartedTurn(prompt=prompt, turn=await _store_new_turn(tx, asking, settings))


async def _build_prompt(
    tx: Tx, asking: TurnRequest, settings: Settings, scope: Scope, session_id: str | None, *, turn_id: str | None = None
) -> TurnPrompt:
    wanted = LayerRequest(
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
    context = await assemble_context(tx, wanted, settings, turn_id=turn_id)
    return TurnPrompt(asking=asking, context=context, conversation=_conversation_messages(asking, context.recent))


async def _store_new_turn(tx: Tx, asking: TurnRequest, settings: Settings) -> Turn:
    until = tx.now + TURN_LEASE
    incoming = NewTurn(
        user_name=asking.user_name,
        messages=asking.messages,
        session_id=asking.session_id,
        status=TurnStatus.ANSWERING,
        origin=asking.origin,
        lease_until=until,
    )
    turn = await store_turn(tx, asking.scope, incoming, boundary_from_settings(settings))
    reflection.enqueue_with_turn(tx, turn, due_at=until)
    await _abandon_waiting_turns(tx, asking, turn.id)
    return turn


async def _continue_turn(tx: Tx, asking: TurnRequest, stored: StoredTurn) -> Turn:
    """The turn goes on: what is new is appended, and it is leased again."""
    until = tx.now + TURN_LEASE
    await lock_person(tx, stored.turn.scope)
    await turns.reopen_turn(tx, stored.turn.scope, stored.turn.id, until)
    await postpone_work(tx, stored.turn.scope, REFLECTION_KIND, stored.turn.id, due_at=until)
    known = {(said.role, said.content) for said in stored.turn.messages}
    more = [message for message in asking.messages if (message.role, message.content) not in known]
    turn = await append_messages(tx, stored.turn, more)
    outcomes = tool_outcomes(asking.messages)
    if outcomes:
        await turns.add_tool_results(tx, turn.scope, turn.id, outcomes)
        await record_tool_results(tx, turn.scope, turn.session_id, outcomes, turn_id=turn.id, at=tx.now)
    return replace(turn, tool_results=turn.tool_results + outcomes)


async def _find_waiting_turn(tx: Tx, asking: TurnRequest) -> StoredTurn | None:
    """The turn that waits for the tool results which the caller brings."""
    brought = {message.tool_id for message in asking.messages if message.role is Role.TOOL}
    if not brought:
        return None
    for turn_id, calls in await turns.list_waiting_turns(tx, asking.scope):
        if calls & brought:
            return await turns.find_turn(tx, asking.scope, turn_id)
    return None


async def _find_failed_turn(tx: Tx, asking: TurnRequest, settings: Settings) -> StoredTurn | None:
    """The last turn, when it failed and the caller sends the very same again: a client's own retry."""
    if asking.retries is not None:
        return await turns.find_turn(tx, asking.scope, asking.retries)
    if asking.origin is not turns.TurnOrigin.OPENAI:
        return None
    last = await turns.find_last_turn(tx, asking.scope)
    if last is None or last[1] is not TurnStatus.FAILED:
        return None
    stored = await turns.find_turn(tx, asking.scope, last[0])
    if stored is None or tx.now - stored.turn.at >= settings.session_boundary:
        return None
    said = [one.content for one in stored.turn.messages if one.role is Role.USER]
    return stored if said == [one.content for one in asking.messages] else None


async def _abandon_waiting_turns(tx: Tx, asking: TurnRequest, new_turn: str) -> None:
    """Turns that still wait for the caller's tools are over: the caller went on without them."""
    if asking.origin is not turns.TurnOrigin.OPENAI:
        return
    for turn_id, _ in await turns.list_waiting_turns(tx, asking.scope):
        stored = await turns.find_turn(tx, asking.scope, turn_id)
        if stored is not None and turn_id != new_turn:
            turns.seal_turn(tx, stored.turn.scope, turn_id, TurnStatus.INTERRUPTED, error=_CALLER_MOVED_ON)
            await reflection.enqueue_reflection(tx, stored.turn)


def _conversation_messages(asking: TurnRequest, recent: tuple[TurnMessage, ...]) -> tuple[LlmMessage, ...]:
    """The caller's own telling, or the session's recent messages and what is new."""
    if asking.resent is not None:
        return asking.resent
    told = [LlmMessage(role=said.role.value, content=said.content) for said in recent]
    return (*told, *(_model_message(one) for one in asking.messages))


def _model_message(new: NewMessage) -> LlmMessage:
    return LlmMessage(role=new.role.value, content=new.content, tool_id=new.tool_id, tool_name=new.name)
