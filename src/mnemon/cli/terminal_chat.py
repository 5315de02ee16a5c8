"""One conversation from the terminal: the same turn as over HTTP, without the wire.

Talking to an agent in a terminal.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from rich.prompt import Prompt

from mnemon.access.audit import record_command
from mnemon.access.grants import ALL_GRANTS
from mnemon.access.organizations import create_organization
from mnemon.app import make_runner
from mnemon.chat.begin import begin_turn
from mnemon.chat.events import ReplyDelta, ReplyDone, ReplyFailed, ToolCalled
from mnemon.chat.request import StartedTurn, TurnRequest
from mnemon.chat.stream import ReplyStreams
from mnemon.cli.agent_output import find_agent
from mnemon.cli.runs import local_worker
from mnemon.cli.safe_text import safe_markup
from mnemon.cli.services import assert_embedder, open_services, require_organization
from mnemon.cli.terminal import err, out, print_json, settings_from_flags
from mnemon.context.assemble import AssembledContext, preview_context
from mnemon.errors import ModelDown, Unavailable
from mnemon.memory.browse import list_memories
from mnemon.memory.store import MemoryFilter
from mnemon.reflection import store as reflections
from mnemon.reflection.report import ReflectionStatus
from mnemon.runs import agent_store
from mnemon.runs.agent import Agent
from mnemon.runs.run_events import watch_chat
from mnemon.runs.run_requests import request_chat_reply
from mnemon.scope import Scope, person_scope
from mnemon.services import Services
from mnemon.sessions.messages import NewMessage
from mnemon.settings import Settings
from mnemon.tools.registry import chat_tools
from mnemon.turn import Role
from mnemon.vectors.text_vectors import embed_query

_MAX_SHOWN = 30
_REFLECTION_WAIT_S = 10


class TerminalChat:
    """A person talking with a persona, or with none."""

    def __init__(self, services: Services, scope: Scope, user: str) -> None:
        self.user = user
        self.last_message = ""
        self._basement = services
        self._scope = scope
        self._streams = ReplyStreams()
        self._last: StartedTurn | None = None

    @property
    def model(self) -> str:
        return self._basement.llm.name

    async def send_message(self, message: str, heard: Callable[[str], None]) -> dict[str, Any]:
        """The message is answered, piece by piece; gives the reply and its ids."""
        asking = TurnRequest(
            scope=self._scope,
            user_name=self.user,
            messages=(NewMessage(role=Role.USER, content=message),),
            vector=await embed_query(self._basement.embedder, message),
            embedder=self._basement.embedder.model,
            sees_agent_state=True,
            sees_engagement=True,
        )
        with self._streams.open_stream(self._basement, chat_tools(ALL_GRANTS)) as stream:
            async with self._basement.db.tx(self._scope.org_id) as tx:
                self._last = await begin_turn(tx, asking, self._basement.settings, stream.ask_model)
                record_command(tx, self._scope, "chat", self._last.turn.id, self._scope.user_id)
            stream.confirm_stored(self._last)
        self.last_message = message
        async for event in stream.iter_events():
            match event:
                case ReplyDelta():
                    heard(event.text)
                case ToolCalled():
                    err.print(f"[dim]{safe_markup(event.request.name)} {safe_markup(str(event.request.arguments))}[/]")
                case ReplyFailed():
                    raise ModelDown(event.detail, code=event.code)
                case ReplyDone():
                    return {
                        "turnId": event.turn_id,
                        "sessionId": event.session_id,
                        "messageId": event.message_id,
                        "reply": event.reply,
                    }
        raise ModelDown("The reply ended without a word. Try again.")

    async def show_memory(self) -> None:
        """What is remembered about the person, newest first."""
        async with self._basement.db.tx(self._scope.org_id) as tx:
            found = await list_memories(tx, self._scope, MemoryFilter(), most=_MAX_SHOWN)
        for one in found:
            out.print(f"[dim]{one.type.lower():8}[/] {safe_markup(one.content)}  [dim]{one.id}[/]", soft_wrap=True)
        if not found:
            err.print('Nothing yet. Say something about yourself, like "I live in Austin."')

    async def show_context(self, query: str) -> None:
        """What the agent would be given for this message, layer by layer."""
        context = await self._assemble_context(query or "Hello.")
        for layer in context.pack.layers:
            out.print(f"[bold]{layer.name}[/] {layer.title} [dim]{layer.tokens} tokens[/]")
            out.print(layer.text, markup=False, soft_wrap=True)
        left = len(context.pack.left_out)
        err.print(f"{context.pack.tokens} tokens in all; {left} items left out.")

    async def show_why(self) -> None:
        """What the last reply was given from memory, and what its turn's reflection kept and rejected."""
        if self._last is None:
            err.print("Nothing was said yet.")
            return
        for layer in self._last.prompt.context.pack.layers:
            if layer.sources:
                out.print(
                    f"[bold]{layer.name}[/] {layer.title}: {safe_markup(', '.join(layer.sources))}", soft_wrap=True
                )
        async with self._basement.db.tx(self._scope.org_id) as tx:
            reflection = await reflections.find(tx, self._last.turn.scope, self._last.turn.id)
        if reflection is None:
            return
        out.print(f"Reflection: {reflection.status}")
        for label, section in reflection.sections.items():
            counts = f"stored {section.stored}, updated {section.updated}, skipped {section.skipped}"
            out.print(f"  {label}: {counts}, rejected {section.rejected}")
        for one in reflection.rejected:
            out.print(f"  rejected: {one.what} ({one.why})", markup=False, soft_wrap=True)

    async def close(self) -> None:
        """What is being answered is sealed as far as it came, and the last turn reflected, if that is quick."""
        await self._streams.close()
        for _ in range(_REFLECTION_WAIT_S * 10):
            if self._last is None or await self._is_reflected(self._last):
                return
            await asyncio.sleep(0.1)

    async def _is_reflected(self, begun: StartedTurn) -> bool:
        async with self._basement.db.tx(self._scope.org_id) as tx:
            found = await reflections.find(tx, begun.turn.scope, begun.turn.id)
        return found is None or found.status not in (ReflectionStatus.QUEUED, ReflectionStatus.RUNNING)

    async def _assemble_context(self, query: str) -> AssembledContext:
        vector = await embed_query(self._basement.embedder, query)
        async with self._basement.db.tx(self._scope.org_id) as tx:
            return await preview_context(
                tx, self._basement, self._scope, query, vector, sees_agent_state=True, sees_engagement=True
            )


