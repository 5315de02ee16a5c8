"""One transaction's way to the database: it begins with the first statement, and what can wait leaves with the next.

Several readers of one transaction: what they ask at the same moment goes to the database in one round trip.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from mnemon.db.pipeline import PipelinedConnection, RoundTimeout, Statement, plain_statement
from mnemon.db.statements import is_read_only


class CommitLost(psycopg.OperationalError):
    """The connection was lost while a transaction that wrote was being committed: nobody knows whether it was."""


class LazyTransaction:
    """A connection lent for one transaction. What was put off is sent ahead of the next statement, in its order."""

    def __init__(
        self,
        begin: Sequence[Statement],
        *,
        take: Callable[[], Awaitable[PipelinedConnection]],
        give: Callable[[PipelinedConnection], None],
        tries: int,
    ) -> None:
        self._begin = begin
        self._take = take
        self._give = give
        self._tries = tries
        self._wire: PipelinedConnection | None = None
        self._put_off = [*begin]
        self._last: list[Statement] = []
        self._over = False
        self._wrote = False
        """Something was sent that may write; from then on it matters whether the commit arrived."""

    def defer(self, asked: Statement) -> None:
        """It is run with the next statement, or with the commit; if it fails, that is where."""
        self._put_off.append(asked)

    def defer_to_commit(self, asked: Statement) -> None:
        """It is run after everything else, in the round of the commit."""
        self._last.append(asked)

    def cancel_deferred(self, asked: Statement) -> bool:
        """It was not sent and will not be, nor what was put off after it; False when it was."""
        if asked not in self._put_off:
            return False
        del self._put_off[self._put_off.index(asked) :]
        return True

    async def begun_connection(self) -> PipelinedConnection:
        """The connection itself, inside the transaction."""
        self._wrote = True  # what is done with it is not seen here
        if self._wire is None or self._put_off:
            await self.send_statements()
        assert self._wire is not None
        return self._wire

    async def send_statements(self, *asked: Statement) -> None:
        """The statements are run, after what was put off. A connection that a restart left dead is passed over.

        Only the first round may be sent to a second connection. It begins a transaction that it does not commit, so
        the first connection can have done nothing that lasts; a glance commits in it, but in a transaction that the
        server keeps from writing.
        """
        lost: psycopg.Error = psycopg.OperationalError("no live connection")
        for _ in range(self._tries):
            first = self._wire is None
            wire = self._wire = self._wire or await self._take()
            bound = wire.bind_statements(
                *self._put_off, *asked
            )  # a value without a form fails here, before anything is sent
            ahead, self._put_off = self._put_off, []
            self._wrote = self._wrote or any(_may_write(one) for one in (*ahead, *asked))
            try:
                await wire.send_round(bound)
            except RoundTimeout:
                raise  # another connection would only be another wait
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                if not first or not wire.closed:
                    raise
                self._put_off, lost = ahead, error
                self.release_connection()
            else:
                return
        raise lost

    async def read_once(self, asked: Statement) -> None:
        """The whole transaction is one statement that only reads: it is begun, run and committed in one round."""
        if not is_read_only(asked.sql):
            raise ValueError("a glance may be sent twice, so it only reads; write in a transaction")
        await self.send_statements(asked, plain_statement("COMMIT"))
        self._over = True

    async def commit(self) -> None:
        """Everything is kept; a transaction that never sent anything never began."""
        if self._over:
            return
        self._put_off += self._last
        if not self._has_begun:
            if len(self._put_off) == len(self._begin):
                return
            await self.send_statements()  # first to a living connection: a commit is said once and never again
        wire = self._wire
        assert wire is not None
        if wire.pgconn.transaction_status == TransactionStatus.INERROR:
            # PostgreSQL would answer COMMIT with a rollback and no error.
            raise psycopg.errors.InFailedSqlTransaction("a statement failed, and no savepoint undid it")
        try:
            await self.send_statements(plain_statement("COMMIT"))
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
            await wire.run_round(plain_statement("ROLLBACK"))
        except psycopg.Error:
            await wire.close()
        except asyncio.CancelledError:
            await wire.close()
            raise

    async def roll_back_to(self, savepoint: str) -> None:
        """What was done since the savepoint is undone, and what was put off since is forgotten."""
        self._put_off.clear()
        if self._wire is not None and not self._wire.closed:
            await self._wire.run_round(plain_statement(f"ROLLBACK TO SAVEPOINT {savepoint}"))

    def release_connection(self) -> None:
        """The connection goes back."""
        wire, self._wire = self._wire, None
        if wire is not None:
            self._give(wire)

    @property
    def _has_begun(self) -> bool:
        return self._begin[0] not in self._put_off


def _may_write(asked: Statement) -> bool:
    return not asked.sql.startswith("SET LOCAL ") and not is_read_only(asked.sql)


PendingStatement = tuple[Statement, "asyncio.Future[None]"]
"""A question, and who waits for its answer."""


class StatementBatcher:
    """Readers run until every one of them waits for an answer or is done; then all questions are sent together."""

    def __init__(self, send: Callable[..., Awaitable[None]]) -> None:
        self._send = send
        self._asked: list[PendingStatement] = []
        self._running = 1
        """Readers that do not wait; at first the one who calls the others."""

    async def run_readers(self, *readers: Coroutine[Any, Any, Any]) -> tuple[Any, ...]:
        """What each reader gives, while the caller waits. The first that fails ends the others."""
        if not readers:
            return ()
        self._running += len(readers) - 1
        left = _OpenReaders(len(readers))
        tasks = [asyncio.ensure_future(self._run_reader(reader, left)) for reader in readers]
        try:
            return tuple(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                if not task.cancelling():  # a second time would interrupt the reader that is stopping its statement
                    task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def run_statement(self, asked: Statement) -> None:
        """It holds its answer, when everybody else's do."""
        answered = asyncio.get_running_loop().create_future()
        self._asked.append((asked, answered))
        await self._wait_or_send()
        await answered

    async def _run_reader(self, reader: Coroutine[Any, Any, Any], left: "_OpenReaders") -> Any:
        given = await reader
        left.number -= 1
        if left.number:  # the last one runs on as the caller
            await self._wait_or_send()
        return given

    async def _wait_or_send(self) -> None:
        """One reader fewer runs; the last one sends what all of them ask."""
        self._running -= 1
        if self._running or not self._asked:
            return
        waiting, self._asked = self._asked, []
        self._running = len(waiting)
        try:
            await self._send(*(asked for asked, _ in waiting))
        except psycopg.Error as error:
            _resolve_waiters(waiting, error)
        else:
            _resolve_waiters(waiting, None)


def _resolve_waiters(waiting: Sequence[PendingStatement], error: psycopg.Error | None) -> None:
    for _, answered in waiting:
        if answered.done():  # its reader was ended while it waited
            continue
        if error is None:
            answered.set_result(None)
        else:
            answered.set_exception(error)


class _OpenReaders:
    """How many readers of one call are not done."""

    def __init__(self, number: int) -> None:
        self.number = number
