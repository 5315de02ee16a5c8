"""Jobs stand back for replies that are about to begin, and never for long."""

import asyncio
from collections.abc import Iterator

import pytest

from mnemon import way
from mnemon.way import RightOfWay, stands_back


@pytest.fixture(autouse=True)
def a_job() -> Iterator[None]:
    token = stands_back.set(True)
    yield
    stands_back.reset(token)


async def stepped(crossing: RightOfWay, order: list[str]) -> None:
    await crossing.clear()
    order.append("job")


async def test_a_job_waits_for_the_first_word_of_every_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(way, "PATIENCE_S", 30.0)
    crossing, order = RightOfWay(), list[str]()
    one, two = crossing.take(), crossing.take()
    job = asyncio.create_task(stepped(crossing, order))
    for ahead, name in ((one, "one"), (two, "two")):
        await asyncio.sleep(0)
        order.append(name)
        ahead.passed()
        ahead.passed()
    await job
    assert order == ["one", "two", "job"]


async def test_a_job_goes_on_when_a_reply_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(way, "PATIENCE_S", 0.01)
    crossing, order = RightOfWay(), list[str]()
    crossing.take()
    await asyncio.wait_for(stepped(crossing, order), 20)
    assert order == ["job"]


async def test_who_has_waited_long_no_longer_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(way, "PATIENCE_S", 0.01)
    crossing, order = RightOfWay(), list[str]()
    late = crossing.take()
    await asyncio.sleep(0.05)
    monkeypatch.setattr(way, "PATIENCE_S", 30.0)
    await asyncio.wait_for(stepped(crossing, order), 20)
    assert order == ["job"]
    late.passed()
    again = crossing.take()
    waiting = asyncio.create_task(stepped(crossing, order))
    await asyncio.sleep(0)
    assert order == ["job"]
    again.passed()
    await waiting


async def test_nobody_but_a_job_waits() -> None:
    crossing = RightOfWay()
    crossing.take()
    stands_back.set(False)
    with pytest.raises(StopIteration):
        crossing.clear().send(None)  # it ends without having waited


async def test_with_nobody_ahead_a_job_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(way, "PATIENCE_S", 30.0)
    crossing, order = RightOfWay(), list[str]()
    crossing.take().passed()
    await asyncio.wait_for(stepped(crossing, order), 20)
    assert order == ["job"]


async def test_a_job_that_is_stopped_while_it_waits_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(way, "PATIENCE_S", 30.0)
    crossing, order = RightOfWay(), list[str]()
    ahead = crossing.take()
    job = asyncio.create_task(stepped(crossing, order))
    await asyncio.sleep(0)
    job.cancel()
    await asyncio.gather(job, return_exceptions=True)
    ahead.passed()
    assert order == []
