"""`mnemon agents …`: who they are, what they carry, talking to them and sending them to work."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import AsJson, Org, chosen, err, out, print_json, run

if TYPE_CHECKING:
    from mnemon.basement import Basement
    from mnemon.runs.active_memory import Panel
    from mnemon.runs.agent import Agent
    from mnemon.runs.decision import Decision

agents = typer.Typer(no_args_is_help=True, help="Agents: who they are, what they carry, what they decided.")

Who = Annotated[str, typer.Argument(help="The agent's id, or its name.")]
Skill = Annotated[Path | None, typer.Option("--skill", help="A SKILL.md file.", exists=True, dir_okay=False)]
Prompt = Annotated[str | None, typer.Option("--prompt", help="What a run asks by default.")]
Schedule = Annotated[str | None, typer.Option("--schedule", help="Cron, in UTC: '0 * * * *'. An empty text: none.")]
Role = Annotated[str | None, typer.Option("--role", help="solo, lead or specialist.")]
Team = Annotated[str | None, typer.Option("--team", help="Ids of a lead's specialists, comma-separated.")]
Card = Annotated[str | None, typer.Option("--card", help="The card its runs fill; `mnemon agents cards` lists them.")]
Adapter = Annotated[str | None, typer.Option("--adapter", help="model or claude-cli.")]
Memory = Annotated[
    bool | None, typer.Option("--memory/--no-memory", help="Active Memory: chat and runs share a session.")
]
ReadOnly = Annotated[bool | None, typer.Option("--read-only/--extend", help="Runs see the session, do not extend it.")]
Review = Annotated[bool | None, typer.Option("--review/--no-review", help="A run begins with its last decisions.")]


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(agents, name="agents")


@agents.command("list")
def list_agents(org: Org = "local", as_json: AsJson = False) -> None:
    """List the agents and what they carry."""
    from mnemon.cli.agent_words import agent_json, agents_table
    from mnemon.cli.house import opened_house, organization
    from mnemon.runs import agent_store
    from mnemon.runs import agents as rules

    async def work() -> "list[tuple[Agent, Panel]]":
        async with opened_house(chosen()) as house:
            scope = await organization(house, org)
            async with house.db.tx(scope.org_id) as tx:
                found = await agent_store.agents(scope, tx, most=1000)
                panels = await rules.panels(tx, scope, found)
        return [(agent, panels[agent.id]) for agent in found]

    found = run(work())
    if as_json:
        print_json([agent_json(agent, panel) for agent, panel in found])
    elif found:
        out.print(agents_table(found))
    else:
        out.print("No agents yet. Make one: [bold]mnemon agents create Scout --prompt 'What changed today?'[/]")


@agents.command("create")
def create(
    name: str,
    skill: Skill = None,
    prompt: Prompt = None,
    schedule: Schedule = None,
    role: Role = None,
    team: Team = None,
    card: Card = None,
    adapter: Adapter = None,
    memory: Memory = None,
    read_only: ReadOnly = None,
    review: Review = None,
    org: Org = "local",
    as_json: AsJson = False,
) -> None:
    """Make an agent."""
    from mnemon.runs import agents as rules
    from mnemon.runs.agent import Draft

    changes = _changes(skill, prompt, schedule, role, team, card, adapter)
    config = _config(memory, read_only, review)

    async def work(house: "Basement", scope: Any, tx: Any) -> "Agent":
        draft = _drafted(Draft(name=name), changes, config)
        return await rules.create_agent(tx, scope, draft, _cards(house))

    _tell(_in_house(org, work, writes="agents create"), "is made.", as_json)


@agents.command("edit")
def edit(
    who: Who,
    name: Annotated[str | None, typer.Option("--name")] = None,
    skill: Skill = None,
    prompt: Prompt = None,
    schedule: Schedule = None,
    role: Role = None,
    team: Team = None,
    card: Card = None,
    adapter: Adapter = None,
    memory: Memory = None,
    read_only: ReadOnly = None,
    review: Review = None,
    org: Org = "local",
    as_json: AsJson = False,
) -> None:
    """Change an agent. Enabling its memory is a fresh start."""
    from mnemon.runs import agents as rules

    changes = _changes(skill, prompt, schedule, role, team, card, adapter) | ({"name": name} if name else {})
    config = _config(memory, read_only, review)

    async def work(house: "Basement", scope: Any, tx: Any) -> "Agent":
        agent = await _named(scope, tx, who)
        draft = _drafted(rules.drafted(agent), changes, config)
        return await rules.edit_agent(tx, scope, agent.id, draft, _cards(house))

    _tell(_in_house(org, work, writes="agents edit"), "is changed.", as_json)


@agents.command("show")
def show(who: Who, org: Org = "local", as_json: AsJson = False) -> None:
    """Show an agent, its memory and its last decisions."""
    from mnemon.cli.agent_words import agent_json, agent_page, decision_json
    from mnemon.runs import agents as rules
    from mnemon.runs.decisions import decisions_for

    async def work(house: "Basement", scope: Any, tx: Any) -> "tuple[Agent, Panel, tuple[Decision, ...]]":
        agent = await _named(scope, tx, who)
        panels = await rules.panels(tx, scope, [agent])
        return agent, panels[agent.id], await decisions_for(tx, scope, agent.id)

    agent, panel, decided = _in_house(org, work)
    if as_json:
        print_json({**agent_json(agent, panel), "decisions": [decision_json(one) for one in decided]})
    else:
        out.print(agent_page(agent, panel, decided))


@agents.command("reset")
def reset(who: Who, org: Org = "local", as_json: AsJson = False) -> None:
    """Reset an agent's memory: the next run starts fresh, the chat stays visible."""
    from mnemon.runs import agents as rules

    async def work(house: "Basement", scope: Any, tx: Any) -> "Agent":
        agent = await _named(scope, tx, who)
        return await rules.reset_memory(tx, scope, agent.id)

    _tell(_in_house(org, work, writes="agents reset"), "carries nothing any more.", as_json)


