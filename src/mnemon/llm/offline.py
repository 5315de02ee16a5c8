"""No model at all: the rules that come with each question answer it. Free, and the same every time."""

import json
from collections.abc import AsyncGenerator

from mnemon.llm.protocol import Answer, ChatEvent, ChatRequest, Finished, Question, Text, Usage

NAME = "offline"


class OfflineLlm:
    """Answers by rule."""

    name = NAME
    offline = True

    async def close(self) -> None:
        """There was nothing open."""

    async def answer(self, question: Question) -> Answer:
        from mnemon.aside import read_aside  # with asyncio: `mnemon --help` does without

        value = await read_aside(len(question.prompt), question.by_rule)
        return Answer(value=value, text=json.dumps(value, ensure_ascii=False), usage=Usage(model=NAME))

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        from mnemon.aside import read_aside  # with asyncio: `mnemon --help` does without

        told = await read_aside(sum(len(message.content) for message in request.messages), request.by_rule)
        for line in told.splitlines(keepends=True):
            yield Text(text=line)
        yield Finished(usage=Usage(model=NAME))
