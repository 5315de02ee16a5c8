"""Agents and tasks for tests that stand at the adapter's seam."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from mnemon.runs.active_memory import MemoryAccess
from mnemon.runs.adapter import AgentTask, DecisionReview, RunEvent
from mnemon.runs.agent import Adapter, AdapterConfig, Agent, AgentRole

NOW = datetime(2026, 3, 3, 9, tzinfo=UTC)
AGENT = Agent(
    id="agt_01",
    name="Scout",
    adapter=Adapter.MODEL,
    skill="You are Scout, an analyst.",
    default_prompt="Analyse BTC.",
    schedule=None,
    role=AgentRole.SOLO,
    team=(),
    card_type="decision",
    config=AdapterConfig(),
    created_at=NOW,
    updated_at=NOW,
)


def task(prompt: str = "Analyse BTC.", *, config: AdapterConfig | None = None, **more: Any) -> AgentTask:
    """A task of Scout's."""
    agent = replace(AGENT, config=config or AdapterConfig())
    return AgentTask(
        **{
            "org_id": "acme",
            "agent": agent,
            "system": agent.skill,
            "prompt": prompt,
            "card": None,
            "access": MemoryAccess.NONE,
            "fresh_session_id": "new-session",
            **more,
        }
    )


def review(text: str, token: str = "mnr_acme_token") -> DecisionReview:
    """Decisions within reach."""

    async def read() -> str:
        return text

    return DecisionReview(read=read, token=token)


class Seen:
    """Keeps what was emitted."""

    def __init__(self) -> None:
        self.events: list[RunEvent] = []

    async def __call__(self, event: RunEvent) -> None:
        self.events.append(event)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event.data for event in self.events if event.type == kind]
