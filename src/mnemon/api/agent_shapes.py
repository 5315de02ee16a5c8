"""The JSON shapes of agents, their memory and their chat."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field

from mnemon.api.models import ApiModel, Instant, Json, Name, NonEmptyText, Text
from mnemon.api.run_shapes import RunUsageOut
from mnemon.runs.active_memory import MemoryPanel, MemoryStatus
from mnemon.runs.agent import MAX_TEAM, Adapter, Agent, AgentDraft, AgentRole, format_config, parse_config
from mnemon.runs.agent_store import ChatMessage
from mnemon.runs.agents import draft_from
from mnemon.runs.schedule import next_slot

SkillText = Annotated[Text, Field(max_length=200_000)]
PromptText = Annotated[Text, Field(max_length=50_000)]
CronText = Annotated[Text, Field(max_length=100)]
TeamNames = Annotated[list[Name], Field(max_length=MAX_TEAM)]
ConfigFields = Annotated[dict[str, Json], Field(max_length=50)]


class AgentIn(ApiModel):
    """An agent to create."""

    name: Name
    adapter: Adapter = Adapter.MODEL
    skill: SkillText = ""
    default_prompt: PromptText = ""
    schedule: CronText | None = None
    role: AgentRole = AgentRole.SOLO
    team: TeamNames = Field(default_factory=list)
    card_type: Name | None = None
    adapter_config: ConfigFields = Field(default_factory=dict)

    def as_draft(self) -> AgentDraft:
        """Return the requested agent as the draft that `runs.agents.create_agent` takes."""
        return AgentDraft(
            name=self.name,
            adapter=self.adapter,
            skill=self.skill,
            default_prompt=self.default_prompt,
            schedule=self.schedule,
            role=self.role,
            team=tuple(self.team),
            card_type=self.card_type or "decision",
            config=parse_config(self.adapter_config),
        )


class AgentPatch(ApiModel):
    """The fields of an agent to change. A field that is left out stays; `adapterConfig` is merged key by key."""

    name: Name | None = None
    adapter: Adapter | None = None
    skill: SkillText | None = None
    default_prompt: PromptText | None = None
    schedule: CronText | None = None
    role: AgentRole | None = None
    team: TeamNames | None = None
    card_type: Name | None = None
    adapter_config: ConfigFields | None = None

    def apply_to(self, agent: Agent) -> AgentDraft:
        """Return the stored agent as a draft with the patch's fields in place of its own."""
        now = draft_from(agent)
        return AgentDraft(
            name=self.name or now.name,
            adapter=self.adapter or now.adapter,
            skill=now.skill if self.skill is None else self.skill,
            default_prompt=now.default_prompt if self.default_prompt is None else self.default_prompt,
            # An explicit null removes the schedule, so null and "left out" must be told apart.
            schedule=self.schedule if "schedule" in self.model_fields_set else now.schedule,
            role=self.role or now.role,
            team=now.team if self.team is None else tuple(self.team),
            card_type=self.card_type or now.card_type,
            config=parse_config(self.adapter_config or {}, now.config),
        )


class AgentMemoryOut(ApiModel):
    """What the Active Memory panel shows: whether the agent carries a session between runs, and how old it is."""

    enabled: bool
    status: MemoryStatus
    runs_since_reset: int
    """Successful scheduled runs since the last reset."""
    other_runs_since_reset: int
    """Manual runs and re-examinations."""
    session_age: str | None
    warning: str | None
    last_reset_at: Instant | None

    @classmethod
    def from_panel(cls, panel: MemoryPanel) -> Self:
        """Return the response for an agent's memory panel."""
        return cls(
            enabled=panel.enabled,
            status=panel.status,
            runs_since_reset=panel.runs_since_reset,
            other_runs_since_reset=panel.other_runs_since_reset,
            session_age=panel.session_age,
            warning=panel.warning,
            last_reset_at=panel.last_reset_at,
        )


class AgentOut(ApiModel):
    """An agent."""

    id: str
    name: str
    adapter: Adapter
    skill: str
    default_prompt: str
    schedule: str | None
    next_run_at: Instant | None
    """The next time of the schedule; null for an agent without one."""
    role: AgentRole
    team: list[str]
    card_type: str
    adapter_config: dict[str, Any]
    memory: AgentMemoryOut
    created_at: Instant
    updated_at: Instant

    @classmethod
    def from_agent(cls, agent: Agent, panel: MemoryPanel, now: datetime) -> Self:
        """Return the response for an agent and its memory panel; `now` decides its next run."""
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
            adapter_config=format_config(agent.config),
            memory=AgentMemoryOut.from_panel(panel),
            created_at=agent.created_at,
            updated_at=agent.updated_at,
        )


class ChatMessageOut(ApiModel):
    """A message of an agent's chat."""

    id: str
    turn_id: str
    role: str
    content: str
    at: Instant

    @classmethod
    def from_message(cls, message: ChatMessage) -> Self:
        """Return the response for a stored message of an agent's chat."""
        return cls(id=message.id, turn_id=message.turn_id, role=message.role, content=message.content, at=message.at)


class AgentChatIn(ApiModel):
    """A message to an agent."""

    message: NonEmptyText
    stream: bool = True


class AgentReplyOut(ApiModel):
    """An agent's reply as one JSON object; `reply` is null while the message waits for a worker."""

    turn_id: str
    message_id: str | None = None
    session_id: str | None = None
    reply: str | None = None
    usage: RunUsageOut | None = None


class RunIn(ApiModel):
    """A run to start; without a prompt, the agent's default prompt is used."""

    prompt: Annotated[NonEmptyText, Field(max_length=50_000)] | None = None
