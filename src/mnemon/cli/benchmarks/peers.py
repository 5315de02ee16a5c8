"""Other memory stores on the same lines, questions and vectors. One that is not installed is reported as such.

They are imported by name: where types are checked they are not installed.
"""

import contextlib
import io
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np

Embed = Callable[[Sequence[str]], np.ndarray]


class Peer(Protocol):
    """A store that can be filled and asked."""

    def add(self, user: str, ids: Sequence[str], texts: Sequence[str]) -> None: ...

    def search(self, user: str, query: str, limit: int) -> list[str]: ...


class Chroma:
    """chromadb, one collection per user, cosine, in memory."""

    def __init__(self, embed: Embed, database_url: str, folder: str) -> None:
        self._embed, self._client = embed, import_module("chromadb").EphemeralClient()

    def add(self, user: str, ids: Sequence[str], texts: Sequence[str]) -> None:
        held = self._client.get_or_create_collection(user, metadata={"hnsw:space": "cosine"})
        for start in range(0, len(ids), 1000):
            some = slice(start, start + 1000)
            held.add(ids=list(ids[some]), documents=list(texts[some]), embeddings=self._embed(texts[some]))

    def search(self, user: str, query: str, limit: int) -> list[str]:
        held = self._client.get_collection(user)
        return list(held.query(query_embeddings=self._embed([query]), n_results=limit)["ids"][0])


class LangGraph:
    """LangGraph's PostgresStore with its vector index, one namespace per user."""

    def __init__(self, embed: Embed, database_url: str, folder: str) -> None:
        index: Any = {"dims": embed(["a"]).shape[1], "embed": lambda texts: embed(texts).tolist(), "fields": ["text"]}
        self._opened = import_module("langgraph.store.postgres").PostgresStore.from_conn_string(
            database_url, index=index
        )
        self._store = self._opened.__enter__()
        self._store.setup()

    def add(self, user: str, ids: Sequence[str], texts: Sequence[str]) -> None:
        put = import_module("langgraph.store.base").PutOp
        for start in range(0, len(ids), 500):
            some = zip(ids[start : start + 500], texts[start : start + 500], strict=True)
            self._store.batch([put(("memories", user), name, {"text": text}) for name, text in some])

    def search(self, user: str, query: str, limit: int) -> list[str]:
        return [item.key for item in self._store.search(("memories", user), query=query, limit=limit)]


class Mem0:
    """mem0 with `infer` off and its default local store."""

    def __init__(self, embed: Embed, database_url: str, folder: str) -> None:
        os.environ.setdefault("MEM0_TELEMETRY", "False")
        os.environ.setdefault("MEM0_DIR", folder)
        os.environ.setdefault("OPENAI_API_KEY", "unused")
        size = embed(["a"]).shape[1]
        store = {"path": f"{folder}/qdrant", "embedding_model_dims": size, "on_disk": False}
        config = {"vector_store": {"provider": "qdrant", "config": store}, "history_db_path": f"{folder}/history.db"}
        self._memory = import_module("mem0").Memory.from_config(config)
        self._memory.embedding_model = _Embedding(embed)

    def add(self, user: str, ids: Sequence[str], texts: Sequence[str]) -> None:
        for name, text in zip(ids, texts, strict=True):
            self._memory.add(text, user_id=user, infer=False, metadata={"line": name})

    def search(self, user: str, query: str, limit: int) -> list[str]:
        found = self._memory.search(query, filters={"user_id": user}, top_k=limit, threshold=0.0)
        return [one["metadata"]["line"] for one in found["results"]]


class _Embedding:
    """The same vectors, as mem0 asks for them."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self.config = None

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return list(map(float, self._embed([text])[0]))

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        return [list(map(float, row)) for row in self._embed(texts)]


PEERS: dict[str, tuple[str, Callable[[Embed, str, str], Peer]]] = {
    "chromadb": ("chromadb", Chroma),
    "LangGraph PostgresStore": ("langgraph-checkpoint-postgres", LangGraph),
    "mem0": ("mem0ai", Mem0),
}
"""By name: the package, and how to open it."""


@contextmanager
def opened(name: str, embed: Embed, database_url: str) -> Iterator[tuple[Peer | None, str]]:
    """The peer and its version; None and the reason where it does not run."""
    package, make = PEERS[name]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        try:
            known = f"{package} {version(package)}"
        except PackageNotFoundError:
            yield None, f"{package} is not installed"
            return
        yield make(embed, database_url, folder), known
