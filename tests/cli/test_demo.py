"""`mnemon demo`: the story goes through the pipeline and refuses to mix with data that is there."""

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mnemon.cli.demo import first_midnight, needs_server
from mnemon.cli.main import app
from mnemon.cli.server_address import ADDRESS_FILE
from mnemon.cli.story.steps import read_story
from mnemon.clock import FileClock, SystemClock
from mnemon.db.database import Database
from mnemon.engagement.document import HypothesisStage
from mnemon.engagement.reading import load_document
from mnemon.runs import agent_store, agents, store
from mnemon.runs.calibration import load_track_record
from mnemon.runs.card import load_cards
from mnemon.runs.run import ResolutionStatus, RunStatus
from mnemon.runs.store import RunFilter
from mnemon.scope import Scope
from mnemon.settings import Settings

DEMO = Scope(org_id="demo")


def test_every_quote_of_the_story_was_said() -> None:
    for step in read_story().steps:
        if step.kind != "turn":
            continue
        heard = step.told["says"] + " ".join(str(tool["output"]) for tool in step.told.get("tools", ()))
        proposal = step.told.get("engagement", {})
        formed = [piece for form in proposal.get("form", ()) for piece in form["evidence"]]
        quoted = [*step.told.get("memories", ()), *step.told.get("todos", ()), *formed]
        quoted += [*proposal.get("evidence", ()), *proposal.get("answered", ())]
        for one in quoted:
            assert one["quote"] in heard, one["quote"]


@pytest.mark.parametrize("day", range(14))
def test_the_story_begins_on_a_monday_and_its_last_friday_has_passed(day: int) -> None:
    now = datetime(2026, 11, 2, 0, 30, tzinfo=UTC) + timedelta(days=day)
    begin = first_midnight(now)
    assert begin.weekday() == 0
    assert begin + timedelta(days=33) <= now < begin + timedelta(days=42)


async def test_it_advises_to_start_a_server_only_if_none_runs(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    assert needs_server(settings)
    (tmp_path / ADDRESS_FILE).write_text(json.dumps({"host": "127.0.0.1", "port": 24117, "pid": os.getpid()}))
    assert not needs_server(settings)


async def test_it_fills_the_organization_once(database_url: str) -> None:
    runner = CliRunner(env={"MNEMON_DATABASE_URL": database_url, "MNEMON_MODEL": "offline"})

    played = await asyncio.to_thread(runner.invoke, app, ["demo", "--json"])
    assert played.exit_code == 0, played.output
    told = json.loads(played.stdout)
    assert "/sign-in/demo_" in told["url"]
    assert told["steps"] >= 90
    again = await asyncio.to_thread(runner.invoke, app, ["demo"])
    assert again.exit_code == 1
    assert "has data already" in again.stderr

    db = Database(database_url, SystemClock())
    await db.open()
    try:
        await _look(db)
    finally:
        await db.close()


async def test_no_agent_wakes_after_the_last_step(database_url: str, tmp_path: Path) -> None:
    """On a weekday a slot lies between the story's last Friday and now, and its script is over."""
    clock = tmp_path / "clock"
    clock.write_text("2026-05-15T16:40:00Z", encoding="utf-8")
    env = {"MNEMON_DATABASE_URL": database_url, "MNEMON_MODEL": "offline", "MNEMON_CLOCK_FILE": str(clock)}
    played = await asyncio.to_thread(CliRunner(env=env).invoke, app, ["demo", "--json"])
    assert played.exit_code == 0, played.output
    db = Database(database_url, FileClock(clock))
    await db.open()
    try:
        async with db.tx("demo") as tx:
            failed = await store.list_runs(tx, DEMO, RunFilter(status=RunStatus.FAILED), most=100)
            assert [run.error for _, run in failed if "told to fail" not in str(run.error)] == []
    finally:
        await db.close()


async def _look(db: Database) -> None:
    async with db.tx("demo") as tx:
        believed = await load_document(tx, DEMO)
        assert believed is not None
        assert {each.stage for each in believed.hypotheses} >= {
            HypothesisStage.FINDING,
            HypothesisStage.REVISING,
            HypothesisStage.ARCHIVED,
        }
        assert believed.open_unknowns
        assert believed.answered
        assert believed.week == 4

        found = await agent_store.list_agents(tx, DEMO)
        panels = await agents.list_memory_panels(tx, DEMO, found)
        kestrel = next(agent for agent in found if agent.name == "Kestrel")
        assert panels[kestrel.id].runs_since_reset > 20
        assert kestrel.schedule is None
        lead = next(agent for agent in found if agent.name == "Meridian")
        waking = await agent_store.find_next_slot(tx, DEMO, lead.id)
        assert waking is not None
        assert waking > tx.now

        trades = [run for _, run in await store.list_runs(tx, DEMO, RunFilter(card_type="trade-decision"), most=100)]
        states = {run.resolution_status for run in trades}
        assert {ResolutionStatus.OPEN, ResolutionStatus.RESOLVED} <= states
        assert all(run.created_at < tx.now for run in trades)
        record = await load_track_record(tx, DEMO, load_cards(Settings().cards_dir), kestrel.id)
        assert record.overall.stated.enough
