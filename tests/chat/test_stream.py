"""A reply is asked for while its message is stored: what the model says early is heard late, or by nobody."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from mnemon import event_loop
from mnemon.chat.begin import begin_turn
from mnemon.chat.events import ChatEvent, ReplyDelta, ReplyDone, ReplyFailed, TurnStarted
from mnemon.chat.reply import ReplyGenerator
from mnemon.chat.request import StartedTurn, TurnRequest
from mnemon.chat.stream import ReplyStream, ReplyStreams
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.llm.scripted.script import Script
from mnemon.scope import person_scope
from mnemon.services import Services
from mnemon.sessions import turns
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.messages import NewMessage
from mnemon.turn import Role
from support.bounds import HANGS_S
from support.reflecting import basement_of

ANA = person_scope("acme", "ana")


def asking(text: str) -> TurnRequest:
    message = NewMessage(role=Role.USER, content=text)
    return TurnRequest(scope=ANA, user_name="ana", messages=(message,), sees_agent_state=True, sees_engagement=True)


@pytest.fixture
def services(db: Database, org: str, clock: ManualClock) -> Services:
    script = Script()
    script.add_replies("Hello Ana!")
    return basement_of(db, clock, script)


@pytest.fixture
async def streams() -> AsyncIterator[ReplyStreams]:
    made = ReplyStreams()
    yield made
    await made.close()


async def stored_turns(db: Database) -> int:
    async with db.tx("acme") as tx:
        return int((await tx.fetch_one("select count(*)::int as number from turns where org_id = 'acme'"))["number"])


async def spoken(stream: ReplyStream) -> None:
    """Until the model has said something, which waits in the stream."""
    for _ in range(round(HANGS_S / 0.01)):
        if not stream._heard.empty():
            return
        await asyncio.sleep(0.01)
    pytest.fail("the model said nothing")


async def heard(stream: ReplyStream) -> list[ChatEvent]:
    return [event async for event in stream.iter_events()]


async def test_what_is_said_while_the_message_is_stored_is_heard_afterwards(
    services: Services, streams: ReplyStreams
) -> None:
    with streams.open_stream(services, {}) as stream:
        async with services.db.tx("acme") as tx:
            begun = await begin_turn(tx, asking("Hi"), services.settings, stream.ask_model)
            await spoken(stream)
            assert await stored_turns(services.db) == 0  # not committed, and yet the model has begun
        stream.confirm_stored(begun)
    said = await heard(stream)
    assert said[0] == TurnStarted(turn_id=begun.turn.id, session_id=begun.turn.session_id)
    assert "".join(event.text for event in said if isinstance(event, ReplyDelta)) == "Hello Ana!"
    assert isinstance(said[-1], ReplyDone)
    async with services.db.tx("acme") as tx:
        kept = await turns.find_turn(tx, ANA, begun.turn.id)
    assert kept is not None
    assert (kept.status, kept.turn.reply) == (TurnStatus.ANSWERED, "Hello Ana!")


async def not_stored(services: Services, stream: ReplyStream) -> None:
    async with services.db.tx("acme") as tx:
        await begin_turn(tx, asking("Hi"), services.settings, stream.ask_model)
        await spoken(stream)
        raise LookupError("not today")


async def test_a_message_that_cannot_be_stored_has_no_reply(services: Services, streams: ReplyStreams) -> None:
    with streams.open_stream(services, {}) as stream, pytest.raises(LookupError):
        await not_stored(services, stream)
    assert stream.task is not None
    await asyncio.wait([stream.task], timeout=HANGS_S)
    assert stream.task.done()
    assert await stored_turns(services.db) == 0


async def test_a_reply_that_breaks_before_its_message_is_stored_is_told_as_such(
    services: Services, streams: ReplyStreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(answer: ReplyGenerator) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(ReplyGenerator, "generate_reply", broken)
    with streams.open_stream(services, {}) as stream:
        async with services.db.tx("acme") as tx:
            begun = await begin_turn(tx, asking("Hi"), services.settings, stream.ask_model)
            assert stream.task is not None
            await asyncio.wait([stream.task])
        stream.confirm_stored(begun)
    assert [type(event) for event in await asyncio.wait_for(heard(stream), HANGS_S)] == [TurnStarted, ReplyFailed]
    assert isinstance(stream.task.exception(), ZeroDivisionError)


async def test_a_block_that_ends_before_anything_is_asked_leaves_nothing(
    services: Services, streams: ReplyStreams
) -> None:
    with streams.open_stream(services, {}) as stream:
        pass
    assert stream.task is None
    with streams.open_stream(services, {}) as other:
        other.abandon_unstored()
    await streams.close()


async def test_jobs_stand_back_until_the_first_word_is_heard_and_no_longer(
    services: Services, streams: ReplyStreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_loop, "MAX_YIELD_S", 30.0)
    with streams.open_stream(services, {}) as stream:
        async with services.db.tx("acme") as tx:
            begun = await begin_turn(tx, asking("Hi"), services.settings, stream.ask_model)
            await spoken(stream)
        assert services.db.request_priority._ahead == 1
        stream.confirm_stored(begun)
        assert services.db.request_priority._ahead == 0
    await heard(stream)
    with streams.open_stream(services, {}):
        assert services.db.request_priority._ahead == 1
    assert services.db.request_priority._ahead == 0


async def test_a_server_that_stops_meanwhile_seals_what_was_stored(services: Services, streams: ReplyStreams) -> None:
    begun: StartedTurn
    with streams.open_stream(services, {}) as stream:
        async with services.db.tx("acme") as tx:
            begun = await begin_turn(tx, asking("Hi"), services.settings, stream.ask_model)
        closing = asyncio.create_task(streams.close())
        await asyncio.sleep(0)
        stream.confirm_stored(begun)
    await asyncio.wait_for(closing, HANGS_S)
    async with services.db.tx("acme") as tx:
        kept = await turns.find_turn(tx, ANA, begun.turn.id)
    assert kept is not None
    assert kept.status in (TurnStatus.INTERRUPTED, TurnStatus.ANSWERED)
