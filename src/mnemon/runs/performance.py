"""What a run and a chat turn have in common: what memory hands them, the time they may take, and the write-back."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog

from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.errors import MnemonError, Unavailable
from mnemon.llm.protocol import Message
from mnemon.runs import active_memory, agent_store
from mnemon.runs.active_memory import Start, WriteBack
from mnemon.runs.adapter import Driver, Event, EventType, Outcome, RunFailed
from mnemon.runs.adapters.claude_cli import ClaudeDriver
from mnemon.runs.adapters.model import ModelDriver
from mnemon.runs.agent import Adapter, Agent
from mnemon.runs.run import OVER, RunStatus
from mnemon.scope import Scope
from mnemon.settings import Settings
from mnemon.supervisor import end_tasks

R = TypeVar("R")
log = structlog.get_logger(__name__)
WATCH_S = 0.5
MOST_TRIES = 3


class Stopped(MnemonError):
    """Somebody ended it from outside; nothing of it may be applied."""

    code = "stopped"

    def __init__(self) -> None:
        super().__init__("It was cancelled or deleted meanwhile.")


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What the agent's memory gives to one that starts now."""

    start: Start
    history: tuple[Message, ...]
    lost: Event | None
    """Said when the stored session cannot be carried on by this adapter."""


def make_drivers(basement: Basement) -> dict[Adapter, Driver]:
    """A driver for every adapter."""
    return {
        Adapter.MODEL: ModelDriver(basement.llm),
        Adapter.CLAUDE_CLI: ClaudeDriver(basement.settings),
    }


async def opening(tx: Tx, scope: Scope, agent: Agent, *, read_only: bool) -> Opening:
    """What the shared session gives; a session another adapter left behind is not carried on, and that is said."""
    memory = await agent_store.memory_locked(scope, tx, agent)
    start = active_memory.start(memory, read_only=read_only)
    if agent.adapter is not Adapter.MODEL or start.session_id is None:
        return Opening(start=start, history=(), lost=None)
    history = await agent_store.transcript(scope, tx, agent.id, start.session_id)
    if history:
        return Opening(start=start, history=history, lost=None)
    note = f"Session {start.session_id} was made by another adapter; this starts fresh."
    lost = Event(type=EventType.SESSION, data={"lost": start.session_id, "note": note})
    return Opening(start=start, history=(), lost=lost)


async def write_back(tx: Tx, scope: Scope, agent_id: str, start: Start, outcome: Outcome | None) -> WriteBack:
    """The memory took the session of a success of its generation, or says why it did not."""
    agent = await agent_store.agent(scope, tx, agent_id, locked=True)
    if agent is None:
        raise Stopped
    memory = await agent_store.memory_locked(scope, tx, agent)
    emitted = outcome.session_id if outcome else None
    done = active_memory.ended(memory, start, succeeded=outcome is not None, emitted=emitted, now=tx.now)
    if done.kept and outcome and outcome.session_id:
        await agent_store.extend_transcript(scope, tx, agent_id, outcome.session_id, outcome.transcript)
        await agent_store.save_memory(scope, tx, agent_id, memory, done.memory)
    return done


def time_allowed(settings: Settings, agent: Agent) -> float:
    """Seconds it may take: the agent's own limit, never above the operator's."""
    own = agent.config.timeout_seconds
    return settings.run_timeout_s if own is None else min(own, settings.run_timeout_s)


async def within(work: Awaitable[R], seconds: float, status: Callable[[], Awaitable[RunStatus | None]]) -> R:
    """The work's result. Raises RunFailed when its time is up, Stopped when its row is over or gone meanwhile."""
    doing = asyncio.ensure_future(work)
    watching = asyncio.create_task(_until_over(status))
    try:
        await asyncio.wait({doing, watching}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return await doing
        if watching.done():
            await watching
            raise Stopped
        raise RunFailed(f"It took longer than {seconds:g} s and was stopped (timeoutSeconds, MNEMON_RUN_TIMEOUT_S).")
    finally:
        await end_tasks(doing, watching)


async def _until_over(status: Callable[[], Awaitable[RunStatus | None]]) -> None:
    """Return when the row is over or gone; while the database cannot say so, look again later."""
    while True:
        await asyncio.sleep(WATCH_S)
        try:
            current = await status()
        except Unavailable as error:
            log.warning("watch_failed", error=error.code)
            continue
        if current is None or current in OVER:
            return
