"""One line in the log for each call to a model: what for, what it cost, how it ended. No prompt, no reply, no key."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import structlog

from mnemon.errors import ModelDown
from mnemon.llm.failure import CallOutcome, Failure
from mnemon.llm.protocol import Purpose, Usage

log = structlog.get_logger(__name__)

_MAY_BE_OURS = (TypeError, LookupError, AttributeError)
"""An answer of the wrong shape raises these in a vendor's library; so does a fault in our own reading of it."""


class ModelCall:
    """One call, all its tries included."""

    def __init__(self, model: str, purpose: Purpose, title: str | None = None) -> None:
        self.began = time.perf_counter()
        self.tries = 0
        self.status: int | None = None
        """The HTTP status of the last try that failed."""
        self._model = model
        self._about = {"model": model, "purpose": str(purpose), "title": title}
        self._usage: Usage | None = None
        self._failure: Failure | None = None
        self._error: Exception | None = None

    def succeeded(self, tokens: Usage) -> Usage:
        """Give what the call cost, with its time and the model's name."""
        self._usage = replace(tokens, latency_ms=self._ms(), model=self._model)
        return self._usage

    def failed(self, failure: Failure, error: Exception | None = None) -> ModelDown:
        """Give the error to raise: no further try will be made."""
        self._failure, self._error, self.status = failure, error, failure.status
        return failure.error()

    @contextmanager
    def logged(self) -> Iterator["ModelCall"]:
        """Write the line when the call is over, however it ends."""
        try:
            yield self
        except ModelDown:
            self._write_failure()
            raise
        except (asyncio.CancelledError, GeneratorExit):
            self._write(CallOutcome.CANCELLED if self._usage is None else CallOutcome.OK)
            raise
        except BaseException:
            self._write(CallOutcome.INTERNAL)
            raise
        else:
            self._write(CallOutcome.OK)

    def _write(self, outcome: CallOutcome) -> None:
        usage = self._usage or Usage()
        log.info(
            "model_call",
            **self._about,
            outcome=str(outcome),
            ms=self._ms(),
            tries=self.tries,
            status=self.status,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
        )

    def _write_failure(self) -> None:
        failure = self._failure
        log.warning(
            "model_call",
            **self._about,
            outcome=str(failure.outcome if failure else CallOutcome.UNAVAILABLE),
            ms=self._ms(),
            tries=self.tries,
            status=self.status,
            next_step=failure.next_step if failure else None,
            exc_info=self._error if isinstance(self._error, _MAY_BE_OURS) else None,
        )

    def _ms(self) -> float:
        return round((time.perf_counter() - self.began) * 1000, 1)
