"""Replies being made, each in a task that the application owns: a client may leave, the turn is stored in any case."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import structlog

from mnemon.chat.begin import TURN_LEASE
from mnemon.chat.events import ChatEvent, ReplyDone, ReplyFailed, TurnStarted
from mnemon.chat.reply import ReplyGenerator
from mnemon.chat.request import StartedTurn, TurnPrompt
from mnemon.chat.seal import OnSeal, ReplyOutcome, seal_turn
from mnemon.chat.tool_calls import ToolsByName
from mnemon.errors import Unavailable
from mnemon.event_loop import PriorityTicket
from mnemon.jobs.store import postpone_work
from mnemon.reflection.job import REFLECTION_KIND
from mnemon.services import Services
from mnemon.sessions import turns
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.people import lock_person_shared
from mnemon.supervisor import Backoff, keep_running

log = structlog.get_logger(__name__)
_SEAL_TRIES = 6
_NOT_SEALED_DETAIL = (
    "The reply could not be stored: the database is not reachable. Your message is kept; look at the turn shortly."
)
_FORGOTTEN_DETAIL = (
    "The person was forgotten while the reply was written, so neither the message nor the reply is kept. Send the "
    "message again if they are to be remembered anew."
)


class ReplyStream:
    """One reply for one client: first the model is asked, then the message is stored, then events are read."""

    def __init__(self, services: Services, tools: ToolsByName, ahead: PriorityTicket) -> None:
        """Start with nothing asked; `ahead` lets the request go before background jobs."""
        self._services = services
        self._tools = tools
        self._ahead = ahead
        # Unbounded: the model does not wait for a slow client, and the length of a reply is limited.
        self._heard: asyncio.Queue[ChatEvent] = asyncio.Queue()
        self._stored: asyncio.Future[StartedTurn] = asyncio.get_running_loop().create_future()
        self._on_seal: OnSeal | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._answer: ReplyGenerator | None = None
        self.task: asyncio.Task[None] | None = None
        self.sealing = False
        """Set once the reply is complete or given up; from then on it is not cancelled, so that it is stored."""

    @property
    def started_turn(self) -> StartedTurn:
        """Return the stored turn that is answered; raise an error before `confirm_stored`."""
        return self._stored.result()

    @property
    def turn_id(self) -> str:
        """Return the id of the turn that is answered."""
        return self.started_turn.turn.id

    @property
    def session_id(self) -> str:
        """Return the id of the session of the turn that is answered."""
        return self.started_turn.turn.session_id

    def ask_model(self, prompt: TurnPrompt) -> None:
        """Start a task that makes the reply; its events are held until `confirm_stored`."""
        # A task of its own, not the request's: a client that hangs up does not cancel it.
        self.task = asyncio.create_task(self._run_reply(prompt))

    def confirm_stored(self, started: StartedTurn, on_seal: OnSeal | None = None) -> None:
        """Release the reply's events, now that the message is committed, and keep the turn's lease renewed."""
        self._on_seal = on_seal
        self._keeper = asyncio.create_task(
            keep_running("turn_lease_keeper", lambda: _keep_lease(self._services, started), backoff=Backoff())
        )
        self._stored.set_result(started)
        # A reply waits for its message to be stored before it ends, so one that is done by now has failed.
        if self.task is None or self.task.done():
            self._emit_event(self._seal_failure())
        elif not self._heard.empty():
            self._ahead.release_priority()

    def abandon_unstored(self) -> None:
        """Cancel the model's reply if its message was not stored."""
        if self._stored.cancel():
            self._ahead.release_priority()
            if self.task is not None:
                self.task.cancel()

    def interrupt_reply(self, *, server_stops: bool = False) -> None:
        """Stop the reply because its client left or the server stops; the text so far is stored as interrupted."""
        if self._answer is not None:
            self._answer.server_stops = server_stops
        if self.task is not None and not self.sealing:
            self.task.cancel()

    async def iter_events(self) -> AsyncIterator[ChatEvent]:
        """Yield every event of the reply from the start to `ReplyDone` or `ReplyFailed`."""
        async for some in self.event_batches():
            for event in some:
                yield event

    async def event_batches(self) -> AsyncIterator[list[ChatEvent]]:
        """Yield the reply's events in batches of all that are ready, so that they can be sent together."""
        some: list[ChatEvent] = [TurnStarted(turn_id=self.turn_id, session_id=self.session_id)]
        while True:
            while not self._heard.empty():
                some.append(self._heard.get_nowait())
            yield some
            if isinstance(some[-1], ReplyDone | ReplyFailed):
                return
            some = [await self._heard.get()]

    async def _run_reply(self, prompt: TurnPrompt) -> None:
        """Make the reply, store it and end its turn, and emit the last event in any case."""
        last: ChatEvent | None = None
        try:
            self._answer = ReplyGenerator(
                self._services, prompt, self._tools, self._emit_event, self._wait_until_stored
            )
            outcome = await self._answer.generate_reply()
            started = await self._wait_until_stored()
            # From here on `interrupt_reply` no longer cancels the task.
            self.sealing = True
            last = await _seal_with_retries(self._services, started, outcome, self._on_seal)
        finally:
            if self._keeper is not None:
                self._keeper.cancel()
            if self._stored.done() and not self._stored.cancelled():
                self._emit_event(last or self._seal_failure())

    async def _wait_until_stored(self) -> StartedTurn:
        """Wait until the message is committed and return its turn."""
        # Shielded: cancelling the reply must not cancel the future that others wait for.
        return self._stored.result() if self._stored.done() else await asyncio.shield(self._stored)

    def _seal_failure(self) -> ReplyFailed:
        """Return the event for a reply that was made but could not be stored."""
        return ReplyFailed(turn_id=self.turn_id, code="internal", detail=_NOT_SEALED_DETAIL)

    def _emit_event(self, event: ChatEvent) -> None:
        """Queue an event for the client; after the first one, background jobs no longer wait for this reply."""
        self._heard.put_nowait(event)
        if self._stored.done():
            self._ahead.release_priority()


