"""The life of a work item, and the rule that says when a failed one is retried.

        enqueue                claim                 settle
    ───────────► queued ───────────────► running ───────────► (gone)
                   ▲  ▲                    │ │ │
                   │  └── retry after ─────┘ │ └─ last attempt ─► parked
                   │      backoff            │                      │
                   │                         └ lease ran out: any runner may claim it and runs
                   │                           it in a child process; lost again ─► parked
                   │                                                │
                   └────────────────── retry by hand ───────────────┘

Enqueueing what is queued only brings it forward; enqueueing what is running makes it run once more.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from mnemon.errors import MnemonError, ModelDown, Unavailable
from mnemon.scope import org_option


class WorkStatus(StrEnum):
    """The status of a work item."""

    QUEUED = "queued"
    RUNNING = "running"
    PARKED = "parked"


class LeaseLost(MnemonError):
    """Another runner has taken the item over; nothing of this attempt may be applied."""

    code = "lease_lost"


class WorkTimedOut(MnemonError):
    """An attempt took longer than its kind allows and was stopped."""

    code = "timed_out"


class WorkerDied(MnemonError):
    """The processes that ran the item died or froze, so it is not given to another one."""

    code = "worker_died"


@dataclass(frozen=True, kw_only=True)
class WorkItem:
    """A claimed item. Its token is newer than that of every earlier claim and identifies this one."""

    org_id: str
    kind: str
    key: str
    job_id: str
    attempts: int
    """This attempt included."""
    token: int
    deaths: int = 0
    """How often in a row a worker was lost over it: died, frozen, or stopped at the time limit."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A work item as its organization may see it."""

    id: str
    kind: str
    key: str
    status: WorkStatus
    attempts: int
    enqueued_at: datetime
    due_at: datetime
    lease_until: datetime | None
    parked_at: datetime | None
    error: str | None
    waits_for: str | None
    """The job that must end first: an earlier one of the same lane, which runs or is retried."""


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A runner as it last reported, by the wall clock: liveness does not follow a clock that a test moves."""

    worker_id: str
    started_at: datetime
    seen_at: datetime
    """When it last reported."""
    claimed_at: datetime
    """When it last looked for due work, or had no free slot."""
    slots: int
    """Items it runs at a time."""
    busy: int
    """Items it ran when it reported."""


@dataclass(frozen=True, kw_only=True)
class WorkRetryPolicy:
    """How failures of a kind are retried."""

    max_attempts: int = 8
    first: timedelta = timedelta(seconds=1)
    most: timedelta = timedelta(minutes=5)
    factor: float = 4.0
    """How many times longer each wait is than the one before. With eight attempts that is about a quarter of an hour in
    all, so that a short outage of a model, or a right missing for a while, parks nothing."""

    def delay_after(self, attempts: int, chance: float) -> timedelta | None:
        """Return how long to wait before retrying work after this many attempts; None after the last.

        The delay grows up to `most`; `chance` in [0, 1) spreads it over the upper half, so that items that failed
        together are not retried together.
        """
        if attempts >= self.max_attempts:
            return None
        # The exponent is bounded, since a float power overflows where attempts have no limit.
        grown = self.first.total_seconds() * self.factor ** min(attempts - 1, 32)
        return timedelta(seconds=min(grown, self.most.total_seconds()) * (0.5 + chance / 2))


def work_status(*, parked_at: datetime | None, lease_until: datetime | None) -> WorkStatus:
    """Return a work item's status: parked wins over leased (running), leased over queued."""
    if parked_at is not None:
        return WorkStatus.PARKED
    return WorkStatus.RUNNING if lease_until is not None else WorkStatus.QUEUED


_PASSING_CODES = frozenset(
    {"child_not_started", "contended", "database_restarting", "outcome_unknown", "timed_out", "transaction_timeout"}
)
"""Errors that the next attempt may well not meet, without anybody doing something about them."""


def next_step_after(outcome: str, error: Exception, item: WorkItem) -> str:
    """Return what an operator should do about a failed attempt of the item, for its log line; it quotes no content.

    A retry alone does not bring back a revoked privilege, a full disk or a refused key, so those say what will.
    """
    if outcome == "parked":
        org = org_option(item.org_id)
        return (
            f"`mnemon jobs list --status parked{org}` tells why. Fix the cause, then retry it: "
            f"`mnemon jobs retry {item.job_id}{org}`, or the console's Jobs page."
        )
    again = (
        "the item is claimed again when its lease runs out."
        if outcome == "left_to_lease"
        else "it is retried by itself."
    )
    if not isinstance(error, MnemonError):
        return f"If it repeats, it is a bug in Mnemon: report it with this line. Meanwhile {again}"
    if error.code in _PASSING_CODES:
        return f"No action needed: {again}"
    # A model's detail may quote what its server sent; that of any other `Unavailable` is a fixed sentence.
    if isinstance(error, ModelDown):
        return f"Look at the model_call or embedding_call line with the same job. Meanwhile {again}"
    if isinstance(error, Unavailable):
        return f"{error.detail} Meanwhile {again}"
    return f"`mnemon jobs list{org_option(item.org_id)}` tells why, if it repeats. Meanwhile {again}"
