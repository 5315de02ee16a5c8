"""Runs over a real database: what never changes, what is rescued, whom a token speaks for, one at a time per agent."""

import asyncio
from datetime import timedelta

import psycopg
import pytest

from mnemon.access.grants import Grant
from mnemon.errors import Unauthenticated
from mnemon.jobs import store as work
from mnemon.jobs.kind import Attempt
from mnemon.mcp.caller import McpCaller
from mnemon.mcp.tools import McpTools
from mnemon.runs import agent_store, agents, run_requests
from mnemon.runs.active_memory import MemoryStatus
from mnemon.runs.adapter import DecisionReview
from mnemon.runs.agents import agent_directory
from mnemon.runs.decisions import list_agent_decisions
from mnemon.runs.run import RunStatus
from mnemon.runs.tokens import authenticate_run_token, issue_token, parse_run_token
from support.bounds import HANGS_S
from support.working import WAIT, Working


@pytest.mark.parametrize(
    "change",
    [
        "result = '{}'::jsonb",
        "result = null",
        "result = jsonb_set(result, '{decision}', '\"GO\"')",
        "status = 'failed'",
        "card_type = 'x'",
    ],
)
async def test_the_database_itself_keeps_a_succeeded_result(working: Working, change: str) -> None:
    run = await working.ask(await working.agent())
    await working.runner().drain()
    with pytest.raises(psycopg.errors.CheckViolation, match="its result does not change"):
        async with working.db.owner_tx() as tx:
            await tx.execute(f"update runs set {change} where org_id = 'acme' and run_id = %(id)s", id=run.id)
    assert (await working.read(run)).result == WAIT


async def test_a_run_whose_worker_stops_waits_and_is_run_again(working: Working) -> None:
    agent = await working.agent(config={"memoryEnabled": True})
    run = await working.ask(agent)
    working.script.add_fault("slow", on="chat", seconds=10 * HANGS_S)
    dying = working.runner()
    await dying.claim_and_start()
    while (await working.read(run)).status is not RunStatus.RUNNING:
        await asyncio.sleep(0.01)
    for task in dying._running:
        task.cancel()
    await asyncio.gather(*dying._running, return_exceptions=True)
    assert (await working.read(run)).status is RunStatus.QUEUED
    working.clock.advance(timedelta(minutes=5))
    await working.runner().drain()
    after = await working.read(run)
    assert after.status is RunStatus.SUCCEEDED
    assert after.result == WAIT
    assert after.session_id_after is not None


async def test_a_run_whose_worker_vanished_is_run_again_when_its_lease_is_over(working: Working) -> None:
    run = await working.ask(await working.agent())
    vanished = working.runner()._kinds["run"].run.__self__  # type: ignore[attr-defined]
    async with working.db.tx(None) as tx:
        (item,) = await work.claim_work(tx, kinds=["run"], most=1, lease_until=tx.now + timedelta(seconds=60))
    assert await vanished._prepare_task(Attempt(item)) is not None
    assert await working.runner().drain() == 0
    working.clock.advance(timedelta(seconds=61))
    await working.runner().drain()
    assert (await working.read(run)).status is RunStatus.SUCCEEDED
    statuses = [data["status"] for kind, data in await working.events(run) if kind == "status"]
    assert statuses == ["queued", "running", "running", "succeeded"]


async def test_a_chat_in_flight_at_a_reset_is_not_written_back(working: Working) -> None:
    agent = await working.agent(config={"memoryEnabled": True})
    working.script.add_fault("slow", on="chat", seconds=HANGS_S)
    async with working.db.tx("acme") as tx:
        turn_id = await run_requests.request_chat_reply(tx, working.scope, agent.id, "The codeword is FALCON.")
    draining = asyncio.create_task(working.runner().drain())
    while not working.script.asked:
        await asyncio.sleep(0.01)
    async with working.db.tx("acme") as tx:
        await agents.reset_memory(tx, working.scope, agent.id)
    working.script.clear_faults()
    await draining
    async with working.db.tx("acme") as tx:
        shown = (await agents.list_memory_panels(tx, working.scope, [agent]))[agent.id]
        exchange = await agent_store.find_exchange(tx, working.scope, turn_id)
        kept = await tx.fetch_one("select count(*) as n from transcripts where org_id = 'acme'")
    assert (shown.status, kept["n"]) == (MemoryStatus.FRESH, 0)
    assert exchange is not None
    assert (exchange.status, exchange.session_id_after) == (RunStatus.SUCCEEDED, None)


async def test_chat_and_runs_of_one_agent_never_overlap(working: Working) -> None:
    agent = await working.agent(config={"memoryEnabled": True})
    most = 0
    for _ in range(4):
        await working.ask(agent)
        async with working.db.tx(working.org) as tx:
            await run_requests.request_chat_reply(tx, working.scope, agent.id, "hello")

    async def watch() -> None:
        nonlocal most
        while True:
            async with working.db.tx(working.org) as tx:
                row = await tx.fetch_one(
                    "select (select count(*) from runs where org_id = 'acme' and status = 'running') + "
                    "(select count(*) from exchanges where org_id = 'acme' and status = 'running') as running"
                )
            most = max(most, row["running"])
            await asyncio.sleep(0.005)

    working.script.add_fault("slow", on="chat", times=8, seconds=0.05)
    watching = asyncio.create_task(watch())
    await asyncio.gather(*(working.runner().drain() for _ in range(3)))
    watching.cancel()
    assert most == 1
    assert {run.status for run in await working.runs(agent)} == {RunStatus.SUCCEEDED}
    last = working.script.requests_on("chat")[-1]
    assert sum(message.content in {"hello", "Analyse BTC."} for message in last.messages) == 8