class ReplyStreams:
    """All replies that this process is making."""

    def __init__(self) -> None:
        """Start with no reply running."""
        self._running: set[ReplyStream] = set()

    @contextmanager
    def open_stream(self, services: Services, tools: ToolsByName) -> Iterator[ReplyStream]:
        """Open a stream for one reply; background jobs wait for it until its first token.

        A stream whose message is not stored when the block ends is cancelled.
        """
        stream = ReplyStream(services, tools, services.db.request_priority.begin_request())
        self._running.add(stream)
        try:
            yield stream
        finally:
            stream.abandon_unstored()
            if stream.task is None:
                self._running.discard(stream)
            else:
                stream.task.add_done_callback(lambda _: self._running.discard(stream))

    def stop(self) -> None:
        """Interrupt every running reply; the text so far is stored, and each client gets an error event."""
        for stream in self._running:
            stream.interrupt_reply(server_stops=True)

    async def close(self) -> None:
        """Interrupt every running reply and wait until all their turns are stored as ended."""
        running = list(self._running)
        self.stop()
        await asyncio.gather(*(stream.task for stream in running if stream.task), return_exceptions=True)


async def _seal_with_retries(
    services: Services, started: StartedTurn, outcome: ReplyOutcome, on_seal: OnSeal | None
) -> ChatEvent | None:
    """Store the reply, seal its turn and return the last event; None after half a minute of failures."""
    for attempt in range(_SEAL_TRIES):
        try:
            async with services.db.tx(started.turn.scope.org_id) as tx:
                sealed = await seal_turn(tx, started, outcome, again=attempt > 0)
                if on_seal is not None and sealed is not None:
                    await on_seal(tx, sealed.turn, outcome)
        except Unavailable as error:
            log.warning("seal_failed", turn=started.turn.id, attempt=attempt + 1, error=error.code)
            await asyncio.sleep(min(0.2 * 2**attempt, 5.0))
        else:
            if sealed is None:
                log.info("reply_dropped", turn=started.turn.id)
                return ReplyFailed(turn_id=started.turn.id, code="reply_forgotten", detail=_FORGOTTEN_DETAIL)
            _log_sealed(started, outcome)
            return _last_event(started, outcome, sealed.message_id)
    log.error("turn_not_sealed", turn=started.turn.id, tries=_SEAL_TRIES)
    return None


def _log_sealed(started: StartedTurn, outcome: ReplyOutcome) -> None:
    """Log how the turn ended and what it cost; as a warning if it failed."""
    log.log(
        logging.WARNING if outcome.status is TurnStatus.FAILED else logging.INFO,
        "turn_sealed",
        turn=started.turn.id,
        session=started.turn.session_id,
        status=str(outcome.status),
        code=outcome.error.code if outcome.error else None,
        reason=outcome.reason if outcome.status is TurnStatus.ANSWERED else None,
        calls=outcome.usage.calls,
        input_tokens=outcome.usage.input_tokens,
        output_tokens=outcome.usage.output_tokens,
    )


def _last_event(started: StartedTurn, outcome: ReplyOutcome, message_id: str | None) -> ChatEvent:
    """Return the event that ends the reply: `ReplyDone`, or `ReplyFailed` with the reason."""
    turn = started.turn
    if outcome.status is TurnStatus.ANSWERED:
        return ReplyDone(
            turn_id=turn.id,
            session_id=turn.session_id,
            message_id=message_id,
            reply=outcome.reply,
            usage=outcome.usage,
            reason=outcome.reason,
        )
    error = outcome.error
    code, detail = (error.code, error.detail) if error else ("interrupted", "The reply was interrupted.")
    return ReplyFailed(turn_id=turn.id, code=code, detail=f"{detail} Your message is kept in turn {turn.id}.")


async def _keep_lease(services: Services, started: StartedTurn) -> None:
    """Renew the turn's lease while its reply is made; the interval is real time, whatever the clock setting says."""
    turn = started.turn
    while True:
        await asyncio.sleep(TURN_LEASE.total_seconds() / 3)
        async with services.db.tx(turn.scope.org_id) as tx:
            until = tx.now + TURN_LEASE
            # Lock order of every writer: the person's row, then the turn's, then the work row.
            await lock_person_shared(tx, turn.scope)
            if await turns.renew_lease(tx, turn.scope, turn.id, until):
                await postpone_work(tx, turn.scope, REFLECTION_KIND, turn.id, due_at=until)
