"""`/api/notes`: JSON values that programs and agent frameworks store for a person under a namespace and a key."""

from typing import Annotated, Any, Literal, Self

import numpy as np
from fastapi import APIRouter, Response
from pydantic import AfterValidator, Field, model_validator

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for, write_responses
from mnemon.api.models import ApiModel, Instant, Json, Name, Text
from mnemon.db.tx import Tx
from mnemon.notes import store
from mnemon.notes.note import (
    CALLER_MODEL,
    ClearNamespace,
    DeleteNote,
    NoteChange,
    NoteChangeResult,
    NoteCondition,
    NoteOrder,
    NoteSearch,
    NoteTest,
    PopNote,
    PutNote,
    StoredNote,
    SweepExpired,
)
from mnemon.services import Services
from mnemon.sessions.people import ensure_person
from mnemon.vectors.text_vectors import TextVectors, embed_texts

MAX_ADDRESS_BYTES = 2000
"""Most bytes of a namespace and a key together: what an index entry can hold."""

NoteLabel = Annotated[Text, Field(max_length=400)]


def _check_length(labels: list[str]) -> list[str]:
    """Return a namespace's labels; raise ValueError where they are too long together."""
    # The last quarter is left for the key.
    if sum(len(label.encode()) for label in labels) > MAX_ADDRESS_BYTES * 3 // 4:
        raise ValueError(f"is longer than {MAX_ADDRESS_BYTES * 3 // 4} bytes in all")
    return labels


Namespace = Annotated[list[NoteLabel], Field(max_length=20), AfterValidator(_check_length)]
NoteKey = Annotated[Text, Field(max_length=400)]
Vector = Annotated[
    list[Annotated[float, Field(allow_inf_nan=False, ge=-1e6, le=1e6)]], Field(min_length=1, max_length=4096)
]
TtlMinutes = Annotated[float, Field(gt=0, le=5_256_000, allow_inf_nan=False)]


class PutIn(ApiModel):
    """Write a note."""

    op: Literal["put"]
    namespace: Namespace
    key: NoteKey | None = Field(None, description="Left out: the note is added at the end, under a generated key.")
    value: Json
    ttl_minutes: TtlMinutes | None = Field(None, description="The note expires after this time.")
    if_absent: bool = Field(False, description="Write nothing if the note exists.")
    texts: dict[NoteLabel, Annotated[Text, Field(max_length=100_000)]] = Field(
        default_factory=dict, max_length=50, description="Texts to be found by meaning; the server embeds them."
    )
    vectors: dict[NoteLabel, Vector] = Field(
        default_factory=dict, max_length=50, description="The same, with vectors that the caller computed."
    )

    @model_validator(mode="after")
    def _check_one_given(self) -> Self:
        """Return the note to put; raise ValueError where it has texts and vectors both."""
        if self.texts and self.vectors:
            raise ValueError("has texts and vectors; send one of them")
        return self


class DeleteIn(ApiModel):
    """Delete a note."""

    op: Literal["delete"]
    namespace: Namespace
    key: NoteKey


class ClearIn(ApiModel):
    """Delete every note of a namespace."""

    op: Literal["clear"]
    namespace: Namespace


class PopIn(ApiModel):
    """Read the last note of a namespace and delete it."""

    op: Literal["pop"]
    namespace: Namespace


class SweepIn(ApiModel):
    """Delete the notes whose time to live is over."""

    op: Literal["sweep"]


ChangeIn = Annotated[PutIn | DeleteIn | ClearIn | PopIn | SweepIn, Field(discriminator="op")]


class WriteIn(ApiModel):
    """Changes to a person's notes, made in their order, all or none."""

    user_id: Name
    changes: list[ChangeIn] = Field(min_length=1, max_length=1000)


class AddressIn(ApiModel):
    """The namespace and the key of a note."""

    namespace: Namespace
    key: NoteKey


class ReadIn(ApiModel):
    """Notes to read."""

    user_id: Name
    notes: list[AddressIn] = Field(min_length=1, max_length=1000)
    refresh: bool = Field(False, description="Restart the time to live of these notes.")


class ConditionIn(ApiModel):
    """A condition on the value at a path of a note."""

    path: list[NoteLabel] = Field(min_length=1, max_length=20)
    test: NoteTest = NoteTest.EQ
    value: Json


class NoteSearchIn(ApiModel):
    """A search for notes by namespace, conditions, key order or meaning."""

    user_id: Name
    namespace: Namespace = Field(default_factory=list, description="Search in this namespace and below it.")
    exact: bool = Field(False, description="Search in this namespace only.")
    conditions: list[ConditionIn] = Field(default_factory=list, max_length=50)
    query: Annotated[Text, Field(max_length=20_000)] | None = None
    vector: Vector | None = None
    order: NoteOrder = NoteOrder.LATEST
    before: NoteKey | None = Field(None, description="Only keys below this one.")
    after: NoteKey | None = Field(None, description="Only keys above this one.")
    limit: int = Field(10, ge=1, le=1000)
    offset: int = Field(0, ge=0, le=1_000_000)
    refresh: bool = False


class NamespacesIn(ApiModel):
    """Patterns for namespaces."""

    user_id: Name
    prefix: Namespace = Field(default_factory=list, description="Labels it begins with; `*` stands for any.")
    suffix: Namespace = Field(default_factory=list, description="Labels it ends with; `*` stands for any.")
    max_depth: int = Field(20, ge=1, le=20)
    limit: int = Field(100, ge=1, le=1000)
    offset: int = Field(0, ge=0, le=1_000_000)


