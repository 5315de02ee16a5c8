"""An embedder behind any OpenAI-compatible endpoint.

Each request leaves one log line: how many texts, how it ended. No text or key is logged.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx2
import numpy as np
import structlog

from mnemon.embedding.embedder import scale_to_unit
from mnemon.errors import ModelDown

log = structlog.get_logger(__name__)

_OUTCOME_BY_CODE = {
    "model_refused": ("refused", "check MNEMON_EMBEDDER_API_KEY and MNEMON_EMBEDDER"),
    "model_answer_unusable": ("bad_answer", "check MNEMON_EMBEDDER, its dimension included"),
    "model_unavailable": ("unavailable", "check MNEMON_EMBEDDER_BASE_URL and that the server runs"),
}
"""The outcome to log and the operator's next step, by the error's code."""
OPENAI_URL = "https://api.openai.com/v1"
KNOWN_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
"""Vector lengths of OpenAI's models; those of others are learned from the first answer."""
BATCH_SIZE = 128
"""Texts in one request."""
MAX_TEXT_CHARS = 20_000
"""Characters sent of one text; providers refuse texts beyond a limit of their own."""
MAX_TRIES = 3
"""Most tries of one request."""
REST_S = 5.0
"""Seconds after a failure during which calls fail at once, so that not every caller waits for the timeout."""


class EmbeddingCall:
    """One request to the endpoint, with all its tries."""

    def __init__(self, model: str, texts: int) -> None:
        """Begin to time a request for the vectors of this many texts."""
        self._began = time.monotonic()
        self._model = model
        self._texts = texts
        self.tries = 0
        self.status: int | None = None
        """The HTTP status of the last try."""

    @property
    def elapsed_s(self) -> float:
        """Return the seconds since the embedding request began, all tries included."""
        return time.monotonic() - self._began

    @contextmanager
    def log_when_done(self) -> Iterator["EmbeddingCall"]:
        """Write the embedding request's log line when it was answered or has failed; none if cancelled."""
        try:
            yield self
        except ModelDown as error:
            outcome, step = _OUTCOME_BY_CODE[error.code]
            log.warning(
                "embedding_call",
                model=self._model,
                texts=self._texts,
                outcome=outcome,
                ms=round(self.elapsed_s * 1000, 1),
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
            ms=round(self.elapsed_s * 1000, 1),
            tries=self.tries,
            status=self.status,
        )


class EndpointEmbedder:
    """Requests vectors from an endpoint, in batches, within a time limit."""

    def __init__(
        self, name: str, *, base_url: str | None, api_key: str | None, timeout: float, http: httpx2.AsyncClient
    ) -> None:
        """Configure the endpoint; `name` is a model, with `@dimension` where one is wanted."""
        wanted, at, size = name.rpartition("@")
        self.model = f"openai:{name}"
        self._asked = wanted if at else name
        self._size = int(size) if at else None
        self.dimension = self._size or KNOWN_DIMENSIONS.get(self._asked, 0)
        self._url = (base_url or OPENAI_URL).rstrip("/") + "/embeddings"
        self._headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout = timeout
        self._http = http
        self._resting_until = 0.0

    async def close(self) -> None:
        """Close the connections to the embedding endpoint."""
        await self._http.aclose()

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return the texts' vectors from the endpoint; raise ModelDown on failure and for `REST_S` seconds after."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        if time.monotonic() < self._resting_until:
            raise ModelDown(
                f"{self.model} failed a moment ago and is not called again for {REST_S:g} s. Try again then."
            )
        try:
            batches = [await self._embed_batch(texts[n : n + BATCH_SIZE]) for n in range(0, len(texts), BATCH_SIZE)]
        except ModelDown:
            self._resting_until = time.monotonic() + REST_S
            raise
        return np.concatenate(batches)

    async def _embed_batch(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of one request's texts, retried while the failure may pass and time is left."""
        # Endpoints refuse an empty text, so a space is sent; `_parse_vectors` sets the rows of blank texts to zero.
        body: dict[str, Any] = {"model": self._asked, "input": [text[:MAX_TEXT_CHARS] or " " for text in texts]}
        if self._size:
            body["dimensions"] = self._size
        with EmbeddingCall(self.model, len(texts)).log_when_done() as call:
            while True:
                call.tries += 1
                response = await self._post_request(body, self._timeout - call.elapsed_s)
                call.status = response.status_code if response is not None else None
                if response is not None and response.status_code < 400:
                    return self._parse_vectors(response, texts)
                # A refusal does not pass by waiting; an overload (429, 5xx) may.
                if response is not None and response.status_code < 500 and response.status_code != 429:
                    raise self._refused_error(response)
                wait = _retry_delay(response, call.tries - 1)
                if call.tries == MAX_TRIES or wait >= self._timeout - call.elapsed_s:
                    break
                await asyncio.sleep(wait)
            cause = f"status {call.status}" if call.status is not None else "no answer"
            raise ModelDown(f"{self.model} is not available ({cause}). Check MNEMON_EMBEDDER_BASE_URL.")

    async def _post_request(self, body: dict[str, Any], left: float) -> httpx2.Response | None:
        """Post to the embedding endpoint; return the response, None when the connection failed or timed out."""
        try:
            # Around the whole request: the client's own timeout counts anew for each read.
            async with asyncio.timeout(max(0.001, left)):
                return await self._http.post(self._url, json=body, headers=self._headers)
        except (httpx2.TransportError, TimeoutError):
            return None

    def _parse_vectors(self, response: httpx2.Response, texts: Sequence[str]) -> np.ndarray:
        """Return the response's vectors in the order of the texts; raise ModelDown when they do not fit."""
        try:
            # The API numbers the vectors; it does not promise their order.
            data = sorted(response.json()["data"], key=lambda row: row["index"])
            made = np.array([row["embedding"] for row in data], dtype=np.float32)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._unusable_error("it is not a list of vectors") from error
        if made.ndim != 2 or len(made) != len(texts) or not np.isfinite(made).all():
            raise self._unusable_error(f"it has the shape {made.shape} for {len(texts)} texts")
        if self.dimension not in (0, made.shape[1]):
            raise self._unusable_error(f"its vectors have {made.shape[1]} dimensions, not {self.dimension}")
        self.dimension = made.shape[1]
        made[[not text.strip() for text in texts]] = 0
        return scale_to_unit(made)

    def _unusable_error(self, why: str) -> ModelDown:
        """Return the error for an embedding response whose vectors cannot be used."""
        detail = f"{self.model} gave an answer that cannot be used: {why}. Check MNEMON_EMBEDDER."
        return ModelDown(detail, code="model_answer_unusable")

    def _refused_error(self, response: httpx2.Response) -> ModelDown:
        """Return the error for an embedding request that the endpoint refused."""
        detail = f"{self.model} refused ({response.status_code}). Check MNEMON_EMBEDDER and MNEMON_EMBEDDER_API_KEY."
        return ModelDown(detail, code="model_refused")


def _retry_delay(response: httpx2.Response | None, tried: int) -> float:
    """Return the seconds to wait before asking again: the server's Retry-After, or a delay doubled with each try."""
    retry_after = response.headers.get("retry-after", "") if response is not None else ""
    return float(retry_after) if retry_after.isdigit() else float(0.25 * 2**tried)
