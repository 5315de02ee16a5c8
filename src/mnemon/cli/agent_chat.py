"""Talking to an agent in a terminal."""

import asyncio
import contextlib

from rich.prompt import Prompt

from mnemon.access.audit import record_command
from mnemon.basement import Basement
from mnemon.cli.agent_words import named
from mnemon.cli.house import opened_house, organization
from mnemon.cli.runs import working
from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import chosen, err, out, print_json
from mnemon.errors import Unavailable
from mnemon.runs import agent_store
from mnemon.runs.agent import Agent
from mnemon.runs.ask import ask_chat
from mnemon.runs.watching import watch_chat
from mnemon.scope import Scope


async def conversation(org: str, who: str, message: str | None, *, as_json: bool) -> None:
    """One message is answered, or a whole conversation until an empty line."""
    async with opened_house(chosen()) as house:
        scope = await organization(house, org)
        async with house.db.tx(org) as tx:
            agent = await named(scope, tx, who)
        async with working(house, org):
            if message is not None:
                await _say(house, scope, agent, message, as_json=as_json)
                return
            err.print(f"[dim]{safe_markup(agent.name)} listens. An empty line ends it.[/]")
            while text := await _asked():
                await _say(house, scope, agent, text, as_json=False)


async def _asked() -> str:
    with contextlib.suppress(EOFError):
        return (
            await asyncio.to_thread(Prompt.ask, "[bold]you[/]", console=err, default="", show_default=False)
        ).strip()
    return ""


async def _say(house: Basement, scope: Scope, agent: Agent, message: str, *, as_json: bool) -> None:
    async with house.db.tx(scope.org_id) as tx:
        turn_id = await ask_chat(tx, scope, agent.id, message)
        record_command(tx, scope, "agents chat", agent.id, turn_id)
    shown = False
    async for event in watch_chat(house.db, scope, turn_id):
        if event is not None and event.type == "delta" and not as_json:
            out.print(event.data["text"], end="", markup=False)
            shown = True
        elif event is not None and event.type == "session":
            err.print(f"[yellow]! {safe_markup(event.data['note'])}[/]")
    if shown:
        out.print()
    async with house.db.tx(scope.org_id) as tx:
        exchange = await agent_store.exchange(scope, tx, turn_id)
        reply = await agent_store.message_of_turn(scope, tx, turn_id, "assistant")
    if reply is None:
        why = exchange.error if exchange and exchange.error else "the agent is gone"
        raise Unavailable(f"No reply: {why}")
    if as_json:
        print_json({"turnId": turn_id, "messageId": reply.id, "reply": reply.content})