@agents.command("delete")
def delete(
    who: Who,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    org: Org = "local",
    as_json: AsJson = False,
) -> None:
    """Remove an agent with its runs and its chat."""
    from mnemon.runs import agents as rules

    if not yes:
        typer.confirm(f"Remove {who} with all its runs and its chat?", abort=True, err=True)

    async def work(house: "Basement", scope: Any, tx: Any) -> "Agent":
        agent = await _named(scope, tx, who)
        await rules.delete_agent(tx, scope, agent.id)
        return agent

    _tell(_in_house(org, work, writes="agents delete"), "is removed.", as_json)


@agents.command("cards")
def cards(as_json: AsJson = False) -> None:
    """List the card types."""
    from mnemon.cli.agent_words import card_json, cards_table
    from mnemon.runs.card import load_cards

    found = list(load_cards(chosen().cards_dir).values())
    if as_json:
        print_json([card_json(card) for card in found])
    else:
        out.print(cards_table(found))


@agents.command("run")
def start(
    who: Who,
    prompt: Annotated[str | None, typer.Option("--prompt", help="Ask this instead of the default prompt.")] = None,
    org: Org = "local",
    as_json: AsJson = False,
) -> None:
    """Send an agent to work and watch it."""
    from mnemon.cli.runs import followed
    from mnemon.runs.ask import ask_run

    async def ask(house: "Basement", scope: Any, tx: Any) -> str:
        agent = await _named(scope, tx, who)
        return (await ask_run(tx, scope, agent.id, prompt)).id

    followed(org, ask, as_json=as_json, writes="agents run")


@agents.command("chat")
def chat(
    who: Who,
    message: Annotated[str | None, typer.Argument(help="What to say; left out, a conversation begins.")] = None,
    org: Org = "local",
    as_json: AsJson = False,
) -> None:
    """Talk to an agent."""
    from mnemon.cli.agent_chat import conversation

    if message is None and as_json:
        err.print("[bold red]error[/] --json needs a message.")
        raise typer.Exit(2)
    run(conversation(org, who, message, as_json=as_json))


def _in_house(org: str, work: Any, *, writes: str | None = None) -> Any:
    """The work's result, in one transaction of the organization; a command that writes is named for the audit log."""
    from mnemon.access.audit import record_command
    from mnemon.cli.house import opened_house, organization

    async def inside() -> Any:
        async with opened_house(chosen()) as house:
            scope = await organization(house, org)
            async with house.db.tx(scope.org_id) as tx:
                done = await work(house, scope, tx)
                if writes is not None:
                    record_command(tx, scope, writes, done.id)
                return done

    return run(inside())


async def _named(scope: Any, tx: Any, who: str) -> "Agent":
    from mnemon.cli.agent_words import named

    return await named(scope, tx, who)


def _tell(agent: "Agent", what: str, as_json: bool) -> None:
    if as_json:
        print_json({"id": agent.id, "name": agent.name})
    else:
        out.print(f"[bold]{safe_markup(agent.name)}[/] {what} [dim]{agent.id}[/]")


def _cards(house: "Basement") -> Any:
    from mnemon.runs.card import load_cards

    return load_cards(house.settings.cards_dir)


def _changes(
    skill: Path | None,
    prompt: str | None,
    schedule: str | None,
    role: str | None,
    team: str | None,
    card: str | None,
    adapter: str | None,
) -> dict[str, Any]:
    """What the options name, in the draft's words."""
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


def _config(memory: bool | None, read_only: bool | None, review: bool | None) -> dict[str, Any]:
    given = {"memoryEnabled": memory, "memoryReadOnly": read_only, "reviewDecisions": review}
    return {name: value for name, value in given.items() if value is not None}


def _drafted(draft: Any, changes: dict[str, Any], config: dict[str, Any]) -> Any:
    """The draft with the changes, each checked as the wire checks it."""
    from dataclasses import replace

    from mnemon.errors import Invalid
    from mnemon.runs.agent import Adapter, AgentRole, read_config

    for name, kind in (("role", AgentRole), ("adapter", Adapter)):
        if name in changes:
            if changes[name] not in set(kind):
                raise Invalid(f"--{name} takes one of: {', '.join(kind)}.")
            changes[name] = kind(changes[name])
    return replace(draft, **changes, config=read_config(config, draft.config))
