"""Request a run, a re-examination or a chat reply of an agent, and cancel a run."""

from dataclasses import replace

from mnemon.db.tx import Tx
from mnemon.errors import Invalid, NotFound
from mnemon.jobs import store as work
from mnemon.llm.protocol import Llm
from mnemon.runs import agent_store, re_examination, store
from mnemon.runs.adapter import RunEvent, RunEventType, require_model
from mnemon.runs.agent import Agent
from mnemon.runs.agents import get_agent
from mnemon.runs.card import RE_EXAMINATION, CardTypes
from mnemon.runs.run import FINAL_STATUSES, Run, RunKind, RunStatus, require_transition
from mnemon.runs.store import lock_run
from mnemon.scope import Scope

RUN_KIND = "run"
AGENT_CHAT_KIND = "agent-chat"


async def request_run(tx: Tx, scope: Scope, agent_id: str, prompt: str | None, llm: Llm) -> Run:
    """Create and enqueue a run with this prompt or the agent's default one.

    Raises Invalid without either prompt, and ModelRequired when `llm`, which the agent would use, is `offline`.
    """
    # Whoever asks something of an agent locks it first (ARCHITECTURE.md, lock order).
    agent = await get_agent(tx, scope, agent_id, locked=True)
    require_model(agent, llm)
    text = prompt or agent.default_prompt
    if not text.strip():
        raise Invalid("The agent has no default prompt. Send `prompt`, or give the agent a defaultPrompt.")
    run_id = tx.new_id("run")
    await store.insert_run(
        tx, scope, run_id=run_id, agent_id=agent.id, kind=RunKind.MANUAL, prompt=text, card_type=agent.card_type
    )
    return await enqueue_run(tx, scope, agent, run_id)


async def request_re_examination(tx: Tx, scope: Scope, parent_id: str, cards: CardTypes, llm: Llm) -> Run:
    """Create and enqueue a run of the same agent that re-examines the parent's decision.

    Raises NotReExaminable, and ModelRequired when `llm`, which the agent would use, is `offline`.
    """
    # Locked, so that the decision cannot be resolved between the check and the insert.
    parent = await lock_run(tx, scope, parent_id)
    card = re_examination.require_re_examinable(parent, cards.get(parent.card_type))
    agent = await get_agent(tx, scope, parent.agent_id)
    require_model(agent, llm)
    run_id = tx.new_id("run")
    await store.insert_run(
        tx,
        scope,
        run_id=run_id,
        agent_id=agent.id,
        kind=RunKind.RE_EXAMINATION,
        prompt=re_examination.lead_prompt(parent, card, agent, tx.now),
        card_type=RE_EXAMINATION,
        parent_run_id=parent.id,
    )
    return await enqueue_run(tx, scope, agent, run_id)


async def request_chat_reply(tx: Tx, scope: Scope, agent_id: str, message: str) -> str:
    """Store a message to an agent, enqueue the work of replying to it, and return the turn's id."""
    agent = await get_agent(tx, scope, agent_id, locked=True)
    turn_id = tx.new_id("trn")
    await agent_store.insert_exchange(tx, scope, agent.id, turn_id)
    await agent_store.insert_message(tx, scope, agent.id, turn_id, "user", message)
    await _enqueue_in_lane(tx, scope, agent.id, AGENT_CHAT_KIND, turn_id)
    return turn_id


async def cancel_run(tx: Tx, scope: Scope, run_id: str) -> Run:
    """Cancel the run; a worker that is running it stops and stores nothing. Raise Conflict when the run is over."""
    run = await lock_run(tx, scope, run_id)
    status = require_transition(run.id, run.status, RunStatus.CANCELLED)
    cancelled = replace(run, status=status, finished_at=tx.now, error="Cancelled.")
    await store.update_run(tx, scope, cancelled)
    await store.delete_tokens(tx, scope, run_id)
    await record_status(tx, scope, cancelled)
    # The work of a running run stays: its worker polls the run's status and stops, and then the work is settled.
    if run.status is RunStatus.QUEUED:
        await work.cancel_work(tx, scope, RUN_KIND, run_id)
    return cancelled


async def get_run(tx: Tx, scope: Scope, run_id: str) -> Run:
    """Return the run of this id; raise NotFound without one."""
    found = await store.find_run(tx, scope, run_id)
    if found is None:
        raise NotFound("run")
    return found


async def enqueue_run(tx: Tx, scope: Scope, agent: Agent, run_id: str) -> Run:
    """Enqueue the stored run in its agent's lane, which runs one item at a time, and return the run."""
    run = await get_run(tx, scope, run_id)
    await record_status(tx, scope, run)
    await _enqueue_in_lane(tx, scope, agent.id, RUN_KIND, run_id)
    return run


async def record_status(tx: Tx, scope: Scope, run: Run, *, code: str | None = None) -> None:
    """Append an event with the run's status, its error with the error's code and, for a finished run, its headline."""
    data = {"status": run.status.value, "error": run.error} if run.error else {"status": run.status.value}
    if code:
        data |= {"code": code}
    if run.status in FINAL_STATUSES and run.result is not None:
        data |= {"headline": run.headline or ""}
    await store.append_event(tx, scope, run.id, run.agent_id, RunEvent(type=RunEventType.STATUS, data=dict(data)))


async def _enqueue_in_lane(tx: Tx, scope: Scope, agent_id: str, kind: str, key: str) -> None:
    """Enqueue work in the agent's lane, behind all that was requested of it before."""
    # Chat and runs share one lane: two that resume one session at the same time would lose an answer (decision 17).
    seq = await agent_store.next_lane_seq(tx, scope, agent_id)
    await work.enqueue_work(tx, scope, kind, key, lane=f"agent:{agent_id}", seq=seq)
