"""No model: each question is answered by the rule that comes with it. Free of cost, and the same every time."""

import json
from collections.abc import AsyncGenerator

from mnemon.llm.protocol import ChatEvent, LlmAnswer, LlmChatRequest, LlmQuestion, ReplyFinished, TextPiece, Usage

OFFLINE_NAME = "offline"


class OfflineLlm:
    """Answers every question by its rule."""

    name = OFFLINE_NAME
    offline = True

    async def close(self) -> None:
        """Do nothing: without a model no connection is open."""

    async def answer(self, question: LlmQuestion) -> LlmAnswer:
        """Return the answer that the question's own rule gives; for long prompts, compute it in a thread."""
        from mnemon.event_loop import run_off_loop  # with asyncio: `mnemon --help` does without

        # Rules read the whole prompt, which for a long one would block the event loop.
        value = await run_off_loop(len(question.prompt), question.by_rule)
        return LlmAnswer(value=value, text=json.dumps(value, ensure_ascii=False), usage=Usage(model=OFFLINE_NAME))

    async def chat(self, request: LlmChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """Yield the reply that the request's own rule gives, line by line."""
        from mnemon.event_loop import run_off_loop  # with asyncio: `mnemon --help` does without

        reply = await run_off_loop(sum(len(message.content) for message in request.messages), request.by_rule)
        for line in reply.splitlines(keepends=True):
            yield TextPiece(text=line)
        yield ReplyFinished(usage=Usage(model=OFFLINE_NAME))
