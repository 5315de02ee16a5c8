"""The life of a reflection.

    queued ──► running ──► done
      ▲         │   ▲
      │         ▼   │ (tried again later)
      │        failed
      │         │
      │         ▼
      └─────  parked       (run again by hand; failed ones too)

`failed` means the last attempt failed and another is due; `parked` means no more are tried by themselves. A worker that
died leaves `running`, and the next one that takes the turn begins it anew. Nothing leaves `done`.
"""

from enum import StrEnum


class ReflectionStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    PARKED = "parked"


_NEXT: dict[ReflectionStatus, frozenset[ReflectionStatus]] = {
    ReflectionStatus.QUEUED: frozenset({ReflectionStatus.RUNNING}),
    ReflectionStatus.RUNNING: frozenset(
        {ReflectionStatus.RUNNING, ReflectionStatus.DONE, ReflectionStatus.FAILED, ReflectionStatus.PARKED}
    ),
    ReflectionStatus.DONE: frozenset(),
    ReflectionStatus.FAILED: frozenset({ReflectionStatus.RUNNING, ReflectionStatus.PARKED, ReflectionStatus.QUEUED}),
    ReflectionStatus.PARKED: frozenset({ReflectionStatus.QUEUED, ReflectionStatus.RUNNING}),
}


def may_become(status: ReflectionStatus, following: ReflectionStatus) -> bool:
    """Whether the step is drawn above."""
    return following in _NEXT[status]


def may_run_again(status: ReflectionStatus) -> bool:
    """Whether somebody may ask for another run."""
    return ReflectionStatus.QUEUED in _NEXT[status]
