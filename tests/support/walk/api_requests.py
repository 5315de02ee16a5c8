"""Every operation of the HTTP API that is not a GET, once or oftener."""

from collections.abc import Awaitable, Callable
from typing import Any

from mnemon.llm.scripted.script import tool_call_reply
from support.walk.furniture import (
    ANN,
    SAID,
    SMITHS,
    asked_run,
    doubted_claim,
    folded_memory,
    made_agent,
    memory,
    open_trade,
    parked_turn,
    remembered,
    told_turn,
)
from support.walk.house import Call, Stage
from support.walk.scenario import RequestScenario

Arrange = Callable[[Stage], Awaitable[Call]]
API_SCENARIOS: list[RequestScenario] = []
CHAT = {**ANN, "message": SAID}
PLAN = {"action": "create_tasks", "expected_outcome": "two tasks exist", "expected_count": 2}
RESULT = {
    "id": "res_1",
    "action": "create_tasks",
    "count": 1,
    "ids": ["t1"],
    "entities": [{"id": "t1", "kind": "task"}],
}


def asking(operation: str, name: str = "", **more: Any) -> Callable[[Arrange], Arrange]:
    """Adds the request that the function arranges to the scenarios."""

    def add(arrange: Arrange) -> Arrange:
        told = f"{operation} ({name})" if name else operation
        API_SCENARIOS.append(RequestScenario(name=told, operation=operation, arrange=arrange, **more))
        return arrange

    return add


def plain(operation: str, json: Any, name: str = "", **more: Any) -> None:
    """Adds a request that needs nothing but the organization."""
    method, path = operation.split()

    async def arrange(stage: Stage) -> Call:
        return Call(method=method, path=more.pop("path", path), json=json)

    asking(operation, name, **more)(arrange)


plain("POST /api/memories", memory("Lives in Austin"))
plain("POST /api/memories", memory("I'll call the bank", type="OPEN_LOOP"), "a todo")
plain("POST /api/memories/batch", {"memories": [memory("Lives in Austin"), memory("Drinks tea"), *SMITHS]})
plain("POST /api/agents", {"name": "Scout", "defaultPrompt": "Look.", "schedule": "0 * * * *"})
plain("POST /api/turns", {**ANN, "messages": [{"role": "user", "content": SAID}]})
plain(
    "POST /api/turns",
    {
        **ANN,
        "personaId": "coach",
        "messages": [{"role": "user", "content": SAID}, {"role": "assistant", "content": "Done."}],
        "expectations": [PLAN],
        "toolResults": [RESULT],
    },
    "with a plan and its result",
)
plain(
    "POST /api/notes/write",
    {**ANN, "changes": [
        {"op": "put", "namespace": ["a"], "key": "k", "value": {"x": 1}, "ttlMinutes": 5, "texts": {"$": "tea"}},
        {"op": "put", "namespace": ["log"], "key": None, "value": 2},
        {"op": "delete", "namespace": ["a"], "key": "gone"},
    ]},
)  # fmt: skip
plain("POST /api/notes/namespaces", {**ANN, "prefix": ["a"]})
plain("POST /api/notes/search", {**ANN, "namespace": ["a"], "query": "tea"})
plain("POST /api/chat", {**CHAT, "stream": False}, kinds=("reflection",))
plain("POST /api/chat", CHAT, "streamed", kinds=("reflection",))
plain(
    "POST /v1/chat/completions",
    {"model": "x", "user": "ann", "messages": [{"role": "user", "content": SAID}]},
    kinds=("reflection",),
)
plain(
    "POST /v1/chat/completions",
    {"model": "x", "user": "ann", "stream": True, "messages": [{"role": "user", "content": SAID}]},
    "streamed",
    kinds=("reflection",),
)


@asking("POST /api/chat", "with a tool call", kinds=("reflection",))
async def _(stage: Stage) -> Call:
    reply = tool_call_reply("remember", content="Lives in Austin")
    stage.house.script.set_default_reply(lambda asked: "Noted." if asked.messages[-1].role == "tool" else reply)
    return Call(method="POST", path="/api/chat", json={**CHAT, "stream": False})


@asking("POST /v1/chat/completions", "a tool of the caller", kinds=("reflection",), ends_after_minutes=31)
async def _(stage: Stage) -> Call:
    reply = tool_call_reply("weather", city="Austin")
    stage.house.script.set_default_reply(lambda asked: reply)
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
    body = {"model": "x", "user": "ann", "messages": [{"role": "user", "content": SAID}], "tools": [tool]}
    return Call(method="POST", path="/v1/chat/completions", json=body)


@asking("POST /api/context")
async def _(stage: Stage) -> Call:
    await remembered(stage, memory("Lives in Austin"))
    return Call(method="POST", path="/api/context", json={**ANN, "query": "Where do I live?"})


