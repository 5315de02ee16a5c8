"""The scripted model in process, behind the same protocol as every other."""

import asyncio
import json
from collections.abc import AsyncGenerator

from mnemon.errors import ModelDown
from mnemon.llm.protocol import Answer, ChatEvent, ChatRequest, Finished, Message, Question, Text
from mnemon.llm.scripted.script import CHAT, Asked, Fault, Script, counted


class ScriptedLlm:
    """Says what its script says. A fault raises ModelDown at once, `cut` after its pieces; `slow` waits."""

    offline = False

    def __init__(self, script: Script | None = None, *, name: str = "scripted") -> None:
        self.name = name
        self.script = script or Script()

    async def close(self) -> None:
        """There was nothing open."""

    async def answer(self, question: Question) -> Answer:
        asked = Asked(
            on=question.title,
            model=self.name,
            system=question.system,
            messages=(Message(role="user", content=question.prompt),),
            schema=question.schema,
        )
        fault = self.script.receive(asked)
        await _suffer(fault)
        value = "\x00 not JSON" if fault and fault.kind == "garbage" else self.script.next_answer(asked)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        try:
            parsed = json.loads(text)
        except json.JSONDecodeError:
            parsed = None
        if not isinstance(parsed, dict):
            raise ModelDown("The scripted model's answer is not a JSON object.", code="model_answer_unusable")
        return Answer(value=parsed, text=text, usage=counted(asked, text, self.name))

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        asked = Asked(
            on=CHAT,
            model=self.name,
            system=request.system,
            messages=request.messages,
            tools=tuple(tool.name for tool in request.tools),
            stream=True,
        )
        fault = self.script.receive(asked)
        await _suffer(fault)
        reply = self.script.next_reply(asked)
        for number, piece in enumerate(reply.pieces):
            if fault and number == fault.after:
                await _break_off(fault)
            yield Text(text=piece)
        if fault:
            await _break_off(fault)
        for call in reply.calls:
            yield call
        said = reply.text + "".join(json.dumps(call.arguments) for call in reply.calls)
        yield Finished(
            usage=reply.usage or counted(asked, said, self.name),
            reason=reply.reason or ("tool_calls" if reply.calls else "stop"),
        )


async def _suffer(fault: Fault | None) -> None:
    """What a fault does before anything is said."""
    match fault.kind if fault else None:
        case "slow" if fault:
            await fault.pass_by()
        case "dead" | "rate_limited" | "error":
            raise ModelDown("The scripted model was told to fail. Ask again.")


async def _break_off(fault: Fault) -> None:
    """What a fault does in the middle of a reply."""
    match fault.kind:
        case "cut" | "garbage":
            raise ModelDown("The scripted model was told to break off. Ask again.")
        case "hang":
            await asyncio.Event().wait()
