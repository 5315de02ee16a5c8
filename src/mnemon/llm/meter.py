"""Count every call to a model for `/metrics`, and calculate what calls cost.

Prices are the providers' list prices as a library ships them; nothing is requested over the network.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from prometheus_client import Counter, Histogram

from mnemon.errors import ModelDown
from mnemon.llm.offline import OFFLINE_NAME
from mnemon.llm.protocol import ChatEvent, Llm, LlmAnswer, LlmChatRequest, LlmQuestion, Purpose, ReplyFinished, Usage
from mnemon.spans import span

MODEL_CALLS = Counter("mnemon_model_calls", "Calls to a language model.", ("model", "purpose", "outcome"))
MODEL_TOKENS = Counter("mnemon_model_tokens", "Tokens that calls used.", ("model", "purpose", "kind"))
MODEL_SECONDS = Histogram(
    "mnemon_model_seconds",
    "Seconds a call took, retries included.",
    ("model", "purpose"),
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64),
)
PRICED_PROVIDERS = {"openai": "openai", "anthropic": "anthropic", "google": "google"}
"""Ids in the price list by the provider's name in MNEMON_MODEL."""


class MeteredLlm:
    """Counts the calls, tokens and seconds of another model, by model and purpose."""

    def __init__(self, llm: Llm) -> None:
        """Wrap the model whose calls are counted in the metrics."""
        self._llm = llm
        self.name = llm.name
        self.offline = llm.offline

    async def close(self) -> None:
        """Close the wrapped model's connections."""
        await self._llm.close()

    async def answer(self, question: LlmQuestion) -> LlmAnswer:
        """Return the wrapped model's answer and count the call, its tokens and its seconds."""
        try:
            with span("model", model=self.name, purpose=question.purpose, title=question.title):
                answer = await self._llm.answer(question)
        except ModelDown as error:
            self._count_failure(question.purpose, error)
            raise
        self._count_success(question.purpose, answer.usage)
        return answer

    async def chat(self, request: LlmChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """Yield the wrapped model's reply and count the call when it is finished or fails."""
        try:
            async with aclosing(self._llm.chat(request)) as events:
                async for event in events:
                    if isinstance(event, ReplyFinished):
                        self._count_success(request.purpose, event.usage)
                    yield event
        except ModelDown as error:
            self._count_failure(request.purpose, error)
            raise

    def _count_success(self, purpose: Purpose, usage: Usage) -> None:
        """Count a call that succeeded, its seconds and its tokens in the metrics."""
        MODEL_CALLS.labels(self.name, purpose, "ok").inc()
        MODEL_SECONDS.labels(self.name, purpose).observe(usage.latency_ms / 1000)
        spent = {"input": usage.input_tokens, "output": usage.output_tokens, "cached": usage.cached_tokens}
        for kind, tokens in spent.items():
            MODEL_TOKENS.labels(self.name, purpose, kind).inc(tokens)

    def _count_failure(self, purpose: Purpose, error: ModelDown) -> None:
        """Count a call that failed in the metrics, by the code of its error."""
        MODEL_CALLS.labels(self.name, purpose, error.code).inc()


def cost_usd(usage: Usage) -> float | None:
    """Return the list price of these tokens in dollars: 0 offline, None when no price is known (local models)."""
    if usage.model == OFFLINE_NAME:
        return 0.0
    provider, _, model = usage.model.partition(":")
    if provider not in PRICED_PROVIDERS or not model:
        return None
    # Imported when used, so that commands which call no model start quickly.
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    tokens = Tokens(
        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cache_read_tokens=usage.cached_tokens
    )
    try:
        return float(calc_price(tokens, model, provider_id=PRICED_PROVIDERS[provider]).total_price)
    # The price list does not know the model, or not this provider's.
    except LookupError:
        return None
