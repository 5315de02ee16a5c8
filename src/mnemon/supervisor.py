"""Keeping background loops running: one that ends or fails is logged, counted and restarted after a pause."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import structlog
from prometheus_client import Counter

from mnemon.errors import MnemonError, Unavailable

log = structlog.get_logger(__name__)

RESTARTS = Counter(
    "mnemon_task_restarts_total", "Background tasks that ended unexpectedly and were started again.", ("task",)
)


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """How long a failed loop waits before it is restarted."""

    first_s: float = 0.1
    most_s: float = 2.0
    """Small, so that the loop runs again within a few seconds after an outage, usually of the database."""
    steady_s: float = 30.0
    """A loop that ran this long was healthy: its next failure counts as the first."""

    def pause_s(self, failures: int) -> float:
        """Return the seconds a failed loop waits after this many failures in a row: doubled up to `most_s`."""
        return float(min(self.first_s * 2.0 ** min(failures - 1, 32), self.most_s))


@asynccontextmanager
async def supervise(
    name: str, run: Callable[[], Awaitable[None]], *, backoff: Backoff | None = None
) -> AsyncIterator[asyncio.Task[None]]:
    """Keep the background loop `run` running in a task while the block lasts; cancel it at the end."""
    task = asyncio.create_task(keep_running(name, run, backoff=backoff or Backoff()), name=name)
    try:
        yield task
    finally:
        await end_tasks(task)


async def end_tasks(*tasks: asyncio.Future[Any], again_s: float = 1.0) -> None:
    """Cancel the tasks and wait until they are done, whatever they raise.

    Cancel them again every `again_s`: code that waits by `wait_for` can lose a cancellation in Python 3.11.
    """
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=again_s)


async def keep_running(
    name: str,
    run: Callable[[], Awaitable[None]],
    *,
    backoff: Backoff,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Run the background loop until this task is cancelled; restart it whenever it ends by itself."""
    failures = 0
    last: type[BaseException] | None = None
    while True:
        started = asyncio.get_running_loop().time()
        cause: BaseException | None = None
        try:
            await run()
        except asyncio.CancelledError as error:
            # Cancelled from outside, this task has a request pending; without one, something inside was cancelled and
            # the loop would end here unnoticed.
            if _cancel_requested():
                raise
            cause = error
        except Exception as error:
            # A supervised boundary: the failure is logged and the loop goes on.
            cause = error
        if asyncio.get_running_loop().time() - started >= backoff.steady_s:
            failures, last = 0, None
        failures += 1
        RESTARTS.labels(name).inc()
        # An outage fails the same way again and again: the 1st, 2nd, 4th, 8th … time is logged.
        if type(cause) is not last or failures & (failures - 1) == 0:
            _log_end(name, cause, failures)
        last = None if cause is None else type(cause)
        await sleep(backoff.pause_s(failures))


def _cancel_requested() -> bool:
    """Say whether this task itself was cancelled, rather than something that it awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _log_end(name: str, cause: BaseException | None, failures: int) -> None:
    """Log how the background loop ended and that it is restarted."""
    task_log = log.bind(task=name, failures=failures)
    if cause is None:
        task_log.error("task_ended", next_step="It is restarted; a task of this kind should not end by itself.")
    elif isinstance(cause, Unavailable):
        step = "Run `mnemon doctor` to see what is unavailable. The task continues by itself once that is back."
        task_log.warning("task_failed", error=cause.code, next_step=step)
    else:
        code = cause.code if isinstance(cause, MnemonError) else type(cause).__name__
        task_log.error("task_failed", error=code, next_step="It is restarted.", exc_info=cause)
