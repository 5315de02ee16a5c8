"""Active Memory: what an agent carries from one chat or run to the next, as a state machine.

                   enable / reset
        off ───────────────────────────► on, fresh ◄──────────────┐
         ▲                                  │                     │ reset
         │ disable (session kept, ignored)  │ a chat or run       │
         │                                  ▼ succeeds            │
         └───────────────────────────── on, carrying ─────────────┘

Every enable and every reset begins a new generation. A chat or run remembers the generation in which it started and
writes its session id back only while the memory is still in that one. So a run that was under way during a reset cannot
bring back what was reset, in whichever order the two finish.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

WARN_ABOVE_RUNS = 20
"""Runs since the last reset above which the panel advises another."""


class MemoryStatus(StrEnum):
    """What the next run will start with, as the panel shows it."""

    FRESH = "Fresh"
    CARRYING = "Carrying context"


class MemoryAccess(StrEnum):
    """What a chat or run may do with the shared session."""

    NONE = "none"
    READ = "read"
    EXTEND = "extend"


@dataclass(frozen=True, kw_only=True)
class ActiveMemory:
    """The state of an agent's chat session, which its chat and runs share."""

    enabled: bool = False
    session_id: str | None = None
    """The last session id that an adapter returned; kept but ignored while memory is disabled."""
    generation: int = 0
    """Number of fresh starts; 0 means memory was never enabled."""
    last_reset_at: datetime | None = None
    """When the present generation began; runs are counted from here."""
    updated_at: datetime | None = None
    """When the session was last extended."""


@dataclass(frozen=True, kw_only=True)
class MemoryStart:
    """The memory that a chat or run started with; needed again for the write-back at its end."""

    access: MemoryAccess
    session_id: str | None
    """The session to resume; None starts a new one."""
    generation: int | None
    """The memory's generation at the start; None when memory was off."""


@dataclass(frozen=True, kw_only=True)
class WriteBack:
    """The memory after a chat or run ended, and whether its session was kept."""

    memory: ActiveMemory
    session_id_after: str | None
    """The session id to record with the run: the shared session as the run left it, or None."""
    kept: bool
    """Whether the session id was written back."""
    why_not: str | None = None
    """Why the session was not written back; None when it was, or when nothing was to be written."""


@dataclass(frozen=True, kw_only=True)
class RunsSinceReset:
    """The successful runs since an agent's memory was reset or enabled."""

    scheduled: int = 0
    others: int = 0
    """Runs that somebody asked for, and re-examinations."""


@dataclass(frozen=True, kw_only=True)
class MemoryPanel:
    """An agent's memory as a person sees it."""

    enabled: bool
    status: MemoryStatus
    runs_since_reset: int
    """Scheduled runs only, as the counter of the panel is defined."""
    other_runs_since_reset: int
    session_age: str | None
    warning: str | None
    last_reset_at: datetime | None


def memory_after_toggle(memory: ActiveMemory, *, enabled: bool, now: datetime) -> ActiveMemory:
    """Return an agent's memory after it was enabled, which clears it, or disabled, which keeps it."""
    if enabled == memory.enabled:
        return memory
    # Disabling begins no generation: a run that ends meanwhile is not kept because memory is off.
    if not enabled:
        return replace(memory, enabled=False)
    return memory_after_reset(replace(memory, enabled=True), now=now)


def memory_after_reset(memory: ActiveMemory, *, now: datetime) -> ActiveMemory:
    """Return an agent's memory after a reset: no session, a new generation, and runs counted from now."""
    return replace(memory, session_id=None, generation=memory.generation + 1, last_reset_at=now, updated_at=None)


def memory_start(memory: ActiveMemory, *, read_only: bool) -> MemoryStart:
    """Return which access to its memory, and which session to resume, an agent's starting chat or run gets."""
    if not memory.enabled:
        return MemoryStart(access=MemoryAccess.NONE, session_id=None, generation=None)
    access = MemoryAccess.READ if read_only else MemoryAccess.EXTEND
    return MemoryStart(access=access, session_id=memory.session_id, generation=memory.generation)


def session_write_back(
    memory: ActiveMemory, started: MemoryStart, *, succeeded: bool, emitted: str | None, now: datetime
) -> WriteBack:
    """Return the agent's memory after a chat or run ended, and whether its session was kept in it.

    It takes the emitted session id only from a success that started in the present generation with access to extend it.
    """
    if started.access is MemoryAccess.NONE:
        return WriteBack(memory=memory, session_id_after=None, kept=False)
    why_not = _not_kept_reason(memory, started, succeeded)
    if why_not:
        return WriteBack(memory=memory, session_id_after=None, kept=False, why_not=why_not)
    if started.access is MemoryAccess.READ:
        return WriteBack(memory=memory, session_id_after=started.session_id, kept=False)
    if emitted is None:
        return WriteBack(memory=memory, session_id_after=None, kept=False, why_not="the adapter emitted no session")
    after = replace(memory, session_id=emitted, updated_at=now)
    return WriteBack(memory=after, session_id_after=emitted, kept=True)


def is_since_reset(started_generation: int | None, memory: ActiveMemory) -> bool:
    """Say whether a run was started after the last reset of the agent's memory."""
    return started_generation is not None and started_generation == memory.generation


def memory_panel(memory: ActiveMemory, *, runs: RunsSinceReset, now: datetime) -> MemoryPanel:
    """Return what to show of an agent's memory: its status, session age, runs since the reset and a warning."""
    carrying = memory.enabled and memory.session_id is not None
    age = now - memory.updated_at if carrying and memory.updated_at else None
    return MemoryPanel(
        enabled=memory.enabled,
        status=MemoryStatus.CARRYING if carrying else MemoryStatus.FRESH,
        runs_since_reset=runs.scheduled,
        other_runs_since_reset=runs.others,
        session_age=format_age(age) if age is not None else None,
        warning=reset_warning(runs.scheduled) if memory.enabled else None,
        last_reset_at=memory.last_reset_at,
    )


def reset_warning(runs_since_reset: int) -> str | None:
    """Return the advice to reset an agent's memory after more than 20 scheduled runs, or None."""
    if runs_since_reset <= WARN_ABOVE_RUNS:
        return None
    return f"{runs_since_reset} runs since the last reset. Reset the memory to keep runs fast and cheap."


def format_age(age: timedelta) -> str:
    """Return an age in its two largest units, like `2h 15m`; below a minute `0m`."""
    minutes = max(0, int(age.total_seconds() // 60))
    days, rest = divmod(minutes, 24 * 60)
    hours, minutes = divmod(rest, 60)
    if days:
        return f"{days}d {hours}h"
    if hours:
        return f"{hours}h {minutes}m"
    return f"{minutes}m"


def _not_kept_reason(memory: ActiveMemory, started: MemoryStart, succeeded: bool) -> str | None:
    """Return why a chat's or run's session must not be kept as the agent's memory, or None."""
    # Before `enabled`: memory that was disabled and enabled again is on, but no longer what the run started with.
    if memory.generation != started.generation:
        return "memory was reset or enabled while this was in flight"
    if not memory.enabled:
        return "memory was disabled while this was in flight"
    if not succeeded:
        return "only a success extends the session"
    return None
