"""`mnemon agents …`: create, edit, show and delete agents, chat with them and start their runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import (
    JsonOption,
    OrgOption,
    err,
    out,
    print_json,
    run,
    run_in_transaction,
    settings_from_flags,
)

if TYPE_CHECKING:
    from mnemon.runs.active_memory import MemoryPanel
    from mnemon.runs.agent import Agent
    from mnemon.runs.decisions import Decision
    from mnemon.services import Services

agents = typer.Typer(no_args_is_help=True, help="Manage agents, chat with them and start their runs.")

AgentArgument = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id or name.")]
SkillOption = Annotated[Path | None, typer.Option("--skill", help="A SKILL.md file.", exists=True, dir_okay=False)]
PromptOption = Annotated[str | None, typer.Option("--prompt", help="The prompt of a run that names none.")]
ScheduleOption = Annotated[
    str | None, typer.Option("--schedule", help="A cron expression in UTC: '0 * * * *'. Empty: no schedule.")
]
RoleOption = Annotated[str | None, typer.Option("--role", help="solo, lead or specialist.")]
TeamOption = Annotated[str | None, typer.Option("--team", help="Ids of a lead's specialists, comma-separated.")]
CardOption = Annotated[
    str | None, typer.Option("--card", help="The card type that its runs fill; see `mnemon agents cards`.")
]
AdapterOption = Annotated[str | None, typer.Option("--adapter", help="model or claude-cli.")]
MemoryOption = Annotated[
    bool | None, typer.Option("--memory/--no-memory", help="Active Memory: its chat and its runs share one session.")
]
ReadOnlyOption = Annotated[
    bool | None, typer.Option("--read-only/--extend", help="Whether runs only read the shared session or add to it.")
]
ReviewOption = Annotated[
    bool | None, typer.Option("--review/--no-review", help="Start each run with a review of its last decisions.")
]


def register(app: typer.Typer) -> None:
    """Add the command group to the program."""
    app.add_typer(agents, name="agents")


@agents.command("list")
def list_agents(org: OrgOption = "local", as_json: JsonOption = False) -> None:
    """List agents with the state of their memory."""
    from mnemon.cli.agent_output import agent_json, agents_table
    from mnemon.cli.services import open_services, require_organization
    from mnemon.runs import agent_store
    from mnemon.runs import agents as rules

    async def load_agents() -> "list[tuple[Agent, MemoryPanel]]":
        async with open_services(settings_from_flags()) as services:
            scope = await require_organization(services, org)
            async with services.db.tx(scope.org_id) as tx:
                found = await agent_store.list_agents(tx, scope, most=1000)
                panels = await rules.list_memory_panels(tx, scope, found)
        return [(agent, panels[agent.id]) for agent in found]

    found = run(load_agents())
    if as_json:
        print_json([agent_json(agent, panel) for agent, panel in found])
    elif found:
        out.print(agents_table(found))
    else:
        out.print("No agents yet. Create one: [bold]mnemon agents create Scout --prompt 'What changed today?'[/]")


@agents.command("create")
def create(
    name: str,
    skill: SkillOption = None,
    prompt: PromptOption = None,
    schedule: ScheduleOption = None,
    role: RoleOption = None,
    team: TeamOption = None,
    card: CardOption = None,
    adapter: AdapterOption = None,
    memory: MemoryOption = None,
    read_only: ReadOnlyOption = None,
    review: ReviewOption = None,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Create an agent."""
    from mnemon.runs import agents as rules
    from mnemon.runs.agent import AgentDraft

    changes = _draft_changes(skill, prompt, schedule, role, team, card, adapter)
    config = _config_changes(memory, read_only, review)

    async def create_agent(services: "Services", tx: Any, scope: Any) -> "Agent":
        draft = _apply_changes(AgentDraft(name=name), changes, config)
        return await rules.create_agent(tx, scope, draft, _load_cards(services))

    _print_agent(run_in_transaction(org, create_agent, writes="agents create"), "is created.", as_json)


