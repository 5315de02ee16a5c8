"""What the walk found once, at the statement where it found it."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from mnemon.runs import run_events
from support.faulty_connection import Fault, FaultClass
from support.walk.catalog import REQUEST_SCENARIOS
from support.walk.house import House, open_house
from support.walk.scenario import Scenario
from support.walk.walker import Walked, Walker
from support.walk.work import WORK_SCENARIOS


@pytest.fixture
async def house(database_url: str, tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(database_url, tmp_path) as opened:
        yield opened


async def fail_at(house: House, name: str, statement: str, which: int, *kinds: FaultClass) -> Walked:
    """The scenario, whose so-many-eth statement with this beginning is failed with each of the errors."""

    def chosen(_: str, statements: Sequence[str]) -> list[Fault]:
        at = [place for place, sql in enumerate(statements, 1) if sql.startswith(statement)][which]
        return [Fault(at=at, kind=kind) for kind in kinds]

    every: list[Scenario] = [*REQUEST_SCENARIOS, *WORK_SCENARIOS]
    [scenario] = [one for one in every if one.name == name]
    return await (await Walker.on(house)).walk([scenario], chosen)


@pytest.mark.parametrize("name", ["POST /api/chat", "POST /v1/chat/completions"])
async def test_a_reply_is_stored_once_when_the_answer_to_its_commit_is_lost(house: House, name: str) -> None:
    walked = await fail_at(house, name, "COMMIT", -1, FaultClass.LOST_AFTER)
    assert walked.findings == [], walked.told()


async def test_a_reply_is_stored_after_a_deadlock(house: House) -> None:
    kinds = (FaultClass.DEADLOCK, FaultClass.SERIALIZATION, FaultClass.PRIVILEGE, FaultClass.AWAY)
    walked = await fail_at(house, "POST /api/chat", "BEGIN", -1, *kinds)
    assert walked.findings == [], walked.told()


async def test_a_message_whose_commit_was_not_answered_gets_its_reply_when_it_is_sent_again(house: House) -> None:
    walked = await fail_at(house, "POST /api/chat", "COMMIT", -2, FaultClass.LOST_AFTER, FaultClass.CANCELLED)
    assert walked.findings == [], walked.told()


@pytest.mark.parametrize("name", ["run", "agent-chat"])
async def test_an_agents_work_is_done_again_when_an_event_of_it_cannot_be_kept(
    house: House, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_events, "DELTA_FLUSH_S", 0.0)  # every piece is kept while the model still speaks
    walked = await fail_at(house, name, "BEGIN", 2, FaultClass.DEADLOCK, FaultClass.DISK_FULL, FaultClass.AWAY)
    assert walked.findings == [], walked.told()


async def test_a_right_that_is_missing_is_no_sections_fault(house: House) -> None:
    walked = await fail_at(house, "reflection", "SAVEPOINT", 2, FaultClass.PRIVILEGE, FaultClass.CANCELLED)
    assert walked.findings == [], walked.told()


async def test_a_key_that_nobody_could_look_at_is_not_refused(house: House) -> None:
    walked = await fail_at(house, "FORM /sign-in", "BEGIN", 0, FaultClass.DEADLOCK, FaultClass.READ_ONLY)
    assert walked.findings == [], walked.told()
