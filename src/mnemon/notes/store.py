"""The tables `notes`, `note_texts` and `note_vectors`."""

from collections.abc import Sequence
from datetime import timedelta

from psycopg.types.json import Jsonb

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.notes.note import (
    CALLER_MODEL,
    ClearNamespace,
    DeleteNote,
    NoteChange,
    NoteChangeResult,
    NoteSearch,
    PopNote,
    PutNote,
    StoredNote,
)
from mnemon.notes.upkeep import enqueue_sweep
from mnemon.scope import Scope
from mnemon.vectors import active_model
from mnemon.vectors.text_vectors import enqueue_embedding, vector_literal

SQL = load_statements("mnemon.notes")


async def apply_changes(tx: Tx, scope: Scope, changes: Sequence[NoteChange]) -> list[NoteChangeResult]:
    """Make all changes of a person's notes in their order; return the result of each."""
    puts = [one for one in changes if isinstance(one, PutNote)]
    if puts:
        # Otherwise an expired note that is not swept yet would count as present for `if_absent`, and keep its
        # version.
        await tx.execute(SQL["sweep"], **scope.owner_params, now=tx.now)
    results = [await _apply_change(tx, scope, one) for one in changes]
    await _enqueue_upkeep(tx, scope, puts)
    return results


async def _enqueue_upkeep(tx: Tx, scope: Scope, puts: Sequence[PutNote]) -> None:
    """Queue the embedding of notes' texts without a vector, and the sweep after the first note expires.

    A vector of the server's own embedder makes its model the active one where there is none yet.
    """
    if any(one.model != CALLER_MODEL and one.vectors for one in puts):
        await active_model.activate_first_model(
            tx, scope, next(one.model for one in puts if one.model != CALLER_MODEL and one.vectors)
        )
    if any(one.texts.keys() - one.vectors.keys() for one in puts):
        await enqueue_embedding(tx, scope)
    if ttls := [one.ttl_s for one in puts if one.ttl_s is not None]:
        await enqueue_sweep(tx, scope, tx.now + timedelta(seconds=min(ttls)))


async def _apply_change(tx: Tx, scope: Scope, change: NoteChange) -> NoteChangeResult:
    """Make one change of a person's notes: put, delete, clear, pop or sweep; return its result."""
    if isinstance(change, PutNote):
        return await _put_note(tx, scope, change)
    owner = scope.owner_params
    if isinstance(change, DeleteNote):
        return NoteChangeResult(
            count=await tx.execute(SQL["delete"], **owner, namespace=[*change.namespace], key=change.key)
        )
    if isinstance(change, ClearNamespace):
        return NoteChangeResult(count=await tx.execute(SQL["clear"], **owner, namespace=[*change.namespace]))
    if isinstance(change, PopNote):
        row = await tx.fetch_one_or_none(SQL["pop"], **owner, namespace=[*change.namespace], now=tx.now)
        return NoteChangeResult(count=int(row is not None), note=None if row is None else note_from_row(row))
    return NoteChangeResult(count=await tx.execute(SQL["sweep"], **owner, now=tx.now))


async def _put_note(tx: Tx, scope: Scope, put: PutNote) -> NoteChangeResult:
    """Write the note and replace its texts and vectors; `count` 0 when `if_absent` found one there."""
    owner, key = scope.owner_params, put.key if put.key is not None else tx.new_id("nte")
    address = {**owner, "namespace": [*put.namespace], "key": key}
    count = await tx.execute(
        SQL["put_if_absent" if put.if_absent else "put"],
        **address,
        value=Jsonb(put.value),
        ttl_s=put.ttl_s,
        expires_at=None if put.ttl_s is None else tx.now + timedelta(seconds=put.ttl_s),
        now=tx.now,
    )
    if count:
        # They describe the value that was overwritten.
        await tx.execute(SQL["drop_vectors"], **address)
        await tx.execute(SQL["drop_texts"], **address)
        for part, content in put.texts.items():
            await tx.execute(SQL["add_text"], **address, part=part, content=content)
        for part, vector in put.vectors.items():
            await tx.execute(SQL["add_vector"], **address, model=put.model, part=part, vector=vector_literal(vector))
    return NoteChangeResult(count=count, key=key)


async def read_notes(
    tx: Tx, scope: Scope, wanted: Sequence[tuple[Sequence[str], str]], *, refresh: bool
) -> list[StoredNote | None]:
    """Return the notes at these addresses, None for a missing one; `refresh` restarts their time to live."""
    owner = scope.owner_params
    rows = [await tx.fetch_one_or_none(SQL["one"], **owner, namespace=[*ns], key=key, now=tx.now) for ns, key in wanted]
    found = [None if row is None else note_from_row(row) for row in rows]
    if refresh:
        await _refresh_expiry(tx, scope, [note.place for note in found if note is not None])
    return found


async def search_notes(tx: Tx, scope: Scope, wanted: NoteSearch, *, refresh: bool = False) -> list[StoredNote]:
    """Return the person's notes that meet the criteria; `refresh` restarts their time to live."""
    conditions = [{"path": [*c.path], "op": c.test, "value": c.value} for c in wanted.conditions]
    rows = await tx.fetch_all(
        SQL["search"],
        **scope.owner_params,
        namespace=[*wanted.namespace],
        exact=wanted.exact,
        conditions=Jsonb(conditions),
        vector=None if wanted.vector is None else vector_literal(wanted.vector),
        # pgvector raises when it compares vectors of different dimensions, and callers bring their own models.
        dimension=0 if wanted.vector is None else len(wanted.vector),
        model=wanted.model,
        order=wanted.order,
        before=wanted.before,
        after=wanted.after,
        most=wanted.most,
        offset=wanted.offset,
        now=tx.now,
    )
    found = [note_from_row(row) for row in rows]
    if refresh:
        await _refresh_expiry(tx, scope, [note.place for note in found])
    return found


async def list_namespaces(
    tx: Tx, scope: Scope, *, prefix: Sequence[str], suffix: Sequence[str], depth: int, most: int, offset: int
) -> list[tuple[str, ...]]:
    """Return the namespaces that contain notes and match the prefix and suffix, in order, cut to `depth`.

    In a prefix or suffix, `*` matches any label.
    """
    rows = await tx.fetch_all(
        SQL["namespaces"],
        **scope.owner_params,
        prefix=[*prefix],
        suffix=[*suffix],
        depth=depth,
        most=most,
        offset=offset,
        now=tx.now,
    )
    return [tuple(row["namespace"]) for row in rows]


async def _refresh_expiry(tx: Tx, scope: Scope, places: Sequence[int]) -> None:
    """Restart the time to live of the notes at these positions."""
    if places:
        await tx.execute(SQL["refresh"], **scope.owner_params, places=list(places), now=tx.now)


def note_from_row(row: Row) -> StoredNote:
    """Return a row of `notes` as a StoredNote, with its score where it was searched by meaning."""
    score = row.get("score")
    return from_row(StoredNote, row, score=None if score is None else float(score))
