"""Counts every call to a model for `/metrics`: calls, tokens and seconds, by model and purpose."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from prometheus_client import Counter, Histogram

from mnemon.errors import ModelDown
from mnemon.llm.protocol import Answer, ChatEvent, ChatRequest, Finished, Llm, Purpose, Question, Usage
from mnemon.spans import span

CALLS = Counter("mnemon_model_calls", "Calls to a language model.", ("model", "purpose", "outcome"))
TOKENS = Counter("mnemon_model_tokens", "Tokens that calls used.", ("model", "purpose", "kind"))
SECONDS = Histogram(
    "mnemon_model_seconds",
    "Seconds a call took, retries included.",
    ("model", "purpose"),
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64),
)


class Metered:
    """The same model, counted."""

    def __init__(self, llm: Llm) -> None:
        self._llm = llm
        self.name = llm.name
        self.offline = llm.offline

    async def close(self) -> None:
        await self._llm.close()

    async def answer(self, question: Question) -> Answer:
        try:
            with span("model", model=self.name, purpose=question.purpose, title=question.title):
                answer = await self._llm.answer(question)
        except ModelDown as error:
            self._failed(question.purpose, error)
            raise
        self._spent(question.purpose, answer.usage)
        return answer

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        try:
            async with aclosing(self._llm.chat(request)) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        self._spent(request.purpose, event.usage)
                    yield event
        except ModelDown as error:
            self._failed(request.purpose, error)
            raise

    def _spent(self, purpose: Purpose, usage: Usage) -> None:
        CALLS.labels(self.name, purpose, "ok").inc()
        SECONDS.labels(self.name, purpose).observe(usage.latency_ms / 1000)
        spent = {"input": usage.input_tokens, "output": usage.output_tokens, "cached": usage.cached_tokens}
        for kind, tokens in spent.items():
            TOKENS.labels(self.name, purpose, kind).inc(tokens)

    def _failed(self, purpose: Purpose, error: ModelDown) -> None:
        CALLS.labels(self.name, purpose, error.code).inc()