class NoteOut(ApiModel):
    """A note; `score` is its similarity where the search had a query."""

    namespace: list[str]
    key: str
    value: Any
    version: int
    created_at: Instant
    updated_at: Instant
    expires_at: Instant | None
    score: float | None

    @classmethod
    def from_note(cls, note: StoredNote) -> Self:
        """Return the response for a stored note."""
        return cls(
            namespace=list(note.namespace),
            key=note.key,
            value=note.value,
            version=note.version,
            created_at=note.created_at,
            updated_at=note.updated_at,
            expires_at=note.expires_at,
            score=note.score,
        )


class ChangedOut(ApiModel):
    """The result of one change."""

    count: int
    key: str | None
    note: NoteOut | None

    @classmethod
    def from_change(cls, changed: NoteChangeResult) -> Self:
        """Return the response for one change of notes: how many, the key, the note read."""
        return cls(
            count=changed.count,
            key=changed.key,
            note=None if changed.note is None else NoteOut.from_note(changed.note),
        )


class WrittenOut(ApiModel):
    """The results of the changes, in their order."""

    results: list[ChangedOut]


class ReadOut(ApiModel):
    """The notes, null for one that does not exist."""

    notes: list[NoteOut | None]


class FoundOut(ApiModel):
    """The notes that a search found."""

    notes: list[NoteOut]


class NamespacesOut(ApiModel):
    """The namespaces that hold at least one note."""

    namespaces: list[list[str]]


router = APIRouter(prefix="/api/notes", tags=["notes"], route_class=JsonRoute)


@router.post("/write", responses=write_responses(WrittenOut))
async def write_notes(body: WriteIn, door: Annotated[Door, needs(Grant.MEMORY_WRITE)]) -> Response:
    """Apply puts, deletes, clears, pops and sweeps in their order: all of them or none."""
    scope = door.person_scope(body.user_id)
    # Before the transaction: no connection and no lock is held while the embedder works.
    changes = await _embed_changes(door.services, body.changes)

    async def store_changes(tx: Tx) -> list[NoteChangeResult]:
        """Create the person if unknown, and apply the changes to their notes in order."""
        await ensure_person(tx, scope.org_id, body.user_id)
        return await store.apply_changes(tx, scope, changes)

    return await door.write(
        store_changes, lambda made: WrittenOut(results=[ChangedOut.from_change(one) for one in made])
    )


@router.post("/read", responses=responses_for(ReadOut))
async def read_notes(body: ReadIn, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """Return notes by namespace and key, null for one that does not exist."""
    scope = door.person_scope(body.user_id)
    async with door.tx() as tx:
        found = await store.read_notes(
            tx, scope, [(one.namespace, one.key) for one in body.notes], refresh=body.refresh
        )
    return door.reply(ReadOut(notes=[None if note is None else NoteOut.from_note(note) for note in found]))


@router.post("/search", responses=responses_for(FoundOut))
async def search_notes(body: NoteSearchIn, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """Search the notes below a namespace that meet every condition; with a query or a vector, nearest first."""
    scope = door.person_scope(body.user_id)
    wanted = await _note_search(door.services, body)
    async with door.tx() as tx:
        found = await store.search_notes(tx, scope, wanted, refresh=body.refresh)
    return door.reply(FoundOut(notes=[NoteOut.from_note(note) for note in found]))


@router.post("/namespaces", responses=responses_for(NamespacesOut))
async def list_namespaces(body: NamespacesIn, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """List the namespaces that hold a note and match the patterns."""
    scope = door.person_scope(body.user_id)
    async with door.tx() as tx:
        found = await store.list_namespaces(
            tx, scope, prefix=body.prefix, suffix=body.suffix, depth=body.max_depth, most=body.limit, offset=body.offset
        )
    return door.reply(NamespacesOut(namespaces=[list(one) for one in found]))


async def _embed_changes(services: Services, given: list[ChangeIn]) -> list[NoteChange]:
    """Return the note changes with the vectors of their texts, embedded in one call; without if that failed."""
    texts = [text for one in given if isinstance(one, PutIn) for text in one.texts.values()]
    made = await embed_texts(services.embedder, texts)
    return [_note_change(one, made) for one in given]


def _note_change(given: ChangeIn, made: TextVectors) -> NoteChange:
    """Return one change of the request in the form that `notes.store` takes, with the vectors of its texts."""
    if isinstance(given, PutIn):
        embedded = {part: made.by_text[text] for part, text in given.texts.items() if text in made.by_text}
        return PutNote(
            namespace=tuple(given.namespace),
            key=given.key,
            value=given.value,
            ttl_s=None if given.ttl_minutes is None else given.ttl_minutes * 60,
            if_absent=given.if_absent,
            texts=given.texts,
            vectors={**given.vectors, **embedded},
            model=made.model if given.texts else CALLER_MODEL,
        )
    if isinstance(given, DeleteIn):
        return DeleteNote(namespace=tuple(given.namespace), key=given.key)
    if isinstance(given, ClearIn):
        return ClearNamespace(namespace=tuple(given.namespace))
    return PopNote(namespace=tuple(given.namespace)) if isinstance(given, PopIn) else SweepExpired()


async def _note_search(services: Services, body: NoteSearchIn) -> NoteSearch:
    """Return the request's search in the form that `notes.store` takes; embed its query unless a vector is given."""
    vector: np.ndarray | list[float] | None = body.vector
    model = CALLER_MODEL
    if vector is None and body.query and body.query.strip():
        [vector] = await services.embedder.embed([body.query])
        model = services.embedder.model
    return NoteSearch(
        namespace=tuple(body.namespace),
        exact=body.exact,
        conditions=[NoteCondition(path=tuple(c.path), test=c.test, value=c.value) for c in body.conditions],
        vector=vector,
        model=model,
        order=body.order,
        before=body.before,
        after=body.after,
        most=body.limit,
        offset=body.offset,
    )
