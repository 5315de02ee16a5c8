"""Every MCP tool that writes, called over HTTP."""

from collections.abc import Awaitable, Callable
from typing import Any

from support.walk.furniture import memory, remembered, told_turn
from support.walk.house import Call, Stage
from support.walk.scenario import RequestScenario

HEADERS = {"Accept": "application/json, text/event-stream"}
SERVER_MEMORY = "&tools=server-memory"
JOHN = {"name": "John", "entityType": "person", "observations": ["Speaks Spanish", "Graduated in 2019"]}
ACME = {"name": "Acme", "entityType": "company", "observations": ["Makes anvils"]}
WORKS = {"from": "John", "to": "Acme", "relationType": "works_at"}
PLAN = {"action": "create_tasks", "expected_outcome": "two tasks exist", "expected_count": 2}

Query = Callable[[Stage], Awaitable[tuple[str, dict[str, Any]]]]
"""What follows the person in the address, and the tool's arguments."""


def tool_call(name: str, arguments: dict[str, Any], query: str = "") -> Call:
    """A request that calls the tool for Ann."""
    params = {"name": name, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return Call(method="POST", path=f"/mcp?userId=ann{query}", json=body, headers=HEADERS)


def _scenario(name: str, prepare: Query) -> RequestScenario:
    async def arrange(stage: Stage) -> Call:
        query, arguments = await prepare(stage)
        return tool_call(name, arguments, query)

    return RequestScenario(name=f"MCP {name}", operation=f"MCP {name}", arrange=arrange, keyed=False)


async def _remember(stage: Stage) -> tuple[str, dict[str, Any]]:
    return "", {"content": "Lives in Austin", "attribute": "city"}


async def _forget(stage: Stage) -> tuple[str, dict[str, Any]]:
    one, _ = await remembered(stage, memory("Lives in Austin"), memory("Plays chess"))
    return "", {"id": one}


async def _expect(stage: Stage) -> tuple[str, dict[str, Any]]:
    made = await told_turn(stage)
    return f"&sessionId={made['sessionId']}", dict(PLAN)


async def _report_result(stage: Stage) -> tuple[str, dict[str, Any]]:
    query, plan = await _expect(stage)
    await stage.send(tool_call("expect", plan, query))
    return query, {"action": "create_tasks", "ids": ["t1"], "count": 1, "entities": [{"id": "t1", "kind": "task"}]}


async def _graph(stage: Stage) -> None:
    for name, arguments in (
        ("create_entities", {"entities": [JOHN, ACME]}),
        ("create_relations", {"relations": [WORKS]}),
    ):
        answer = await stage.send(tool_call(name, arguments, SERVER_MEMORY))
        assert '"isError":true' not in answer.text, answer.text


def _on_graph(arguments: dict[str, Any], *, empty: bool = False) -> Query:
    async def prepare(stage: Stage) -> tuple[str, dict[str, Any]]:
        if not empty:
            await _graph(stage)
        return SERVER_MEMORY, arguments

    return prepare


TOOL_SCENARIOS: list[RequestScenario] = [
    _scenario("remember", _remember),
    _scenario("forget", _forget),
    _scenario("expect", _expect),
    _scenario("report_result", _report_result),
    _scenario("create_entities", _on_graph({"entities": [JOHN, ACME]}, empty=True)),
    _scenario("create_relations", _on_graph({"relations": [{**WORKS, "relationType": "founded"}]})),
    _scenario(
        "add_observations", _on_graph({"observations": [{"entityName": "John", "contents": ["Plays the oboe"]}]})
    ),
    _scenario("delete_entities", _on_graph({"entityNames": ["Acme"]})),
    _scenario(
        "delete_observations", _on_graph({"deletions": [{"entityName": "John", "observations": ["Speaks Spanish"]}]})
    ),
    _scenario("delete_relations", _on_graph({"relations": [WORKS]})),
]


async def listed_tools(stage: Stage, query: str = "") -> list[dict[str, Any]]:
    """The tools that are offered for Ann."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    answer = await stage.send(Call(method="POST", path=f"/mcp?userId=ann{query}", json=body, headers=HEADERS))
    tools: list[dict[str, Any]] = answer.json()["result"]["tools"]
    return tools
