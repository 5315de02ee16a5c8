"""Statements that fail: nothing acknowledged is lost, nothing is applied twice, nobody is stuck, errors logged once.

A sample, always the same; `make soak PART=fault-walk` visits every statement with every error.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.faulty_connection import FaultClass
from support.walk.api_requests import API_SCENARIOS
from support.walk.catalog import (
    forms,
    kinds_of_work,
    kinds_with_scenario,
    operations_with_scenario,
    writing_operations,
    writing_tools,
)
from support.walk.form_requests import FORM_SCENARIOS
from support.walk.house import House, open_house
from support.walk.scenario import Scenario
from support.walk.tool_requests import TOOL_SCENARIOS
from support.walk.walker import Walker, sampled_faults
from support.walk.work import WORK_SCENARIOS


@pytest.fixture
async def house(database_url: str, tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(database_url, tmp_path) as opened:
        yield opened


async def test_everything_that_writes_has_a_scenario(house: House) -> None:
    tools = await writing_tools(await house.new_stage())
    assert writing_operations(house) | forms() | tools == operations_with_scenario()
    assert kinds_of_work(house) == kinds_with_scenario()


@pytest.mark.parametrize(
    "scenarios",
    [
        pytest.param(API_SCENARIOS[::2], id="one half of the API"),
        pytest.param(API_SCENARIOS[1::2], id="the other half of the API"),
        pytest.param([*TOOL_SCENARIOS, *FORM_SCENARIOS], id="tools and forms"),
        pytest.param(WORK_SCENARIOS, id="work"),
    ],
)
async def test_a_statement_that_fails_loses_nothing_and_leaves_nobody_stuck(
    house: House, scenarios: list[Scenario]
) -> None:
    walked = await (await Walker.on(house)).walk(scenarios, sampled_faults)
    assert walked.findings == [], walked.told()
    assert walked.pairs == 5 * len(scenarios)


def test_the_sample_has_every_class_of_error() -> None:
    statements = ["BEGIN", "select 1", "insert", "COMMIT"]
    every: list[Scenario] = [*API_SCENARIOS, *TOOL_SCENARIOS, *FORM_SCENARIOS, *WORK_SCENARIOS]
    sampled = [fault for one in every for fault in sampled_faults(one.name, statements)]
    assert {fault.kind for fault in sampled} == set(FaultClass)
    assert {fault.at for fault in sampled} == {1, 2, 3, 4}
