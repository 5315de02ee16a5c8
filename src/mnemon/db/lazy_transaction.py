"""A transaction that sends as few round trips as it can.

`LazyTransaction` borrows a connection and sends BEGIN only with the first statement; deferred statements travel with
the next one, or with COMMIT:

    defer(a)  send(b)  defer(c)  commit   →   [BEGIN, SET …, a, b]  [c, COMMIT]

`StatementBatcher` serves `Tx.gather`: statements that several coroutines run at the same moment are sent in one round.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from mnemon.db.pipeline import PipelinedConnection, RoundTimeout, Statement, plain_statement
from mnemon.db.statements import is_read_only


class CommitLost(psycopg.OperationalError):
    """The connection was lost during the COMMIT of a transaction that wrote: whether it was committed is unknown."""


class LazyTransaction:
    """One transaction and its borrowed connection; deferred statements are sent, in order, ahead of the next one."""

    def __init__(
        self,
        begin: Sequence[Statement],
        *,
        borrow: Callable[[], Awaitable[PipelinedConnection]],
        give_back: Callable[[PipelinedConnection], None],
        tries: int,
    ) -> None:
        """Prepare a transaction; no connection is borrowed and nothing sent before the first statement."""
        self._begin = begin
        self._borrow = borrow
        self._give_back = give_back
        self._tries = tries
        self._connection: PipelinedConnection | None = None
        self._deferred = [*begin]
        self._at_commit: list[Statement] = []
        self._is_over = False
        self._wrote = False
        """Whether anything was sent that may write; only then does it matter whether a lost COMMIT arrived."""

    def defer(self, statement: Statement) -> None:
        """Queue an SQL statement to be sent with the next one, or with the commit; its error is raised there."""
        self._deferred.append(statement)

    def defer_to_commit(self, statement: Statement) -> None:
        """Queue an SQL statement to be sent after all others, in the round of the commit."""
        self._at_commit.append(statement)

    def cancel_deferred(self, statement: Statement) -> bool:
        """Drop a deferred statement and all deferred after it; return False when it was already sent."""
        if statement not in self._deferred:
            return False
        del self._deferred[self._deferred.index(statement) :]
        return True

    async def begun_connection(self) -> PipelinedConnection:
        """Return the borrowed connection with the transaction begun on it, sending what is deferred."""
        self._wrote = True  # the caller may write through it unseen
        if self._connection is None or self._deferred:
            await self.send_statements()
        assert self._connection is not None
        return self._connection

    async def send_statements(self, *statements: Statement) -> None:
        """Send the deferred statements and these in one round; retry the first round on another connection.

        Only the first round may be sent to a second connection. It begins a transaction that it does not commit, so
        the first connection can have done nothing that lasts; `read_once` commits in it, but in a transaction that the
        server keeps from writing.
        """
        lost: psycopg.Error = psycopg.OperationalError("no live connection")
        for _ in range(self._tries):
            first = self._connection is None
            connection = self._connection = self._connection or await self._borrow()
            # A value that cannot be converted fails here, before anything is sent.
            bound = connection.bind_statements(*self._deferred, *statements)
            ahead, self._deferred = self._deferred, []
            self._wrote = self._wrote or any(_may_write(one) for one in (*ahead, *statements))
            try:
                await connection.send_round(bound)
            except RoundTimeout:
                raise  # the server hangs, so another connection would only time out again
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                # An open connection means that the server refused the statement: another one would, too.
                if not first or not connection.closed:
                    raise
                self._deferred, lost = ahead, error
                self.release_connection()
            else:
                return
        raise lost

    async def read_once(self, statement: Statement) -> None:
        """Begin, run one statement and commit in one round; raise ValueError for a statement that may write."""
        if not is_read_only(statement.sql):
            raise ValueError("read_once may send its statement twice, so it only reads; write in a transaction")
        await self.send_statements(statement, plain_statement("COMMIT"))
        self._is_over = True

    async def commit(self) -> None:
        """Commit the transaction unless nothing was sent or deferred.

        Raises CommitLost when the connection is lost during the COMMIT of a transaction that wrote.
        """
        if self._is_over:
            return
        self._deferred += self._at_commit
        if not self._has_begun:
            if len(self._deferred) == len(self._begin):
                return
            # A round of its own, which may be retried on another connection; a COMMIT may not, it is sent once.
            await self.send_statements()
        connection = self._connection
        assert connection is not None
        if connection.pgconn.transaction_status == TransactionStatus.INERROR:
            # PostgreSQL would answer COMMIT with a rollback and no error.
            raise psycopg.errors.InFailedSqlTransaction("a statement failed, and no savepoint undid it")
        try:
            await self.send_statements(plain_statement("COMMIT"))
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if connection.closed and self._wrote:
                raise CommitLost("the connection was lost during COMMIT") from error
            raise

    async def roll_back(self) -> None:
        """Roll back the transaction; close a connection on which that fails, so that the pool replaces it."""
        connection = self._connection
        if connection is None or connection.closed or connection.pgconn.transaction_status == TransactionStatus.IDLE:
            return
        try:
            await connection.run_round(plain_statement("ROLLBACK"))
        except psycopg.Error:
            await connection.close()
        except asyncio.CancelledError:
            await connection.close()
            raise

    async def roll_back_to(self, savepoint: str) -> None:
        """Roll back to the savepoint, and drop the statements deferred since it."""
        # All of it was deferred after the savepoint: what came before was sent with it.
        self._deferred.clear()
        if self._connection is not None and not self._connection.closed:
            await self._connection.run_round(plain_statement(f"ROLLBACK TO SAVEPOINT {savepoint}"))

    def release_connection(self) -> None:
        """Return the borrowed connection to the pool."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._give_back(connection)

    @property
    def _has_begun(self) -> bool:
        """Say whether the transaction's BEGIN was sent, so that it is no longer among the deferred statements."""
        return self._begin[0] not in self._deferred


