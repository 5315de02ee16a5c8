"""Whom each operation of the HTTP API concerns, and a person whose every text can be recognized.

A route that stands in no row here makes `tests/acceptance/test_bound_keys.py` fail: say whom it concerns.
"""

from dataclasses import dataclass
from enum import Enum

import httpx2

CANARY = "zanzibar"


class Concerns(Enum):
    """Whom an operation concerns."""

    PERSON = "the person whom its address, query or body names"
    OBJECT = "the person whom the object in its address belongs to"
    ORGANIZATION = "the whole organization"
    NOBODY = "nobody: health, and the name of the model"


_ROWS: dict[Concerns, tuple[str, ...]] = {
    Concerns.PERSON: (
        "POST /api/chat", "POST /api/context", "POST /api/turns", "POST /v1/chat/completions",
        "POST /api/memories", "GET /api/memories", "POST /api/memories/batch", "POST /api/memories/search",
        "GET /api/entities", "GET /api/entities/suggestions", "GET /api/entities/{key}",
        "POST /api/entities/merge", "POST /api/entities/split",
        "POST /api/notes/write", "POST /api/notes/read", "POST /api/notes/search", "POST /api/notes/namespaces",
        "GET /api/sessions", "GET /api/session-state", "GET /api/session-state/rolling-summaries",
        "GET /api/todos", "GET /api/agent-state/hit-rate", "POST /api/import",
        "GET /api/sources", "GET /api/sources/memories", "GET /api/sources/preview", "POST /api/sources/withdraw",
        "PUT /api/users/{user_id}/seed", "GET /api/users/{user_id}/seed", "GET /api/users/{user_id}/spine",
        "GET /api/users/{user_id}/curator-runs",
        "GET /api/users/{user_id}/export", "DELETE /api/users/{user_id}",
    ),
    Concerns.OBJECT: (
        "GET /api/memories/{memory_id}", "PATCH /api/memories/{memory_id}", "GET /api/memories/{memory_id}/history",
        "POST /api/memories/{memory_id}/restore", "POST /api/memories/{memory_id}/unfold",
        "DELETE /api/memories/{memory_id}",
        "GET /api/sessions/{session_id}", "GET /api/sessions/{session_id}/messages",
        "POST /api/sessions/{session_id}/close", "GET /api/sessions/{session_id}/agent-state",
        "PATCH /api/sessions/{session_id}/agent-state", "GET /api/sessions/{session_id}/agent-state/history",
        "GET /api/sessions/{session_id}/events",
        "PATCH /api/todos/{todo_id}", "GET /api/turns/{turn_id}", "POST /api/turns/{turn_id}/reflect",
    ),
    Concerns.ORGANIZATION: (
        "POST /api/agents", "GET /api/agents", "GET /api/agents/{agent_id}", "PATCH /api/agents/{agent_id}",
        "DELETE /api/agents/{agent_id}", "GET /api/agents/{agent_id}/memory",
        "POST /api/agents/{agent_id}/memory/reset", "GET /api/agents/{agent_id}/messages",
        "POST /api/agents/{agent_id}/chat", "POST /api/agents/{agent_id}/runs", "GET /api/agents/{agent_id}/runs",
        "GET /api/agents/{agent_id}/decisions",
        "GET /api/runs", "GET /api/runs/{run_id}", "GET /api/runs/{run_id}/events", "POST /api/runs/{run_id}/cancel",
        "POST /api/runs/{run_id}/re-examine", "GET /api/runs/{run_id}/re-examinations",
        "POST /api/runs/{run_id}/resolve",
        "POST /api/prices", "GET /api/cards", "GET /api/calibration",
        "GET /api/jobs", "POST /api/jobs/{job_id}/retry",
        "GET /api/organization", "PATCH /api/organization",
        "GET /api/personas/{persona_id}", "PUT /api/personas/{persona_id}",
        "GET /api/engagement", "GET /api/engagement/history",
        "POST /api/engagement/hypotheses/{hypothesis_id}/resolve",
        "POST /api/engagement/hypotheses/{hypothesis_id}/archive",
    ),
    Concerns.NOBODY: (
        "GET /healthz", "GET /readyz", "GET /metrics", "GET /api/key", "GET /v1/models", "GET /v1/models/{model_id}",
    ),
}  # fmt: skip
RULES = {route: concerns for concerns, routes in _ROWS.items() for route in routes}

BOUND_TOOLS = {"remember", "recall", "forget", "get_context", "list_todos", "expect", "report_result", "get_state"}
"""MCP tools that concern one person."""
ORGANIZATION_TOOLS = {"get_engagement", "get_my_decisions"}
"""MCP tools that a bound key is not offered."""


@dataclass(frozen=True, kw_only=True)
class Belongings:
    """What a person has: values for the parameters of addresses, by their names."""

    user: str
    memory_id: str
    session_id: str
    turn_id: str
    todo_id: str
    key: str

    @property
    def placed(self) -> dict[str, str]:
        return {**{name: value for name, value in vars(self).items() if name != "user"}, "user_id": self.user}

    @property
    def words(self) -> dict[str, str]:
        """Values for fields and query parameters."""
        return {"userId": self.user, "user": self.user, "from": self.key, "into": f"{self.key}_too", "key": self.key}


def give_belongings(client: httpx2.Client, user: str, mark: str) -> Belongings:
    """Give the person one of everything; each text has the mark."""

    def made(path: str, body: dict[str, object], method: str = "POST") -> dict[str, str]:
        answer = client.request(method, path, json={"userId": user, **body} if method == "POST" else body)
        assert answer.status_code < 300, answer.text
        return dict(answer.json()["data"])

    entity = {"type": "person", "label": f"{mark} John"}
    memory = made("/api/memories", {"type": "PEOPLE", "content": f"{mark} John is a friend", "entity": entity})
    too = {"type": "person", "label": f"{mark} John too"}
    made("/api/memories", {"type": "PEOPLE", "content": f"{mark} John sails", "entity": too})
    todo = made("/api/memories", {"type": "OPEN_LOOP", "content": f"Call {mark}"})
    said = [{"role": "user", "content": f"I told {mark} about it."}, {"role": "assistant", "content": mark}]
    results = [{"id": "c1", "action": "a", "entities": [{"id": mark, "kind": "task", "name": mark}]}]
    turn = made("/api/turns", {"messages": said, "toolResults": results})
    made(f"/api/users/{user}/seed", {"profile": [f"Lives in {mark}"]}, "PUT")
    put = {"op": "put", "namespace": [mark], "key": mark, "value": {"text": mark}}
    made("/api/notes/write", {"changes": [put]})
    held = memory.get("memory", memory)
    return Belongings(
        user=user,
        memory_id=held["id"],  # type: ignore[index]
        session_id=turn["sessionId"],
        turn_id=turn["turnId"],
        todo_id=todo.get("todo", todo)["id"],  # type: ignore[index]
        key=f"person:{mark}_john",
    )
