"""`mnemon chat`: chat in the terminal, with commands that show the memory, the context and the last reflection."""

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

_HELP = "/memory lists memories · /context shows the prompt's layers · /why shows what the last reply used · /quit"


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("chat")(chat)


def chat(
    message: Annotated[str | None, typer.Argument(help="The message. Without it, a conversation begins.")] = None,
    user: UserOption = "me",
    persona: PersonaOption = None,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Chat with an agent that remembers you. Type `/memory`, `/context` or `/why` to see how."""
    from mnemon.cli.terminal_chat import open_chat

    async def run_chat() -> dict[str, Any] | None:
        async with open_chat(settings_from_flags(), org, user, persona) as conversation:
            if message is not None:
                return await _send_single_message(conversation, message, as_json)
            await _run_conversation(conversation)
            return None

    reply = run(run_chat())
    if as_json and reply is not None:
        print_json(reply)


async def _send_single_message(conversation: "TerminalChat", message: str, as_json: bool) -> dict[str, Any]:
    """Send one message and return the reply; print its pieces as they come unless JSON was asked for."""
    reply = await conversation.send_message(message, _discard_text if as_json else print_piece)
    if not as_json:
        print_piece("\n")
    return reply


async def _run_conversation(conversation: "TerminalChat") -> None:
    """Read messages and commands line by line until `/quit` or the end of the input."""
    import asyncio

    err.print(
        f"Talking with [bold]{safe_markup(conversation.model)}[/] as {safe_markup(conversation.user)}. {_HELP}",
        soft_wrap=True,
    )
    while True:
        try:
            # `input` blocks; in a thread it does not stop the worker that reflects the last turn.
            line = (await asyncio.to_thread(input, "› ")).strip()
        except EOFError:
            return
        match line.split(maxsplit=1):
            case []:
                continue
            case ["/quit"] | ["/exit"]:
                return
            case ["/memory"]:
                await conversation.show_memory()
            case ["/context", *query]:
                await conversation.show_context(query[0] if query else conversation.last_message)
            case ["/why"]:
                await conversation.show_why()
            case [command, *_] if command.startswith("/"):
                err.print(_HELP)
            case _:
                await _send_message(conversation, line)


async def _send_message(conversation: "TerminalChat", line: str) -> None:
    """Send a message and print its reply, or the error; the conversation goes on in both cases."""
    from mnemon.errors import MnemonError

    try:
        await conversation.send_message(line, print_piece)
    except MnemonError as error:
        err.print(f"[bold red]error[/] {safe_markup(error.detail)}", soft_wrap=True)
    else:
        print_piece("\n")


def _discard_text(text: str) -> None:
    """Ignore a piece of the reply: with --json the whole reply is printed at the end."""
