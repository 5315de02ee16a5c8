"""A reply is asked for while its message is stored: what the model says early is heard late, or by nobody."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from mnemon import way
from mnemon.basement import Basement
from mnemon.chat.answer import Answer
from mnemon.chat.asking import Asking, Begun
from mnemon.chat.begin import begin
from mnemon.chat.events import Began, Delta, Done, Event, Failed
from mnemon.chat.stream import Stream, Streams
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.llm.scripted.script import Script
from mnemon.scope import person
from mnemon.sessions import turns
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.messages import NewMessage
from mnemon.turn import Role
from support.bounds import HANGS_S
from support.reflecting import basement_of

ANA = person("acme", "ana")


def asking(text: str) -> Asking:
    message = NewMessage(role=Role.USER, content=text)
    return Asking(scope=ANA, user_name="ana", messages=(message,), sees_agent_state=True, sees_engagement=True)


@pytest.fixture
def basement(db: Database, org: str, clock: ManualClock) -> Basement:
    script = Script()
    script.replies("Hello Ana!")
    return basement_of(db, clock, script)


@pytest.fixture
async def streams() -> AsyncIterator[Streams]:
    made = Streams()
    yield made
    await made.close()


async def stored_turns(db: Database) -> int:
    async with db.tx("acme") as tx:
        return int((await tx.one("select count(*)::int as number from turns where org_id = 'acme'"))["number"])


async def spoken(stream: Stream) -> None:
    """Until the model has said something, which waits in the stream."""
    for _ in range(round(HANGS_S / 0.01)):
        if not stream._heard.empty():
            return
        await asyncio.sleep(0.01)
    pytest.fail("the model said nothing")


async def heard(stream: Stream) -> list[Event]:
    return [event async for event in stream.events()]


async def test_what_is_said_while_the_message_is_stored_is_heard_afterwards(
    basement: Basement, streams: Streams
) -> None:
    with streams.opening(basement, {}) as stream:
        async with basement.db.tx("acme") as tx:
            begun = await begin(tx, asking("Hi"), basement.settings, stream.ask)
            await spoken(stream)
            assert await stored_turns(basement.db) == 0  # not committed, and yet the model has begun
        stream.stored(begun)
    said = await heard(stream)
    assert said[0] == Began(turn_id=begun.turn.id, session_id=begun.turn.session_id)
    assert "".join(event.text for event in said if isinstance(event, Delta)) == "Hello Ana!"
    assert isinstance(said[-1], Done)
    async with basement.db.tx("acme") as tx:
        kept = await turns.find(tx, ANA, begun.turn.id)
    assert kept is not None
    assert (kept.status, kept.turn.reply) == (TurnStatus.ANSWERED, "Hello Ana!")


async def not_stored(basement: Basement, stream: Stream) -> None:
    async with basement.db.tx("acme") as tx:
        await begin(tx, asking("Hi"), basement.settings, stream.ask)
        await spoken(stream)
        raise LookupError("not today")


async def test_a_message_that_cannot_be_stored_has_no_reply(basement: Basement, streams: Streams) -> None:
    with streams.opening(basement, {}) as stream, pytest.raises(LookupError):
        await not_stored(basement, stream)
    assert stream.task is not None
    await asyncio.wait([stream.task], timeout=HANGS_S)
    assert stream.task.done()
    assert await stored_turns(basement.db) == 0


async def test_a_reply_that_breaks_before_its_message_is_stored_is_told_as_such(
    basement: Basement, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(answer: Answer) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Answer, "made", broken)
    with streams.opening(basement, {}) as stream:
        async with basement.db.tx("acme") as tx:
            begun = await begin(tx, asking("Hi"), basement.settings, stream.ask)
            assert stream.task is not None
            await asyncio.wait([stream.task])
        stream.stored(begun)
    assert [type(event) for event in await asyncio.wait_for(heard(stream), HANGS_S)] == [Began, Failed]
    assert isinstance(stream.task.exception(), ZeroDivisionError)


async def test_a_block_that_ends_before_anything_is_asked_leaves_nothing(basement: Basement, streams: Streams) -> None:
    with streams.opening(basement, {}) as stream:
        pass
    assert stream.task is None
    with streams.opening(basement, {}) as other:
        other.forsake()
    await streams.close()


async def test_jobs_stand_back_until_the_first_word_is_heard_and_no_longer(
    basement: Basement, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(way, "PATIENCE_S", 30.0)
    with streams.opening(basement, {}) as stream:
        async with basement.db.tx("acme") as tx:
            begun = await begin(tx, asking("Hi"), basement.settings, stream.ask)
            await spoken(stream)
        assert basement.db.way._ahead == 1
        stream.stored(begun)
        assert basement.db.way._ahead == 0
    await heard(stream)
    with streams.opening(basement, {}):
        assert basement.db.way._ahead == 1
    assert basement.db.way._ahead == 0


async def test_a_server_that_stops_meanwhile_seals_what_was_stored(basement: Basement, streams: Streams) -> None:
    begun: Begun
    with streams.opening(basement, {}) as stream:
        async with basement.db.tx("acme") as tx:
            begun = await begin(tx, asking("Hi"), basement.settings, stream.ask)
        closing = asyncio.create_task(streams.close())
        await asyncio.sleep(0)
        stream.stored(begun)
    await asyncio.wait_for(closing, HANGS_S)
    async with basement.db.tx("acme") as tx:
        kept = await turns.find(tx, ANA, begun.turn.id)
    assert kept is not None
    assert kept.status in (TurnStatus.INTERRUPTED, TurnStatus.ANSWERED)