def _may_write(statement: Statement) -> bool:
    """Say whether the statement may write or lock a row; SET LOCAL and pure reads do not."""
    return not statement.sql.startswith("SET LOCAL ") and not is_read_only(statement.sql)


PendingStatement = tuple[Statement, "asyncio.Future[None]"]
"""A statement, and the future that its reader waits for."""


class StatementBatcher:
    """Runs coroutines until each is done or waits for a result, then sends all their statements in one round."""

    def __init__(self, send: Callable[..., Awaitable[None]]) -> None:
        """Batch statements into rounds that `send` takes."""
        self._send = send
        self._queued: list[PendingStatement] = []
        self._running = 1
        """Readers that are not waiting; at first only the caller of `run_readers`."""

    async def run_readers(self, *readers: Coroutine[Any, Any, Any]) -> tuple[Any, ...]:
        """Run the coroutines, their statements sent in shared rounds; return their results in order."""
        if not readers:
            return ()
        # Minus one: the caller, counted so far, now waits for its readers.
        self._running += len(readers) - 1
        left = _OpenReaders(len(readers))
        tasks = [asyncio.ensure_future(self._run_reader(reader, left)) for reader in readers]
        try:
            return tuple(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                # A second cancel would interrupt the reader that is cancelling its statement.
                if not task.cancelling():
                    task.cancel()
            # Waited for, so that no reader still uses the connection when the transaction ends.
            await asyncio.gather(*tasks, return_exceptions=True)

    async def run_statement(self, statement: Statement) -> None:
        """Queue a reader's statement for the next round trip, and wait for its result."""
        waiter = asyncio.get_running_loop().create_future()
        self._queued.append((statement, waiter))
        await self._wait_or_send()
        await waiter

    async def _run_reader(self, reader: Coroutine[Any, Any, Any], left: "_OpenReaders") -> Any:
        """Run one reader to its end, then let the other readers' statements be sent without it."""
        result = await reader
        left.number -= 1
        if left.number:  # when the last reader ends, the caller goes on in its place
            await self._wait_or_send()
        return result

    async def _wait_or_send(self) -> None:
        """Count this reader as waiting; if all wait now, send their statements in one round."""
        self._running -= 1
        if self._running or not self._queued:
            return
        # Every reader waits, so the round is complete. After it, all of its readers run again.
        waiting, self._queued = self._queued, []
        self._running = len(waiting)
        try:
            await self._send(*(statement for statement, _ in waiting))
        except psycopg.Error as error:
            _resolve_waiters(waiting, error)
        else:
            _resolve_waiters(waiting, None)


def _resolve_waiters(waiting: Sequence[PendingStatement], error: psycopg.Error | None) -> None:
    """Wake the readers whose statements were sent, with the round's error if there is one."""
    for _, waiter in waiting:
        if waiter.done():  # its reader was cancelled while it waited
            continue
        if error is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(error)


class _OpenReaders:
    """How many readers of one `run_readers` call are not done."""

    def __init__(self, number: int) -> None:
        """Start with this many readers open."""
        self.number = number
