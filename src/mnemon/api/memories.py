"""`/api/memories`: store, list, change and restore what is known about a person."""

from typing import Annotated, Literal

from fastapi import APIRouter, Body, Query, Response
from pydantic import BeforeValidator

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for, write_responses
from mnemon.api.memory_shapes import (
    BatchBody,
    BatchIn,
    MemoryIn,
    MemoryOut,
    MemoryPatch,
    RestoreIn,
    StatedOut,
    UnfoldedOut,
    VersionOut,
    stated_out,
)
from mnemon.api.models import ExistingName, IfMatch, Name, decode_cursor, parse_if_match, version_tag
from mnemon.db.tx import Tx
from mnemon.memory import browse, edit
from mnemon.memory.fact import MemoryType
from mnemon.memory.lifecycle import ArchiveStatus
from mnemon.memory.person_lock import lock_people
from mnemon.memory.plan import MemoryOutcome
from mnemon.memory.statements import StatementResult, embed_statements, store_statements
from mnemon.memory.store import MemoryFilter
from mnemon.memory.upkeep.curator_job import unfold_memory
from mnemon.sessions.people import external_name
from mnemon.vectors.text_vectors import embed_texts


def _refuse_as_of(value: object) -> object:
    """Raise ValueError: a list that ignored `asOf` would show the present in place of the past."""
    raise ValueError("is not accepted here: send it to POST /api/memories/search, or read a memory's history")


NoAsOf = Annotated[str | None, BeforeValidator(_refuse_as_of), Query(alias="asOf", include_in_schema=False)]
router = APIRouter(prefix="/api/memories", tags=["memories"], route_class=JsonRoute)

_STATED_RESPONSES = {**write_responses(StatedOut), **write_responses(StatedOut, status=201)}


@router.post("", responses=_STATED_RESPONSES)
async def remember(body: MemoryIn, door: Annotated[Door, needs(Grant.MEMORY_WRITE)]) -> Response:
    """Store a fact: create a memory, or update the one with the same key."""
    door.check_source(body.source)
    statement = body.as_statement(door.person_scope(body.user_id, body.persona_id))
    vectors = await embed_statements(door.services.embedder, [statement])
    # Embedded before the lock is taken, so that the person's other writers do not wait for the embedder.
    async with lock_people(door.services.db, [statement.scope.user]):
        return await door.write(
            lambda tx: store_statements(tx, [statement], vectors=vectors),
            lambda stated: stated_out(stated[0]),
            status=_created_status,
        )


@router.post("/batch", responses=write_responses(list[StatedOut]))
async def remember_batch(
    body: Annotated[BatchBody, Body()], door: Annotated[Door, needs(Grant.MEMORY_WRITE)]
) -> Response:
    """Store up to 1,000 facts in order, all of them or none."""
    given = body.memories if isinstance(body, BatchIn) else body
    for source in {one.source for one in given}:
        door.check_source(source)
    statements = [one.as_statement(door.person_scope(one.user_id, one.persona_id)) for one in given]
    vectors = await embed_statements(door.services.embedder, statements)
    # Writers of a person in this process queue here, where a waiting one holds no connection.
    async with lock_people(door.services.db, (one.scope.user for one in statements)):
        return await door.write(
            lambda tx: store_statements(tx, statements, vectors=vectors), lambda all_: [stated_out(one) for one in all_]
        )


def _created_status(stated: list[StatementResult]) -> int:
    """Return 201 where the statement created a memory, 200 where it changed or matched one."""
    return 201 if stated[0].outcome is MemoryOutcome.CREATED else 200


@router.get("", responses=responses_for(MemoryOut, page=True))
async def list_memories(
    door: Annotated[Door, needs(Grant.MEMORY_READ)],
    user_id: Annotated[Name, Query(alias="userId")],
    persona_id: Annotated[Name | None, Query(alias="personaId")] = None,
    type_: Annotated[MemoryType | None, Query(alias="type")] = None,
    status: ArchiveStatus | Literal["ALL"] = ArchiveStatus.ACTIVE,
    entity: ExistingName | None = None,
    source: Annotated[
        ExistingName | None, Query(description="Only what this source said: a memory's `origin`.")
    ] = None,
    q: ExistingName | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
    _as_of: NoAsOf = None,
) -> Response:
    """List the memories that the persona may see, newest first; without a persona, the global ones."""
    before = browse.parse_cursor(decode_cursor(cursor))
    wanted = MemoryFilter(type=type_, status=None if status == "ALL" else status, q=q, origin=source, before=before)
    async with door.tx() as tx:
        scope = door.person_scope(user_id, persona_id)
        found = await browse.list_memories(tx, scope, wanted, entity=entity, most=limit + 1)
    return door.page([MemoryOut.from_memory(one, user_id) for one in found], limit=limit, position=browse.cursor_of)


