"""One line in the log for each request to an embedding endpoint: how many texts, how it ended. No text, no key."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from mnemon.errors import ModelDown

log = structlog.get_logger(__name__)

_ENDED = {
    "model_refused": ("refused", "check MNEMON_EMBEDDER_API_KEY and MNEMON_EMBEDDER"),
    "model_answer_unusable": ("bad_answer", "check MNEMON_EMBEDDER, its dimension included"),
    "model_unavailable": ("unavailable", "check MNEMON_EMBEDDER_BASE_URL and that the server runs"),
}
"""By the error's code: the outcome, and what a person should do."""


class EmbeddingCall:
    """One request, all its tries included."""

    def __init__(self, model: str, texts: int) -> None:
        self._began = time.monotonic()
        self._model = model
        self._texts = texts
        self.tries = 0
        self.status: int | None = None
        """The HTTP status of the last try."""

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self._began

    @contextmanager
    def logged(self) -> Iterator["EmbeddingCall"]:
        """Write the line when the request was answered or given up; one that was cancelled leaves none."""
        try:
            yield self
        except ModelDown as error:
            outcome, step = _ENDED[error.code]
            log.warning(
                "embedding_call",
                model=self._model,
                texts=self._texts,
                outcome=outcome,
                ms=round(self.seconds * 1000, 1),
                tries=self.tries,
                status=self.status,
                next_step=step,
            )
            raise
        log.info(
            "embedding_call",
            model=self._model,
            texts=self._texts,
            outcome="ok",
            ms=round(self.seconds * 1000, 1),
            tries=self.tries,
            status=self.status,
        )