async def test_a_token_speaks_for_its_agent_while_its_run_runs_and_no_longer(working: Working) -> None:
    agent = await working.agent(config={"reviewDecisions": True})
    seen: list[str] = []

    async def look(review: DecisionReview) -> str:
        found = parse_run_token(review.token)
        assert found is not None
        async with working.db.tx(found[0]) as tx:
            identity = await authenticate_run_token(tx, found[1])
        assert (identity.agent_id, identity.reviews, found[0]) == (agent.id, True, "acme")
        return found[1]

    from mnemon.runs.adapters.model import ModelDriver

    class Spying(ModelDriver):
        async def perform_task(self, task, emit):  # type: ignore[no-untyped-def]
            seen.append(await look(task.review))
            return await super().perform_task(task, emit)

    runner = working.runner()
    execution = runner._kinds["run"].run.__self__  # type: ignore[attr-defined]
    execution._drivers = {**execution._drivers, "model": Spying(execution._drivers["model"]._llm)}
    await working.ask(agent)
    await runner.drain()
    (secret,) = seen
    with pytest.raises(Unauthenticated):
        async with working.db.tx("acme") as tx:
            await authenticate_run_token(tx, secret)


@pytest.mark.parametrize(
    ("agent_id", "reviews", "listed"), [("agt_1", True, True), ("agt_1", False, False), (None, False, False)]
)
async def test_the_tool_for_decisions_is_listed_for_a_run_and_for_no_key(
    working: Working, agent_id: str | None, reviews: bool, listed: bool
) -> None:
    grants = frozenset(Grant)
    caller = McpCaller(org_id="acme", grants=grants, actor="a", user_name="ann", agent_id=agent_id, reviews=reviews)
    names = {tool.name for tool in McpTools(working.services()).list_tools(caller)}
    assert ("get_my_decisions" in names) is listed


async def test_only_a_hash_of_a_token_is_stored_and_a_new_one_replaces_it(working: Working) -> None:
    agent = await working.agent()
    run = await working.ask(agent)
    async with working.db.tx("acme") as tx:
        first = await issue_token(tx, working.scope, run_id=run.id, agent_id=agent.id)
        second = await issue_token(tx, working.scope, run_id=run.id, agent_id=agent.id)
        rows = await tx.fetch_all("select digest from run_tokens where org_id = 'acme'")
    assert first != second
    assert len(rows) == 1
    assert first.rsplit("_", 1)[1].encode() not in bytes(rows[0]["digest"])


@pytest.mark.parametrize("text", ["", "mnr_acme_x", "mnk_acme_" + "0" * 64, "mnr_Ac'me_" + "0" * 64])
def test_what_is_no_token_is_not_taken_for_one(text: str) -> None:
    assert parse_run_token(text) is None


async def test_an_agent_sees_only_its_own_decisions(working: Working) -> None:
    one, other = await working.agent(), await working.agent()
    await working.ask(one)
    await working.runner().drain()
    async with working.db.tx("acme") as tx:
        assert len(await list_agent_decisions(tx, working.scope, one.id, working.cards)) == 1
        assert await list_agent_decisions(tx, working.scope, other.id, working.cards) == ()


async def test_an_agent_deleted_in_mid_run_leaves_nothing_behind(working: Working) -> None:
    agent = await working.agent()
    run = await working.ask(agent)
    working.script.add_fault("slow", on="chat", seconds=HANGS_S)
    draining = asyncio.create_task(working.runner().drain())
    while (await working.read(run)).status is not RunStatus.RUNNING:
        await asyncio.sleep(0.01)
    async with working.db.tx("acme") as tx:
        await agents.delete_agent(tx, working.scope, agent.id)
    working.script.clear_faults()
    await draining
    async with working.db.tx("acme") as tx:
        for table in ("runs", "run_events", "run_tokens", "chat_sessions", "work"):
            assert (await tx.fetch_one(f"select count(*) as n from {table} where org_id = 'acme'"))["n"] == 0, table


async def test_agents_keep_their_own_lanes(working: Working) -> None:
    for _ in range(4):  # half of a runner's slots: long work gets no more
        agent = await working.agent()
        await working.ask(agent)
    working.script.add_fault("slow", on="chat", times=4, seconds=10 * HANGS_S)
    draining = asyncio.create_task(working.runner().drain())
    async with asyncio.timeout(HANGS_S):
        while len(working.script.asked) < 4:  # all of them before any has its reply
            await asyncio.sleep(0.01)
    working.script.clear_faults()
    await draining


async def test_what_no_database_can_hold_does_not_stop_a_run(working: Working) -> None:
    agent = await working.agent(config={"memoryEnabled": True})
    working.script.add_replies("a NUL \0 and half a pair \ud800.")
    working.script.add_answers("Card", {"decision": "WA\0IT", "summary": "odd \udc00 text"})
    run = await working.ask(agent)
    await working.runner().drain()
    after = await working.read(run)
    assert after.status is RunStatus.SUCCEEDED, after.error
    assert after.result == {"decision": "WAIT", "summary": "odd ? text"}


async def test_a_deleted_agent_leaves_no_directory(working: Working) -> None:
    agent = await working.agent()
    home = agent_directory(working.folder, working.org, agent.id)
    home.mkdir(parents=True)
    async with working.db.tx("acme") as tx:
        await agents.delete_agent(tx, working.scope, agent.id)
    await working.runner().drain()
    assert not home.exists()
