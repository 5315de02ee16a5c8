"""`mnemon chat`: chat in the terminal, with commands that show the memory, the context and the last reflection."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.server_choice import ServerOptions, takes_server
from mnemon.cli.terminal import JsonOption, PersonaOption, UserOption, err, out, person_of, print_json, print_piece

if TYPE_CHECKING:
    from mnemon_client import Mnemon

_HELP = "/memory lists memories · /context shows the prompt's layers · /why shows what the last reply used · /quit"
_MAX_SHOWN = 30


def register(app: typer.Typer) -> None:
    """Add the command `chat` to the Typer app."""
    app.command("chat")(takes_server(chat))


def chat(
    server: ServerOptions,
    message: Annotated[str | None, typer.Argument(help="The message. Without it, a conversation begins.")] = None,
    user: UserOption = None,
    persona: PersonaOption = None,
    as_json: JsonOption = False,
) -> None:
    """Chat with an agent that remembers you. Type `/memory`, `/context` or `/why` to see how."""
    from mnemon.cli.connect import call_server

    async def run_chat(client: "Mnemon") -> Any:
        """Print the reply to the one message and return it, or hold a conversation."""
        person = await person_of(client, user, persona)
        conversation = _Conversation(client, person)
        if message is not None and as_json:
            return await client.chat(message, **person)
        if message is not None:
            return await conversation.print_reply(message)
        return await _run_conversation(conversation, person["user_id"])

    reply = call_server(server, run_chat, worker=True)
    if as_json and reply is not None:
        print_json(reply)


class _Conversation:
    """A conversation of one person, with a persona or with none."""

    def __init__(self, client: "Mnemon", person: dict[str, Any]) -> None:
        self.last_message = ""
        self._client = client
        self._person = person
        self._last_turn: str | None = None
        self._last_layers: list[dict[str, Any]] = []

    async def print_reply(self, message: str, *, remember_layers: bool = False) -> None:
        """Send the message and print the reply as it comes; raise Unavailable when it fails.

        `remember_layers` asks for the message's context first, for `show_why`.
        """
        from mnemon.errors import Unavailable

        if remember_layers:
            self._last_layers = (await self._client.context(message, **self._person))["layers"]
        self.last_message = message
        cut = False
        async with self._client.stream(message, **self._person) as events:
            async for event in events:
                match event.kind:
                    case "turn":
                        self._last_turn = event.data["turnId"]
                    case "delta":
                        print_piece(event.data["text"])
                    case "tool_call":
                        called = f"{event.data['name']} {event.data['arguments']}"
                        err.print(f"[dim]{safe_markup(called)}[/]")
                    case "done":
                        cut = event.data.get("finishReason") == "length"
                    case "error":
                        raise Unavailable(event.data["detail"], code=event.data["code"])
        print_piece("\n")
        if cut:
            err.print("[dim]The reply was cut: it reached the model's limit or MNEMON_MAX_REPLY_CHARS.[/]")

    async def show_memory(self) -> None:
        """Print what is remembered about the person, newest first."""
        from mnemon.cli.connect import first_items

        names = {"userId": self._person["user_id"], "personaId": self._person.get("persona_id")}
        found = await first_items(self._client.memories(limit=_MAX_SHOWN, **names), _MAX_SHOWN)
        for one in found:
            kind, text = one["type"].lower(), safe_markup(one["content"])
            out.print(f"[dim]{safe_markup(kind.ljust(8))}[/] {text}  [dim]{safe_markup(one['id'])}[/]", soft_wrap=True)
        if not found:
            err.print('Nothing yet. Say something about yourself, like "I live in Austin."')

    async def show_context(self, query: str) -> None:
        """Print the context that the model would get for this message, layer by layer."""
        context = await self._client.context(query or "Hello.", **self._person)
        for layer in context["layers"]:
            name, title = safe_markup(layer["name"]), safe_markup(layer["title"])
            out.print(f"[bold]{name}[/] {title} [dim]{layer['tokens']:,} tokens[/]")
            out.print(layer["text"], markup=False, soft_wrap=True)
        err.print(f"{context['tokens']:,} tokens in all; {len(context['leftOut'])} items left out.")

    async def show_why(self) -> None:
        """Print what the last reply got from memory, and what the reflection of its turn stored and rejected."""
        if self._last_turn is None:
            err.print("Send a message first.")
            return
        for layer in self._last_layers:
            if layer["sources"]:
                named = f"{layer['title']}: {', '.join(layer['sources'])}"
                out.print(f"[bold]{safe_markup(layer['name'])}[/] {safe_markup(named)}", soft_wrap=True)
        reflection = (await self._client.turn_report(self._last_turn))["reflection"]
        if reflection is None:
            return
        out.print(f"Reflection: {safe_markup(reflection['status'])}")
        for label, one in reflection["sections"].items():
            counts = f"stored {one['stored']}, updated {one['updated']}, skipped {one['skipped']}"
            out.print(f"  {label}: {counts}, rejected {one['rejected']}", markup=False)
        for one in reflection["rejected"]:
            out.print(f"  rejected: {one['what']} ({one['why']})", markup=False, soft_wrap=True)


async def _run_conversation(conversation: _Conversation, user: str) -> None:
    """Read messages and commands from the terminal and carry out each, until `/quit` or the end of the input."""
    err.print(f"Chatting as {safe_markup(user)}. {_HELP}", soft_wrap=True)
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
            case _:
                await _follow_line(conversation, line)


async def _follow_line(conversation: _Conversation, line: str) -> None:
    """Run a typed command or send a typed message; print an error instead of ending the conversation."""
    from mnemon.cli.client_errors import explained_error
    from mnemon.errors import MnemonError
    from mnemon_client.errors import ClientError

    try:
        match line.split(maxsplit=1):
            case ["/memory"]:
                await conversation.show_memory()
            case ["/context", *query]:
                await conversation.show_context(query[0] if query else conversation.last_message)
            case ["/why"]:
                await conversation.show_why()
            case [command, *_] if command.startswith("/"):
                err.print(_HELP)
            case _:
                await conversation.print_reply(line, remember_layers=True)
    except (MnemonError, ClientError) as error:
        told = explained_error(error, "The server") if isinstance(error, ClientError) else error
        err.print(f"[bold red]error[/] {safe_markup(told.detail)}", soft_wrap=True)
