"""Every kind of work, made due in the ways it becomes due."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from mnemon.custody import ledger
from mnemon.jobs.store import RESERVATION, reserve_organization
from mnemon.memory.upkeep.schedule import enqueue_after_turn
from mnemon.reflection import job as reflection
from mnemon.runs.agents import agent_directory
from mnemon.sessions.boundary import SessionBoundary
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.record import NewTurn, store_turn
from mnemon.turn import Role
from support.walk.furniture import (
    ANN,
    FRAGMENTS,
    REFLECTED,
    SAID,
    SMITHS,
    TRADE,
    asked_run,
    made_agent,
    memory,
    open_trade,
    remembered,
    told_turn,
)
from support.walk.house import Stage
from support.walk.scenario import WorkScenario

Arrange = Callable[[Stage], Awaitable[None]]
WORK_SCENARIOS: list[WorkScenario] = []


def work(kind: str, name: str = "", **more: Any) -> Callable[[Arrange], Arrange]:
    """Adds the work that the function makes due to the scenarios."""

    def add(arrange: Arrange) -> Arrange:
        told = f"{kind} ({name})" if name else kind
        WORK_SCENARIOS.append(WorkScenario(name=told, kind=kind, arrange=arrange, **more))
        return arrange

    return add


@work("reflection")
async def _(stage: Stage) -> None:
    stage.house.script.set_default_answer("Reflection", REFLECTED)
    await told_turn(stage, personaId="coach")


@work("reflection", "two turns of a session")
async def _(stage: Stage) -> None:
    stage.house.script.set_default_answer("Reflection", REFLECTED)
    await told_turn(stage)
    await told_turn(stage, f"{SAID} Well.")


@work("reflection", "with a hypothesis")
async def _(stage: Stage) -> None:
    said = "The plan lands late. But Tilburg is fine."
    line = {"line": "The plan lands late", "quote": "The plan lands late", "source": "Mara"}
    claim = {"statement": "The plan of Tilburg lands late", "falsifiedBy": "They come in time"}
    proposal = {"form": [{**claim, "evidence": [{**line, "stance": "supports", "strength": "strong"}]}]}
    stage.house.script.set_default_answer("Reflection", {})
    for _ in range(2):
        await told_turn(stage, said)
        await stage.drain("reflection")
    stage.house.script.set_default_answer("Reflection", {"engagement": proposal})
    await told_turn(stage, said)


@work("reflection", "of a turn whose server died")
async def _(stage: Stage) -> None:
    stage.house.script.set_default_answer("Reflection", REFLECTED)
    until = stage.house.clock.now() + timedelta(seconds=60)
    incoming = NewTurn(
        user_name="ann",
        messages=(NewMessage(role=Role.USER, content=SAID),),
        status=TurnStatus.ANSWERING,
        lease_until=until,
    )
    async with stage.house.services.db.tx(stage.org) as tx:
        turn = await store_turn(tx, stage.person(), incoming, SessionBoundary())
        reflection.enqueue_with_turn(tx, turn, due_at=until)
    stage.advance(seconds=61)


@work("curate")
async def _(stage: Stage) -> None:
    ids = await remembered(stage, *FRAGMENTS)
    fold = {"memories": ids, "content": "John plays chess, drinks tea and has a red bike"}
    stage.house.script.set_default_answer("CuratorPlan", {"folds": [fold], "archive": []})


@work("curate", "too early")
async def _(stage: Stage) -> None:
    await remembered(stage, *SMITHS)


@work("match_entities")
async def _(stage: Stage) -> None:
    await remembered(stage, *SMITHS)


@work("spine")
async def _(stage: Stage) -> None:
    await remembered(stage, memory("Lives in Austin"))
    stage.house.script.set_default_answer("Spine", {"PROFILE": ["Lives in Austin"]})
    await told_turn(stage)
    async with stage.house.services.db.tx(stage.org) as tx:
        await tx.execute(
            "update session_states set message_count = 40 where org_id = %(org_id)s and user_id = %(user_id)s",
            org_id=stage.org,
            user_id=stage.person().user,
        )
        await enqueue_after_turn(tx, stage.person())


@work("session_close")
async def _(stage: Stage) -> None:
    stage.house.script.set_default_answer("SessionSummary", {"one_liner": "Ann told of Austin.", "tone": "warm"})
    await told_turn(stage)
    stage.advance(minutes=31)


@work("session_close", "closed by hand")
async def _(stage: Stage) -> None:
    stage.house.script.set_default_answer("SessionSummary", {"one_liner": "Ann told of Austin.", "tone": "warm"})
    made = await told_turn(stage)
    await stage.done("POST", f"/api/sessions/{made['sessionId']}/close")


@work("embed")
async def _(stage: Stage) -> None:
    stage.house.embedder.down = True
    await remembered(stage, memory("Lives in Austin"), memory("Drinks tea"))
    put = {"op": "put", "namespace": ["a"], "key": "k", "value": 1, "texts": {"$": "spicy noodles"}}
    await stage.done("POST", "/api/notes/write", {**ANN, "changes": [put]})
    stage.house.embedder.down = False


def _ledger_lines(stage: Stage) -> str:
    file = stage.house.services.settings.data_dir / ledger.LEDGER_FILE
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return "\n".join(line for line in lines if stage.org in line)


@work("keep_ledger", beside=_ledger_lines)
async def _(stage: Stage) -> None:
    await remembered(stage, memory("Lives in Austin"))
    await stage.done("DELETE", "/api/users/ann")


@work("note_sweep")
async def _(stage: Stage) -> None:
    short = {"op": "put", "namespace": ["a"], "key": "short", "value": 1, "ttlMinutes": 5}
    long = {"op": "put", "namespace": ["a"], "key": "long", "value": 2, "ttlMinutes": 600}
    await stage.done("POST", "/api/notes/write", {**ANN, "changes": [short, long]})
    stage.advance(minutes=7)


@work("run")
async def _(stage: Stage) -> None:
    await asked_run(stage)


@work("run", "a lead with memory, a team and a review")
async def _(stage: Stage) -> None:
    member = await made_agent(stage, name="Macro", role="specialist", cardType="decision")
    config = {"memoryEnabled": True, "reviewDecisions": True}
    await asked_run(stage, name="Lead", role="lead", team=[member], adapterConfig=config)


@work("run", "a re-examination")
async def _(stage: Stage) -> None:
    run = await open_trade(stage)
    hold = {"conviction_score": 80, "notes": "Momentum is intact.", "suggested_action": "HOLD"}
    stage.house.script.set_default_answer("Card", hold)
    await stage.done("POST", f"/api/runs/{run}/re-examine")


@work("run", "whose trade expires")
async def _(stage: Stage) -> None:
    agent = await made_agent(stage)
    expires = {**TRADE, "expires_at": "2026-04-13T15:22:00Z"}
    stage.house.script.set_default_answer("Card", expires)
    await stage.done("POST", f"/api/agents/{agent}/runs", {})


@work("expiry")
async def _(stage: Stage) -> None:
    await open_trade(stage, expires_at="2026-04-13T15:22:00Z")
    stage.advance(days=2)


@work("agent-chat")
async def _(stage: Stage) -> None:
    agent = await made_agent(stage, adapterConfig={"memoryEnabled": True})
    stage.house.app.state.closing.set()
    await stage.done("POST", f"/api/agents/{agent}/chat", {"message": "Hello", "stream": False})


@work("heartbeat")
async def _(stage: Stage) -> None:
    await made_agent(stage, schedule="0 * * * *")
    stage.advance(hours=2)


def _home(stage: Stage) -> str:
    root = stage.house.services.settings.data_dir.resolve() / "agents" / stage.org
    return " ".join(sorted(str(one.relative_to(root)) for one in root.rglob("*"))) if root.exists() else ""


@work("agent-removal", beside=_home)
async def _(stage: Stage) -> None:
    agent = await made_agent(stage)
    home = agent_directory(stage.house.services.settings.data_dir, stage.org, agent)
    home.mkdir(parents=True)
    (home / "session.json").write_text("{}", encoding="utf-8")
    await stage.done("DELETE", f"/api/agents/{agent}")


@work(RESERVATION, "lapsed")
async def _(stage: Stage) -> None:
    async with stage.house.services.db.tx(stage.org) as tx:
        await reserve_organization(tx, stage.scope, lease_until=tx.now + timedelta(seconds=30))
    stage.advance(seconds=31)