@asynccontextmanager
async def open_chat(settings: Settings, org: str, user: str, persona: str | None) -> AsyncIterator[TerminalChat]:
    """A conversation over the house, with a runner beside it that reflects what was said before it ends."""
    async with open_services(settings, migrated=True) as services:
        await assert_embedder(services)
        if org == "local":
            async with services.db.tx(org) as tx:
                await create_organization(tx)
        await require_organization(services, org)
        async with make_runner(services).run_in_background():
            talk = TerminalChat(services, person_scope(org, user, persona), user)
            try:
                yield talk
            finally:
                await talk.close()


async def run_conversation(org: str, who: str, message: str | None, *, as_json: bool) -> None:
    """One message is answered, or a whole conversation until an empty line."""
    async with open_services(settings_from_flags()) as house:
        scope = await require_organization(house, org)
        async with house.db.tx(org) as tx:
            agent = await find_agent(tx, scope, who)
        async with local_worker(house, org):
            if message is not None:
                await _send_message(house, scope, agent, message, as_json=as_json)
                return
            err.print(f"[dim]{safe_markup(agent.name)} listens. An empty line ends it.[/]")
            while text := await _read_line():
                await _send_message(house, scope, agent, text, as_json=False)


async def _read_line() -> str:
    with contextlib.suppress(EOFError):
        return (
            await asyncio.to_thread(Prompt.ask, "[bold]you[/]", console=err, default="", show_default=False)
        ).strip()
    return ""


async def _send_message(house: Services, scope: Scope, agent: Agent, message: str, *, as_json: bool) -> None:
    async with house.db.tx(scope.org_id) as tx:
        turn_id = await request_chat_reply(tx, scope, agent.id, message)
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
        exchange = await agent_store.find_exchange(tx, scope, turn_id)
        reply = await agent_store.find_turn_message(tx, scope, turn_id, "assistant")
    if reply is None:
        why = exchange.error if exchange and exchange.error else "the agent is gone"
        raise Unavailable(f"No reply: {why}")
    if as_json:
        print_json({"turnId": turn_id, "messageId": reply.id, "reply": reply.content})
