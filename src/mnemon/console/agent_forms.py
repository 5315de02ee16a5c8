"""An agent as a form: its fields as words, and the words as a draft."""

from typing import Any

from mnemon.console.sheet import check
from mnemon.runs.agent import Adapter, Agent, AgentRole, Draft, read_config, write_config

TOGGLES = ("memoryEnabled", "memoryReadOnly", "reviewDecisions")


def filled(agent: Agent | None) -> dict[str, Any]:
    """What stands in the form: the agent, or a new one's beginnings with every toggle off."""
    if agent is None:
        return {
            "name": "",
            "adapter": Adapter.MODEL.value,
            "role": AgentRole.SOLO.value,
            "card_type": "decision",
            "schedule": "",
            "default_prompt": "",
            "skill": "",
            "team": (),
            "model": "",
            **dict.fromkeys(TOGGLES, False),
        }
    config = write_config(agent.config)
    return {
        "name": agent.name,
        "adapter": agent.adapter.value,
        "role": agent.role.value,
        "card_type": agent.card_type,
        "schedule": agent.schedule or "",
        "default_prompt": agent.default_prompt,
        "skill": agent.skill,
        "team": agent.team,
        "model": agent.config.model or "",
        **{name: config[name] for name in TOGGLES},
    }


def drafted(form: dict[str, str], agent: Agent | None) -> Draft:
    """What the form asks for. Raises Invalid with every reason."""
    words = {name: form.get(name, "").strip() for name in ("name", "adapter", "role", "card_type", "schedule", "model")}
    check(
        name="" if 1 <= len(words["name"]) <= 200 else "Give a name of at most 200 characters.",
        adapter="" if words["adapter"] in set(Adapter) else f"An adapter is one of {', '.join(Adapter)}.",
        role="" if words["role"] in set(AgentRole) else f"A role is one of {', '.join(AgentRole)}.",
    )
    config: dict[str, Any] = {name: form.get(name) == "on" for name in TOGGLES}
    config["model"] = words["model"] or None
    return Draft(
        name=words["name"],
        adapter=Adapter(words["adapter"]),
        skill=form.get("skill", ""),
        default_prompt=form.get("default_prompt", ""),
        schedule=words["schedule"] or None,
        role=AgentRole(words["role"]),
        team=tuple(key.removeprefix("team:") for key, value in form.items() if key.startswith("team:") and value),
        card_type=words["card_type"],
        config=read_config(config, agent.config if agent else None),
    )
