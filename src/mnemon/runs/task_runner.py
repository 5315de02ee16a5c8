"""What runs and chat turns have in common: memory at start and end, the time limit, and the council.

A lead's specialists are consulted by the server, each separately, before the lead's model is called. The server writes
their prompts, not the lead: during a re-examination nothing that the lead knows can reach a specialist (decision 16).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import structlog

from mnemon.db.tx import Tx
from mnemon.errors import MnemonError, Unavailable
from mnemon.llm.protocol import LlmMessage
from mnemon.runs import active_memory, agent_store
from mnemon.runs.active_memory import MemoryStart, WriteBack
from mnemon.runs.adapter import AgentDriver, AgentTask, EmitEvent, RunEvent, RunEventType, RunFailed, TaskOutcome
from mnemon.runs.adapters.claude_cli import ClaudeDriver
from mnemon.runs.adapters.model import ModelDriver
from mnemon.runs.agent import Adapter, Agent
from mnemon.runs.prompt import SpecialistReport, system_prompt
from mnemon.runs.run import FINAL_STATUSES, RunStatus, RunUsage
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.settings import Settings
from mnemon.supervisor import end_tasks

R = TypeVar("R")
log = structlog.get_logger(__name__)
STATUS_POLL_S = 0.5
"""Seconds between two looks whether the run was cancelled."""


class TaskStopped(MnemonError):
    """The run or chat turn was cancelled or deleted; none of its results may be stored."""

    code = "stopped"

    def __init__(self) -> None:
        """Make the error of a run or chat turn that was cancelled or deleted."""
        super().__init__("The run or chat turn was cancelled or deleted.")


@dataclass(frozen=True, kw_only=True)
class StartingMemory:
    """What the agent's memory gives to a run or chat turn that starts now."""

    start: MemoryStart
    history: tuple[LlmMessage, ...]
    lost: RunEvent | None
    """The event to record when this adapter cannot resume the stored session."""


def make_drivers(services: Services) -> dict[Adapter, AgentDriver]:
    """Return for each adapter (the server's model, the Claude CLI) the driver that performs agents' tasks with it."""
    return {
        Adapter.MODEL: ModelDriver(services.llm),
        Adapter.CLAUDE_CLI: ClaudeDriver(services.settings),
    }


async def open_memory(tx: Tx, scope: Scope, agent: Agent, *, read_only: bool) -> StartingMemory:
    """Lock the agent's memory and return the session and history that a run or chat turn starts with.

    A session that another adapter made is not resumed; `lost` is then the event that says so.
    """
    memory = await agent_store.lock_memory(tx, scope, agent)
    start = active_memory.memory_start(memory, read_only=read_only)
    if agent.adapter is not Adapter.MODEL or start.session_id is None:
        return StartingMemory(start=start, history=(), lost=None)
    history = await agent_store.load_transcript(tx, scope, agent.id, start.session_id)
    # The Claude CLI stores its sessions in files of its own, so a session of it has no transcript here.
    if history:
        return StartingMemory(start=start, history=history, lost=None)
    note = f"Session {start.session_id} was made by another adapter; this starts fresh."
    lost = RunEvent(type=RunEventType.SESSION, data={"lost": start.session_id, "note": note})
    return StartingMemory(start=start, history=(), lost=lost)


async def write_back_memory(
    tx: Tx, scope: Scope, agent_id: str, start: MemoryStart, outcome: TaskOutcome | None
) -> WriteBack:
    """Store a successful task's session in the agent's memory, unless that was reset; return what was done.

    Raises TaskStopped when the agent was deleted.
    """
    # The agent's row before its memory, as in every transaction that locks both.
    agent = await agent_store.find_agent(tx, scope, agent_id, locked=True)
    if agent is None:
        raise TaskStopped
    memory = await agent_store.lock_memory(tx, scope, agent)
    emitted = outcome.session_id if outcome else None
    done = active_memory.session_write_back(memory, start, succeeded=outcome is not None, emitted=emitted, now=tx.now)
    if done.kept and outcome and outcome.session_id:
        await agent_store.extend_transcript(tx, scope, agent_id, outcome.session_id, outcome.transcript)
        await agent_store.save_memory(tx, scope, agent_id, memory, done.memory)
    return done


