"""One transaction's way to the database: it begins with the first statement, and what can wait leaves with the next."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import psycopg
from psycopg.pq import TransactionStatus

from mnemon.db.statements import only_reads
from mnemon.db.wire import Asked, Unanswered, Wire, plain


class CommitLost(psycopg.OperationalError):
    """The connection was lost while a transaction that wrote was being committed: nobody knows whether it was."""


class Line:
    """A connection lent for one transaction. What was put off is sent ahead of the next statement, in its order."""

    def __init__(
        self,
        begin: Sequence[Asked],
        *,
        take: Callable[[], Awaitable[Wire]],
        give: Callable[[Wire], None],
        tries: int,
    ) -> None:
        self._begin = begin
        self._take = take
        self._give = give
        self._tries = tries
        self._wire: Wire | None = None
        self._put_off = [*begin]
        self._last: list[Asked] = []
        self._over = False
        self._wrote = False
        """Something was sent that may write; from then on it matters whether the commit arrived."""

    def later(self, asked: Asked) -> None:
        """It is run with the next statement, or with the commit; if it fails, that is where."""
        self._put_off.append(asked)

    def at_commit(self, asked: Asked) -> None:
        """It is run after everything else, in the round of the commit."""
        self._last.append(asked)

    def forget(self, asked: Asked) -> bool:
        """It was not sent and will not be, nor what was put off after it; False when it was."""
        if asked not in self._put_off:
            return False
        del self._put_off[self._put_off.index(asked) :]
        return True

    async def wire(self) -> Wire:
        """The connection itself, inside the transaction."""
        self._wrote = True  # what is done with it is not seen here
        if self._wire is None or self._put_off:
            await self.send()
        assert self._wire is not None
        return self._wire

    async def send(self, *asked: Asked) -> None:
        """The statements are run, after what was put off. A connection that a restart left dead is passed over.

        Only the first round may be sent to a second connection. It begins a transaction that it does not commit, so
        the first connection can have done nothing that lasts; a glance commits in it, but in a transaction that the
        server keeps from writing.
        """
        lost: psycopg.Error = psycopg.OperationalError("no live connection")
        for _ in range(self._tries):
            first = self._wire is None
            wire = self._wire = self._wire or await self._take()
            bound = wire.bound(*self._put_off, *asked)  # a value without a form fails here, before anything is sent
            ahead, self._put_off = self._put_off, []
            self._wrote = self._wrote or any(_may_write(one) for one in (*ahead, *asked))
            try:
                await wire.send(bound)
            except Unanswered:
                raise  # another connection would only be another wait
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                if not first or not wire.closed:
                    raise
                self._put_off, lost = ahead, error
                self.leave()
            else:
                return
        raise lost

    async def glance(self, asked: Asked) -> None:
        """The whole transaction is one statement that only reads: it is begun, run and committed in one round."""
        if not only_reads(asked.sql):
            raise ValueError("a glance may be sent twice, so it only reads; write in a transaction")
        await self.send(asked, plain("COMMIT"))
        self._over = True

    async def commit(self) -> None:
        """Everything is kept; a transaction that never sent anything never began."""
        if self._over:
            return
        self._put_off += self._last
        if not self._begun:
            if len(self._put_off) == len(self._begin):
                return
            await self.send()  # first to a living connection: a commit is said once and never again
        wire = self._wire
        assert wire is not None
        if wire.pgconn.transaction_status == TransactionStatus.INERROR:
            # PostgreSQL would answer COMMIT with a rollback and no error.
            raise psycopg.errors.InFailedSqlTransaction("a statement failed, and no savepoint undid it")
        try:
            await self.send(plain("COMMIT"))
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if wire.closed and self._wrote:
                raise CommitLost("the connection was lost during COMMIT") from error
            raise

    async def roll_back(self) -> None:
        """Everything is undone; a connection that cannot even do that is closed, and the pool replaces it."""
        wire = self._wire
        if wire is None or wire.closed or wire.pgconn.transaction_status == TransactionStatus.IDLE:
            return
        try:
            await wire.exchange(plain("ROLLBACK"))
        except psycopg.Error:
            await wire.close()
        except asyncio.CancelledError:
            await wire.close()
            raise

    async def undo(self, savepoint: str) -> None:
        """What was done since the savepoint is undone, and what was put off since is forgotten."""
        self._put_off.clear()
        if self._wire is not None and not self._wire.closed:
            await self._wire.exchange(plain(f"ROLLBACK TO SAVEPOINT {savepoint}"))

    def leave(self) -> None:
        """The connection goes back."""
        wire, self._wire = self._wire, None
        if wire is not None:
            self._give(wire)

    @property
    def _begun(self) -> bool:
        return self._begin[0] not in self._put_off


def _may_write(asked: Asked) -> bool:
    return not asked.sql.startswith("SET LOCAL ") and not only_reads(asked.sql)
