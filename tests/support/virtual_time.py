"""An event loop whose clock jumps to the next timer, so that what waits for time neither takes it nor depends on it.

For code that waits for nothing but timers; a socket or a thread has its own time.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Jumping(selectors.DefaultSelector):
    """Instead of waiting for a time, says that it has passed."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(timeout if timeout is None else 0)
        if not ready and timeout is not None:
            self.passed += max(timeout, 0)
        return ready


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.passed


def run_in_virtual_time(work: Coroutine[Any, Any, Result]) -> Result:
    """The coroutine's result; the seconds it waits go by at once."""
    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        return runner.run(work)
