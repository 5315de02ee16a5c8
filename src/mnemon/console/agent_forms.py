"""An agent as a form: its fields as words, and the words as a draft."""

from typing import Any

from mnemon.errors import Fault, Invalid
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
    faults = []
    if not 1 <= len(words["name"]) <= 200:
        faults.append(Fault(pointer="/name", detail="Give a name of at most 200 characters."))
    if words["adapter"] not in set(Adapter):
        faults.append(Fault(pointer="/adapter", detail=f"One of {', '.join(Adapter)}."))
    if words["role"] not in set(AgentRole):
        faults.append(Fault(pointer="/role", detail=f"One of {', '.join(AgentRole)}."))
    if faults:
        raise Invalid(" ".join(f"{fault.pointer[1:]}: {fault.detail}" for fault in faults), faults=tuple(faults))
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
