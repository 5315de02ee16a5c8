"""What scenarios begin with: people, memories, sessions, agents and runs of an organization."""

from typing import Any

from mnemon.memory.curator import CuratorPlan, FoldAnswer
from mnemon.memory.upkeep.curator_job import apply_plan
from support.walk.house import Stage

ANN = {"userId": "ann"}
TRADE = {
    "symbol": "BTC-USD",
    "action": "LONG",
    "summary": "breakout above the range",
    "entry": 64250,
    "take_profit": 71900,
    "stop_loss": 61480,
    "confidence": 0.72,
    "watch_for": ["funding flips negative"],
}
SAID = "I live in Austin. I will call the bank tomorrow. My sister Maria works at Globex."
ITEM = {"id": "q1", "kind": "question", "title": "Which bank?"}
REFLECTED = {
    "memories": [
        {"type": "PROFILE", "content": "Lives in Austin", "quote": "I live in Austin", "factType": "fact"},
        {
            "type": "PEOPLE",
            "content": "Maria is her sister",
            "quote": "My sister Maria",
            "factType": "relationship",
            "entity": {"type": "person", "label": "Maria"},
        },
    ],
    "todos": [
        {"op": "add", "kind": "commitment", "content": "Call the bank", "quote": "I will call the bank tomorrow"}
    ],
    "agent_state": {"agent_state_item_updates": [{"op": "add", "item": ITEM}], "agent_state_updates": {}},
    "rolling_summary": "Ann lives in Austin and will call the bank.",
}


def memory(content: str, **more: Any) -> dict[str, Any]:
    return {**ANN, "type": "PROFILE", "content": content, **more}


def about(label: str, content: str, **more: Any) -> dict[str, Any]:
    entity = {"type": "person", "label": label}
    return {**ANN, "type": "PEOPLE", "content": content, "entity": entity, "factType": "relationship", **more}


SMITHS = [
    about("Jon Smith", "Jon Smith is a designer at Acme"),
    about("John Smith", "John Smith draws the logo of Acme as a designer"),
]
FRAGMENTS = [
    about("John", "John plays chess", factType="habit"),
    about("John", "John drinks tea", factType="preference"),
    about("John", "John has a red bike", factType="fact"),
]


async def remembered(stage: Stage, *memories: dict[str, Any]) -> list[str]:
    """The memories' ids."""
    made = await stage.done("POST", "/api/memories/batch", {"memories": list(memories)})
    listed = await stage.done("GET", "/api/memories?userId=ann&limit=100")
    assert made is not None
    return [one["id"] for one in sorted(listed, key=lambda one: str(one["content"]))]


async def folded_memory(stage: Stage) -> str:
    """The id of a fold of two memories."""
    ids = await remembered(stage, memory("John drinks tea"), memory("John drinks tea at home"))
    scope = stage.person()
    plan = CuratorPlan(folds=[FoldAnswer(memories=ids, content="John drinks tea; John drinks tea at home")])
    async with stage.house.services.db.tx(stage.org) as tx:
        (fold,) = (await apply_plan(tx, scope, plan, made_by="offline")).folded
    return fold


async def told_turn(stage: Stage, text: str = SAID, *, reply: str = "Noted.", **more: Any) -> dict[str, Any]:
    """A recorded turn, its reflection queued."""
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": reply}]
    made: dict[str, Any] = await stage.done("POST", "/api/turns", {**ANN, "messages": messages, **more})
    return made


async def parked_turn(stage: Stage) -> dict[str, Any]:
    """A turn whose reflection is parked: the model failed as often as it may."""
    made = await told_turn(stage)
    stage.house.script.add_fault("error", times=None)
    for _ in range(stage.house.services.settings.max_attempts):
        await stage.drain("reflection")
        stage.advance(minutes=6)
    stage.house.script.clear_faults()
    return made


async def doubted_claim(stage: Stage) -> tuple[str, str]:
    """The ids of a hypothesis, and of the evidence that contradicts it."""
    said = "The plan lands late. But the plan of Tilburg was in time."
    late = {"line": "The plan lands late.", "quote": "The plan lands late", "stance": "supports"}
    intime = {
        "line": "The plan of Tilburg was in time.",
        "quote": "the plan of Tilburg was in time",
        "stance": "contradicts",
    }
    evidence = [{**one, "source": "ann", "strength": "moderate"} for one in (late, intime)]
    claim = {"statement": "Every plan lands late", "falsifiedBy": "They come in time", "evidence": evidence}
    for proposal in ({}, {}, {"form": [claim]}):
        stage.house.script.set_default_answer("Reflection", {"engagement": proposal})
        await told_turn(stage, said)
        await stage.drain("reflection")
    [held] = (await stage.done("GET", "/api/engagement?expand=evidence"))["hypotheses"]
    return held["id"], held["evidence"][1]["id"]


async def made_agent(stage: Stage, **more: Any) -> str:
    """The agent's id."""
    body = {"name": "Trader", "skill": "You are Trader.", "defaultPrompt": "Analyse BTC.", **more}
    made = await stage.done("POST", "/api/agents", {"cardType": "trade-decision", **body})
    return str(made["id"])


async def asked_run(stage: Stage, **more: Any) -> str:
    """The id of a run that waits."""
    stage.house.script.set_default_answer("Card", TRADE)
    return str((await stage.done("POST", f"/api/agents/{await made_agent(stage, **more)}/runs", {}))["id"])


async def open_trade(stage: Stage, **more: Any) -> str:
    """The id of a run that succeeded and whose trade is open."""
    stage.house.script.set_default_answer("Card", {**TRADE, **more})
    run = str((await stage.done("POST", f"/api/agents/{await made_agent(stage)}/runs", {}))["id"])
    await stage.drain("run")
    held = await stage.done("GET", f"/api/runs/{run}")
    assert held["status"] == "succeeded", held
    return run
