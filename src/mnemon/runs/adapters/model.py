"""The `model` adapter: a tool loop over any model, then one structured answer that fills the card.

In offline mode a chat gets a reply that says no model is set; a card is not filled, for no model decided anything.
"""

from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import NoReturn

from mnemon.errors import ModelDown
from mnemon.llm.meter import cost_usd
from mnemon.llm.protocol import (
    CALL_NOT_RUN,
    MAX_TOOL_CALLS,
    Llm,
    LlmAnswer,
    LlmChatRequest,
    LlmMessage,
    LlmQuestion,
    Purpose,
    ReplyFinished,
    TextPiece,
    ToolRequest,
    ToolSpec,
    Usage,
)
from mnemon.runs.active_memory import MemoryAccess
from mnemon.runs.adapter import (
    AgentTask,
    EmitEvent,
    ModelRequired,
    RunEvent,
    RunEventType,
    RunFailed,
    TaskOutcome,
    require_model,
)
from mnemon.runs.card import CardDefinition
from mnemon.runs.card_filling import CARD_SCHEMA_TITLE, asked_card_schema, card_fault
from mnemon.runs.decisions import REVIEW_DESCRIPTION, REVIEW_TOOL
from mnemon.runs.prompt import card_instruction
from mnemon.runs.run import RunUsage

_EMPTY_SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
_REVIEW_SPEC = ToolSpec(name=REVIEW_TOOL, description=REVIEW_DESCRIPTION, schema=_EMPTY_SCHEMA)


def offline_reply(name: str) -> str:
    """Return the chat reply of an agent of this name when no model is set, which says so."""
    return f"{name} is offline: no model is set. MNEMON_MODEL names one."


def _refuse_to_decide(name: str) -> NoReturn:
    """Raise ModelRequired for the agent of this name: only a model, no rule, can make a decision."""
    raise ModelRequired(name)


@dataclass
class _TaskConversation:
    """The messages, usage and reply of a task so far."""

    messages: list[LlmMessage]
    usage: RunUsage = field(default_factory=RunUsage)
    reply: str = ""


