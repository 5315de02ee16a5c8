"""Active Memory: what an agent carries from one chat or run to the next, as a state machine.

                   enable / reset
        off ───────────────────────────► on, fresh ◄──────────────┐
         ▲                                  │                     │ reset
         │ disable (session kept, ignored)  │ a chat or run ends  │
         │                                  ▼ well                │
         └───────────────────────────── on, carrying ─────────────┘

Every enable and every reset begins a new generation. Whoever starts reads the generation; whoever ends may write its
session id back only while that generation still stands. That fence, and not the order in which things finish, keeps a
run that was in flight from bringing back what was reset.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

WARN_ABOVE_RUNS = 20


class MemoryStatus(StrEnum):
    """The panel's word for what the next run will see."""

    FRESH = "Fresh"
    CARRYING = "Carrying context"


class MemoryAccess(StrEnum):
    """What a chat or run may do with the shared session."""

    NONE = "none"
    READ = "read"
    EXTEND = "extend"


@dataclass(frozen=True, kw_only=True)
class ActiveMemory:
    """The one chat session of an agent."""

    enabled: bool = False
    session_id: str | None = None
    """The latest session an adapter emitted; kept while disabled, and ignored."""
    generation: int = 0
    """Counts fresh starts; 0 means memory was never on."""
    last_reset_at: datetime | None = None
    """When the present generation began: the counter's anchor."""
    updated_at: datetime | None = None
    """When the session was last extended."""


@dataclass(frozen=True, kw_only=True)
class MemoryStart:
    """What a chat or run was given when it started; it hands this back when it ends."""

    access: MemoryAccess
    session_id: str | None
    """The session to resume; None begins a new one."""
    generation: int | None
    """The generation it belongs to; None when memory was off."""


@dataclass(frozen=True, kw_only=True)
class WriteBack:
    """What the end of a chat or run did to the memory."""

    memory: ActiveMemory
    session_id_after: str | None
    """What to audit: the shared session as this run left it, None when it left none."""
    kept: bool
    """Whether the session id was written back."""
    why_not: str | None = None
    """When it was not although one was emitted."""


@dataclass(frozen=True, kw_only=True)
class MemoryPanel:
    """What a person sees of it."""

    enabled: bool
    status: MemoryStatus
    runs_since_reset: int
    session_age: str | None
    warning: str | None
    last_reset_at: datetime | None


def memory_after_toggle(memory: ActiveMemory, *, enabled: bool, now: datetime) -> ActiveMemory:
    """The memory after the toggle was set: enabling is a fresh start, disabling keeps and ignores."""
    if enabled == memory.enabled:
        return memory
    if not enabled:
        return replace(memory, enabled=False)
    return memory_after_reset(replace(memory, enabled=True), now=now)


def memory_after_reset(memory: ActiveMemory, *, now: datetime) -> ActiveMemory:
    """The memory after a reset: no session, a new generation, the counter's anchor now."""
    return replace(memory, session_id=None, generation=memory.generation + 1, last_reset_at=now, updated_at=None)


def memory_start(memory: ActiveMemory, *, read_only: bool) -> MemoryStart:
    """What a chat or run that begins now may see."""
    if not memory.enabled:
        return MemoryStart(access=MemoryAccess.NONE, session_id=None, generation=None)
    access = MemoryAccess.READ if read_only else MemoryAccess.EXTEND
    return MemoryStart(access=access, session_id=memory.session_id, generation=memory.generation)


def session_write_back(
    memory: ActiveMemory, started: MemoryStart, *, succeeded: bool, emitted: str | None, now: datetime
) -> WriteBack:
    """The memory after a chat or run ended: it takes the emitted session only from a success of this generation."""
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
    """Whether a successful run that started in this generation counts as one since the last reset."""
    return started_generation is not None and started_generation == memory.generation


def memory_panel(memory: ActiveMemory, *, runs_since_reset: int, now: datetime) -> MemoryPanel:
    """What to show: a disabled memory is shown as the next run will find it, fresh."""
    carrying = memory.enabled and memory.session_id is not None
    age = now - memory.updated_at if carrying and memory.updated_at else None
    return MemoryPanel(
        enabled=memory.enabled,
        status=MemoryStatus.CARRYING if carrying else MemoryStatus.FRESH,
        runs_since_reset=runs_since_reset,
        session_age=format_age(age) if age is not None else None,
        warning=reset_warning(runs_since_reset) if memory.enabled else None,
        last_reset_at=memory.last_reset_at,
    )


def reset_warning(runs_since_reset: int) -> str | None:
    """The advice to reset once more runs than is good have piled up."""
    if runs_since_reset <= WARN_ABOVE_RUNS:
        return None
    return f"{runs_since_reset} runs since the last reset. Reset the memory to keep runs fast and cheap."


def format_age(age: timedelta) -> str:
    """An age in its two largest units, like `2h 15m`; below a minute `0m`."""
    minutes = max(0, int(age.total_seconds() // 60))
    days, rest = divmod(minutes, 24 * 60)
    hours, minutes = divmod(rest, 60)
    if days:
        return f"{days}d {hours}h"
    if hours:
        return f"{hours}h {minutes}m"
    return f"{minutes}m"


def _not_kept_reason(memory: ActiveMemory, started: MemoryStart, succeeded: bool) -> str | None:
    if memory.generation != started.generation:
        return "memory was reset or enabled while this was in flight"
    if not memory.enabled:
        return "memory was disabled while this was in flight"
    if not succeeded:
        return "only a success extends the session"
    return None
