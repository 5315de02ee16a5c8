"""The reply is made: the model speaks, our tools run when it calls them, and every piece is passed on as it comes."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

from mnemon.basement import Basement
from mnemon.chat.asking import Begun, Prompt
from mnemon.chat.events import Delta, Event, StateChanged, ToolCalled, ToolReturned
from mnemon.chat.offline import reply_by_rule
from mnemon.chat.seal import Outcome
from mnemon.chat.toolcall import Tools, call, specs
from mnemon.errors import MnemonError
from mnemon.llm.protocol import ChatRequest, Finished, Message, Text, ToolRequest, ToolSpec, Usage
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.turns import TurnError
from mnemon.storable import storable, storable_json

_MOST_ROUNDS = 8
"""Model requests in one turn; after the last one tools are no longer offered."""
_LEFT = TurnError(code="interrupted", detail="The listener left before the reply was complete.")
_STOPPED = TurnError(
    code="interrupted", detail="The server was stopped before the reply was complete. Send the message again."
)
_EMPTY = TurnError(code="model_empty", detail="The model gave an empty reply. Send the message again.")


class Answer:
    """One reply in the making."""

    def __init__(
        self,
        basement: Basement,
        prompt: Prompt,
        tools: Tools,
        emit: Callable[[Event], None],
        stored: Callable[[], Awaitable[Begun]],
    ) -> None:
        self._basement = basement
        self._prompt = prompt
        self._tools = {} if prompt.asking.tools else tools
        self._stored = stored
        self._emit = emit
        self._said: list[str] = []
        self._usage: Usage | None = None
        self._reason = "stop"
        self._cut = False
        self.server_stops = False
        """Whether a cancellation means that, and not that the listener left."""

    async def made(self) -> Outcome:
        """How it ended, whatever happened: complete, cut off with what was said so far, or not at all."""
        try:
            calls = await self._converse()
        except asyncio.CancelledError:
            # A listener who left cancels, or a server that stops; the record of what was said must still be written.
            if task := asyncio.current_task():
                task.uncancel()
            return self._ended(TurnStatus.INTERRUPTED, error=_STOPPED if self.server_stops else _LEFT)
        except MnemonError as error:
            status = TurnStatus.INTERRUPTED if self._said else TurnStatus.FAILED
            return self._ended(status, error=TurnError(code=error.code, detail=error.detail))
        if not calls and not "".join(self._said).strip():
            return self._ended(TurnStatus.FAILED, error=_EMPTY)
        return self._ended(TurnStatus.ANSWERED, calls=calls, error=self._too_long() if self._cut else None)

    async def _converse(self) -> tuple[ToolRequest, ...]:
        """The reply is complete; gives the calls that the caller is to run."""
        conversation = self._prompt.conversation
        for round_ in range(_MOST_ROUNDS):
            offered = self._prompt.asking.tools or (specs(self._tools) if round_ < _MOST_ROUNDS - 1 else ())
            before = len(self._said)
            calls = await self._ask(conversation, offered)
            if not calls or self._prompt.asking.tools or self._cut:
                return calls
            said = "".join(self._said[before:])
            conversation = (*conversation, Message(role="assistant", content=said, tool_requests=calls))
            for request in calls:
                conversation = (*conversation, await self._call(request))
        return ()

    async def _ask(self, conversation: tuple[Message, ...], offered: tuple[ToolSpec, ...]) -> tuple[ToolRequest, ...]:
        asking = self._prompt.asking
        wanted = ChatRequest(
            system=self._prompt.system,
            messages=conversation,
            tools=offered,
            by_rule=lambda: reply_by_rule(asking.query, self._prompt.context.layers),
            options=asking.options,
        )
        calls: list[ToolRequest] = []
        async with aclosing(self._basement.llm.chat(wanted)) as events:
            async for event in events:
                match event:
                    case Text():
                        text = storable(event.text)
                        self._said.append(text)
                        self._emit(Delta(text=text))
                    case ToolRequest():
                        request = replace(event, arguments=storable_json(event.arguments))
                        calls.append(request)
                        self._emit(ToolCalled(request=request))
                    case Finished():
                        self._reason, self._cut = event.reason, event.cut
                        self._usage = event.usage if self._usage is None else self._usage.plus(event.usage)
                await self._stored()  # nobody hears the rest before: until then the processor is the storing's
        return tuple(calls)

    async def _call(self, request: ToolRequest) -> Message:
        came = await call(self._basement, await self._stored(), self._tools, request)
        for update in came.updates:
            self._emit(StateChanged(update=update))
        self._emit(ToolReturned(id=request.id, name=request.name, content=came.content))
        return Message(role="tool", content=came.text, tool_id=request.id, tool_name=request.name)

    def _too_long(self) -> TurnError:
        most = self._basement.settings.max_reply_chars
        detail = f"The reply was cut at {most:,} characters. MNEMON_MAX_REPLY_CHARS sets the limit."
        return TurnError(code="reply_too_long", detail=detail)

    def _ended(
        self, status: TurnStatus, *, error: TurnError | None = None, calls: tuple[ToolRequest, ...] = ()
    ) -> Outcome:
        usage = self._usage or replace(Usage(), model=self._basement.llm.name)
        reason = "tool_calls" if calls else self._reason
        reply = "".join(self._said)
        return Outcome(status=status, reply=reply, usage=usage, reason=reason, calls=calls, error=error)
