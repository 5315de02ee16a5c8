"""One transaction's way to the database: it begins with the first statement, and what can wait leaves with the next."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import psycopg

from mnemon.db.wire import Asked, Wire, plain


class Line:
    """A connection lent for one transaction. What was put off is sent ahead of the next statement, in its order."""

    def __init__(
        self,
        begin: Sequence[Asked],
        *,
        take: Callable[[], Awaitable[Wire]],
        give: Callable[[Wire], Awaitable[None]],
        tries: int,
    ) -> None:
        self._begin = begin
        self._take = take
        self._give = give
        self._tries = tries
        self._wire: Wire | None = None
        self._put_off = [*begin]
        self._over = False

    def later(self, asked: Asked) -> None:
        """It is run with the next statement, or with the commit; if it fails, that is where."""
        self._put_off.append(asked)

    def forget(self, asked: Asked) -> bool:
        """It was not sent and will not be, nor what was put off after it; False when it was."""
        if asked not in self._put_off:
            return False
        del self._put_off[self._put_off.index(asked) :]
        return True

    async def wire(self) -> Wire:
        """The connection itself, inside the transaction."""
        if self._wire is None or self._put_off:
            await self.send()
        assert self._wire is not None
        return self._wire

    async def send(self, *asked: Asked) -> None:
        """The statements are run, after what was put off. A connection that a restart left dead is passed over."""
        for _ in range(self._tries):
            first = self._wire is None
            wire = self._wire = self._wire or await self._take()
            bound = wire.bound(*self._put_off, *asked)  # a value without a form fails here, before anything is sent
            ahead, self._put_off = self._put_off, []
            try:
                await wire.send(bound)
            except (psycopg.OperationalError, psycopg.InterfaceError):
                if not first or not wire.closed:
                    raise
                # Nothing of it was committed: it may be said again, to another.
                self._put_off = ahead
                await self.leave()
            else:
                return
        raise psycopg.OperationalError("no live connection")

    async def glance(self, asked: Asked) -> None:
        """The whole transaction is one statement that only reads: it is begun, run and committed in one round."""
        await self.send(asked, plain("COMMIT"))
        self._over = True

    async def commit(self) -> None:
        """Everything is kept; a transaction that never sent anything never began."""
        if self._over:
            return
        if not self._begun:
            if len(self._put_off) == len(self._begin):
                return
            await self.send()  # first to a living connection: a commit is said once and never again
        await self.send(plain("COMMIT"))

    async def roll_back(self) -> None:
        """Everything is undone; a connection that cannot even do that is closed, and the pool replaces it."""
        wire = self._wire
        if wire is None or wire.closed or not self._begun:
            return
        try:
            await wire.execute("ROLLBACK")
        except (psycopg.Error, asyncio.CancelledError):
            await wire.close()

    async def undo(self, savepoint: str) -> None:
        """What was done since the savepoint is undone, and what was put off since is forgotten."""
        self._put_off.clear()
        if self._wire is not None and not self._wire.closed:
            await self._wire.exchange(plain(f"ROLLBACK TO SAVEPOINT {savepoint}"))

    async def leave(self) -> None:
        """The connection goes back."""
        wire, self._wire = self._wire, None
        if wire is not None:
            await self._give(wire)

    @property
    def _begun(self) -> bool:
        return self._begin[0] not in self._put_off