@asking("POST /api/memories/search")
async def _(stage: Stage) -> Call:
    await remembered(stage, memory("Lives in Austin"))
    return Call(method="POST", path="/api/memories/search", json={**ANN, "query": "Where do I live?"})


@asking("POST /api/notes/read")
async def _(stage: Stage) -> Call:
    put = {"op": "put", "namespace": ["a"], "key": "k", "value": 1, "ttlMinutes": 5}
    await stage.done("POST", "/api/notes/write", {**ANN, "changes": [put]})
    read = {**ANN, "notes": [{"namespace": ["a"], "key": "k"}], "refresh": True}
    return Call(method="POST", path="/api/notes/read", json=read)


@asking("PATCH /api/memories/{memory_id}")
async def _(stage: Stage) -> Call:
    [one] = await remembered(stage, memory("Lives in Austin"))
    return Call(method="PATCH", path=f"/api/memories/{one}", json={"content": "Lives in Denver", "pinned": True})


@asking("POST /api/memories/{memory_id}/restore")
async def _(stage: Stage) -> Call:
    [one] = await remembered(stage, memory("Lives in Austin"))
    await stage.done("PATCH", f"/api/memories/{one}", {"status": "ARCHIVED"})
    return Call(method="POST", path=f"/api/memories/{one}/restore", json={"reason": "needed"})


@asking("POST /api/memories/{memory_id}/unfold")
async def _(stage: Stage) -> Call:
    return Call(method="POST", path=f"/api/memories/{await folded_memory(stage)}/unfold")


@asking("POST /api/sources/withdraw")
async def _(stage: Stage) -> Call:
    await remembered(stage, memory("Lives in Austin", source="tool:crm"), memory("Drinks tea"))
    return Call(method="POST", path="/api/sources/withdraw", json={**ANN, "source": "tool:crm"})


@asking("DELETE /api/memories/{memory_id}")
async def _(stage: Stage) -> Call:
    stage.house.script.set_default_answer("Reflection", {"memories": []})
    await told_turn(stage)
    one, _ = await remembered(stage, memory("Lives in Austin"), memory("Drinks tea"))
    return Call(method="DELETE", path=f"/api/memories/{one}")


@asking("DELETE /api/users/{user_id}")
async def _(stage: Stage) -> Call:
    await told_turn(stage)
    await remembered(stage, memory("Lives in Austin"), *SMITHS)
    return Call(method="DELETE", path="/api/users/ann")


@asking("PUT /api/users/{user_id}/seed")
async def _(stage: Stage) -> Call:
    await stage.done("PUT", "/api/users/ann/seed", {"profile": ["Lives in Boston", "Drinks tea"]})
    return Call(method="PUT", path="/api/users/ann/seed", json={"profile": ["Lives in Austin", "Drinks tea"]})


@asking("POST /api/import")
async def _(stage: Stage) -> Call:
    elsewhere = await stage.house.new_stage()
    await told_turn(elsewhere)
    await remembered(elsewhere, memory("Lives in Austin"), *SMITHS)
    lines = (await elsewhere.send(Call(method="GET", path="/api/users/ann/export"))).content
    headers = {"Content-Type": "application/x-ndjson"}
    return Call(method="POST", path="/api/import?userId=ben", content=lines, headers=headers)


@asking("POST /api/entities/merge")
async def _(stage: Stage) -> Call:
    await remembered(stage, *SMITHS)
    pair = {"from": "person:jon_smith", "into": "person:john_smith"}
    return Call(method="POST", path="/api/entities/merge", json={**ANN, **pair})


@asking("POST /api/entities/split")
async def _(stage: Stage) -> Call:
    await remembered(stage, *SMITHS)
    pair = {"from": "person:jon_smith", "into": "person:john_smith"}
    await stage.done("POST", "/api/entities/merge", {**ANN, **pair})
    apart = {"from": "person:jon_smith", "key": "person:john_smith"}
    return Call(method="POST", path="/api/entities/split", json={**ANN, **apart})


@asking("PUT /api/personas/{persona_id}")
async def _(stage: Stage) -> Call:
    await stage.done("PUT", "/api/personas/coach", {"name": "Coach"})
    body = {"name": "Coach", "prompt": "You are patient.", "engagement": "shared"}
    return Call(method="PUT", path="/api/personas/coach", json=body)


@asking("PATCH /api/organization")
async def _(stage: Stage) -> Call:
    body = {"engagement": "off", "timeZone": "Europe/Berlin", "instructions": "Answer briefly."}
    return Call(method="PATCH", path="/api/organization", json=body)


@asking("POST /api/engagement/hypotheses/{hypothesis_id}/resolve")
async def _(stage: Stage) -> Call:
    held, against = await doubted_claim(stage)
    body = {"evidenceId": against, "note": "Tilburg is another plant."}
    return Call(method="POST", path=f"/api/engagement/hypotheses/{held}/resolve", json=body)


