"""Chat in the terminal, in this process and without HTTP.

`open_chat` is for `mnemon chat`: a turn here is the same as one of `POST /api/chat`. `run_conversation` is for
`mnemon agents chat`: it queues the message for an agent and watches the events of its reply.
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
from mnemon.chat.events import ReplyDelta, ReplyDone, ReplyFailed, ToolCalled
from mnemon.chat.request import StartedTurn, TurnRequest
from mnemon.chat.stream import ReplyStream, ReplyStreams
from mnemon.chat.turn import ChatCaller, start_chat
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
    """A conversation of one person, with a persona or with none."""

    def __init__(self, services: Services, scope: Scope, user: str) -> None:
        self.user = user
        self.last_message = ""
        self._services = services
        self._scope = scope
        self._streams = ReplyStreams()
        self._last: StartedTurn | None = None

    @property
    def model(self) -> str:
        """The name of the model that replies."""
        return self._services.llm.name

    async def send_message(self, message: str, heard: Callable[[str], None]) -> dict[str, Any]:
        """Send the message, pass each piece of the reply to `heard`, and return the reply with its ids.

        Raises ModelDown when the reply fails.
        """
        request = TurnRequest(
            scope=self._scope,
            user_name=self.user,
            messages=(NewMessage(role=Role.USER, content=message),),
            vector=await embed_query(self._services.embedder, message),
            embedder=self._services.embedder.model,
            sees_agent_state=True,
            sees_engagement=True,
        )
        caller = ChatCaller(
            org=self._scope,
            record=lambda tx, turn_id: record_command(tx, self._scope, "chat", turn_id, self._scope.user_id),
        )
        stream = await start_chat(self._services, self._streams, request, chat_tools(ALL_GRANTS), caller)
        assert isinstance(stream, ReplyStream), "without an Idempotency-Key nothing is replayed"
        self._last = stream.started_turn
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
        raise ModelDown("The model ended its reply early. Try again.")

    async def show_memory(self) -> None:
        """Print what is remembered about the person, newest first."""
        async with self._services.db.tx(self._scope.org_id) as tx:
            found = await list_memories(tx, self._scope, MemoryFilter(), most=_MAX_SHOWN)
        for one in found:
            out.print(f"[dim]{one.type.lower():8}[/] {safe_markup(one.content)}  [dim]{one.id}[/]", soft_wrap=True)
        if not found:
            err.print('Nothing yet. Say something about yourself, like "I live in Austin."')

    async def show_context(self, query: str) -> None:
        """Print the context that the model would get for this message, layer by layer."""
        context = await self._assemble_context(query or "Hello.")
        for layer in context.pack.layers:
            out.print(f"[bold]{layer.name}[/] {layer.title} [dim]{layer.tokens} tokens[/]")
            out.print(layer.text, markup=False, soft_wrap=True)
        left = len(context.pack.left_out)
        err.print(f"{context.pack.tokens} tokens in all; {left} items left out.")

    async def show_why(self) -> None:
        """Print what the last reply got from memory, and what the reflection of its turn stored and rejected."""
        if self._last is None:
            err.print("Send a message first.")
            return
        for layer in self._last.prompt.context.pack.layers:
            if layer.sources:
                out.print(
                    f"[bold]{layer.name}[/] {layer.title}: {safe_markup(', '.join(layer.sources))}", soft_wrap=True
                )
        async with self._services.db.tx(self._scope.org_id) as tx:
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
        """Seal a reply under way as far as it came, and wait up to ten seconds for the last turn's reflection."""
        # The worker of `open_chat` still runs here: without the wait a short chat would end unreflected.
        await self._streams.close()
        for _ in range(_REFLECTION_WAIT_S * 10):
            if self._last is None or await self._is_reflected(self._last):
                return
            await asyncio.sleep(0.1)

    async def _is_reflected(self, begun: StartedTurn) -> bool:
        async with self._services.db.tx(self._scope.org_id) as tx:
            found = await reflections.find(tx, begun.turn.scope, begun.turn.id)
        return found is None or found.status not in (ReflectionStatus.QUEUED, ReflectionStatus.RUNNING)

    async def _assemble_context(self, query: str) -> AssembledContext:
        vector = await embed_query(self._services.embedder, query)
        async with self._services.db.tx(self._scope.org_id) as tx:
            return await preview_context(
                tx, self._services, self._scope, query, vector, sees_agent_state=True, sees_engagement=True
            )


@asynccontextmanager
async def open_chat(settings: Settings, org: str, user: str, persona: str | None) -> AsyncIterator[TerminalChat]:
    """Yield a conversation, with a worker in this process that reflects its turns; create `local` on first use."""
    async with open_services(settings, migrated=True) as services:
        await assert_embedder(services)
        if org == "local":
            async with services.db.tx(org) as tx:
                await create_organization(tx)
        await require_organization(services, org)
        async with make_runner(services).run_in_background():
            conversation = TerminalChat(services, person_scope(org, user, persona), user)
            try:
                yield conversation
            finally:
                await conversation.close()


async def run_conversation(org: str, who: str, message: str | None, *, as_json: bool) -> None:
    """Send one message to the agent and print the reply, or read messages until an empty line."""
    async with open_services(settings_from_flags()) as services:
        scope = await require_organization(services, org)
        async with services.db.tx(org) as tx:
            agent = await find_agent(tx, scope, who)
        async with local_worker(services, org, agent):
            if message is not None:
                await _send_message(services, scope, agent, message, as_json=as_json)
                return
            err.print(f"[dim]Chatting with {safe_markup(agent.name)}. An empty line ends the chat.[/]")
            while text := await _read_line():
                await _send_message(services, scope, agent, text, as_json=False)


async def _read_line() -> str:
    with contextlib.suppress(EOFError):
        return (
            await asyncio.to_thread(Prompt.ask, "[bold]you[/]", console=err, default="", show_default=False)
        ).strip()
    return ""


async def _send_message(services: Services, scope: Scope, agent: Agent, message: str, *, as_json: bool) -> None:
    """Queue the message for the agent and print its reply as it comes; raise Unavailable when there is none."""
    async with services.db.tx(scope.org_id) as tx:
        turn_id = await request_chat_reply(tx, scope, agent.id, message)
        record_command(tx, scope, "agents chat", agent.id, turn_id)
    shown = False
    async for event in watch_chat(services.db, scope, turn_id):
        if event is not None and event.type == "delta" and not as_json:
            out.print(event.data["text"], end="", markup=False)
            shown = True
        elif event is not None and event.type == "session":
            err.print(f"[yellow]! {safe_markup(event.data['note'])}[/]")
    if shown:
        out.print()
    async with services.db.tx(scope.org_id) as tx:
        exchange = await agent_store.find_exchange(tx, scope, turn_id)
        # Read again from the database: with --json no piece was printed, and an error is stored with the exchange.
        reply = await agent_store.find_turn_message(tx, scope, turn_id, "assistant")
    if reply is None:
        why = exchange.error if exchange and exchange.error else "the agent was deleted"
        raise Unavailable(f"No reply: {why}")
    if as_json:
        print_json({"turnId": turn_id, "messageId": reply.id, "reply": reply.content})
