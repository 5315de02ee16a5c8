"""Whether a key that opened a stream still opens anything: streams outlive the check at their beginning.

However many streams a key has open, the database is asked about it at most once in `LOOK_EVERY_S`. So a revoked key's
streams end within that time and the interval at which a stream asks; an expired key's need no look at the database.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from mnemon.access import store
from mnemon.access.keys import expired_key, revoked_key, unknown_key
from mnemon.access.principal import Principal
from mnemon.db.database import Database
from mnemon.errors import MnemonError, Unauthenticated, Unavailable
from mnemon.scope import Scope

LOOK_EVERY_S = 1.0
_MOST_KEYS = 10_000


def server_stops() -> Unavailable:
    """What an endless stream is told when the server is asked to stop."""
    return Unavailable("The server is being stopped. Open the stream again in a moment.", code="stopping")


class StreamEnd(asyncio.Event):
    """Is set when a stream has to end; `reason` is what its reader is then told."""

    reason: MnemonError = Unavailable("The key could not be checked. Open the stream again.", code="internal")


class KeyWatch:
    """Tell whether keys are still good, for every stream of this process."""

    def __init__(self, db: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._monotonic = monotonic
        self._looks: OrderedDict[tuple[str, str], tuple[float, asyncio.Task[Unauthenticated | None]]] = OrderedDict()

    async def end_of_key(self, principal: Principal) -> Unauthenticated | None:
        """Give why the key is no longer good; None while it is, as far as is known while the database is away."""
        if principal.expires_at is not None and principal.expires_at <= self._db.now():
            return expired_key()
        name, now = (principal.org_id, principal.key_id), self._monotonic()
        at, look = self._looks.get(name, (0.0, None))
        if look is None or (look.done() and now - at >= LOOK_EVERY_S):
            look = asyncio.create_task(self._look(principal))
            self._looks.pop(name, None)
            self._looks[name] = (now, look)
            while len(self._looks) > _MOST_KEYS:
                self._looks.popitem(last=False)
        return await asyncio.shield(look)  # a stream that is left must not end the look of the others

    async def _look(self, principal: Principal) -> Unauthenticated | None:
        try:
            end = await store.key_end(Scope(org_id=principal.org_id), self._db, principal.key_id)
        except Unavailable:
            return None
        if end is None:
            return unknown_key()
        expires_at, revoked_at = end
        if revoked_at is not None:
            return revoked_key()
        return expired_key() if expires_at is not None and expires_at <= self._db.now() else None

    @asynccontextmanager
    async def until_key_ends(self, principal: Principal, closing: asyncio.Event) -> AsyncIterator[StreamEnd]:
        """Give an event that is set when the key is no longer good, or when `closing` is."""
        over = StreamEnd()
        watching = asyncio.create_task(self._wait_for_end(principal, closing, over))
        try:
            yield over
        finally:
            watching.cancel()

    async def _wait_for_end(self, principal: Principal, closing: asyncio.Event, over: StreamEnd) -> None:
        try:
            ended: Unauthenticated | None = None
            while not closing.is_set() and (ended := await self.end_of_key(principal)) is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_EVERY_S):
                        await closing.wait()
            over.reason = ended or server_stops()
        finally:
            over.set()  # also when the look fails for a reason nobody foresaw: a stream that is not watched must end
