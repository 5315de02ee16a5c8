"""Chat with an agent in the terminal: its reply as it comes, or as JSON."""

import asyncio
import contextlib
from typing import Any

from rich.prompt import Prompt

from mnemon.cli.agents import find_agent
from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import err, print_piece
from mnemon.errors import Unavailable
from mnemon_client import Mnemon

_WAITING = (
    "No worker has taken it up yet. Start one with `mnemon worker`; the reply will appear in the agent's messages."
)


async def run_conversation(client: Mnemon, who: str, message: str | None, *, as_json: bool) -> dict[str, Any] | None:
    """Send one message to the agent and print the reply, or converse until an empty line is entered.

    With `as_json` nothing is printed and the whole reply is returned.
    """
    agent = await find_agent(client, who)
    if message is not None and as_json:
        reply = await client.chat_with_agent(agent["id"], message)
        if reply["reply"] is None:
            raise Unavailable(_WAITING)
        return reply
    if message is not None:
        await _print_reply(client, agent["id"], message)
        return None
    err.print(f"[dim]Chatting with {safe_markup(agent['name'])}. An empty line ends the chat.[/]")
    while text := await _read_line():
        await _print_reply(client, agent["id"], text)
    return None


async def _print_reply(client: Mnemon, agent_id: str, message: str) -> None:
    """Send the message and print the reply as it comes; raise Unavailable when there is none."""
    async with client.stream_agent_chat(agent_id, message) as events:
        async for event in events:
            if event.kind == "delta":
                print_piece(event.data["text"])
            elif event.kind == "session":
                err.print(f"[yellow]! {safe_markup(event.data['note'])}[/]")
            elif event.kind == "error":
                raise Unavailable(f"No reply: {event.data['detail']}")
    print_piece("\n")


async def _read_line() -> str:
    """Ask the operator for a message and return it stripped; an empty line or the end of input gives ""."""
    with contextlib.suppress(EOFError):
        return (
            await asyncio.to_thread(Prompt.ask, "[bold]you[/]", console=err, default="", show_default=False)
        ).strip()
    return ""
