"""The first transaction of a chat turn: read the context, ask the model, store the message and lease the turn."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from mnemon.agentstate.journal import carry_state, record_tool_results
from mnemon.agentstate.store import load_state
from mnemon.chat.request import StartedTurn, TurnPrompt, TurnRequest
from mnemon.chat.tool_messages import add_verdict_lines, new_messages, tool_outcomes, verdict_lines, without_output
from mnemon.context.assemble import assemble_context
from mnemon.db.tx import Tx
from mnemon.jobs.store import postpone_work
from mnemon.layer import LayerRequest
from mnemon.llm.protocol import LlmMessage
from mnemon.reflection import job as reflection
from mnemon.reflection.job import REFLECTION_KIND
from mnemon.scope import Scope
from mnemon.sessions import turns
from mnemon.sessions.boundary import boundary_from_settings
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.people import lock_person
from mnemon.sessions.record import NewTurn, append_messages, find_named_session, store_turn
from mnemon.sessions.turns import StoredTurn, TurnError
from mnemon.settings import Settings
from mnemon.turn import Role, Turn, TurnMessage

TURN_LEASE = timedelta(seconds=60)
"""How long a turn stays leased without a renewal by its stream; then its reflection job gives it up."""
_CALLER_MOVED_ON = TurnError(
    code="interrupted", detail="The caller went on without the results of the tools it was to run."
)


async def begin_turn(
    tx: Tx, request: TurnRequest, settings: Settings, ask: Callable[[TurnPrompt], None]
) -> StartedTurn:
    """Build the prompt, give it to `ask`, then store a turn for the request, or continue the one that waits for it.

    Nothing else is written. `ask` is called as soon as the context is read, so that the model works while the message
    is stored. Its output must not be shown before the transaction is committed.
    """
    stored = await _find_waiting_turn(tx, request) or await _find_failed_turn(tx, request, settings)
    if stored is not None:
        turn = await _continue_turn(tx, request, stored)
        built = await _build_prompt(tx, request, settings, turn.scope, turn.session_id, turn_id=turn.id)
        ask(prompt := await _with_verdicts(tx, built, turn))
        return StartedTurn(prompt=prompt, turn=turn, spent=stored.usage)
    # Before the message is stored, so that the context is the one `/api/context` shows and recall does not find the
    # message itself.
    scope, _ = await find_named_session(tx, request.scope, request.session_id)
    ask(prompt := await _build_prompt(tx, request, settings, scope, request.session_id))
    return StartedTurn(prompt=prompt, turn=await _store_new_turn(tx, request, settings))


async def _with_verdicts(tx: Tx, prompt: TurnPrompt, turn: Turn) -> TurnPrompt:
    """Return the prompt with the outcomes of the turn's expectations added to the tool results that settled them."""
    if not turn.tool_results:
        return prompt
    state = (await load_state(tx, turn.scope, turn.session_id)).state
    return replace(prompt, conversation=add_verdict_lines(prompt.conversation, verdict_lines(state, turn.id)))


async def _build_prompt(
    tx: Tx,
    request: TurnRequest,
    settings: Settings,
    scope: Scope,
    session_id: str | None,
    *,
    turn_id: str | None = None,
) -> TurnPrompt:
    """Return the prompt for this request: the assembled context and the conversation."""
    wanted = LayerRequest(
        scope=scope,
        query=request.query,
        vector=request.vector,
        now=tx.now,
        session_id=session_id,
        sees_agent_state=request.sees_agent_state,
        sees_engagement=request.sees_engagement,
        model=request.embedder,
        ranking=settings.chat_ranking,
    )
    context = await assemble_context(tx, wanted, settings, turn_id=turn_id)
    return TurnPrompt(request=request, context=context, conversation=_conversation_messages(request, context.recent))


async def _store_new_turn(tx: Tx, request: TurnRequest, settings: Settings) -> Turn:
    """Store a turn as `answering` with a lease, queue its reflection, and end turns that wait for tool results."""
    until = tx.now + TURN_LEASE
    incoming = NewTurn(
        user_name=request.user_name,
        messages=request.messages,
        session_id=request.session_id,
        status=TurnStatus.ANSWERING,
        origin=request.origin,
        lease_until=until,
    )
    turn = await store_turn(tx, request.scope, incoming, boundary_from_settings(settings))
    if turn.carries_from is not None:
        await carry_state(tx, turn, turn.carries_from)
    # Due when the lease runs out: should this process die, that job gives the turn up. Sealing makes it due at once.
    reflection.enqueue_with_turn(tx, turn, due_at=until)
    await _abandon_waiting_turns(tx, request, turn.id)
    return turn


