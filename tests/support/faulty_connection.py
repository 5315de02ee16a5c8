"""A connection that fails one chosen statement, wherever possible by making PostgreSQL itself raise the error.

Every statement of the server passes through `PipelinedConnection.send_round` or its `execute`, so counting there counts
them all: BEGIN, SET, savepoints, COMMIT and ROLLBACK, what was put off with `Tx.defer`, and each row of
`Tx.execute_many`.
"""

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import psycopg

from mnemon.db.pipeline import BoundStatement, PipelinedConnection, plain_statement


class FaultClass(StrEnum):
    """What goes wrong at the statement."""

    DEADLOCK = "deadlock"
    SERIALIZATION = "serialization failure"
    LOCK_TIMEOUT = "lock timeout"
    PRIVILEGE = "insufficient privilege"
    DISK_FULL = "disk full"
    STATEMENT_TIMEOUT = "statement timeout"
    READ_ONLY = "read-only transaction"
    TERMINATED = "backend terminated"
    """The server ends the connection in place of the statement and says so."""
    LOST_BEFORE = "connection lost before"
    """The statement never reaches the server, and nobody says so."""
    LOST_AFTER = "connection lost after"
    """The statement is run, and its answer does not arrive: at COMMIT the client cannot know what happened."""
    AWAY = "database away from here on"
    """This statement and every later one is lost, for a moment or until `Faults.heal`."""
    CANCELLED = "cancelled"
    """Whoever waits for the statement is cancelled while it runs."""


SQLSTATES = {
    FaultClass.DEADLOCK: "40P01",
    FaultClass.SERIALIZATION: "40001",
    FaultClass.LOCK_TIMEOUT: "55P03",
    FaultClass.PRIVILEGE: "42501",
    FaultClass.DISK_FULL: "53100",
    FaultClass.STATEMENT_TIMEOUT: "57014",
    FaultClass.READ_ONLY: "25006",
}
_TERMINATE = ("RESET ROLE", "SELECT pg_terminate_backend(pg_backend_pid())")
"""As the login: the application's role may end nobody."""
_AWAY_S = 0.3
_UNDER_WAY = "SELECT pg_sleep(0.5)"
"""Runs ahead of a statement that is cancelled: the cancellation comes at once and finds it running."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One error at one statement."""

    at: int
    """Which statement, counted from 1 over all connections since `Faults.arm`."""
    kind: FaultClass


class Faults:
    """Counts the statements of all connections of one database, and says which one fails."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        """What was sent since it was armed, in order."""
        self.struck: str | None = None
        """The statement that was failed."""
        self.away = False
        self._fault: Fault | None = None
        self._armed = False
        self._cancel: Callable[[], None] = _nobody

    def arm(self, fault: Fault | None = None, *, cancel: Callable[[], None] | None = None) -> None:
        """Count from 1 again, and fail as told; `cancel` ends whoever waits, for `FaultClass.CANCELLED`."""
        self.statements, self.struck, self.away = [], None, False
        self._fault, self._armed, self._cancel = fault, True, cancel or _nobody

    def heal(self) -> None:
        """Neither count nor fail anything any more."""
        self._armed = self.away = False

    def take_statements(self) -> tuple[str, ...]:
        """What was sent; from here on nothing is counted."""
        self.heal()
        return tuple(self.statements)

    def place_in(self, statements: Sequence[str]) -> int | None:
        """Count the statements of a round; the place of the one that fails, if it is among them."""
        if not self._armed:
            return None
        before = len(self.statements)
        self.statements += statements
        if self._fault is None or not before < self._fault.at <= len(self.statements):
            return None
        self.struck = self.statements[self._fault.at - 1]
        if self._fault.kind is FaultClass.AWAY:
            self.away = True
            asyncio.get_running_loop().call_later(_AWAY_S, self._come_back, self._fault)
        return self._fault.at - before - 1

    def _come_back(self, fault: Fault) -> None:
        if self._fault is fault:
            self.away = False

    @property
    def kind(self) -> FaultClass:
        assert self._fault is not None
        return self._fault.kind

    def cancel_waiting(self) -> None:
        """End whoever waits, as soon as the statement is on its way."""
        asyncio.get_running_loop().call_soon(self._cancel)


def _nobody() -> None:
    """Nobody waits."""


class FaultyWire(PipelinedConnection):
    """A connection whose statements fail as its `faults` say."""

    faults: Faults

    async def send_round(self, bound: Sequence[BoundStatement]) -> None:
        place = self.faults.place_in([one.statement.sql for one in bound])
        if place is None:
            if self.faults.away:
                self._sever()
            await super().send_round(bound)
            return
        before, it, after = list(bound[:place]), bound[place], list(bound[place + 1 :])
        match self.faults.kind:
            case FaultClass.TERMINATED:
                await super().send_round([*before, *self.bind_statements(*map(plain_statement, _TERMINATE)), *after])
            case FaultClass.LOST_BEFORE | FaultClass.AWAY:
                await self._send_and_sever(before, [it, *after])
            case FaultClass.LOST_AFTER:
                await self._send_and_sever([*before, it], after)
            case FaultClass.CANCELLED:
                self.faults.cancel_waiting()
                await super().send_round([*before, *self.bind_statements(plain_statement(_UNDER_WAY)), it, *after])
            case kind:
                await super().send_round([*before, *self.bind_statements(plain_statement(_raising(kind))), *after])

    async def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        place = self.faults.place_in([str(query)])
        if place is None:
            if self.faults.away:
                self._sever()
            return await super().execute(query, params, **options)
        match self.faults.kind:
            case FaultClass.TERMINATED:
                await super().execute(_TERMINATE[0])
                return await super().execute(_TERMINATE[1])
            case FaultClass.LOST_BEFORE | FaultClass.AWAY:
                self._sever()
            case FaultClass.LOST_AFTER:
                await super().execute(query, params, **options)
                self._sever()
            case FaultClass.CANCELLED:
                self.faults.cancel_waiting()
                await super().execute(_UNDER_WAY)
            case kind:
                return await super().execute(_raising(kind))
        return await super().execute(query, params, **options)

    async def _send_and_sever(self, arrives: Sequence[BoundStatement], lost: Sequence[BoundStatement]) -> None:
        if arrives:
            await super().send_round(arrives)
        self._sever()
        await super().send_round(lost)

    def _sever(self) -> None:
        """Cut the connection as a network does: neither side is told."""
        if self.closed:
            raise psycopg.OperationalError("the connection is closed")
        with socket.socket(fileno=os.dup(self.pgconn.socket)) as copy:
            copy.shutdown(socket.SHUT_RDWR)


def _raising(kind: FaultClass) -> str:
    """A statement that fails with the class's SQLSTATE."""
    return f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{SQLSTATES[kind]}', MESSAGE = 'injected'; END $$"


def faulty_class(faults: Faults) -> type[FaultyWire]:
    """A class of connections that these faults govern, for `Database(connection_class=…)`."""
    return type("GovernedWire", (FaultyWire,), {"faults": faults})