@asking("POST /api/engagement/hypotheses/{hypothesis_id}/archive")
async def _(stage: Stage) -> Call:
    held, _ = await doubted_claim(stage)
    return Call(method="POST", path=f"/api/engagement/hypotheses/{held}/archive", json={"note": "Plans are in time."})


@asking("POST /api/sessions/{session_id}/close")
async def _(stage: Stage) -> Call:
    made = await told_turn(stage)
    return Call(method="POST", path=f"/api/sessions/{made['sessionId']}/close")


@asking("PATCH /api/sessions/{session_id}/agent-state")
async def _(stage: Stage) -> Call:
    made = await told_turn(stage)
    body = {"expectations": [PLAN], "reason": "planning"}
    path = f"/api/sessions/{made['sessionId']}/agent-state"
    return Call(method="PATCH", path=path, json=body, headers={"If-Match": '"0"'})


@asking("PATCH /api/todos/{todo_id}")
async def _(stage: Stage) -> Call:
    made = await stage.done("POST", "/api/memories", memory("I'll call the bank", type="OPEN_LOOP"))
    return Call(method="PATCH", path=f"/api/todos/{made['id']}", json={"status": "done"})


@asking("POST /api/turns/{turn_id}/reflect")
async def _(stage: Stage) -> Call:
    made = await parked_turn(stage)
    return Call(method="POST", path=f"/api/turns/{made['turnId']}/reflect")


@asking("POST /api/jobs/{job_id}/retry")
async def _(stage: Stage) -> Call:
    await parked_turn(stage)
    [job] = [one for one in await stage.done("GET", "/api/jobs") if one["kind"] == "reflection"]
    return Call(method="POST", path=f"/api/jobs/{job['id']}/retry")


@asking("PATCH /api/agents/{agent_id}")
async def _(stage: Stage) -> Call:
    agent = await made_agent(stage)
    body = {"name": "Ranger", "schedule": "0 * * * *", "adapterConfig": {"memoryEnabled": True}}
    return Call(method="PATCH", path=f"/api/agents/{agent}", json=body)


@asking("DELETE /api/agents/{agent_id}")
async def _(stage: Stage) -> Call:
    agent = await made_agent(stage, schedule="0 * * * *")
    await stage.done("POST", f"/api/agents/{agent}/runs", {})
    return Call(method="DELETE", path=f"/api/agents/{agent}")


@asking("POST /api/agents/{agent_id}/memory/reset")
async def _(stage: Stage) -> Call:
    agent = await made_agent(stage, adapterConfig={"memoryEnabled": True})
    return Call(method="POST", path=f"/api/agents/{agent}/memory/reset")


@asking("POST /api/agents/{agent_id}/chat", "nobody takes it up")
async def _(stage: Stage) -> Call:
    agent = await made_agent(stage)
    stage.house.app.state.closing.set()  # it waits no longer than until the server stops
    return Call(method="POST", path=f"/api/agents/{agent}/chat", json={"message": "Hello", "stream": False})


@asking("POST /api/agents/{agent_id}/chat", "answered before")
async def _(stage: Stage) -> Call:
    agent = await made_agent(stage)
    call = Call(method="POST", path=f"/api/agents/{agent}/chat", json={"message": "Hello", "stream": False})
    stage.house.app.state.closing.set()
    await stage.send(Call(**{**call.__dict__, "headers": {"Idempotency-Key": "the-walk"}}))
    stage.house.app.state.closing.clear()
    await stage.drain("agent-chat")
    return call


@asking("POST /api/agents/{agent_id}/runs")
async def _(stage: Stage) -> Call:
    return Call(method="POST", path=f"/api/agents/{await made_agent(stage)}/runs", json={"prompt": "Look at ETH."})


@asking("POST /api/runs/{run_id}/cancel")
async def _(stage: Stage) -> Call:
    return Call(method="POST", path=f"/api/runs/{await asked_run(stage)}/cancel")


@asking("POST /api/runs/{run_id}/re-examine")
async def _(stage: Stage) -> Call:
    return Call(method="POST", path=f"/api/runs/{await open_trade(stage)}/re-examine")


@asking("POST /api/runs/{run_id}/resolve")
async def _(stage: Stage) -> Call:
    run = await open_trade(stage)
    return Call(method="POST", path=f"/api/runs/{run}/resolve", json={"outcome": "win", "note": "by hand"})


@asking("POST /api/prices")
async def _(stage: Stage) -> Call:
    await open_trade(stage)
    pushed = [{"symbol": "BTC-USD", "price": 72000, "at": "2026-04-12T15:40:00Z"}]
    return Call(method="POST", path="/api/prices", json=pushed)
