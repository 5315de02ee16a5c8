"""The rate limit: a token bucket per caller, shared by all APIs of the server.

A full bucket holds as many requests as a caller may make in a minute, and it fills evenly over that minute. So within
any t seconds a caller makes at most N + N·t/60 requests.
"""

import time
from collections import OrderedDict
from collections.abc import Callable

from mnemon.errors import RateLimited

_MAX_CALLERS = 10_000
_NS_PER_SECOND = 1_000_000_000
_REQUEST_COST = 60 * _NS_PER_SECOND
"""The cost of a request. A bucket gains N of these units per nanosecond: whole numbers, so a wait is exact."""


class RateLimit:
    """Limits the requests of each caller. It counts in this process only; several servers each count by themselves."""

    def __init__(self, per_minute: int, nanoseconds: Callable[[], int] = time.monotonic_ns) -> None:
        """Allow each caller this many requests a minute; `nanoseconds` gives the time."""
        self._per_minute = per_minute
        self._nanoseconds = nanoseconds
        self._full = per_minute * _REQUEST_COST
        self._buckets: OrderedDict[tuple[str, str], tuple[int, int]] = OrderedDict()

    def count_request(self, org_id: str, caller: str) -> None:
        """Take one request from the caller's token bucket; raise RateLimited with the seconds to wait if empty.

        A caller is a key's id, the console's operator or a run's agent: whatever is unique in its organization.
        """
        if self._per_minute == 0:
            return
        now = self._nanoseconds()
        level = self._refill_bucket((org_id, caller), now)
        if level < _REQUEST_COST:
            missing = _REQUEST_COST - level
            # Rounded up: after a shorter wait the bucket would not hold enough.
            wait = -(-missing // (self._per_minute * _NS_PER_SECOND))
            raise RateLimited(
                f"More than {self._per_minute} requests a minute with this key. Wait {wait} s and try again.",
                retry_after=wait,
            )
        self._buckets[org_id, caller] = (level - _REQUEST_COST, now)
        # A dropped bucket is full again when its caller returns: bounded memory at the price of a new minute's worth.
        while len(self._buckets) > _MAX_CALLERS:
            self._buckets.popitem(last=False)

    def _refill_bucket(self, caller: tuple[str, str], now: int) -> int:
        """Refill the caller's token bucket for the time passed and make it the last to be dropped; return its level."""
        level, at = self._buckets.pop(caller, (self._full, now))
        level = min(self._full, level + (now - at) * self._per_minute)
        self._buckets[caller] = (level, now)
        return level
