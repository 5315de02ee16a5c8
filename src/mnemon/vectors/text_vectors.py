"""Embed texts before a transaction begins, or enqueue it; an embedder that is down delays vectors and fails nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np

from mnemon.db.tx import Tx
from mnemon.embedding.embedder import Embedder
from mnemon.errors import ModelDown
from mnemon.jobs.store import enqueue_work
from mnemon.scope import Scope

EMBED_KIND = "embed"
"""The kind of work that embeds a person's texts; its key is the user id."""
EMBED_DELAY = timedelta(milliseconds=500)
"""Delay for messages of a conversation, so that several are embedded together. Search finds their words at once."""


@dataclass(frozen=True, kw_only=True)
class TextVectors:
    """Texts with their vectors of one model; empty while the embedder is down."""

    model: str
    by_text: Mapping[str, np.ndarray] = field(default_factory=dict)


async def embed_texts(embedder: Embedder, texts: Sequence[str]) -> TextVectors:
    """Return the embeddings of the texts, or none of them when the embedder does not answer."""
    wanted = list(dict.fromkeys(texts))
    if not wanted:
        return TextVectors(model=embedder.model)
    try:
        made = await embedder.embed(wanted)
    except ModelDown:
        return TextVectors(model=embedder.model)
    return TextVectors(model=embedder.model, by_text=dict(zip(wanted, made, strict=True)))


async def embed_query(embedder: Embedder, text: str) -> np.ndarray | None:
    """Return the embedding of a query; None when the embedder does not answer or the text has no words."""
    vector = (await embed_texts(embedder, [text])).by_text.get(text)
    return vector if vector is not None and np.any(vector) else None


async def enqueue_embedding(tx: Tx, scope: Scope, *, after: timedelta = timedelta(0)) -> None:
    """Enqueue the work of embedding the person's texts that have no vector, due after a delay."""
    await enqueue_work(tx, scope, EMBED_KIND, scope.user, due_at=tx.now + after)


async def probe_dimension(embedder: Embedder) -> int:
    """Return the length of the embedder's vectors, embedding a text if it is unknown; 0 while the embedder is down."""
    if not embedder.dimension:
        await embed_texts(embedder, ["how long is this vector?"])
    return embedder.dimension


def vector_literal(vector: np.ndarray | Sequence[float]) -> str:
    """Return the vector as a pgvector literal, `[0.1,…]`."""
    # Seven significant digits: about as many as a float32 holds.
    values = vector.tolist() if isinstance(vector, np.ndarray) else vector
    return "[" + ",".join(["%.7g"] * len(values)) % tuple(values) + "]"
