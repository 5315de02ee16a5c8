"""`mnemon agents …`: create, edit, show and delete agents, chat with them and start their runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.server_choice import ServerOptions, takes_server
from mnemon.cli.terminal import JsonOption, err, out, print_json

if TYPE_CHECKING:
    from mnemon_client import Mnemon

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
    """Add the command group `agents` to the Typer app."""
    app.add_typer(agents, name="agents")


@agents.command("list")
@takes_server
def list_agents(server: ServerOptions, as_json: JsonOption = False) -> None:
    """List agents with the state of their memory."""
    from mnemon.cli.agent_output import agents_table
    from mnemon.cli.connect import call_server

    found = call_server(server, lambda client: client.agents())
    if as_json:
        print_json(found)
    elif found:
        out.print(agents_table(found))
    else:
        out.print("No agents yet. Create one: [bold]mnemon agents create Scout --prompt 'What changed today?'[/]")


@agents.command("create")
@takes_server
def create(
    server: ServerOptions,
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
    as_json: JsonOption = False,
) -> None:
    """Create an agent."""
    from mnemon.cli.connect import call_server

    fields = _agent_fields(skill, prompt, schedule, role, team, card, adapter, memory, read_only, review)
    made = call_server(server, lambda client: client.create_agent(name=name, **fields))
    _print_agent(made, "is created.", as_json)


@agents.command("edit")
@takes_server
def edit(
    server: ServerOptions,
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
    as_json: JsonOption = False,
) -> None:
    """Change an agent. When you enable its memory, it starts with an empty session."""
    from mnemon.cli.connect import call_server

    fields = _agent_fields(skill, prompt, schedule, role, team, card, adapter, memory, read_only, review)

    async def edit_agent(client: "Mnemon") -> dict[str, Any]:
        """Change the agent's given fields and return it."""
        agent = await find_agent(client, who)
        return await client.change_agent(agent["id"], **({"name": name} if name else {}), **fields)

    _print_agent(call_server(server, edit_agent), "is changed.", as_json)


@agents.command("show")
@takes_server
def show(server: ServerOptions, who: AgentArgument, as_json: JsonOption = False) -> None:
    """Show an agent, its memory and its last decisions."""
    from mnemon.cli.agent_output import agent_page
    from mnemon.cli.connect import call_server

    async def load_agent(client: "Mnemon") -> dict[str, Any]:
        """Return the agent with its last decisions."""
        agent = await find_agent(client, who)
        return {**agent, "decisions": await client.decisions(agent["id"])}

    agent = call_server(server, load_agent)
    if as_json:
        print_json(agent)
    else:
        out.print(agent_page(agent))


@agents.command("reset")
@takes_server
def reset(server: ServerOptions, who: AgentArgument, as_json: JsonOption = False) -> None:
    """Reset an agent's memory. Its next run starts with an empty session; you can still read the chat."""
    from mnemon.cli.connect import call_server

    async def reset_memory(client: "Mnemon") -> dict[str, Any]:
        """Reset the agent's memory; return the agent with its new memory."""
        agent = await find_agent(client, who)
        return {**agent, "memory": await client.reset_agent(agent["id"])}

    _print_agent(call_server(server, reset_memory), "has an empty memory now.", as_json)


@agents.command("delete")
@takes_server
def delete(
    server: ServerOptions,
    who: AgentArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete an agent with its runs and its chat."""
    from mnemon.cli.connect import call_server

    if not yes:
        # The question goes to stderr, so that stdout has only data.
        typer.confirm(f"Delete {who} with all its runs and its chat?", abort=True, err=True)

    async def delete_agent(client: "Mnemon") -> dict[str, Any]:
        """Delete the agent and return it as it was."""
        agent = await find_agent(client, who)
        await client.delete_agent(agent["id"])
        return agent

    _print_agent(call_server(server, delete_agent), "is deleted.", as_json)


@agents.command("cards")
@takes_server
def cards(server: ServerOptions, as_json: JsonOption = False) -> None:
    """List the card types that an agent's runs can fill."""
    from mnemon.cli.agent_output import cards_table
    from mnemon.cli.connect import call_server

    found = call_server(server, lambda client: client.card_types())
    if as_json:
        print_json(found)
    else:
        out.print(cards_table(found))


@agents.command("run")
@takes_server
def start(
    server: ServerOptions,
    who: AgentArgument,
    prompt: Annotated[
        str | None, typer.Option("--prompt", help="Use this prompt instead of the agent's default.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Start a run of an agent and watch it to its end."""
    from mnemon.cli.runs import follow_run

    async def start_run(client: "Mnemon") -> dict[str, Any]:
        """Start the run and return it."""
        return await client.run((await find_agent(client, who))["id"], prompt)

    follow_run(server, start_run, as_json=as_json)


@agents.command("chat")
@takes_server
def chat(
    server: ServerOptions,
    who: AgentArgument,
    message: Annotated[str | None, typer.Argument(help="The message. Without it, a conversation begins.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Chat with an agent."""
    from mnemon.cli.agent_chat import run_conversation
    from mnemon.cli.connect import call_server

    if message is None and as_json:
        err.print("[bold red]error[/] --json needs a message.")
        raise typer.Exit(2)
    reply = call_server(server, lambda client: run_conversation(client, who, message, as_json=as_json), worker=True)
    if as_json:
        print_json(reply)


async def find_agent(client: "Mnemon", who: str) -> dict[str, Any]:
    """Return the agent with this id, else the only one with this name.

    Raises NotFound when there is none, Invalid when several have the name.
    """
    from mnemon.errors import Invalid, NotFound

    found = await client.agents()
    alike = [one for one in found if one["id"] == who] or [one for one in found if one["name"] == who]
    if not alike:
        raise NotFound("agent", detail=f"There is no agent {who!r}. `mnemon agents list` shows them all.")
    if len(alike) > 1:
        ids = ", ".join(str(one["id"]) for one in alike)
        raise Invalid(f"{len(alike)} agents are called {who}. Name one by its id: {ids}.")
    return alike[0]


def _print_agent(agent: dict[str, Any], what: str, as_json: bool) -> None:
    """Print an agent as JSON, or as one line: its name, what happened to it, its id."""
    if as_json:
        print_json(agent)
    else:
        out.print(f"[bold]{safe_markup(agent['name'])}[/] {what} [dim]{safe_markup(agent['id'])}[/]")


def _agent_fields(
    skill: Path | None,
    prompt: str | None,
    schedule: str | None,
    role: str | None,
    team: str | None,
    card: str | None,
    adapter: str | None,
    memory: bool | None,
    read_only: bool | None,
    review: bool | None,
) -> dict[str, Any]:
    """Return the given options by the API's field names; an empty schedule becomes null, which removes it."""
    config = {"memoryEnabled": memory, "memoryReadOnly": read_only, "reviewDecisions": review}
    given = {
        "skill": skill.read_text(encoding="utf-8") if skill else None,
        "defaultPrompt": prompt,
        "role": role,
        "team": [part.strip() for part in team.split(",") if part.strip()] if team is not None else None,
        "cardType": card,
        "adapter": adapter,
        "adapterConfig": {name: value for name, value in config.items() if value is not None} or None,
    }
    fields: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return fields if schedule is None else fields | {"schedule": schedule.strip() or None}
