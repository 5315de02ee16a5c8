"""One conversation from the terminal: the same turn as over HTTP, without the wire."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from mnemon.access.audit import record_command
from mnemon.access.grants import ALL_GRANTS
from mnemon.access.organizations import create_organization
from mnemon.app import make_runner
from mnemon.basement import Basement
from mnemon.chat.asking import Asking, Begun
from mnemon.chat.begin import begin
from mnemon.chat.events import Delta, Done, Failed, ToolCalled
from mnemon.chat.stream import Streams
from mnemon.cli.house import opened_house, organization
from mnemon.cli.operator import assert_embedder
from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import err, out
from mnemon.context.assemble import Context, given
from mnemon.errors import ModelDown
from mnemon.memory.browse import listed
from mnemon.memory.store import Filter
from mnemon.reflection import store as reflections
from mnemon.reflection.lifecycle import ReflectionStatus
from mnemon.scope import Scope, person
from mnemon.sessions.messages import NewMessage
from mnemon.settings import Settings
from mnemon.tools.offered import chat_tools
from mnemon.turn import Role
from mnemon.vectors.embed import embed_query

_SHOWN = 30
_PATIENCE_S = 10


class Talk:
    """A person talking with a persona, or with none."""

    def __init__(self, basement: Basement, scope: Scope, user: str) -> None:
        self.user = user
        self.last_message = ""
        self._basement = basement
        self._scope = scope
        self._streams = Streams()
        self._last: Begun | None = None

    @property
    def model(self) -> str:
        return self._basement.llm.name

    async def say(self, message: str, heard: Callable[[str], None]) -> dict[str, Any]:
        """The message is answered, piece by piece; gives the reply and its ids."""
        asking = Asking(
            scope=self._scope,
            user_name=self.user,
            messages=(NewMessage(role=Role.USER, content=message),),
            vector=await embed_query(self._basement.embedder, message),
            embedder=self._basement.embedder.model,
            sees_agent_state=True,
            sees_engagement=True,
        )
        with self._streams.opening(self._basement, chat_tools(ALL_GRANTS)) as stream:
            async with self._basement.db.tx(self._scope.org_id) as tx:
                self._last = await begin(tx, asking, self._basement.settings, stream.ask)
                record_command(tx, self._scope, "chat", self._last.turn.id, self._scope.user_id)
            stream.stored(self._last)
        self.last_message = message
        async for event in stream.events():
            match event:
                case Delta():
                    heard(event.text)
                case ToolCalled():
                    err.print(f"[dim]{safe_markup(event.request.name)} {safe_markup(str(event.request.arguments))}[/]")
                case Failed():
                    raise ModelDown(event.detail, code=event.code)
                case Done():
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
            found = await listed(tx, self._scope, Filter(), most=_SHOWN)
        for one in found:
            out.print(f"[dim]{one.type.lower():8}[/] {safe_markup(one.content)}  [dim]{one.id}[/]", soft_wrap=True)
        if not found:
            err.print('Nothing yet. Say something about yourself, like "I live in Austin."')

    async def show_context(self, query: str) -> None:
        """What the agent would be given for this message, layer by layer."""
        context = await self._context(query or "Hello.")
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
        for _ in range(_PATIENCE_S * 10):
            if self._last is None or await self._is_reflected(self._last):
                return
            await asyncio.sleep(0.1)

    async def _is_reflected(self, begun: Begun) -> bool:
        async with self._basement.db.tx(self._scope.org_id) as tx:
            found = await reflections.find(tx, begun.turn.scope, begun.turn.id)
        return found is None or found.status not in (ReflectionStatus.QUEUED, ReflectionStatus.RUNNING)

    async def _context(self, query: str) -> Context:
        vector = await embed_query(self._basement.embedder, query)
        async with self._basement.db.tx(self._scope.org_id) as tx:
            return await given(
                tx, self._basement, self._scope, query, vector, sees_agent_state=True, sees_engagement=True
            )


@asynccontextmanager
async def talking(settings: Settings, org: str, user: str, persona: str | None) -> AsyncIterator[Talk]:
    """A conversation over the house, with a runner beside it that reflects what was said before it ends."""
    async with opened_house(settings, migrated=True) as basement:
        await assert_embedder(basement)
        if org == "local":
            async with basement.db.tx(org) as tx:
                await create_organization(tx)
        await organization(basement, org)
        async with make_runner(basement).working():
            talk = Talk(basement, person(org, user, persona), user)
            try:
                yield talk
            finally:
                await talk.close()
