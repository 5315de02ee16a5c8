"""`/api/notes`: JSON that programs and frameworks keep for a person under a namespace and a key."""

from typing import Annotated

import numpy as np
from fastapi import APIRouter, Response

from mnemon.access.grants import Grant
from mnemon.api.door import Door, documented, needs
from mnemon.api.json_route import JsonRoute
from mnemon.api.note_shapes import (
    ChangedOut,
    ChangeIn,
    ClearIn,
    DeleteIn,
    FoundOut,
    NamespacesIn,
    NamespacesOut,
    NoteOut,
    PopIn,
    PutIn,
    ReadIn,
    ReadOut,
    SearchIn,
    WriteIn,
    WrittenOut,
)
from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.notes import store
from mnemon.notes.note import CALLER, Change, Changed, Clear, Condition, Delete, Pop, Put, Search, Sweep
from mnemon.sessions.people import ensure_person
from mnemon.vectors.embed import Vectors, embed_texts

router = APIRouter(prefix="/api/notes", tags=["notes"], route_class=JsonRoute)


@router.post("/write", responses=documented(WrittenOut))
async def write_notes(body: WriteIn, door: Annotated[Door, needs(Grant.MEMORY_WRITE)]) -> Response:
    """All changes are made, or none: puts, deletes, clears, pops, sweeps, in their order."""
    scope = door.person(body.user_id)
    changes = await _changes(door.basement, body.changes)

    async def effect(tx: Tx) -> list[Changed]:
        await ensure_person(tx, scope.org_id, body.user_id)
        return await store.change(scope, tx, changes)

    return await door.write(effect, lambda made: WrittenOut(results=[ChangedOut.of(one) for one in made]))


@router.post("/read", responses=documented(ReadOut))
async def read_notes(body: ReadIn, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """The notes by their addresses, null for one that is not there."""
    scope = door.person(body.user_id)
    async with door.tx() as tx:
        found = await store.read(scope, tx, [(one.namespace, one.key) for one in body.notes], refresh=body.refresh)
    return door.reply(ReadOut(notes=[None if note is None else NoteOut.of(note) for note in found]))


@router.post("/search", responses=documented(FoundOut))
async def search_notes(body: SearchIn, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """Notes below a namespace that meet every condition; with a query or a vector, nearest first."""
    scope = door.person(body.user_id)
    wanted = await _wanted(door.basement, body)
    async with door.tx() as tx:
        found = await store.search(scope, tx, wanted, refresh=body.refresh)
    return door.reply(FoundOut(notes=[NoteOut.of(note) for note in found]))


@router.post("/namespaces", responses=documented(NamespacesOut))
async def list_namespaces(body: NamespacesIn, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """The namespaces that hold something and fit the patterns."""
    scope = door.person(body.user_id)
    async with door.tx() as tx:
        found = await store.namespaces(
            scope, tx, prefix=body.prefix, suffix=body.suffix, depth=body.max_depth, most=body.limit, offset=body.offset
        )
    return door.reply(NamespacesOut(namespaces=[list(one) for one in found]))


async def _changes(basement: Basement, given: list[ChangeIn]) -> list[Change]:
    """The changes with the vectors of their texts, all texts embedded in one go; later where the embedder is down."""
    texts = [text for one in given if isinstance(one, PutIn) for text in one.texts.values()]
    made = await embed_texts(basement.embedder, texts)
    return [_change(one, made) for one in given]


def _change(given: ChangeIn, made: Vectors) -> Change:
    if isinstance(given, PutIn):
        ours = {part: made.by_text[text] for part, text in given.texts.items() if text in made.by_text}
        return Put(
            namespace=tuple(given.namespace),
            key=given.key,
            value=given.value,
            ttl_s=None if given.ttl_minutes is None else given.ttl_minutes * 60,
            if_absent=given.if_absent,
            texts=given.texts,
            vectors={**given.vectors, **ours},
            model=made.model if given.texts else CALLER,
        )
    if isinstance(given, DeleteIn):
        return Delete(namespace=tuple(given.namespace), key=given.key)
    if isinstance(given, ClearIn):
        return Clear(namespace=tuple(given.namespace))
    return Pop(namespace=tuple(given.namespace)) if isinstance(given, PopIn) else Sweep()


async def _wanted(basement: Basement, body: SearchIn) -> Search:
    vector: np.ndarray | list[float] | None = body.vector
    model = CALLER
    if vector is None and body.query and body.query.strip():
        [vector] = await basement.embedder.embed([body.query])
        model = basement.embedder.model
    return Search(
        namespace=tuple(body.namespace),
        exact=body.exact,
        conditions=[Condition(path=tuple(c.path), test=c.test, value=c.value) for c in body.conditions],
        vector=vector,
        model=model,
        order=body.order,
        before=body.before,
        after=body.after,
        most=body.limit,
        offset=body.offset,
    )
