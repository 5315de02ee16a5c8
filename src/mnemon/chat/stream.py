"""Replies in the making, each in a task that the application owns: a listener may leave, the record is kept."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import structlog

from mnemon.basement import Basement
from mnemon.chat.answer import Answer
from mnemon.chat.asking import Begun, Prompt
from mnemon.chat.begin import LEASE
from mnemon.chat.events import Began, Done, Event, Failed
from mnemon.chat.seal import OnSeal, Outcome, seal
from mnemon.chat.toolcall import Tools
from mnemon.errors import Unavailable
from mnemon.jobs.store import postpone
from mnemon.reflection.job import REFLECTION
from mnemon.sessions import turns
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.people import keep_person
from mnemon.supervisor import Backoff, keep_running
from mnemon.way import Ahead

log = structlog.get_logger(__name__)
_SEAL_TRIES = 6
_NOT_SEALED = "The reply could not be stored: the database went away. Your message is kept; look at the turn shortly."


class Stream:
    """One reply, as one listener hears it: asked for, then stored, then heard."""

    def __init__(self, basement: Basement, tools: Tools, ahead: Ahead) -> None:
        self._basement = basement
        self._tools = tools
        self._ahead = ahead
        self._heard: asyncio.Queue[Event] = asyncio.Queue()
        self._stored: asyncio.Future[Begun] = asyncio.get_running_loop().create_future()
        self._on_seal: OnSeal | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._answer: Answer | None = None
        self.task: asyncio.Task[None] | None = None
        self.sealing = False
        """From here on the reply is complete or given up, and nothing may stop its storing."""

    @property
    def begun(self) -> Begun:
        return self._stored.result()

    @property
    def turn_id(self) -> str:
        return self.begun.turn.id

    @property
    def session_id(self) -> str:
        return self.begun.turn.session_id

    def ask(self, prompt: Prompt) -> None:
        """The model begins to answer. Nobody hears it before the message is stored."""
        self.task = asyncio.create_task(self._run(prompt))

    def stored(self, begun: Begun, on_seal: OnSeal | None = None) -> None:
        """The message is kept, come what may: the reply may be heard."""
        self._on_seal = on_seal
        self._keeper = asyncio.create_task(
            keep_running("turn_lease_keeper", lambda: _keep_lease(self._basement, begun), backoff=Backoff())
        )
        self._stored.set_result(begun)
        if self.task is None or self.task.done():
            self._emit(self._not_sealed())
        elif not self._heard.empty():
            self._ahead.passed()

    def forsake(self) -> None:
        """Unless it was stored, there is nothing to answer."""
        if self._stored.cancel():
            self._ahead.passed()
            if self.task is not None:
                self.task.cancel()

    def leave(self, *, server_stops: bool = False) -> None:
        """Nobody waits for more: the reply stops here, and what was said so far is sealed as interrupted."""
        if self._answer is not None:
            self._answer.server_stops = server_stops
        if self.task is not None and not self.sealing:
            self.task.cancel()

    async def events(self) -> AsyncIterator[Event]:
        """Everything from the beginning to `Done` or `Failed`."""
        async for some in self.by_and_by():
            for event in some:
                yield event

    async def by_and_by(self) -> AsyncIterator[list[Event]]:
        """The same, always all that is there: what comes together can be sent together."""
        some: list[Event] = [Began(turn_id=self.turn_id, session_id=self.session_id)]
        while True:
            while not self._heard.empty():
                some.append(self._heard.get_nowait())
            yield some
            if isinstance(some[-1], Done | Failed):
                return
            some = [await self._heard.get()]

    async def _run(self, prompt: Prompt) -> None:
        last: Event | None = None
        try:
            self._answer = Answer(self._basement, prompt, self._tools, self._emit, self._until_stored)
            outcome = await self._answer.made()
            begun = await self._until_stored()
            self.sealing = True
            last = await _sealed(self._basement, begun, outcome, self._on_seal)
        finally:
            if self._keeper is not None:
                self._keeper.cancel()
            if self._stored.done() and not self._stored.cancelled():
                self._emit(last or self._not_sealed())

    async def _until_stored(self) -> Begun:
        return self._stored.result() if self._stored.done() else await asyncio.shield(self._stored)

    def _not_sealed(self) -> Failed:
        return Failed(turn_id=self.turn_id, code="internal", detail=_NOT_SEALED)

    def _emit(self, event: Event) -> None:
        self._heard.put_nowait(event)
        if self._stored.done():
            self._ahead.passed()


class Streams:
    """All replies in the making of this process."""

    def __init__(self) -> None:
        self._running: set[Stream] = set()

    @contextmanager
    def opening(self, basement: Basement, tools: Tools) -> Iterator[Stream]:
        """A reply that is about to be asked for and stored; until its first word, jobs stand back.

        One that is not stored when the block ends is forsaken.
        """
        stream = Stream(basement, tools, basement.db.way.take())
        self._running.add(stream)
        try:
            yield stream
        finally:
            stream.forsake()
            if stream.task is None:
                self._running.discard(stream)
            else:
                stream.task.add_done_callback(lambda _: self._running.discard(stream))

    def stop(self) -> None:
        """Seal every reply as far as it came; whoever waits for one is told so."""
        for stream in self._running:
            stream.leave(server_stops=True)

    async def close(self) -> None:
        """Every reply is sealed as far as it came."""
        running = list(self._running)
        self.stop()
        await asyncio.gather(*(stream.task for stream in running if stream.task), return_exceptions=True)


async def _sealed(basement: Basement, begun: Begun, outcome: Outcome, on_seal: OnSeal | None) -> Event | None:
    """The turn is sealed, tried for half a minute while it cannot be; then the sweep gives it up."""
    for attempt in range(_SEAL_TRIES):
        try:
            async with basement.db.tx(begun.turn.scope.org_id) as tx:
                turn, message_id = await seal(tx, begun, outcome, again=attempt > 0)
                if on_seal is not None:
                    await on_seal(tx, turn, outcome)
        except Unavailable as error:
            log.warning("seal_failed", turn=begun.turn.id, attempt=attempt + 1, error=error.code)
            await asyncio.sleep(min(0.2 * 2**attempt, 5.0))
        else:
            _write_line(begun, outcome)
            return _last_event(begun, outcome, message_id)
    log.error("turn_not_sealed", turn=begun.turn.id, tries=_SEAL_TRIES)
    return None


def _write_line(begun: Begun, outcome: Outcome) -> None:
    log.log(
        logging.WARNING if outcome.status is TurnStatus.FAILED else logging.INFO,
        "turn_sealed",
        turn=begun.turn.id,
        session=begun.turn.session_id,
        status=str(outcome.status),
        code=outcome.error.code if outcome.error else None,
        reason=outcome.reason if outcome.status is TurnStatus.ANSWERED else None,
        calls=outcome.usage.calls,
        input_tokens=outcome.usage.input_tokens,
        output_tokens=outcome.usage.output_tokens,
    )


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
    """Renew the turn's lease while its reply is made, counted in real time however the clock stands."""
    turn = begun.turn
    while True:
        await asyncio.sleep(LEASE.total_seconds() / 3)
        async with basement.db.tx(turn.scope.org_id) as tx:
            until = tx.now + LEASE
            # The person before the turn, the turn before its work: the order of everyone who locks two of them.
            await keep_person(tx, turn.scope)
            if await turns.renew(tx, turn.scope, turn.id, until):
                await postpone(tx, turn.scope, REFLECTION, turn.id, due_at=until)