class ModelDriver:
    """Performs tasks with the server's own model."""

    def __init__(self, llm: Llm) -> None:
        """Make the driver that performs agents' tasks with this model."""
        self._llm = llm

    async def perform_task(self, task: AgentTask, emit: EmitEvent) -> TaskOutcome:
        """Have the model perform an agent's task, with its tools, and fill the task's card; return the outcome.

        Raises ModelRequired when a card is wanted in offline mode.
        """
        if task.card is not None:
            require_model(task.agent, self._llm)
        conversation = _TaskConversation(flatten_tool_calls(task.history))
        try:
            prompt = await self._open_conversation(task, conversation, emit)
            await self._run_tool_loop(task, conversation, emit)
            answer = await self._fill_card(task, task.card, prompt, conversation) if task.card else None
        except ModelDown as error:
            raise RunFailed(error.detail, usage=conversation.usage) from error
        # The flattened history has as many messages as the stored one, so what follows it is new.
        kept = task.access is MemoryAccess.EXTEND
        return TaskOutcome(
            reply=conversation.reply,
            answer=answer,
            session_id=(task.session_id or task.fresh_session_id) if kept else None,
            transcript=tuple(conversation.messages[len(task.history) :]) if kept else (),
            usage=conversation.usage,
        )

    async def _open_conversation(self, task: AgentTask, conversation: _TaskConversation, emit: EmitEvent) -> str:
        """Add the task's prompt to the conversation, and past decisions if it reviews them; return the prompt."""
        # The server makes the call itself, in the model's name: a model could leave it out.
        first = ToolRequest(id="review_first", name=REVIEW_TOOL, arguments={})
        reviewed = await self._call_tool(task, first, emit) if task.review else None
        prompt = await task.convene() if task.convene else task.prompt
        conversation.messages.append(LlmMessage(role="user", content=prompt))
        if reviewed:
            conversation.messages.append(LlmMessage(role="assistant", tool_requests=(first,)))
            conversation.messages.append(reviewed)
        return prompt

    async def _run_tool_loop(self, task: AgentTask, conversation: _TaskConversation, emit: EmitEvent) -> None:
        """Call the model and the tools it requests until a reply requests none; raise RunFailed after `max_turns`."""
        for _ in range(task.agent.config.max_turns):
            text, requests, usage = await self._request_reply(task, conversation.messages, emit)
            conversation.usage = conversation.usage.plus_call(usage, cost_usd(usage))
            conversation.messages.append(LlmMessage(role="assistant", content=text, tool_requests=requests))
            if not requests:
                conversation.reply = text
                return
            for place, request in enumerate(requests):
                result = await self._call_tool(task, request, emit, run=place < MAX_TOOL_CALLS)
                conversation.messages.append(result)
        raise RunFailed(
            f"The model was still calling tools after {task.agent.config.max_turns} requests (maxTurns).",
            usage=conversation.usage,
        )

    async def _request_reply(
        self, task: AgentTask, messages: Sequence[LlmMessage], emit: EmitEvent
    ) -> tuple[str, tuple[ToolRequest, ...], Usage]:
        """Stream one reply of the model, emit its pieces, and return its text, tool requests and usage."""
        request = LlmChatRequest(
            system=task.system,
            messages=tuple(messages),
            tools=(_REVIEW_SPEC,) if task.review else (),
            purpose=Purpose.RUN,
            by_rule=lambda: offline_reply(task.agent.name),
        )
        pieces: list[str] = []
        requests: list[ToolRequest] = []
        usage = Usage(calls=1, model=self._llm.name)
        async with aclosing(self._llm.chat(request)) as events:
            async for event in events:
                match event:
                    case TextPiece():
                        pieces.append(event.text)
                        await emit(RunEvent(type=RunEventType.DELTA, data={"text": event.text}))
                    case ToolRequest():
                        requests.append(event)
                    case ReplyFinished():
                        usage = event.usage
        return "".join(pieces), tuple(requests), usage

    async def _call_tool(
        self, task: AgentTask, request: ToolRequest, emit: EmitEvent, *, run: bool = True
    ) -> LlmMessage:
        """Call the tool the model requests and return its result as a message, an error text for an unknown one.

        Without `run`, the result only says that there were too many calls.
        """
        shown = {"id": request.id, "name": request.name}
        await emit(RunEvent(type=RunEventType.TOOL_CALL, data={**shown, "arguments": request.arguments}))
        if not run:
            output = CALL_NOT_RUN
        elif task.review is not None and request.name == REVIEW_TOOL:
            output = await task.review.read()
        else:
            output = f"There is no tool {request.name}."
        await emit(RunEvent(type=RunEventType.TOOL_RESULT, data={**shown, "content": output}))
        return LlmMessage(role="tool", content=output, tool_id=request.id, tool_name=request.name)

    async def _fill_card(
        self, task: AgentTask, card: CardDefinition, prompt: str, conversation: _TaskConversation
    ) -> dict[str, object]:
        """Ask the model to fill the card (a structured answer) from its own analysis; return the card's values.

        An answer that does not fill the card is asked for once more, with the reasons.
        """
        question = LlmQuestion(
            title=CARD_SCHEMA_TITLE,
            schema=asked_card_schema(card),
            system=task.system,
            prompt=f"{prompt}\n\nYour analysis:\n{conversation.reply}\n\n{card_instruction(card)}",
            purpose=Purpose.RUN,
            by_rule=lambda: _refuse_to_decide(task.agent.name),
        )
        answer = await self._answer_question(question, conversation)
        fault = card_fault(card, answer.value)
        if fault is not None:
            again = f"{question.prompt}\n\nYour previous answer: {answer.text}\n\n{fault} Give it again, corrected."
            # The first answer stays where there is no second one: the run then fails for what was wrong with it.
            with suppress(ModelDown):
                answer = await self._answer_question(replace(question, prompt=again), conversation)
        conversation.messages.append(LlmMessage(role="user", content=card_instruction(card)))
        conversation.messages.append(LlmMessage(role="assistant", content=answer.text))
        return answer.value

    async def _answer_question(self, question: LlmQuestion, conversation: _TaskConversation) -> LlmAnswer:
        """Return the model's answer and add what it cost to the conversation's usage."""
        answer = await self._llm.answer(question)
        conversation.usage = conversation.usage.plus_call(answer.usage, cost_usd(answer.usage))
        return answer


def flatten_tool_calls(history: Sequence[LlmMessage]) -> list[LlmMessage]:
    """Return a session's messages with tool calls and their results rewritten as plain text."""
    # Providers refuse calls to tools that are not offered any more, as `get_my_decisions` may be.
    flat: list[LlmMessage] = []
    for message in history:
        if message.role == "tool":
            flat.append(LlmMessage(role="user", content=f"[{message.tool_name} answered]\n{message.content}"))
        elif message.tool_requests:
            calls = ", ".join(request.name for request in message.tool_requests)
            flat.append(LlmMessage(role="assistant", content=f"{message.content}\n[called {calls}]".strip()))
        else:
            flat.append(message)
    return flat
