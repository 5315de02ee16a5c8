"""Who an agent is: what it was told, when it wakes, whom it may consult and what it may carry from run to run."""

import re
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from mnemon.errors import FieldFault, Invalid

MAX_TEAM = 12
_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,119}")


class Adapter(StrEnum):
    """What drives the agent."""

    MODEL = "model"
    CLAUDE_CLI = "claude-cli"


class AgentRole(StrEnum):
    """Whether the agent works alone, convenes a council, or sits on one."""

    SOLO = "solo"
    LEAD = "lead"
    SPECIALIST = "specialist"


@dataclass(frozen=True, kw_only=True)
class AdapterConfig:
    """The agent's own choices; every one is checked here, none reaches a command line as it came."""

    memory_enabled: bool = False
    """Active Memory: chat and runs share one session."""
    memory_read_only: bool = False
    """Runs see the shared session but do not extend it; chat does."""
    review_decisions: bool = False
    """A run begins with the agent's last decisions."""
    model: str | None = None
    """The model the Claude CLI is asked to use; None takes its default."""
    max_turns: int = 20
    """Most model requests of one run."""
    timeout_seconds: float | None = None
    """Longest one run may take, below the operator's limit; None takes that limit."""


CONFIG_NAMES = {
    "memoryEnabled": "memory_enabled",
    "memoryReadOnly": "memory_read_only",
    "reviewDecisions": "review_decisions",
    "model": "model",
    "maxTurns": "max_turns",
    "timeoutSeconds": "timeout_seconds",
}


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent as stored."""

    id: str
    name: str
    adapter: Adapter
    skill: str
    """SKILL.md: the standing instructions."""
    default_prompt: str
    """What a heartbeat asks."""
    schedule: str | None
    """A cron expression in UTC, or None: only when asked."""
    role: AgentRole
    team: tuple[str, ...]
    """Ids of the specialists a lead convenes."""
    card_type: str
    """The card its runs have to fill."""
    config: AdapterConfig
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class AgentDraft:
    """What an application says an agent should be."""

    name: str
    adapter: Adapter = Adapter.MODEL
    skill: str = ""
    default_prompt: str = ""
    schedule: str | None = None
    role: AgentRole = AgentRole.SOLO
    team: tuple[str, ...] = ()
    card_type: str = "decision"
    config: AdapterConfig = field(default_factory=AdapterConfig)


def parse_config(given: dict[str, Any], current: AdapterConfig | None = None) -> AdapterConfig:
    """The checked configuration: what is given over what was. Raises Invalid naming every key that will not do."""
    faults = [
        FieldFault(pointer=f"/adapterConfig/{key}", detail=f"Unknown. Known: {', '.join(CONFIG_NAMES)}.")
        for key in given
        if key not in CONFIG_NAMES
    ]
    changes: dict[str, Any] = {}
    for key, value in given.items():
        if key in CONFIG_NAMES:
            why = _config_fault(key, value)
            if why:
                faults.append(FieldFault(pointer=f"/adapterConfig/{key}", detail=why))
            else:
                changes[CONFIG_NAMES[key]] = value
    if faults:
        which = " ".join(f"`{fault.pointer.rpartition('/')[2]}`: {fault.detail}" for fault in faults)
        raise Invalid(f"adapterConfig has keys or values that are not allowed. {which}", faults=tuple(faults))
    return replace(current or AdapterConfig(), **changes)


def format_config(config: AdapterConfig) -> dict[str, Any]:
    """The configuration as the wire and the table spell it."""
    spelled = {ours: theirs for theirs, ours in CONFIG_NAMES.items()}
    return {spelled[entry.name]: getattr(config, entry.name) for entry in fields(config)}


def team_faults(draft: AgentDraft) -> tuple[FieldFault, ...]:
    """What is wrong with role and team taken together."""
    if draft.team and draft.role is not AgentRole.LEAD:
        return (
            FieldFault(pointer="/team", detail="Only a lead has a team. Set role to lead or leave the team empty."),
        )
    if len(draft.team) > MAX_TEAM:
        return (FieldFault(pointer="/team", detail=f"A council has at most {MAX_TEAM} specialists."),)
    if len(set(draft.team)) != len(draft.team):
        return (FieldFault(pointer="/team", detail="An agent is named twice."),)
    return ()


def _config_fault(key: str, value: Any) -> str | None:
    if key in {"memoryEnabled", "memoryReadOnly", "reviewDecisions"}:
        return None if isinstance(value, bool) else "Must be true or false."
    if key == "model":
        if value is None or (isinstance(value, str) and _MODEL_NAME.fullmatch(value)):
            return None
        return "Must be a model's name: letters, digits and . _ : @ / -, starting with a letter or digit."
    if key == "maxTurns":
        fine = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 100
        return None if fine else "Must be a whole number from 1 to 100."
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fine = value is None or (number and 1 <= value <= 86_400)
    return None if fine else "Must be a number of seconds from 1 to 86400, or null."
