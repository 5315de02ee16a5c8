"""Replies in the making, each in a task that the application owns: a listener may leave, the record is kept."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import structlog

from mnemon.basement import Basement
from mnemon.chat.answer import Answer
from mnemon.chat.asking import Begun
from mnemon.chat.begin import LEASE
from mnemon.chat.events import Began, Done, Event, Failed
from mnemon.chat.seal import OnSeal, Outcome, seal
from mnemon.chat.toolcall import Tools
from mnemon.errors import DatabaseDown
from mnemon.jobs.store import postpone
from mnemon.reflection.job import REFLECTION
from mnemon.sessions import turns
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.way import Ahead

log = structlog.get_logger(__name__)
_SEAL_TRIES = 6
_NOT_SEALED = "The reply could not be stored: the database went away. Your message is kept; look at the turn shortly."


class Stream:
    """One reply, as one listener hears it."""

    def __init__(self, begun: Begun, ahead: Ahead) -> None:
        self.begun = begun
        self._ahead = ahead
        self._heard: asyncio.Queue[Event | None] = asyncio.Queue()
        self.task: asyncio.Task[None] | None = None
        self.sealing = False
        """From here on the reply is complete or given up, and nothing may stop its storing."""

    @property
    def turn_id(self) -> str:
        return self.begun.turn.id

    @property
    def session_id(self) -> str:
        return self.begun.turn.session_id

    def emit(self, event: Event) -> None:
        self._heard.put_nowait(event)
        if not isinstance(event, Began):
            self._ahead.passed()

    def end(self) -> None:
        self._heard.put_nowait(None)
        self._ahead.passed()

    def leave(self) -> None:
        """The listener is gone: the reply stops here, and what was said so far is sealed as interrupted."""
        if self.task is not None and not self.sealing:
            self.task.cancel()

    async def events(self) -> AsyncIterator[Event]:
        """Everything from the beginning to `Done` or `Failed`."""
        ended = False
        while (event := await self._heard.get()) is not None:
            ended = isinstance(event, Done | Failed)
            yield event
        if not ended:
            yield Failed(turn_id=self.begun.turn.id, code="internal", detail=_NOT_SEALED)


class Streams:
    """All replies in the making of this process."""

    def __init__(self) -> None:
        self._running: set[Stream] = set()

    def start(
        self, basement: Basement, begun: Begun, tools: Tools, ahead: Ahead, on_seal: OnSeal | None = None
    ) -> Stream:
        """The reply is being made; until its first word, jobs stand back."""
        stream = Stream(begun, ahead)
        stream.emit(Began(turn_id=begun.turn.id, session_id=begun.turn.session_id))
        task = asyncio.create_task(_run(basement, stream, tools, on_seal))
        stream.task = task
        self._running.add(stream)
        task.add_done_callback(lambda _: self._running.discard(stream))
        return stream

    async def close(self) -> None:
        """Every reply is sealed as far as it came."""
        running = list(self._running)
        for stream in running:
            stream.leave()
        await asyncio.gather(*(stream.task for stream in running if stream.task), return_exceptions=True)


async def _run(basement: Basement, stream: Stream, tools: Tools, on_seal: OnSeal | None) -> None:
    keeper = asyncio.create_task(_keep_lease(basement, stream.begun))
    try:
        outcome = await Answer(basement, stream.begun, tools, stream.emit).made()
        stream.sealing = True
        event = await _sealed(basement, stream.begun, outcome, on_seal)
        if event is not None:
            stream.emit(event)
    finally:
        keeper.cancel()
        stream.end()


async def _sealed(basement: Basement, begun: Begun, outcome: Outcome, on_seal: OnSeal | None) -> Event | None:
    """The turn is sealed, tried for half a minute while the database is away; then the sweep gives it up."""
    for attempt in range(_SEAL_TRIES):
        try:
            async with basement.db.tx(begun.turn.scope.org_id) as tx:
                turn, message_id = await seal(tx, begun, outcome)
                if on_seal is not None:
                    await on_seal(tx, turn, outcome)
        except DatabaseDown:
            log.warning("seal_failed", turn=begun.turn.id, attempt=attempt)
            await asyncio.sleep(min(0.2 * 2**attempt, 5.0))
        else:
            return _last_event(begun, outcome, message_id)
    return None


def _last_event(begun: Begun, outcome: Outcome, message_id: str | None) -> Event:
    turn = begun.turn
    if outcome.status is TurnStatus.ANSWERED:
        return Done(
            turn_id=turn.id,
            session_id=turn.session_id,
            message_id=message_id,
            reply=outcome.reply,
            usage=outcome.usage,
            reason=outcome.reason,
        )
    error = outcome.error
    code, detail = (error.code, error.detail) if error else ("interrupted", "The reply was interrupted.")
    return Failed(turn_id=turn.id, code=code, detail=f"{detail} Your message is kept in turn {turn.id}.")


async def _keep_lease(basement: Basement, begun: Begun) -> None:
    """Signs of life while the reply is made, counted in real time however the clock stands."""
    turn = begun.turn
    while True:
        await asyncio.sleep(LEASE.total_seconds() / 3)
        with suppress(DatabaseDown):
            async with basement.db.tx(turn.scope.org_id) as tx:
                until = tx.now + LEASE
                if await turns.renew(tx, turn.scope, turn.id, until):
                    await postpone(tx, turn.scope, REFLECTION, turn.id, due_at=until)
