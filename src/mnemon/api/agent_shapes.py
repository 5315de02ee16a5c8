"""Agents, their memory and their chat as the wire shows them."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field

from mnemon.api.run_shapes import RunUsageOut
from mnemon.api.wire import Instant, Json, Name, Text, Wire, Words
from mnemon.runs.active_memory import MemoryStatus, Panel
from mnemon.runs.agent import MOST_TEAM, Adapter, Agent, AgentRole, Draft, read_config, write_config
from mnemon.runs.agent_store import ChatMessage
from mnemon.runs.agents import drafted
from mnemon.runs.schedule import next_slot

Skill = Annotated[Text, Field(max_length=200_000)]
Prompt = Annotated[Text, Field(max_length=50_000)]
Cron = Annotated[Text, Field(max_length=100)]
Team = Annotated[list[Name], Field(max_length=MOST_TEAM)]
Config = Annotated[dict[str, Json], Field(max_length=50)]


class AgentIn(Wire):
    """An agent to make."""

    name: Name
    adapter: Adapter = Adapter.MODEL
    skill: Skill = ""
    default_prompt: Prompt = ""
    schedule: Cron | None = None
    role: AgentRole = AgentRole.SOLO
    team: Team = Field(default_factory=list)
    card_type: Name | None = None
    adapter_config: Config = Field(default_factory=dict)

    def draft(self) -> Draft:
        return Draft(
            name=self.name,
            adapter=self.adapter,
            skill=self.skill,
            default_prompt=self.default_prompt,
            schedule=self.schedule,
            role=self.role,
            team=tuple(self.team),
            card_type=self.card_type or "decision",
            config=read_config(self.adapter_config),
        )


class AgentPatch(Wire):
    """What to change of an agent; what is not named stays, `adapterConfig` key by key."""

    name: Name | None = None
    adapter: Adapter | None = None
    skill: Skill | None = None
    default_prompt: Prompt | None = None
    schedule: Cron | None = None
    role: AgentRole | None = None
    team: Team | None = None
    card_type: Name | None = None
    adapter_config: Config | None = None

    def applied(self, agent: Agent) -> Draft:
        now = drafted(agent)
        return Draft(
            name=self.name or now.name,
            adapter=self.adapter or now.adapter,
            skill=now.skill if self.skill is None else self.skill,
            default_prompt=now.default_prompt if self.default_prompt is None else self.default_prompt,
            schedule=self.schedule if "schedule" in self.model_fields_set else now.schedule,
            role=self.role or now.role,
            team=now.team if self.team is None else tuple(self.team),
            card_type=self.card_type or now.card_type,
            config=read_config(self.adapter_config or {}, now.config),
        )


class MemoryOut(Wire):
    """The Active Memory panel."""

    enabled: bool
    status: MemoryStatus
    runs_since_reset: int
    session_age: str | None
    warning: str | None
    last_reset_at: Instant | None

    @classmethod
    def of(cls, panel: Panel) -> Self:
        return cls(
            enabled=panel.enabled,
            status=panel.status,
            runs_since_reset=panel.runs_since_reset,
            session_age=panel.session_age,
            warning=panel.warning,
            last_reset_at=panel.last_reset_at,
        )


class AgentOut(Wire):
    id: str
    name: str
    adapter: Adapter
    skill: str
    default_prompt: str
    schedule: str | None
    next_run_at: Instant | None
    """The next slot of the schedule."""
    role: AgentRole
    team: list[str]
    card_type: str
    adapter_config: dict[str, Any]
    memory: MemoryOut
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, agent: Agent, panel: Panel, now: datetime) -> Self:
        return cls(
            id=agent.id,
            name=agent.name,
            adapter=agent.adapter,
            skill=agent.skill,
            default_prompt=agent.default_prompt,
            schedule=agent.schedule,
            next_run_at=next_slot(agent.schedule, now) if agent.schedule else None,
            role=agent.role,
            team=list(agent.team),
            card_type=agent.card_type,
            adapter_config=write_config(agent.config),
            memory=MemoryOut.of(panel),
            created_at=agent.created_at,
            updated_at=agent.updated_at,
        )


class ChatMessageOut(Wire):
    id: str
    turn_id: str
    role: str
    content: str
    at: Instant

    @classmethod
    def of(cls, message: ChatMessage) -> Self:
        return cls(id=message.id, turn_id=message.turn_id, role=message.role, content=message.content, at=message.at)


class AgentChatIn(Wire):
    """A message to an agent."""

    message: Words
    stream: bool = True


class AgentReplyOut(Wire):
    """A reply as one JSON; without a reply the message waits for a worker."""

    turn_id: str
    message_id: str | None = None
    session_id: str | None = None
    reply: str | None = None
    usage: RunUsageOut | None = None


class RunIn(Wire):
    """A run to make; without a prompt the agent's default one is taken."""

    prompt: Annotated[Words, Field(max_length=50_000)] | None = None
