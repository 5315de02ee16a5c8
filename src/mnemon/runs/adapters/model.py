"""The `model` adapter: our own tool loop over any model, then one structured answer that fills the card."""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from mnemon.errors import ModelDown
from mnemon.llm.prices import cost_usd
from mnemon.llm.protocol import (
    ChatRequest,
    Finished,
    Llm,
    Message,
    Purpose,
    Question,
    Text,
    ToolRequest,
    ToolSpec,
    Usage,
)
from mnemon.runs.active_memory import Access
from mnemon.runs.adapter import Emit, Event, EventType, Outcome, RunFailed, Task
from mnemon.runs.adapters.offline import offline_card, offline_reply
from mnemon.runs.card import CardDefinition
from mnemon.runs.decision import REVIEW_DESCRIPTION, REVIEW_TOOL
from mnemon.runs.filling import TITLE, schema_of
from mnemon.runs.prompt import card_instruction
from mnemon.runs.run import RunUsage

_NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}
_REVIEW = ToolSpec(name=REVIEW_TOOL, description=REVIEW_DESCRIPTION, schema=_NO_ARGUMENTS)


@dataclass
class _Talk:
    """A task under way."""

    messages: list[Message]
    usage: RunUsage = field(default_factory=RunUsage)
    reply: str = ""


class ModelDriver:
    """Drives agents with the server's own model."""

    def __init__(self, llm: Llm) -> None:
        self._llm = llm

    async def perform(self, task: Task, emit: Emit) -> Outcome:
        talk = _Talk(spoken(task.history))
        try:
            prompt = await self._open(task, talk, emit)
            await self._converse(task, talk, emit)
            answer = await self._fill(task, task.card, prompt, talk) if task.card else None
        except ModelDown as error:
            raise RunFailed(error.detail, usage=talk.usage) from error
        kept = task.access is Access.EXTEND
        return Outcome(
            reply=talk.reply,
            answer=answer,
            session_id=(task.session_id or task.fresh_session_id) if kept else None,
            transcript=tuple(talk.messages[len(task.history) :]) if kept else (),
            usage=talk.usage,
        )

    async def _open(self, task: Task, talk: _Talk, emit: Emit) -> str:
        """The prompt stands, followed by the agent's decisions, called for as the model would call for them."""
        first = ToolRequest(id="review_first", name=REVIEW_TOOL, arguments={})
        reviewed = await self._called(task, first, emit) if task.review else None
        prompt = await task.convene() if task.convene else task.prompt
        talk.messages.append(Message(role="user", content=prompt))
        if reviewed:
            talk.messages.append(Message(role="assistant", tool_requests=(first,)))
            talk.messages.append(reviewed)
        return prompt

    async def _converse(self, task: Task, talk: _Talk, emit: Emit) -> None:
        for _ in range(task.agent.config.max_turns):
            text, requests, usage = await self._turn(task, talk.messages, emit)
            talk.usage = talk.usage.plus_call(usage, cost_usd(usage))
            talk.messages.append(Message(role="assistant", content=text, tool_requests=requests))
            if not requests:
                talk.reply = text
                return
            for request in requests:
                talk.messages.append(await self._called(task, request, emit))
        raise RunFailed(
            f"The model was still calling tools after {task.agent.config.max_turns} requests (maxTurns).",
            usage=talk.usage,
        )

    async def _turn(
        self, task: Task, messages: Sequence[Message], emit: Emit
    ) -> tuple[str, tuple[ToolRequest, ...], Usage]:
        request = ChatRequest(
            system=task.system,
            messages=tuple(messages),
            tools=(_REVIEW,) if task.review else (),
            purpose=Purpose.RUN,
            by_rule=lambda: offline_reply(task.agent.name),
        )
        pieces: list[str] = []
        requests: list[ToolRequest] = []
        usage = Usage(calls=1, model=self._llm.name)
        async with aclosing(self._llm.chat(request)) as events:
            async for event in events:
                match event:
                    case Text():
                        pieces.append(event.text)
                        await emit(Event(type=EventType.DELTA, data={"text": event.text}))
                    case ToolRequest():
                        requests.append(event)
                    case Finished():
                        usage = event.usage
        return "".join(pieces), tuple(requests), usage

    async def _called(self, task: Task, request: ToolRequest, emit: Emit) -> Message:
        shown = {"id": request.id, "name": request.name}
        await emit(Event(type=EventType.TOOL_CALL, data={**shown, "arguments": request.arguments}))
        if task.review is not None and request.name == REVIEW_TOOL:
            output = await task.review.read()
        else:
            output = f"There is no tool {request.name}."
        await emit(Event(type=EventType.TOOL_RESULT, data={**shown, "content": output}))
        return Message(role="tool", content=output, tool_id=request.id, tool_name=request.name)

    async def _fill(self, task: Task, card: CardDefinition, prompt: str, talk: _Talk) -> dict[str, object]:
        answer = await self._llm.answer(
            Question(
                title=TITLE,
                schema=schema_of(card),
                system=task.system,
                prompt=f"{prompt}\n\nYour analysis:\n{talk.reply}\n\n{card_instruction(card)}",
                purpose=Purpose.RUN,
                by_rule=lambda: offline_card(card, prompt),
            )
        )
        talk.usage = talk.usage.plus_call(answer.usage, cost_usd(answer.usage))
        talk.messages.append(Message(role="user", content=card_instruction(card)))
        talk.messages.append(Message(role="assistant", content=answer.text))
        return answer.value


def spoken(history: Sequence[Message]) -> list[Message]:
    """The history as plain words: tools it once called may not be offered any more, and providers refuse such calls."""
    said: list[Message] = []
    for message in history:
        if message.role == "tool":
            said.append(Message(role="user", content=f"[{message.tool_name} answered]\n{message.content}"))
        elif message.tool_requests:
            calls = ", ".join(request.name for request in message.tool_requests)
            said.append(Message(role="assistant", content=f"{message.content}\n[called {calls}]".strip()))
        else:
            said.append(message)
    return said
