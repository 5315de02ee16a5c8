"""A kind of work: its handler, how long it may take, and how its failures are treated."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from mnemon.db.tx import Tx
from mnemon.jobs import store
from mnemon.jobs.work import WorkItem, WorkRetryPolicy
from mnemon.scope import Scope

DEFAULT_LEASE = timedelta(seconds=60)
DEFAULT_TIME_LIMIT = timedelta(minutes=5)


class Attempt:
    """One attempt at one item, as its handler sees it."""

    def __init__(
        self,
        item: WorkItem,
        *,
        bound: asyncio.Timeout | None = None,
        limit: timedelta = DEFAULT_TIME_LIMIT,
        on_progress: Callable[[], None] | None = None,
    ) -> None:
        """Begin an attempt at a claimed work item, with the timeout that its handler may extend."""
        self.item = item
        self.settled = False
        """Whether the handler settled or repeated the work itself, in its own transaction."""
        self.repeated = False
        self._bound = bound
        self._limit = limit
        self._on_progress = on_progress

    @property
    def key(self) -> str:
        """Return the key of the work item."""
        return self.item.key

    @property
    def scope(self) -> Scope:
        """Return the scope of the organization that the work belongs to."""
        return Scope(org_id=self.item.org_id)

    async def lock_work(self, tx: Tx) -> None:
        """Lock the item's `work` row; raise LeaseLost where another runner has it, so that the caller cannot commit."""
        await store.lock_work(tx, self.item)

    async def settle(self, tx: Tx) -> None:
        """Delete the item's `work` row as finished, if and only if this transaction commits."""
        await store.settle_work(tx, self.item)
        self.settled = True

    async def repeat(self, tx: Tx, *, after: timedelta) -> None:
        """Make the work due again after this time, for a schedule's next slot or because it is not ready."""
        # A repetition is no failure, so its attempts count from zero.
        await store.release_work(tx, self.item, due_at=tx.now + after, attempts=0, error=None)
        self.settled = self.repeated = True

    def extend_time_limit(self) -> None:
        """Start the attempt's time limit anew: for work of many steps, each of which is committed."""
        if self._bound is not None:
            self._bound.reschedule(asyncio.get_running_loop().time() + self._limit.total_seconds())
        # In a child process: the worker that watches it must start its clock anew, too.
        if self._on_progress is not None:
            self._on_progress()


class SlotGroup(StrEnum):
    """Kinds of work that have a slot of a runner to themselves, whatever else it is busy with."""

    RUNS = "runs"
    """Agents' runs and replies, which may take minutes."""
    REFLECTION = "reflection"
    EMBEDDING = "embedding"
    """Vectors: a slow language model must not keep what was said from being found by meaning."""
    UPKEEP = "upkeep"
    """Everything else: summaries, the curator, matching, sweeping, schedules."""


JobHandler = Callable[[Attempt], Awaitable[None]]
OnPark = Callable[[Tx, WorkItem, str], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class JobKind:
    """A kind of work."""

    name: str
    run: JobHandler
    retry: WorkRetryPolicy = field(default_factory=WorkRetryPolicy)
    lease: timedelta = DEFAULT_LEASE
    """How long a claim lasts; renewed at a third of it while the handler is within its time limit."""
    time_limit: timedelta = DEFAULT_TIME_LIMIT
    """Longest an attempt may take since it last made progress; then it is stopped and counts as failed."""
    group: SlotGroup = SlotGroup.UPKEEP
    """With whom it shares the slot that is kept free for them. Runs get at most half of all slots."""
    on_park: OnPark | None = None
    """Called in the transaction that parks the item after its last attempt, before the item's row is locked."""

    @property
    def long(self) -> bool:
        """Say whether an item may take minutes."""
        return self.group is SlotGroup.RUNS


def model_time_limit(seconds: float, *, calls: int = 2) -> timedelta:
    """Return the time limit of work that calls a model `calls` times, each for up to `seconds`."""
    return max(DEFAULT_TIME_LIMIT, timedelta(seconds=calls * seconds + 60))
