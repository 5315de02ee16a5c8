"""Making the reply: ask the model, run Mnemon's tools when it calls them, and pass every piece on as it arrives."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

from mnemon.chat.events import AgentStateChanged, ChatEvent, ReplyDelta, ToolCalled, ToolReturned
from mnemon.chat.offline_reply import reply_by_rule
from mnemon.chat.request import StartedTurn, TurnPrompt
from mnemon.chat.seal import ReplyOutcome
from mnemon.chat.tool_calls import ToolCallResult, ToolsByName, call_tool, tool_specs
from mnemon.errors import MnemonError
from mnemon.input_checks import storable_json, storable_text
from mnemon.llm.protocol import (
    CALL_NOT_RUN,
    MAX_TOOL_CALLS,
    LlmChatRequest,
    LlmMessage,
    ReplyFinished,
    TextPiece,
    ToolRequest,
    ToolSpec,
    Usage,
)
from mnemon.services import Services
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.turns import TurnError
from mnemon.turn import Role

_MAX_ROUNDS = 8
"""Most model requests in one turn; the last one offers no tools, so that it ends with a reply."""
_CLIENT_LEFT = TurnError(code="interrupted", detail="The client disconnected before the reply was complete.")
_SERVER_STOPPED = TurnError(
    code="interrupted", detail="The server was stopped before the reply was complete. Send the message again."
)
_EMPTY_REPLY = TurnError(code="model_empty", detail="The model gave an empty reply. Send the message again.")


class ReplyGenerator:
    """One reply being made."""

    def __init__(
        self,
        services: Services,
        prompt: TurnPrompt,
        tools: ToolsByName,
        emit: Callable[[ChatEvent], None],
        stored: Callable[[], Awaitable[StartedTurn]],
    ) -> None:
        """Prepare the reply: `emit` receives its events, `stored` waits until the message is committed."""
        self._services = services
        self._prompt = prompt
        # A tool of the caller's hides one of Mnemon's that has the same name.
        named = {tool.name for tool in prompt.request.tools}
        self._tools = {name: tool for name, tool in tools.items() if name not in named}
        self._expected = False
        self._stored = stored
        self._emit = emit
        self._said: list[str] = []
        self._usage: Usage | None = None
        self._reason = "stop"
        self._cut = False
        self.server_stops = False
        """Whether a cancellation means that the server stops, and not that the client left."""

    async def generate_reply(self) -> ReplyOutcome:
        """Make the reply; return how it ended: complete, cut off with the text so far, or failed."""
        try:
            calls = await self._run_rounds()
        except asyncio.CancelledError:
            # The client left or the server stops. The task goes on: the text so far must still be stored.
            if task := asyncio.current_task():
                task.uncancel()
            return self._make_outcome(
                TurnStatus.INTERRUPTED, error=_SERVER_STOPPED if self.server_stops else _CLIENT_LEFT
            )
        except MnemonError as error:
            # Text that the client has seen is kept, and a turn with text did not fail altogether.
            status = TurnStatus.INTERRUPTED if self._said else TurnStatus.FAILED
            return self._make_outcome(status, error=TurnError(code=error.code, detail=error.detail))
        if not calls and not "".join(self._said).strip():
            return self._make_outcome(TurnStatus.FAILED, error=_EMPTY_REPLY)
        return self._make_outcome(TurnStatus.ANSWERED, calls=calls, error=self._too_long_error() if self._cut else None)

    async def _run_rounds(self) -> tuple[ToolRequest, ...]:
        """Ask the model and run Mnemon's tools until it calls none; return the calls that the caller must run."""
        conversation, callers = self._prompt.conversation, self._prompt.request.tools
        for round_ in range(_MAX_ROUNDS):
            offered = callers + (tool_specs(self._tools) if round_ < _MAX_ROUNDS - 1 else ())
            before = len(self._said)
            calls = await self._ask_model(conversation, offered)
            # A call of neither was made up by the model: a caller with tools is handed it, as any model would.
            own = tuple(one for one in calls if not callers or one.name in self._tools)
            left = tuple(one for one in calls if callers and one.name not in self._tools)
            if not calls or self._cut:
                return left if callers else calls
            results = [await self._call_tool(one, run=place < MAX_TOOL_CALLS) for place, one in enumerate(own)]
            # The caller runs its own tools, so their calls end this request.
            if left:
                return left
            text = "".join(self._said[before:])
            conversation = (*conversation, LlmMessage(role="assistant", content=text, tool_requests=calls), *results)
        return ()

    async def _ask_model(
        self, conversation: tuple[LlmMessage, ...], offered: tuple[ToolSpec, ...]
    ) -> tuple[ToolRequest, ...]:
        """Send one request to the model, emit its text and tool calls as they arrive, and return the tool calls."""
        turn_request = self._prompt.request
        wanted = LlmChatRequest(
            system=self._prompt.system,
            messages=conversation,
            tools=offered,
            by_rule=self._reply_by_rule,
            options=turn_request.options,
        )
        calls: list[ToolRequest] = []
        async with aclosing(self._services.llm.chat(wanted)) as events:
            async for event in events:
                match event:
                    case TextPiece():
                        text = storable_text(event.text)
                        self._said.append(text)
                        self._emit(ReplyDelta(text=text))
                    case ToolRequest():
                        request = replace(event, arguments=storable_json(event.arguments))
                        calls.append(request)
                        if not self._is_hidden(request):
                            self._emit(ToolCalled(request=request))
                    case ReplyFinished():
                        self._reason, self._cut = event.reason, event.cut
                        self._usage = event.usage if self._usage is None else self._usage.plus(event.usage)
                # No event is shown before the message is stored, so storing it gets the CPU first.
                await self._stored()
        return tuple(calls)

    def _reply_by_rule(self) -> str:
        """Return the reply that rules make without a model."""
        prompt = self._prompt
        said = [one.content for one in prompt.context.recent if one.role is Role.USER]
        return reply_by_rule(prompt.request.query, prompt.context.layers, said)

    async def _call_tool(self, request: ToolRequest, *, run: bool) -> LlmMessage:
        """Run one of Mnemon's tools, emit its result and changes, and return the result as a message.

        Without `run`, the result only says that there were too many calls.
        """
        if run:
            result = await call_tool(self._services, await self._stored(), self._tools, request)
        else:
            result = ToolCallResult(content={"error": CALL_NOT_RUN})
        self._expected = self._expected or any(update.change.expectations for update in result.updates)
        for update in result.updates:
            self._emit(AgentStateChanged(update=update))
        if not self._is_hidden(request):
            self._emit(ToolReturned(id=request.id, name=request.name, content=result.content))
        return LlmMessage(role="tool", content=result.text, tool_id=request.id, tool_name=request.name)

    def _is_hidden(self, request: ToolRequest) -> bool:
        """Say whether to hide a call of Mnemon's own tool from a caller that brings tools of its own."""
        return bool(self._prompt.request.tools) and request.name in self._tools

    def _too_long_error(self) -> TurnError:
        """Return the error of a reply that was cut at the longest length allowed."""
        most = self._services.settings.max_reply_chars
        detail = f"The reply was cut at {most:,} characters. MNEMON_MAX_REPLY_CHARS sets the limit."
        return TurnError(code="reply_too_long", detail=detail)

    def _make_outcome(
        self, status: TurnStatus, *, error: TurnError | None = None, calls: tuple[ToolRequest, ...] = ()
    ) -> ReplyOutcome:
        """Return how the reply ended, with its text and token usage so far."""
        usage = self._usage or replace(Usage(), model=self._services.llm.name)
        # Calls that nobody is left to run, as of the last round, do not make the reply wait for them.
        reason = "tool_calls" if calls else "stop" if self._reason == "tool_calls" else self._reason
        reply = "".join(self._said)
        return ReplyOutcome(
            status=status,
            reply=reply,
            usage=usage,
            reason=reason,
            calls=calls,
            links_calls=self._expected,
            error=error,
        )
