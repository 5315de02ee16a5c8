"""An agent's settings: its instructions, schedule, team, card type and memory options."""

import re
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from mnemon.errors import FieldFault, Invalid

MAX_TEAM = 12
"""Most specialists of one lead."""
# The first character matters: a name that starts with a hyphen would be an option of the Claude CLI.
_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,119}")
CONFIG_NAMES = {
    "memoryEnabled": "memory_enabled",
    "memoryReadOnly": "memory_read_only",
    "reviewDecisions": "review_decisions",
    "model": "model",
    "maxTurns": "max_turns",
    "timeoutSeconds": "timeout_seconds",
}
"""Field names by the keys that the API and the table use."""


class Adapter(StrEnum):
    """The program that runs the agent."""

    MODEL = "model"
    CLAUDE_CLI = "claude-cli"


class AgentRole(StrEnum):
    """Whether the agent works alone, leads a council, or is a specialist on one."""

    SOLO = "solo"
    LEAD = "lead"
    SPECIALIST = "specialist"


@dataclass(frozen=True, kw_only=True)
class AdapterConfig:
    """The agent's options. Each is checked here, since some become arguments of a command line."""

    memory_enabled: bool = False
    """Active Memory: chat and runs share one session."""
    memory_read_only: bool = False
    """Runs read the shared session but do not extend it; chat does."""
    review_decisions: bool = False
    """Whether a run begins by reading the agent's last decisions."""
    model: str | None = None
    """The model the Claude CLI uses; None means its default."""
    max_turns: int = 20
    """Most model requests of one run."""
    timeout_seconds: float | None = None
    """Longest time of one run, at most the operator's limit; None means that limit."""


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent as stored."""

    id: str
    name: str
    adapter: Adapter
    skill: str
    """SKILL.md: the agent's instructions."""
    default_prompt: str
    """The prompt of a scheduled run."""
    schedule: str | None
    """A cron expression in UTC; None for an agent that runs only on request."""
    role: AgentRole
    team: tuple[str, ...]
    """Ids of the specialists that a lead consults."""
    card_type: str
    """The type of card its runs fill."""
    config: AdapterConfig
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class AgentDraft:
    """An agent's settings as an application sends them, not yet checked."""

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
    """Return an agent's configuration with the given values replaced; raise Invalid naming every bad key."""
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
    """Return an agent's configuration as JSON, with the keys that the API and the table use."""
    keys = {field_name: key for key, field_name in CONFIG_NAMES.items()}
    return {keys[entry.name]: getattr(config, entry.name) for entry in fields(config)}


def team_faults(draft: AgentDraft) -> tuple[FieldFault, ...]:
    """Return what is wrong with the role and team of an agent's draft taken together; empty when nothing is."""
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
    """Return why the value is not allowed for this key of an agent's configuration; None when it is."""
    if key in {"memoryEnabled", "memoryReadOnly", "reviewDecisions"}:
        return None if isinstance(value, bool) else "Must be true or false."
    if key == "model":
        if value is None or (isinstance(value, str) and _MODEL_NAME.fullmatch(value)):
            return None
        return "Must be a model's name: letters, digits and . _ : @ / -, starting with a letter or digit."
    # A bool is an int in Python, so it is excluded from the numbers below.
    if key == "maxTurns":
        fine = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 100
        return None if fine else "Must be a whole number from 1 to 100."
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fine = value is None or (number and 1 <= value <= 86_400)
    return None if fine else "Must be a number of seconds from 1 to 86400, or null."
