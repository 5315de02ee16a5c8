"""The scripted model in process, behind the same protocol as every other."""

import asyncio
import json
from collections.abc import AsyncGenerator

from mnemon.errors import ModelDown
from mnemon.llm.protocol import ChatEvent, LlmAnswer, LlmChatRequest, LlmMessage, LlmQuestion, ReplyFinished, TextPiece
from mnemon.llm.scripted.script import CHAT_TITLE, Script, ScriptedFault, ScriptedRequest, estimate_usage


class ScriptedLlm:
    """Replies as its script says. A fault raises ModelDown at once, `cut` after its pieces; `slow` waits."""

    offline = False

    def __init__(self, script: Script | None = None, *, name: str = "scripted") -> None:
        """Make a scripted model that follows this script; without one, an empty script."""
        self.name = name
        self.script = script or Script()

    async def close(self) -> None:
        """Do nothing: a scripted model has no connection."""

    async def answer(self, question: LlmQuestion) -> LlmAnswer:
        """Return the script's next answer for the question's title; raise ModelDown when it is no JSON object."""
        scripted_request = ScriptedRequest(
            on=question.title,
            model=self.name,
            system=question.system,
            messages=(LlmMessage(role="user", content=question.prompt),),
            schema=question.schema,
        )
        fault = self.script.record_request(scripted_request)
        await _apply_fault(fault)
        value = "\x00 not JSON" if fault and fault.kind == "garbage" else self.script.next_answer(scripted_request)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        try:
            parsed = json.loads(text)
        except json.JSONDecodeError:
            parsed = None
        if not isinstance(parsed, dict):
            raise ModelDown("The scripted model's answer is not a JSON object.", code="model_answer_unusable")
        return LlmAnswer(value=parsed, text=text, usage=estimate_usage(scripted_request, text, self.name))

    async def chat(self, request: LlmChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """Yield the script's next reply in its pieces, broken off where a fault says so."""
        scripted_request = ScriptedRequest(
            on=CHAT_TITLE,
            model=self.name,
            system=request.system,
            messages=request.messages,
            tools=tuple(tool.name for tool in request.tools),
            stream=True,
        )
        fault = self.script.record_request(scripted_request)
        await _apply_fault(fault)
        reply = self.script.next_reply(scripted_request)
        for number, piece in enumerate(reply.pieces):
            if fault and number == fault.after:
                await _break_reply(fault)
            yield TextPiece(text=piece)
        if fault:
            await _break_reply(fault)
        for call in reply.calls:
            yield call
        text = reply.text + "".join(json.dumps(call.arguments) for call in reply.calls)
        yield ReplyFinished(
            usage=reply.usage or estimate_usage(scripted_request, text, self.name),
            reason=reply.reason or ("tool_calls" if reply.calls else "stop"),
        )


async def _apply_fault(fault: ScriptedFault | None) -> None:
    """Wait, or raise ModelDown, as a scripted fault says before anything is sent."""
    match fault.kind if fault else None:
        case "slow" if fault:
            await fault.wait_out()
        case "dead" | "rate_limited" | "rejected" | "error":
            raise ModelDown("The scripted model was told to fail. Ask again.")


async def _break_reply(fault: ScriptedFault) -> None:
    """Raise ModelDown, or hang, as a scripted fault says in the middle of a reply."""
    match fault.kind:
        case "cut" | "garbage":
            raise ModelDown("The scripted model was told to break off. Ask again.")
        case "hang":
            await asyncio.Event().wait()
