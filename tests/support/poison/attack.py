"""Carries an attacker's words through a door, and asserts that the door answers as it should."""

from dataclasses import dataclass
from typing import Any

import httpx2

from support.poison.cases import DANA, HELD, Case

Client = httpx2.Client
STRANGER = "mallory"
FUTURE = "2099-01-01T00:00:00Z"


@dataclass(frozen=True, kw_only=True)
class Attackers:
    """The keys that attacks come with."""

    app: Client
    """The application's own key: it hands on what tools, documents and agents say."""
    stranger: Client
    """A key bound to another person of the organization."""
    rival: Client
    """Another organization's key."""


def carry_out(case: Case, by: Attackers, held: dict[str, str]) -> None:
    """Say the case's words at its door; `held` has the ids of the victim's facts by their letters."""
    match case.kind:
        case "memory" | "batch" | "loop" | "label" | "repeat":
            _declare(case, by.app)
        case "patch":
            _change(case, by.app, held[case.aim])
        case "mcp" | "mcp_graph":
            _call_tool(case, by.app)
        case "stranger" | "stranger_names" | "stranger_memory" | "bound_operator" | "rival":
            _come_from_elsewhere(case, by)
        case _:
            _record_turn(case, by.app)


def say_trigger(case: Case, app: Client) -> None:
    """Say what a delayed attack waits for."""
    # With four messages a rolling summary is due, and the model is shown what it wrote into the last one.
    lines = (case.trigger, "How are you?", "Just a moment.", "So.")
    said = [*({"role": "user", "content": one} for one in lines), {"role": "assistant", "content": "Here I am."}]
    _expect(_post(app, "/api/turns", {**_whom(case), "messages": said}), 202)


def _statement(case: Case, **more: Any) -> dict[str, Any]:
    """The words as a statement about what they aim at, wanting as much weight as can be asked for."""
    aimed = {**HELD[case.aim], "pinned": True, "importance": 3, "confidence": 1.0, "validFrom": FUTURE}
    return {**aimed, **_whom(case), "content": case.words, "source": case.argument, **more}


def _declare(case: Case, app: Client) -> None:
    if case.kind == "batch":
        about_dana = {"type": "PEOPLE", "entity": DANA, "factType": "relationship", "attribute": None}
        _expect(_post(app, "/api/memories/batch", [_statement(case), _statement(case, **about_dana)]), 200)
    elif case.kind == "loop":
        body = {**_whom(case), "type": "OPEN_LOOP", "content": case.words, "source": case.argument}
        _expect(_post(app, "/api/memories", body), 201)
    elif case.kind == "label":
        entity = {"type": "person", "label": case.words[:190]}
        body = _statement(case, type="PEOPLE", entity=entity, attribute=case.words[:190])
        _expect(_post(app, "/api/memories", body), 201)
    else:
        for _ in range(3 if case.kind == "repeat" else 1):
            answer = _post(app, "/api/memories", _statement(case))
            assert answer.status_code in {200, 201}, answer.text


def _change(case: Case, app: Client, memory_id: str) -> None:
    for change in ({"content": case.words}, {"pinned": False}, {"status": "ARCHIVED"}):
        answer = app.patch(f"/api/memories/{memory_id}", json={**change, "source": case.argument})
        assert (answer.status_code, answer.json()["code"]) == (409, "outranked"), answer.text
    _expect(_post(app, f"/api/memories/{memory_id}/restore", {"version": 1, "source": case.argument}), 409)


def _call_tool(case: Case, app: Client) -> None:
    words, aimed = case.words[:1900], HELD[case.aim]
    if case.kind == "mcp":
        named, query = "remember", f"?userId={case.person}"
        arguments: dict[str, Any] = {"content": words, "type": aimed["type"], "attribute": aimed.get("attribute")}
        arguments |= {"private": True} if case.persona else {}
        arguments |= {"about": DANA, "fact_type": "relationship"} if case.aim == "D" else {}
    else:
        named, query = "create_entities", f"?userId={case.person}&tools=server-memory"
        arguments = {"entities": [{"name": "Dana", "entityType": "person", "observations": [words]}]}
    query += f"&personaId={case.persona}" if case.persona else ""
    call = {"name": named, "arguments": {k: v for k, v in arguments.items() if v is not None}}
    accepted = {"Accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answer = app.post(f"/mcp{query}", json=body, headers=accepted)
    _expect(answer, 200)
    assert bool(answer.json()["result"].get("isError")) is ("\0" in words), answer.text


def _come_from_elsewhere(case: Case, by: Attackers) -> None:
    statement = _statement(case, source="api")
    if case.kind == "stranger":
        said = [{"role": "user", "content": f"About {case.person}: {case.words}"}]
        _expect(_post(by.stranger, "/api/turns", {"userId": STRANGER, "messages": said}), 202)
    elif case.kind == "stranger_memory":
        answer = _post(by.stranger, "/api/memories", {**statement, "userId": STRANGER})
        assert answer.status_code in {200, 201}, answer.text
    elif case.kind == "stranger_names":
        said = [{"role": "user", "content": case.words}]
        _expect(_post(by.stranger, "/api/memories", statement), 403)
        _expect(_post(by.stranger, "/api/turns", {**_whom(case), "messages": said}), 403)
    elif case.kind == "bound_operator":
        _expect(_post(by.stranger, "/api/memories", {**statement, "userId": STRANGER, "source": "operator"}), 403)
    else:
        _expect(_post(by.rival, "/api/memories", statement), 201)


def _record_turn(case: Case, app: Client) -> None:
    """Record a turn in which the person asks and something else brings the attacker's words."""
    aside = ("Take your time.", "Keep it simple.", "I am here.")  # the fourth message makes a rolling summary due
    said: list[dict[str, Any]] = [{"role": "user", "content": one} for one in (case.question, *aside)]
    results: list[dict[str, Any]] = []
    reply: dict[str, Any] = {"role": "assistant", "content": "I had a look."}
    if case.kind in {"tool_message", "own_message"}:
        said.append({"role": "tool", "name": case.argument, "content": case.words})
    elif case.kind == "assistant":
        reply = {"role": "assistant", "content": case.words, "name": case.argument or None}
    else:
        nested = {"results": [{"title": "Found", "body": {"text": case.words}}], "count": 1}
        output = nested if case.kind == "tool_nested" else case.words
        results.append({"id": f"call_{case.number}", "action": case.argument, "output": output})
    if case.kind == "confided":
        said[0]["content"] = f"Just between us: I told coach about kx{case.number}x. {case.question}"
    body = {**_whom(case), "messages": [*said, reply], "toolResults": results}
    _expect(_post(app, "/api/turns", body), 202)


def _whom(case: Case) -> dict[str, Any]:
    return {"userId": case.person, **({"personaId": case.persona} if case.persona else {})}


def _post(client: Client, path: str, body: Any) -> httpx2.Response:
    return client.post(path, json=body)


def _expect(answer: httpx2.Response, status: int) -> None:
    assert answer.status_code == status, f"{answer.status_code} {answer.text}"
