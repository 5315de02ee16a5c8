"""`mnemon chat`: a conversation in the terminal, with a look at what the agent was given and what it kept."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import (
    JsonOption,
    OrgOption,
    PersonaOption,
    UserOption,
    err,
    print_json,
    print_piece,
    run,
    settings_from_flags,
)

if TYPE_CHECKING:
    from mnemon.cli.terminal_chat import TerminalChat

_HELP = "/memory what is remembered · /context what the agent is given · /why what the last reply rests on · /quit"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("chat")(chat)


def chat(
    message: Annotated[str | None, typer.Argument(help="One message; left out, a conversation begins.")] = None,
    user: UserOption = "me",
    persona: PersonaOption = None,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Talk with an agent that remembers; `/memory`, `/context` and `/why` show how."""
    from mnemon.cli.terminal_chat import open_chat

    async def run_chat() -> dict[str, Any] | None:
        async with open_chat(settings_from_flags(), org, user, persona) as talk:
            if message is not None:
                return await _send_single_message(talk, message, as_json)
            await _run_conversation(talk)
            return None

    reply = run(run_chat())
    if as_json and reply is not None:
        print_json(reply)


async def _send_single_message(talk: "TerminalChat", message: str, as_json: bool) -> dict[str, Any]:
    """One message and its reply, streamed for people and whole for programs."""
    reply = await talk.send_message(message, _discard_text if as_json else print_piece)
    if not as_json:
        print_piece("\n")
    return reply


async def _run_conversation(talk: "TerminalChat") -> None:
    import asyncio

    err.print(f"Talking with [bold]{safe_markup(talk.model)}[/] as {safe_markup(talk.user)}. {_HELP}", soft_wrap=True)
    while True:
        try:
            line = (await asyncio.to_thread(input, "› ")).strip()
        except EOFError:
            return
        match line.split(maxsplit=1):
            case []:
                continue
            case ["/quit"] | ["/exit"]:
                return
            case ["/memory"]:
                await talk.show_memory()
            case ["/context", *query]:
                await talk.show_context(query[0] if query else talk.last_message)
            case ["/why"]:
                await talk.show_why()
            case [command, *_] if command.startswith("/"):
                err.print(_HELP)
            case _:
                await _send_message(talk, line)


async def _send_message(talk: "TerminalChat", line: str) -> None:
    """The reply, or why there is none; the conversation goes on."""
    from mnemon.errors import MnemonError

    try:
        await talk.send_message(line, print_piece)
    except MnemonError as error:
        err.print(f"[bold red]error[/] {safe_markup(error.detail)}", soft_wrap=True)
    else:
        print_piece("\n")


def _discard_text(text: str) -> None:
    """A program reads the whole reply at the end."""
