"""Reads and writes notes."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from psycopg.types.json import Jsonb

from mnemon.db.statements import statements
from mnemon.db.tx import Row, Tx
from mnemon.notes.note import CALLER, Change, Changed, Clear, Delete, Note, Pop, Put, Search
from mnemon.notes.sweep import enqueue_sweep
from mnemon.scope import Scope
from mnemon.vectors import active
from mnemon.vectors.literal import literal
from mnemon.vectors.work import enqueue_embedding

SQL = statements("mnemon.notes")


async def change(scope: Scope, tx: Tx, changes: Sequence[Change]) -> list[Changed]:
    """All changes are made, in their order; a note that has expired is no obstacle to a new one."""
    puts = [one for one in changes if isinstance(one, Put)]
    if puts:
        await tx.run(SQL["sweep"], **_owner(scope), now=tx.now)
    made = [await _made(scope, tx, one) for one in changes]
    await _look_after(scope, tx, puts)
    return made


async def _look_after(scope: Scope, tx: Tx, puts: Sequence[Put]) -> None:
    """What was put gets the vectors it lacks, and is swept when its time is over."""
    if any(one.model != CALLER and one.vectors for one in puts):
        await active.begin(tx, scope, next(one.model for one in puts if one.model != CALLER and one.vectors))
    if any(one.texts.keys() - one.vectors.keys() for one in puts):
        await enqueue_embedding(tx, scope)
    if ttls := [one.ttl_s for one in puts if one.ttl_s is not None]:
        await enqueue_sweep(tx, scope, tx.now + timedelta(seconds=min(ttls)))


async def _made(scope: Scope, tx: Tx, wanted: Change) -> Changed:
    if isinstance(wanted, Put):
        return await _put(scope, tx, wanted)
    owner = _owner(scope)
    if isinstance(wanted, Delete):
        return Changed(count=await tx.run(SQL["delete"], **owner, namespace=[*wanted.namespace], key=wanted.key))
    if isinstance(wanted, Clear):
        return Changed(count=await tx.run(SQL["clear"], **owner, namespace=[*wanted.namespace]))
    if isinstance(wanted, Pop):
        row = await tx.maybe(SQL["pop"], **owner, namespace=[*wanted.namespace], now=tx.now)
        return Changed(count=int(row is not None), note=None if row is None else _note(row))
    return Changed(count=await tx.run(SQL["sweep"], **owner, now=tx.now))


async def _put(scope: Scope, tx: Tx, put: Put) -> Changed:
    owner, key = _owner(scope), put.key if put.key is not None else tx.new_id("nte")
    where = {**owner, "namespace": [*put.namespace], "key": key}
    count = await tx.run(
        SQL["put_if_absent" if put.if_absent else "put"],
        **where,
        value=Jsonb(put.value),
        ttl_s=put.ttl_s,
        expires_at=None if put.ttl_s is None else tx.now + timedelta(seconds=put.ttl_s),
        now=tx.now,
    )
    if count:
        await tx.run(SQL["drop_vectors"], **where)
        await tx.run(SQL["drop_texts"], **where)
        for part, content in put.texts.items():
            await tx.run(SQL["add_text"], **where, part=part, content=content)
        for part, vector in put.vectors.items():
            await tx.run(SQL["add_vector"], **where, model=put.model, part=part, vector=literal(vector))
    return Changed(count=count, key=key)


async def read(
    scope: Scope, tx: Tx, wanted: Sequence[tuple[Sequence[str], str]], *, refresh: bool
) -> list[Note | None]:
    """Each of the notes, None for one that is not there; with `refresh` they last their whole time again."""
    owner = _owner(scope)
    rows = [await tx.maybe(SQL["one"], **owner, namespace=[*ns], key=key, now=tx.now) for ns, key in wanted]
    found = [None if row is None else _note(row) for row in rows]
    if refresh:
        await _refresh(scope, tx, [note.place for note in found if note is not None])
    return found


async def search(scope: Scope, tx: Tx, wanted: Search, *, refresh: bool = False) -> list[Note]:
    """The notes that fit."""
    conditions = [{"path": [*c.path], "op": c.test, "value": c.value} for c in wanted.conditions]
    rows = await tx.all(
        SQL["search"],
        **_owner(scope),
        namespace=[*wanted.namespace],
        exact=wanted.exact,
        conditions=Jsonb(conditions),
        vector=None if wanted.vector is None else literal(wanted.vector),
        dimension=0 if wanted.vector is None else len(wanted.vector),
        model=wanted.model,
        order=wanted.order,
        before=wanted.before,
        after=wanted.after,
        most=wanted.most,
        offset=wanted.offset,
        now=tx.now,
    )
    found = [_note(row) for row in rows]
    if refresh:
        await _refresh(scope, tx, [note.place for note in found])
    return found


async def namespaces(
    scope: Scope, tx: Tx, *, prefix: Sequence[str], suffix: Sequence[str], depth: int, most: int, offset: int
) -> list[tuple[str, ...]]:
    """The namespaces that hold something and fit the patterns, in order."""
    rows = await tx.all(
        SQL["namespaces"],
        **_owner(scope),
        prefix=[*prefix],
        suffix=[*suffix],
        depth=depth,
        most=most,
        offset=offset,
        now=tx.now,
    )
    return [tuple(row["namespace"]) for row in rows]


async def _refresh(scope: Scope, tx: Tx, places: Sequence[int]) -> None:
    if places:
        await tx.run(SQL["refresh"], **_owner(scope), places=list(places), now=tx.now)


def _owner(scope: Scope) -> dict[str, Any]:
    return {"org_id": scope.org_id, "user_id": scope.user}


def _note(row: Row) -> Note:
    score = row.get("score")
    return Note(
        namespace=tuple(row["namespace"]),
        key=row["key"],
        value=row["value"],
        place=row["place"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        expires_at=row["expires_at"],
        score=None if score is None else float(score),
    )