async def _continue_turn(tx: Tx, request: TurnRequest, stored: StoredTurn) -> Turn:
    """Append the request's messages and tool results to a stored turn, renew its lease, and return it."""
    until = tx.now + TURN_LEASE
    # Lock order of every writer: the person's row, then the turn's, then the work row.
    await lock_person(tx, stored.turn.scope)
    await turns.reopen_turn(tx, stored.turn.scope, stored.turn.id, until)
    await postpone_work(tx, stored.turn.scope, REFLECTION_KIND, stored.turn.id, due_at=until)
    more = new_messages(stored.turn, request.messages)
    turn = await append_messages(tx, stored.turn, more)
    outcomes = tool_outcomes(more, turn)
    if outcomes:
        await turns.add_tool_results(tx, turn.scope, turn.id, [without_output(one) for one in outcomes])
        await record_tool_results(tx, turn.scope, turn.session_id, outcomes, turn_id=turn.id, at=tx.now)
    return replace(turn, tool_results=turn.tool_results + tuple(without_output(one) for one in outcomes))


async def _find_waiting_turn(tx: Tx, request: TurnRequest) -> StoredTurn | None:
    """Return the stored turn that waits for the tool results in this request; None if there is none."""
    results = {message.tool_id for message in request.messages if message.role is Role.TOOL}
    if not results:
        return None
    for turn_id, calls in await turns.list_waiting_turns(tx, request.scope):
        if calls & results:
            return await turns.find_turn(tx, request.scope, turn_id)
    return None


async def _find_failed_turn(tx: Tx, request: TurnRequest, settings: Settings) -> StoredTurn | None:
    """Return the failed turn that this request repeats and that is answered again; None if there is none.

    That is the one named in `retries`, or the last one if an OpenAI client sends the same messages again, as its own
    retry does.
    """
    if request.retries is not None:
        return await turns.find_turn(tx, request.scope, request.retries)
    if request.origin is not turns.TurnOrigin.OPENAI:
        return None
    last = await turns.find_last_turn(tx, request.scope)
    if last is None or last[1] is not TurnStatus.FAILED:
        return None
    stored = await turns.find_turn(tx, request.scope, last[0])
    # After the session's boundary the same words are a new conversation, not a retry.
    if stored is None or tx.now - stored.turn.at >= settings.session_boundary:
        return None
    sent = [one.content for one in stored.turn.messages if one.role is Role.USER]
    return stored if sent == [one.content for one in request.messages] else None


async def _abandon_waiting_turns(tx: Tx, request: TurnRequest, new_turn: str) -> None:
    """Seal as interrupted the person's other turns that wait for tool results, since the caller went on."""
    if request.origin is not turns.TurnOrigin.OPENAI:
        return
    for turn_id, _ in await turns.list_waiting_turns(tx, request.scope):
        stored = await turns.find_turn(tx, request.scope, turn_id)
        if stored is not None and turn_id != new_turn:
            turns.seal_turn(tx, stored.turn.scope, turn_id, TurnStatus.INTERRUPTED, error=_CALLER_MOVED_ON)
            await reflection.enqueue_reflection(tx, stored.turn)


def _conversation_messages(request: TurnRequest, recent: tuple[TurnMessage, ...]) -> tuple[LlmMessage, ...]:
    """Return the conversation for the model: the one the caller sent, or the session's recent and new messages."""
    if request.resent is not None:
        return request.resent
    earlier = [LlmMessage(role=one.role.value, content=one.content) for one in recent]
    return (*earlier, *(_model_message(one) for one in request.messages))


def _model_message(new: NewMessage) -> LlmMessage:
    """Return a new message in the form that the model client takes."""
    return LlmMessage(role=new.role.value, content=new.content, tool_id=new.tool_id, tool_name=new.name)