@router.get("/{memory_id}", responses=responses_for(MemoryOut))
async def get_memory(memory_id: str, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """Return a memory with the messages it came from; the header `ETag` has its `version`."""
    async with door.tx() as tx:
        scope = await browse.scope_of_memory(tx, door.visible_scope, memory_id)
        memory = await browse.get_memory(tx, scope, memory_id)
        name = await external_name(tx, scope)
    return door.reply(MemoryOut.from_memory(memory, name or ""), headers=version_tag(memory.version))


@router.patch("/{memory_id}", responses=write_responses(MemoryOut))
async def change_memory(
    memory_id: str, body: MemoryPatch, door: Annotated[Door, needs(Grant.MEMORY_WRITE)], if_match: IfMatch = None
) -> Response:
    """Change a memory; a replaced text is kept as a version. 409 for a `source` that is trusted less.

    A new text counts as a statement of its writer. Editing a claim states it anew: the response is the memory that
    holds it then. With `If-Match`, 412 if the memory's text is not that version's any more.
    """
    version = parse_if_match(if_match)
    # Before the transaction: no connection and no lock is held while the embedder works.
    vectors = await embed_texts(door.services.embedder, [body.content] if body.content else [])
    wanted = edit.MemoryEdit(**{**dict(body), "source": door.editor_source(body.source)})

    async def store_edit(tx: Tx) -> MemoryOut:
        """Change the memory, if the key may see its person, and return it as its response."""
        scope = await browse.scope_of_memory(tx, door.visible_scope, memory_id)
        memory = await edit.edit_memory(tx, scope, memory_id, wanted, vectors=vectors, version=version)
        return MemoryOut.from_memory(memory, await external_name(tx, scope) or "")

    return await door.write(store_edit)


@router.get("/{memory_id}/history", responses=responses_for(list[VersionOut]))
async def memory_history(memory_id: str, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """List every version in the order in which it was held, the current one last."""
    async with door.tx() as tx:
        scope = await browse.scope_of_memory(tx, door.visible_scope, memory_id)
        versions = await browse.list_versions(tx, scope, memory_id)
    return door.reply([VersionOut.from_version(one) for one in versions])


@router.post("/{memory_id}/restore", responses=write_responses(MemoryOut))
async def restore_memory(
    memory_id: str, door: Annotated[Door, needs(Grant.MEMORY_WRITE)], body: RestoreIn | None = None
) -> Response:
    """Make an archived memory active again; with `version`, bring back that version's text."""
    wanted = body or RestoreIn()
    source = door.editor_source(wanted.source)

    async def restore_version(tx: Tx) -> MemoryOut:
        """Restore the memory, if the key may see its person, and return it as its response."""
        scope = await browse.scope_of_memory(tx, door.visible_scope, memory_id)
        memory = await edit.restore_memory(tx, scope, memory_id, **{**dict(wanted), "source": source})
        return MemoryOut.from_memory(memory, await external_name(tx, scope) or "")

    return await door.write(restore_version)


@router.post("/{memory_id}/unfold", responses=write_responses(UnfoldedOut))
async def unfold(memory_id: str, door: Annotated[Door, needs(Grant.MEMORY_WRITE)]) -> Response:
    """Undo a fold of the curator: make its fragments active again and archive the fold. 409 if it is no active fold."""

    async def undo_fold(tx: Tx) -> UnfoldedOut:
        """Undo the fold, if the key may see its person, and return the result as the response."""
        scope = await browse.scope_of_memory(tx, door.visible_scope, memory_id)
        undone = await unfold_memory(tx, scope, memory_id)
        return UnfoldedOut.from_unfolded(undone, await external_name(tx, scope) or "")

    return await door.write(undo_fold)
