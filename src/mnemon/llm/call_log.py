"""One log line for each call to a model: its purpose, cost and outcome. No prompt, reply or key is logged."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import structlog

from mnemon.errors import ModelDown
from mnemon.llm.failure import CallOutcome, ModelFailure
from mnemon.llm.protocol import Purpose, Usage

log = structlog.get_logger(__name__)

_POSSIBLE_BUGS = (TypeError, LookupError, AttributeError)
"""Errors that are logged with a traceback: a vendor's library raises them for a malformed answer, but so does a bug."""


class ModelCall:
    """One call to a model, with all its tries."""

    def __init__(self, model: str, purpose: Purpose, title: str | None = None) -> None:
        """Begin a call to a model; the clock of its duration starts here."""
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
        """Store what the model call cost and return it with the call's duration and the model's name."""
        self._usage = replace(tokens, latency_ms=self._elapsed_ms(), model=self._model)
        return self._usage

    def record_failure(self, failure: ModelFailure, error: Exception | None = None) -> ModelDown:
        """Store why the model call failed and return the error to raise; no further try is made."""
        self._failure, self._error, self.status = failure, error, failure.status
        return failure.to_error()

    @contextmanager
    def log_when_done(self) -> Iterator["ModelCall"]:
        """Write the log line `model_call` when the block ends, however it ends."""
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
        """Log the line of a call that did not fail, with its duration, tries and tokens."""
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
        """Log a warning for a call that failed, with the operator's next step."""
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
        """Return the milliseconds since the call began."""
        return round((time.perf_counter() - self.began) * 1000, 1)