def time_limit_s(settings: Settings, agent: Agent) -> float:
    """Return the seconds a task may take: the agent's own limit, at most the operator's."""
    own = agent.config.timeout_seconds
    return settings.run_timeout_s if own is None else min(own, settings.run_timeout_s)


async def run_until_over(work: Awaitable[R], seconds: float, status: Callable[[], Awaitable[RunStatus | None]]) -> R:
    """Await a task's work and return its result; stop it at the time limit or when its row is over.

    Raises RunFailed when it takes longer than `seconds`, TaskStopped when its row is over or deleted meanwhile.
    """
    doing = asyncio.ensure_future(work)
    watching = asyncio.create_task(_wait_until_over(status))
    try:
        await asyncio.wait({doing, watching}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        # If both are done the result counts: the caller reads the row again under its lock before storing anything.
        if doing.done():
            return await doing
        if watching.done():
            await watching
            raise TaskStopped
        raise RunFailed(f"It took longer than {seconds:g} s and was stopped (timeoutSeconds, MNEMON_RUN_TIMEOUT_S).")
    finally:
        await end_tasks(doing, watching)


async def _wait_until_over(status: Callable[[], Awaitable[RunStatus | None]]) -> None:
    """Return when the run's or turn's row is over or deleted; keep polling while the database is unavailable."""
    while True:
        await asyncio.sleep(STATUS_POLL_S)
        try:
            current = await status()
        except Unavailable as error:
            log.warning("watch_failed", error=error.code)
            continue
        if current is None or current in FINAL_STATUSES:
            return


async def consult_council(
    drivers: Mapping[Adapter, AgentDriver],
    org_id: str,
    specialists: Sequence[tuple[Agent, str]],
    emit: EmitEvent,
    *,
    blind: bool,
) -> tuple[list[SpecialistReport], RunUsage]:
    """Ask a lead's specialists concurrently; return their reports in order, and what all of them cost.

    A specialist that fails is reported as `(no report: …)`.
    """
    # Each with a prompt that the server wrote: the lead's words reach no specialist (decision 16).
    results = await asyncio.gather(
        *(_consult_specialist(drivers, org_id, agent, prompt, emit, blind) for agent, prompt in specialists)
    )
    usage = RunUsage()
    for _, spent in results:
        usage = usage.plus(spent)
    return [report for report, _ in results], usage


async def _consult_specialist(
    drivers: Mapping[Adapter, AgentDriver], org_id: str, agent: Agent, prompt: str, emit: EmitEvent, blind: bool
) -> tuple[SpecialistReport, RunUsage]:
    """Have one specialist answer its prompt; return its report and cost, and emit an event before and after."""
    named = {"agentId": agent.id, "name": agent.name}
    await emit(RunEvent(type=RunEventType.CONSULTATION, data={**named, "prompt": prompt, "blind": blind}))
    task = AgentTask(org_id=org_id, agent=agent, system=system_prompt(agent, ()), prompt=prompt, card=None, blind=blind)
    try:
        outcome = await drivers[agent.adapter].perform_task(task, _discard_event)
    # One missing report does not fail the run: the lead reads that there is none.
    except MnemonError as error:
        await emit(RunEvent(type=RunEventType.CONSULTATION, data={**named, "error": error.detail}))
        usage = error.usage if isinstance(error, RunFailed) else RunUsage()
        return SpecialistReport(name=agent.name, text=f"(no report: {error.detail})"), usage
    await emit(RunEvent(type=RunEventType.CONSULTATION, data={**named, "report": outcome.reply}))
    return SpecialistReport(name=agent.name, text=outcome.reply), outcome.usage


async def _discard_event(event: RunEvent) -> None:
    """Ignore an event: a specialist's own steps are not part of the lead's run."""
