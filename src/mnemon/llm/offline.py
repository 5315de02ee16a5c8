"""No model at all: the rules that come with each question answer it. Free, and the same every time."""

import json
from collections.abc import AsyncGenerator

from mnemon.llm.protocol import ChatEvent, LlmAnswer, LlmChatRequest, LlmQuestion, ReplyFinished, TextPiece, Usage

OFFLINE_NAME = "offline"


class OfflineLlm:
    """Answers by rule."""

    name = OFFLINE_NAME
    offline = True

    async def close(self) -> None:
        """There was nothing open."""

    async def answer(self, question: LlmQuestion) -> LlmAnswer:
        from mnemon.event_loop import run_off_loop  # with asyncio: `mnemon --help` does without

        value = await run_off_loop(len(question.prompt), question.by_rule)
        return LlmAnswer(value=value, text=json.dumps(value, ensure_ascii=False), usage=Usage(model=OFFLINE_NAME))

    async def chat(self, request: LlmChatRequest) -> AsyncGenerator[ChatEvent, None]:
        from mnemon.event_loop import run_off_loop  # with asyncio: `mnemon --help` does without

        told = await run_off_loop(sum(len(message.content) for message in request.messages), request.by_rule)
        for line in told.splitlines(keepends=True):
            yield TextPiece(text=line)
        yield ReplyFinished(usage=Usage(model=OFFLINE_NAME))
