"""LangGraph's `BaseStore` over notes: `MnemonStore` for async graphs, `SyncMnemonStore` for the others.

`graph = builder.compile(store=MnemonStore(client))`; the items belong to the client's person.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
    validate_op_namespace,
)
from langgraph.store.base.batch import AsyncBatchedBaseStore

from mnemon_client import Mnemon, SyncMnemon
from mnemon_client.integrations import langgraph_ops as as_notes

_BATCH_SIZE = 500


class _IndexedStore:
    """What both stores share: search by meaning with the store's own embeddings, or with the server's."""

    supports_ttl = True
    index_config: IndexConfig | None
    ttl_config: TTLConfig | None

    def _configure_index(self, index: IndexConfig | None, ttl: TTLConfig | None) -> None:
        """Keep the index and TTL configurations, and derive the embeddings and the fields to be embedded."""
        self.index_config = index
        self.ttl_config = ttl
        embed = (index or {}).get("embed")
        self.embeddings = None if embed is None else ensure_embeddings(embed)
        named: Any = {**(index or {})}
        self._fields: Sequence[str] = named.get("fields") or named.get("text_fields") or ["$"]

    def _index_texts(self, puts: Sequence[PutOp]) -> list[as_notes.Texts]:
        """Return for each put the texts to be found by meaning; empty ones for a store without an index."""
        return [as_notes.texts_of(op, self._fields) if self.index_config is not None else {} for op in puts]


class MnemonStore(_IndexedStore, AsyncBatchedBaseStore):
    """Items in the notes of the client's person."""

    def __init__(self, client: Mnemon, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> None:
        """Make a LangGraph store over a client, whose person's notes hold the items."""
        super().__init__()
        self.client = client
        self._configure_index(index, ttl)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run a batch of LangGraph's store operations; reads see the state before the batch's writes."""
        requested = list(ops)
        for op in requested:
            validate_op_namespace(op)
        kinds = as_notes.split(requested)
        results: list[Any] = [None] * len(requested)
        if gets := kinds[GetOp]:
            await self._read_items(gets, results)
        for place, op in kinds[SearchOp]:
            results[place] = await self._search_items(op)
        for place, op in kinds[ListNamespacesOp]:
            found = await self.client.note_namespaces(**as_notes.listing_of(op))
            results[place] = [tuple(one) for one in found]
        if puts := [op for _, op in kinds[PutOp]]:
            changes = await self._put_changes(puts)
            for some in batches(changes):
                await self.client.write_notes(some)
        return results

    async def sweep_ttl(self) -> int:
        """Delete the store's expired items, which no read returns anyway; return their number."""
        [swept] = await self.client.write_notes([{"op": "sweep"}])
        return int(swept["count"])

    async def _read_items(self, gets: Sequence[tuple[int, GetOp]], results: list[Any]) -> None:
        """Read the items of these get operations and put each, or None, into its place in `results`."""
        # A request refreshes all of its notes or none, so there are two groups.
        for refresh in (False, True):
            some = [(place, op) for place, op in gets if bool(op.refresh_ttl) is refresh]
            for part in batches(some):
                notes = await self.client.read_notes([(op.namespace, op.key) for _, op in part], refresh=refresh)
                for (place, _), note in zip(part, notes, strict=True):
                    results[place] = None if note is None else as_notes.item_of(note)

    async def _search_items(self, op: SearchOp) -> list[Any]:
        """Return the items that a search operation finds; empty for a filter that nothing can meet."""
        try:
            params = as_notes.search_of(op)
        except as_notes.UnmeetableFilter:
            return []
        if op.query and self.embeddings is not None:
            params["vector"] = await self.embeddings.aembed_query(op.query)
        # Without embeddings of its own: the server embeds the query, as it did the items' texts.
        elif op.query and self.index_config is not None:
            params["query"] = op.query
        return [as_notes.found_of(note) for note in await self.client.search_notes(op.namespace_prefix, **params)]

    async def _put_changes(self, puts: Sequence[PutOp]) -> list[dict[str, Any]]:
        """Return put operations as changes of notes, embedded here if the store has embeddings."""
        texts = self._index_texts(puts)
        if self.embeddings is None:
            return [as_notes.change_of(op, texts=part) for op, part in zip(puts, texts, strict=True)]
        flat = [text for part in texts for text in part.values()]
        made = iter(await self.embeddings.aembed_documents(flat) if flat else [])
        return [as_notes.change_of(op, vectors=vectors_of(part, made)) for op, part in zip(puts, texts, strict=True)]


class SyncMnemonStore(_IndexedStore, BaseStore):
    """The same store for a graph that is not async."""

    def __init__(self, client: SyncMnemon, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> None:
        """Make a LangGraph store over a blocking client, whose person's notes hold the items."""
        super().__init__()
        self.client = client
        self._configure_index(index, ttl)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run a batch of LangGraph's store operations in a thread, for an async caller."""
        import asyncio

        return await asyncio.to_thread(self.batch, list(ops))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run a batch of LangGraph's store operations; reads see the state before the batch's writes."""
        requested = list(ops)
        for op in requested:
            validate_op_namespace(op)
        kinds = as_notes.split(requested)
        results: list[Any] = [None] * len(requested)
        if gets := kinds[GetOp]:
            self._read_items(gets, results)
        for place, op in kinds[SearchOp]:
            results[place] = self._search_items(op)
        for place, op in kinds[ListNamespacesOp]:
            found = self.client.note_namespaces(**as_notes.listing_of(op))
            results[place] = [tuple(one) for one in found]
        if puts := [op for _, op in kinds[PutOp]]:
            for some in batches(self._put_changes(puts)):
                self.client.write_notes(some)
        return results

    def sweep_ttl(self) -> int:
        """Delete the store's expired items, which no read returns anyway; return their number."""
        [swept] = self.client.write_notes([{"op": "sweep"}])
        return int(swept["count"])

    def _read_items(self, gets: Sequence[tuple[int, GetOp]], results: list[Any]) -> None:
        """Read the items of these get operations and put each, or None, into its place in `results`."""
        for refresh in (False, True):
            some = [(place, op) for place, op in gets if bool(op.refresh_ttl) is refresh]
            for part in batches(some):
                notes = self.client.read_notes([(op.namespace, op.key) for _, op in part], refresh=refresh)
                for (place, _), note in zip(part, notes, strict=True):
                    results[place] = None if note is None else as_notes.item_of(note)

    def _search_items(self, op: SearchOp) -> list[Any]:
        """Return the items that a search operation finds; empty for a filter that nothing can meet."""
        try:
            params = as_notes.search_of(op)
        except as_notes.UnmeetableFilter:
            return []
        if op.query and self.embeddings is not None:
            params["vector"] = self.embeddings.embed_query(op.query)
        # Without embeddings of its own: the server embeds the query, as it did the items' texts.
        elif op.query and self.index_config is not None:
            params["query"] = op.query
        return [as_notes.found_of(note) for note in self.client.search_notes(op.namespace_prefix, **params)]

    def _put_changes(self, puts: Sequence[PutOp]) -> list[dict[str, Any]]:
        """Return put operations as changes of notes, embedded here if the store has embeddings."""
        texts = self._index_texts(puts)
        if self.embeddings is None:
            return [as_notes.change_of(op, texts=part) for op, part in zip(puts, texts, strict=True)]
        flat = [text for part in texts for text in part.values()]
        made = iter(self.embeddings.embed_documents(flat) if flat else [])
        return [as_notes.change_of(op, vectors=vectors_of(part, made)) for op, part in zip(puts, texts, strict=True)]


def batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Return the items in slices of 500, as many as one request for notes takes."""
    return (items[start : start + _BATCH_SIZE] for start in range(0, len(items), _BATCH_SIZE))


def vectors_of(parts: as_notes.Texts, made: Iterator[list[float]]) -> dict[str, list[float]]:
    """Return the embedding of each text by its path; takes the next vectors of the iterator."""
    return {part: next(made) for part in parts}
