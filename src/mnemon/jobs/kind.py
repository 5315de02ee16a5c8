"""A kind of work: how it is done, how long it may take, and how its failures are treated."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

from mnemon.db.tx import Tx
from mnemon.jobs import store
from mnemon.jobs.work import WorkItem, WorkRetryPolicy
from mnemon.scope import Scope

DEFAULT_LEASE = timedelta(seconds=60)
DEFAULT_TIME_LIMIT = timedelta(minutes=5)


class Attempt:
    """One try at one item, as its handler sees it."""

    def __init__(
        self,
        item: WorkItem,
        *,
        bound: asyncio.Timeout | None = None,
        limit: timedelta = DEFAULT_TIME_LIMIT,
        on_progress: Callable[[], None] | None = None,
    ) -> None:
        self.item = item
        self.settled = False
        """Whether the handler settled or repeated the work in a transaction of its own."""
        self.repeated = False
        self._bound = bound
        self._limit = limit
        self._on_progress = on_progress

    @property
    def key(self) -> str:
        return self.item.key

    @property
    def scope(self) -> Scope:
        """The organization the work belongs to."""
        return Scope(org_id=self.item.org_id)

    async def lock_work(self, tx: Tx) -> None:
        """Lock the work's row: the rest of this transaction commits only if the work is still ours."""
        await store.lock_work(tx, self.item)

    async def settle(self, tx: Tx) -> None:
        """Finish the work with this transaction, if and only if it commits."""
        await store.settle_work(tx, self.item)
        self.settled = True

    async def repeat(self, tx: Tx, *, after: timedelta) -> None:
        """Make the work due again later: a schedule's next slot, or because it is not ready yet."""
        await store.release_work(tx, self.item, due_at=tx.now + after, attempts=0, error=None)
        self.settled = self.repeated = True

    def extend_time_limit(self) -> None:
        """Start the time limit anew: for work of many steps, each of which is done for good."""
        if self._bound is not None:
            self._bound.reschedule(asyncio.get_running_loop().time() + self._limit.total_seconds())
        if self._on_progress is not None:
            self._on_progress()


JobHandler = Callable[[Attempt], Awaitable[None]]
OnPark = Callable[[Tx, WorkItem, str], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class JobKind:
    """A kind of work."""

    name: str
    run: JobHandler
    retry: WorkRetryPolicy = field(default_factory=WorkRetryPolicy)
    lease: timedelta = DEFAULT_LEASE
    """Renewed at a third of it, for as long as the handler is within its time limit."""
    time_limit: timedelta = DEFAULT_TIME_LIMIT
    """Longest one try may take since it last made progress; then it is stopped and counts as failed."""
    long: bool = False
    """Whether one item may take minutes. Such items get at most half of a runner's slots, so that the rest goes on."""
    on_park: OnPark | None = None
    """Called in the transaction that parks the item after its last try, before the item's row is locked."""


def model_time_limit(seconds: float, *, calls: int = 2) -> timedelta:
    """Give the time limit of work that asks a model: an answer, and a second one where the first does not fit."""
    return max(DEFAULT_TIME_LIMIT, timedelta(seconds=calls * seconds + 60))
