"""LangGraph's checkpoint saver over notes: `builder.compile(checkpointer=MnemonSaver(client))`.

A checkpoint is a note under (thread, namespace), a pending write a note under (thread, namespace, checkpoint). What
LangGraph serializes is stored unchanged in base64; the metadata is also stored as plain JSON, to filter by.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from mnemon_client import Mnemon
from mnemon_client.shapes import Note

CHECKPOINTS, WRITES = "langgraph-checkpoints", "langgraph-writes"
_PAGE_SIZE = 200
Notes = list[Note]
"""An alias, because inside the saver `list` is a method."""
T = TypeVar("T")


class MnemonSaver(BaseCheckpointSaver[int]):
    """Checkpoints in the notes of the client's person.

    Create it inside a running event loop. The sync methods run their work in that loop, so call them from other
    threads.
    """

    def __init__(self, client: Mnemon, *, serde: SerializerProtocol | None = None) -> None:
        """Make a checkpoint saver over a client, whose person's notes hold the checkpoints; needs a running loop."""
        super().__init__(serde=serde)
        self.client = client
        self._loop = asyncio.get_running_loop()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that the config names, or the thread's latest; None if there is none."""
        thread, ns, checkpoint_id = _config_ids(config)
        where = [CHECKPOINTS, thread, ns]
        if checkpoint_id is not None:
            [note] = await self.client.read_notes([(where, checkpoint_id)])
        else:
            # LangGraph's checkpoint ids sort by time, so that the greatest key is the latest.
            note = next(iter(await self.client.search_notes(where, exact=True, order="-key", limit=1)), None)
        return None if note is None else await self._checkpoint_tuple(note)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield the checkpoints of the config's thread, or of all threads, newest first."""
        where, checkpoint_id = _config_namespace(config)
        before_id = None if before is None else get_checkpoint_id(before)
        left = limit
        async for note in self._iter_notes(where, conditions=_metadata_conditions(filter), before=before_id):
            if left is not None and left <= 0:
                return
            if checkpoint_id in (None, note["key"]):
                left = None if left is None else left - 1
                yield await self._checkpoint_tuple(note)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint as a note; return the config that names it."""
        thread, ns, parent = _config_ids(config)
        whole = get_checkpoint_metadata(config, metadata)
        value = {
            "parent": parent,
            "checkpoint": self._pack_value(checkpoint),
            # Twice: as JSON to filter by, which may lose types, and serialized to be given back unchanged.
            "metadata": _storable_json(whole),
            "exactMetadata": self._pack_value(whole),
        }
        put = {"op": "put", "namespace": [CHECKPOINTS, thread, ns], "key": checkpoint["id"], "value": value}
        await self.client.write_notes([put])
        return _make_config(thread, ns, checkpoint["id"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the pending writes of a task as notes; repeating a call does not change results that were stored."""
        thread, ns, checkpoint_id = _config_ids(config)
        changes = []
        for place, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, place)
            held = {
                "task": task_id,
                "path": task_path,
                "index": index,
                "channel": channel,
                "value": self._pack_value(value),
            }
            changes.append(
                {
                    "op": "put",
                    "namespace": [WRITES, thread, ns, str(checkpoint_id)],
                    "key": f"{task_id}:{index}",
                    "value": held,
                    "ifAbsent": index >= 0,  # errors and interrupts are overwritten, results are kept as first written
                }
            )
        if changes:
            await self.client.write_notes(changes)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread's checkpoints and pending writes."""
        await self.client.write_notes(_clear_changes(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of these runs with their pending writes."""
        for run_id in run_ids:
            found = [
                note
                async for note in self._iter_notes(
                    [CHECKPOINTS], conditions=_metadata_conditions({"run_id": str(run_id)})
                )
            ]
            await self._remove_checkpoints(found)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread's checkpoints and pending writes to another thread."""
        for kind in (CHECKPOINTS, WRITES):
            async for note in self._iter_notes([kind, source_thread_id], order="place"):
                where = [kind, target_thread_id, *note["namespace"][2:]]
                put = {"op": "put", "namespace": where, "key": note["key"], "value": note["value"]}
                await self.client.write_notes([put])

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the latest checkpoint of each namespace of these threads; with strategy `delete`, all."""
        for thread in thread_ids:
            if strategy == "delete":
                await self.adelete_thread(thread)
                continue
            seen: set[str] = set()
            older: Notes = []
            async for note in self._iter_notes([CHECKPOINTS, thread]):
                # Notes come newest first, so that the first of each namespace is the one to keep.
                (older if note["namespace"][2] in seen else []).append(note)
                seen.add(note["namespace"][2])
            await self._remove_checkpoints(older)

    async def _remove_checkpoints(self, notes: Sequence[Note]) -> None:
        """Delete the checkpoints in these notes, each with its pending writes."""
        for note in notes:
            _, thread, ns = note["namespace"]
            gone = {"op": "delete", "namespace": note["namespace"], "key": note["key"]}
            await self.client.write_notes([gone, {"op": "clear", "namespace": [WRITES, thread, ns, note["key"]]}])

    async def _iter_notes(self, where: Sequence[str], *, order: str = "-key", **search: Any) -> AsyncIterator[Note]:
        """Yield all notes below a namespace, of however many pages."""
        known = {name: value for name, value in search.items() if value}
        found: Notes = []
        # Read all pages before the first note is yielded: the caller may delete notes, which would shift the pages.
        while True:
            page = await self.client.search_notes(where, order=order, limit=_PAGE_SIZE, offset=len(found), **known)
            found += page
            if len(page) < _PAGE_SIZE:
                break
        for note in found:
            yield note

    async def _checkpoint_tuple(self, note: Note) -> CheckpointTuple:
        """Return a checkpoint's note as LangGraph's tuple, with the pending writes read from their notes."""
        _, thread, ns = note["namespace"]
        writes = [one async for one in self._iter_notes([WRITES, thread, ns, note["key"]], order="place")]
        held = sorted((one["value"] for one in writes), key=lambda w: writes_sort_key(w["path"], w["task"], w["index"]))
        parent = note["value"]["parent"]
        return CheckpointTuple(
            config=_make_config(thread, ns, note["key"]),
            checkpoint=self._unpack_value(note["value"]["checkpoint"]),
            metadata=self._unpack_value(note["value"]["exactMetadata"]),
            parent_config=_make_config(thread, ns, parent) if parent else None,
            pending_writes=[(write["task"], write["channel"], self._unpack_value(write["value"])) for write in held],
        )

    def _pack_value(self, value: Any) -> dict[str, str]:
        """Return the value serialized by LangGraph, in base64 beside the name of its format."""
        kind, data = self.serde.dumps_typed(value)
        return {"type": kind, "data": base64.b64encode(data).decode()}

    def _unpack_value(self, packed: dict[str, str]) -> Any:
        """Return the value that `_pack_value` serialized."""
        return self.serde.loads_typed((packed["type"], base64.b64decode(packed["data"])))

    def _run_blocking(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the saver's loop and wait for it; raise InvalidStateError when called from that loop."""
        try:
            if asyncio.get_running_loop() is self._loop:
                # An unawaited coroutine would warn; waiting here would block the loop that has to run it.
                work.close()
                raise asyncio.InvalidStateError("In the saver's own loop, use the async methods: aget_tuple, aput, …")
        except RuntimeError:
            pass
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that the config names, or the thread's latest, or None; blocks."""
        return self._run_blocking(self.aget_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints of the config's thread, or of all threads, newest first; blocks."""

        async def collect_tuples() -> Any:
            """Return all checkpoints that `alist` yields, since a thread cannot iterate in another one's loop."""
            return [one async for one in self.alist(config, filter=filter, before=before, limit=limit)]

        yield from self._run_blocking(collect_tuples())

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint as a note and return the config that names it; blocks."""
        return self._run_blocking(self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the pending writes of a task as notes; blocks."""
        self._run_blocking(self.aput_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread's checkpoints and pending writes; blocks."""
        self._run_blocking(self.adelete_thread(thread_id))


def _config_ids(config: RunnableConfig) -> tuple[str, str, str | None]:
    """Return the thread, the checkpoint namespace and the checkpoint id (None for the latest) of a config."""
    named = config["configurable"]
    return str(named["thread_id"]), str(named.get("checkpoint_ns", "")), get_checkpoint_id(config)


def _config_namespace(config: RunnableConfig | None) -> tuple[Sequence[str], str | None]:
    """Return the namespace of notes that holds a config's checkpoints, and the id of the one it names, if any."""
    named = {} if config is None else config.get("configurable", {})
    if "thread_id" not in named:
        return [CHECKPOINTS], None
    where = [CHECKPOINTS, str(named["thread_id"])]
    if "checkpoint_ns" in named:
        where.append(str(named["checkpoint_ns"]))
    return where, None if config is None else get_checkpoint_id(config)


def _make_config(thread: str, ns: str, checkpoint_id: str) -> RunnableConfig:
    """Return the config that names this checkpoint of a thread."""
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}}


def _metadata_conditions(wanted: dict[str, Any] | None) -> Sequence[dict[str, Any]]:
    """Return the search conditions for checkpoints whose metadata have these values."""
    return [
        {
            "path": ["metadata", name],
            "test": "contains" if isinstance(value, dict) else "eq",
            "value": _storable_json(value),
        }
        for name, value in (wanted or {}).items()
    ]


def _clear_changes(thread: str) -> Sequence[dict[str, Any]]:
    """Return the changes of notes that delete a thread's checkpoints and pending writes."""
    return [{"op": "clear", "namespace": [kind, thread]} for kind in (CHECKPOINTS, WRITES)]


def _storable_json(value: Any) -> Any:
    """Return the value as JSON that the database accepts: other types as text, without NUL characters."""
    text = json.dumps(value, default=str, ensure_ascii=True).replace("\\u0000", "")
    return cast("Any", json.loads(text))
