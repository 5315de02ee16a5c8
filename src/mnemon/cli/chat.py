"""`mnemon chat`: a conversation in the terminal, with a look at what the agent was given and what it kept."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import AsJson, Org, Persona, User, chosen, err, print_json, print_piece, run

if TYPE_CHECKING:
    from mnemon.cli.talk import Talk

_HELP = "/memory what is remembered · /context what the agent is given · /why what the last reply rests on · /quit"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("chat")(chat)


def chat(
    message: Annotated[str | None, typer.Argument(help="One message; left out, a conversation begins.")] = None,
    user: User = "me",
    persona: Persona = None,
    org: Org = "local",
    as_json: AsJson = False,
) -> None:
    """Talk with an agent that remembers; `/memory`, `/context` and `/why` show how."""
    from mnemon.cli.talk import talking

    async def work() -> dict[str, Any] | None:
        async with talking(chosen(), org, user, persona) as talk:
            if message is not None:
                return await _once(talk, message, as_json)
            await _converse(talk)
            return None

    reply = run(work())
    if as_json and reply is not None:
        print_json(reply)


async def _once(talk: "Talk", message: str, as_json: bool) -> dict[str, Any]:
    """One message and its reply, streamed for people and whole for programs."""
    reply = await talk.say(message, _ignore if as_json else print_piece)
    if not as_json:
        print_piece("\n")
    return reply


async def _converse(talk: "Talk") -> None:
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
                await _said(talk, line)


async def _said(talk: "Talk", line: str) -> None:
    """The reply, or why there is none; the conversation goes on."""
    from mnemon.errors import MnemonError

    try:
        await talk.say(line, print_piece)
    except MnemonError as error:
        err.print(f"[bold red]error[/] {safe_markup(error.detail)}", soft_wrap=True)
    else:
        print_piece("\n")


def _ignore(text: str) -> None:
    """A program reads the whole reply at the end."""
