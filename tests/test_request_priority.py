"""Jobs stand back for replies that are about to begin, and never for long."""

import asyncio
from collections.abc import Iterator

import pytest

from mnemon import event_loop
from mnemon.event_loop import RequestPriority, is_background
from support.bounds import HANGS_S


@pytest.fixture(autouse=True)
def a_job() -> Iterator[None]:
    token = is_background.set(True)
    yield
    is_background.reset(token)


async def stepped(crossing: RequestPriority, order: list[str]) -> None:
    await crossing.yield_to_requests()
    order.append("job")


async def test_a_job_waits_for_the_first_word_of_every_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "MAX_YIELD_S", 10 * HANGS_S)
    crossing, order = RequestPriority(), list[str]()
    one, two = crossing.begin_request(), crossing.begin_request()
    job = asyncio.create_task(stepped(crossing, order))
    for ahead, name in ((one, "one"), (two, "two")):
        await asyncio.sleep(0)
        order.append(name)
        ahead.release_priority()
        ahead.release_priority()
    await job
    assert order == ["one", "two", "job"]


async def test_a_job_goes_on_when_a_reply_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "MAX_YIELD_S", 0.01)
    crossing, order = RequestPriority(), list[str]()
    crossing.begin_request()
    await asyncio.wait_for(stepped(crossing, order), HANGS_S)
    assert order == ["job"]


async def test_who_has_waited_long_no_longer_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "MAX_YIELD_S", 0.01)
    crossing, order = RequestPriority(), list[str]()
    late = crossing.begin_request()
    await asyncio.sleep(0.05)
    monkeypatch.setattr(event_loop, "MAX_YIELD_S", 10 * HANGS_S)
    await asyncio.wait_for(stepped(crossing, order), HANGS_S)
    assert order == ["job"]
    late.release_priority()
    again = crossing.begin_request()
    waiting = asyncio.create_task(stepped(crossing, order))
    await asyncio.sleep(0)
    assert order == ["job"]
    again.release_priority()
    await waiting


async def test_nobody_but_a_job_waits() -> None:
    crossing = RequestPriority()
    crossing.begin_request()
    is_background.set(False)
    with pytest.raises(StopIteration):
        crossing.yield_to_requests().send(None)  # it ends without having waited


async def test_with_nobody_ahead_a_job_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "MAX_YIELD_S", 10 * HANGS_S)
    crossing, order = RequestPriority(), list[str]()
    crossing.begin_request().release_priority()
    await asyncio.wait_for(stepped(crossing, order), HANGS_S)
    assert order == ["job"]


async def test_a_job_that_is_stopped_while_it_waits_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "MAX_YIELD_S", 10 * HANGS_S)
    crossing, order = RequestPriority(), list[str]()
    ahead = crossing.begin_request()
    job = asyncio.create_task(stepped(crossing, order))
    await asyncio.sleep(0)
    job.cancel()
    await asyncio.gather(job, return_exceptions=True)
    ahead.release_priority()
    assert order == []
