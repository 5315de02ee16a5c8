"""The rate limit: a bucket per key that fills evenly over a minute."""

import time
from collections import OrderedDict
from collections.abc import Callable

from mnemon.errors import RateLimited

_MOST_KEYS = 10_000


class RateLimit:
    """Refuses a key that asks more often than it may. Of this process only; several servers each have their own."""

    def __init__(self, per_minute: int, seconds: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._seconds = seconds
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key_id: str) -> None:
        """One request of this key is counted, or refused with the time to wait."""
        if self._per_minute == 0:
            return
        now = self._seconds()
        left, at = self._buckets.pop(key_id, (float(self._per_minute), now))
        left = min(float(self._per_minute), left + (now - at) * self._per_minute / 60)
        if left < 1:
            self._buckets[key_id] = (left, now)
            wait = max(1, round((1 - left) * 60 / self._per_minute))
            raise RateLimited(
                f"More than {self._per_minute} requests a minute with this key. Wait {wait} s and try again.",
                retry_after=wait,
            )
        self._buckets[key_id] = (left - 1, now)
        while len(self._buckets) > _MOST_KEYS:
            self._buckets.popitem(last=False)
