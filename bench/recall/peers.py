"""Adapters to other memory stores, which get the same texts, questions and vectors as Mnemon.

A store that does not run is reported with the reason. The stores are imported by name, since they are not installed
where types are checked.
"""

import contextlib
import functools
import io
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bench.recall.hindsight import Hindsight
from mnemon.errors import Misconfigured

EmbedTexts = Callable[[Sequence[str]], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class PeerSetup:
    """What a peer needs to be opened."""

    embed: EmbedTexts
    """The embedding function that all stores use."""
    database_url: str
    """A database of the peers' own, with pgvector, on the server that Mnemon's is on."""
    folder: Path


class Peer(Protocol):
    """A store that can be filled and searched."""

    def add(self, user: str, ids: Sequence[str], texts: Sequence[str], times: Sequence[datetime]) -> None:
        """Store the texts for the user, with their ids and times."""
        ...

    def search(self, user: str, query: str, limit: int) -> list[str]:
        """Return the ids of the user's best texts, best first."""
        ...

    def close(self) -> None:
        """Release connections and processes."""
        ...


class Chroma:
    """chromadb in memory, one collection per user, cosine; `ef` is large enough that HNSW misses nothing here."""

    def __init__(self, place: PeerSetup) -> None:
        self._embed, self._client = place.embed, import_module("chromadb").EphemeralClient()

    def add(self, user: str, ids: Sequence[str], texts: Sequence[str], times: Sequence[datetime]) -> None:
        shape = {"hnsw:space": "cosine", "hnsw:construction_ef": 200, "hnsw:search_ef": 200}
        held = self._client.get_or_create_collection(user, metadata=shape)
        held.add(ids=list(ids), documents=list(texts), embeddings=self._embed(texts))

    def search(self, user: str, query: str, limit: int) -> list[str]:
        held = self._client.get_collection(user)
        return list(held.query(query_embeddings=self._embed([query]), n_results=limit)["ids"][0])

    def close(self) -> None:
        """Do nothing: the store ends with the process."""


class LangGraph:
    """LangGraph's PostgresStore, one namespace per user, with its HNSW index or with an exact scan."""

    def __init__(self, place: PeerSetup, kind: str) -> None:
        index: Any = {
            "dims": place.embed(["a"]).shape[1],
            "embed": lambda texts: place.embed(texts).tolist(),
            "fields": ["text"],
            "ann_index_config": {"kind": kind, "vector_type": "vector"},
        }
        url = _create_schema(place.database_url, f"langgraph_{kind}")
        self._opened = import_module("langgraph.store.postgres").PostgresStore.from_conn_string(url, index=index)
        self._store = self._opened.__enter__()
        self._store.setup()

    def add(self, user: str, ids: Sequence[str], texts: Sequence[str], times: Sequence[datetime]) -> None:
        put = import_module("langgraph.store.base").PutOp
        some = zip(ids, texts, strict=True)
        self._store.batch([put(("memories", user), name, {"text": text}) for name, text in some])

    def search(self, user: str, query: str, limit: int) -> list[str]:
        return [item.key for item in self._store.search(("memories", user), query=query, limit=limit)]

    def close(self) -> None:
        self._opened.__exit__(None, None, None)


class Mem0:
    """mem0 with `infer` off: its default local store, or pgvector with its HNSW index or without one."""

    def __init__(self, place: PeerSetup, store: str) -> None:
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["MEM0_DIR"] = str(place.folder)
        os.environ.setdefault("OPENAI_API_KEY", "unused")  # its constructor makes an OpenAI client that is never used
        size = place.embed(["a"]).shape[1]
        if store == "local":
            chosen = {"path": f"{place.folder}/qdrant", "embedding_model_dims": size, "on_disk": False}
        else:
            name = f"mem0_{store}"
            url = _create_schema(place.database_url, name)
            chosen = {"connection_string": url, "embedding_model_dims": size, "hnsw": store == "hnsw"}
        provider = "qdrant" if store == "local" else "pgvector"
        config = {
            "vector_store": {"provider": provider, "config": chosen},
            "history_db_path": f"{place.folder}/history.db",
        }
        self._memory = import_module("mem0").Memory.from_config(config)
        self._memory.embedding_model = _Embedding(place.embed)

    def add(self, user: str, ids: Sequence[str], texts: Sequence[str], times: Sequence[datetime]) -> None:
        for name, text in zip(ids, texts, strict=True):
            self._memory.add(text, user_id=user, infer=False, metadata={"line": name})

    def search(self, user: str, query: str, limit: int) -> list[str]:
        found = self._memory.search(query, filters={"user_id": user}, top_k=limit, threshold=0.0)
        return [one["metadata"]["line"] for one in found["results"]]

    def close(self) -> None:
        pool = getattr(self._memory.vector_store, "connection_pool", None)
        if pool is not None:
            pool.close()


class _Embedding:
    """The common embedding function in the interface that mem0 expects."""

    def __init__(self, embed: EmbedTexts) -> None:
        self._embed = embed
        self.config = None

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return list(map(float, self._embed([text])[0]))

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        return [list(map(float, row)) for row in self._embed(texts)]


def _create_schema(url: str, name: str) -> str:
    """Create a schema in the database; return a URL whose tables go there."""
    import psycopg
    from psycopg.conninfo import make_conninfo

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'create schema if not exists "{name}"')
    return make_conninfo(url, options=f"-c search_path={name},public")


PEERS: dict[str, tuple[str, Callable[[PeerSetup], Peer]]] = {
    "chromadb": ("chromadb", Chroma),
    "LangGraph PostgresStore, HNSW": ("langgraph-checkpoint-postgres", functools.partial(LangGraph, kind="hnsw")),
    "LangGraph PostgresStore, exact": ("langgraph-checkpoint-postgres", functools.partial(LangGraph, kind="flat")),
    "mem0, its local store": ("mem0ai", functools.partial(Mem0, store="local")),
    "mem0, pgvector HNSW": ("mem0ai", functools.partial(Mem0, store="hnsw")),
    "mem0, pgvector exact": ("mem0ai", functools.partial(Mem0, store="exact")),
    "Hindsight": ("hindsight-api-slim", lambda place: Hindsight(place.embed, place.folder)),
}
"""For each peer its package, for the version, and how to open it."""


@contextmanager
def open_peer(name: str, embed: EmbedTexts, database_url: str) -> Iterator[tuple[Peer | None, str]]:
    """Yield the peer and its version, or None and the reason why it does not run."""
    package, make = PEERS[name]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        try:
            known = Hindsight.version() if name == "Hindsight" else f"{package} {version(package)}"
            peer = make(PeerSetup(embed=embed, database_url=database_url, folder=Path(folder)))
        except PackageNotFoundError:
            yield None, f"not run: {package} is not installed"
            return
        except Misconfigured as error:
            yield None, f"not run: {error}"
            return
        try:
            yield peer, known
        finally:
            peer.close()
