"""Measure every call to a model: its log line, its figures for `/metrics`, and what it cost.

No prompt, reply or key is logged. Prices are the providers' list prices as a library ships them; nothing is requested
over the network.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import replace

import structlog
from prometheus_client import Counter, Histogram

from mnemon.errors import ModelDown
from mnemon.llm.offline import OFFLINE_NAME
from mnemon.llm.outcome import CallOutcome, ModelFailure
from mnemon.llm.protocol import ChatEvent, Llm, LlmAnswer, LlmChatRequest, LlmQuestion, Purpose, ReplyFinished, Usage
from mnemon.spans import span

log = structlog.get_logger(__name__)

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

_POSSIBLE_BUGS = (TypeError, LookupError, AttributeError)
"""Errors that are logged with a traceback: a vendor's library raises them for a malformed answer, but so does a bug."""


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


class ModelCall:
    """One call to a model, with all its tries."""

    def __init__(self, model: str, purpose: Purpose, title: str | None = None) -> None:
        self.began = time.perf_counter()
        self.tries = 0
        self.status: int | None = None
        """The HTTP status of the last try that failed."""
        self._model = model
        self._about = {"model": model, "purpose": str(purpose), "title": title}
        self._usage: Usage | None = None
        self._failure: ModelFailure | None = None
        self._error: Exception | None = None

    def record_success(self, tokens: Usage) -> Usage:
        """Store what the call cost and return it with the call's duration and the model's name."""
        self._usage = replace(tokens, latency_ms=self._elapsed_ms(), model=self._model)
        return self._usage

    def record_failure(self, failure: ModelFailure, error: Exception | None = None) -> ModelDown:
        """Store the failure and return the error to raise; no further try is made."""
        self._failure, self._error, self.status = failure, error, failure.status
        return failure.to_error()

    @contextmanager
    def log_when_done(self) -> Iterator["ModelCall"]:
        """Write the log line when the call is over, however it ends."""
        try:
            yield self
        except ModelDown:
            self._log_failure()
            raise
        except (asyncio.CancelledError, GeneratorExit):
            # A listener who leaves after the last piece closes the generator; the call was complete then.
            self._log_outcome(CallOutcome.CANCELLED if self._usage is None else CallOutcome.OK)
            raise
        except BaseException:
            self._log_outcome(CallOutcome.INTERNAL)
            raise
        else:
            self._log_outcome(CallOutcome.OK)

    def _log_outcome(self, outcome: CallOutcome) -> None:
        usage = self._usage or Usage()
        log.info(
            "model_call",
            **self._about,
            outcome=str(outcome),
            ms=self._elapsed_ms(),
            tries=self.tries,
            status=self.status,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
        )

    def _log_failure(self) -> None:
        failure = self._failure
        log.warning(
            "model_call",
            **self._about,
            outcome=str(failure.outcome if failure else CallOutcome.UNAVAILABLE),
            ms=self._elapsed_ms(),
            tries=self.tries,
            status=self.status,
            next_step=failure.next_step if failure else None,
            exc_info=self._error if isinstance(self._error, _POSSIBLE_BUGS) else None,
        )

    def _elapsed_ms(self) -> float:
        return round((time.perf_counter() - self.began) * 1000, 1)


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