@agents.command("edit")
def edit(
    who: AgentArgument,
    name: Annotated[str | None, typer.Option("--name")] = None,
    skill: SkillOption = None,
    prompt: PromptOption = None,
    schedule: ScheduleOption = None,
    role: RoleOption = None,
    team: TeamOption = None,
    card: CardOption = None,
    adapter: AdapterOption = None,
    memory: MemoryOption = None,
    read_only: ReadOnlyOption = None,
    review: ReviewOption = None,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Change an agent. When you enable its memory, it starts with an empty session."""
    from mnemon.runs import agents as rules

    changes = _draft_changes(skill, prompt, schedule, role, team, card, adapter) | ({"name": name} if name else {})
    config = _config_changes(memory, read_only, review)

    async def edit_agent(services: "Services", tx: Any, scope: Any) -> "Agent":
        agent = await _find_agent(tx, scope, who)
        draft = _apply_changes(rules.draft_from(agent), changes, config)
        return await rules.edit_agent(tx, scope, agent.id, draft, _load_cards(services))

    _print_agent(run_in_transaction(org, edit_agent, writes="agents edit"), "is changed.", as_json)


@agents.command("show")
def show(who: AgentArgument, org: OrgOption = "local", as_json: JsonOption = False) -> None:
    """Show an agent, its memory and its last decisions."""
    from mnemon.cli.agent_output import agent_json, agent_page, decision_json
    from mnemon.runs import agents as rules
    from mnemon.runs.decisions import list_agent_decisions

    async def load_agent_details(
        services: "Services", tx: Any, scope: Any
    ) -> "tuple[Agent, MemoryPanel, tuple[Decision, ...]]":
        agent = await _find_agent(tx, scope, who)
        panels = await rules.list_memory_panels(tx, scope, [agent])
        return agent, panels[agent.id], await list_agent_decisions(tx, scope, agent.id)

    agent, panel, decided = run_in_transaction(org, load_agent_details)
    if as_json:
        print_json({**agent_json(agent, panel), "decisions": [decision_json(one) for one in decided]})
    else:
        out.print(agent_page(agent, panel, decided))


@agents.command("reset")
def reset(who: AgentArgument, org: OrgOption = "local", as_json: JsonOption = False) -> None:
    """Reset an agent's memory. Its next run starts with an empty session; you can still read the chat."""
    from mnemon.runs import agents as rules

    async def reset_memory(services: "Services", tx: Any, scope: Any) -> "Agent":
        agent = await _find_agent(tx, scope, who)
        return await rules.reset_memory(tx, scope, agent.id)

    _print_agent(run_in_transaction(org, reset_memory, writes="agents reset"), "has an empty memory now.", as_json)


@agents.command("delete")
def delete(
    who: AgentArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Delete an agent with its runs and its chat."""
    from mnemon.runs import agents as rules

    if not yes:
        # The question goes to stderr, so that stdout has only data.
        typer.confirm(f"Delete {who} with all its runs and its chat?", abort=True, err=True)

    async def delete_agent(services: "Services", tx: Any, scope: Any) -> "Agent":
        agent = await _find_agent(tx, scope, who)
        await rules.delete_agent(tx, scope, agent.id)
        return agent

    _print_agent(run_in_transaction(org, delete_agent, writes="agents delete"), "is deleted.", as_json)


@agents.command("cards")
def cards(as_json: JsonOption = False) -> None:
    """List the card types that an agent's runs can fill."""
    from mnemon.cli.agent_output import card_json, cards_table
    from mnemon.runs.card import load_cards

    found = list(load_cards(settings_from_flags().cards_dir).values())
    if as_json:
        print_json([card_json(card) for card in found])
    else:
        out.print(cards_table(found))


@agents.command("run")
def start(
    who: AgentArgument,
    prompt: Annotated[
        str | None, typer.Option("--prompt", help="Use this prompt instead of the agent's default.")
    ] = None,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Start a run of an agent and watch it to its end."""
    from mnemon.cli.runs import follow_run
    from mnemon.runs.run_requests import request_run

    async def submit_run(services: "Services", tx: Any, scope: Any) -> str:
        agent = await _find_agent(tx, scope, who)
        return (await request_run(tx, scope, agent.id, prompt, services.llm)).id

    follow_run(org, submit_run, as_json=as_json, writes="agents run")


@agents.command("chat")
def chat(
    who: AgentArgument,
    message: Annotated[str | None, typer.Argument(help="The message. Without it, a conversation begins.")] = None,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Chat with an agent."""
    from mnemon.cli.terminal_chat import run_conversation

    if message is None and as_json:
        err.print("[bold red]error[/] --json needs a message.")
        raise typer.Exit(2)
    run(run_conversation(org, who, message, as_json=as_json))


async def _find_agent(tx: Any, scope: Any, who: str) -> "Agent":
    from mnemon.cli.agent_output import find_agent

    return await find_agent(tx, scope, who)


def _print_agent(agent: "Agent", what: str, as_json: bool) -> None:
    if as_json:
        print_json({"id": agent.id, "name": agent.name})
    else:
        out.print(f"[bold]{safe_markup(agent.name)}[/] {what} [dim]{agent.id}[/]")


def _load_cards(services: "Services") -> Any:
    from mnemon.runs.card import load_cards

    return load_cards(services.settings.cards_dir)


def _draft_changes(
    skill: Path | None,
    prompt: str | None,
    schedule: str | None,
    role: str | None,
    team: str | None,
    card: str | None,
    adapter: str | None,
) -> dict[str, Any]:
    """Return the options that were given, by the draft's field names; an empty schedule becomes None."""
    given = {
        "skill": skill.read_text(encoding="utf-8") if skill else None,
        "default_prompt": prompt,
        "role": role,
        "team": tuple(part.strip() for part in team.split(",") if part.strip()) if team is not None else None,
        "card_type": card,
        "adapter": adapter,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    return changes if schedule is None else changes | {"schedule": schedule.strip() or None}


def _config_changes(memory: bool | None, read_only: bool | None, review: bool | None) -> dict[str, Any]:
    """Return the options that were given, by their names in the API's `adapterConfig`."""
    # The names of the API, so that `parse_config` checks both.
    given = {"memoryEnabled": memory, "memoryReadOnly": read_only, "reviewDecisions": review}
    return {name: value for name, value in given.items() if value is not None}


def _apply_changes(draft: Any, changes: dict[str, Any], config: dict[str, Any]) -> Any:
    """Return the draft with the changes; raise Invalid for a role, adapter or setting that the API refuses."""
    from dataclasses import replace

    from mnemon.errors import Invalid
    from mnemon.runs.agent import Adapter, AgentRole, parse_config

    for name, kind in (("role", AgentRole), ("adapter", Adapter)):
        if name in changes:
            if changes[name] not in set(kind):
                raise Invalid(f"--{name} takes one of: {', '.join(kind)}.")
            changes[name] = kind(changes[name])
    return replace(draft, **changes, config=parse_config(config, draft.config))
