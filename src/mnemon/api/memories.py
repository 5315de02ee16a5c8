"""`/api/memories`: what is known about a person."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from mnemon.access.grants import Grant
from mnemon.api.door import Door, documented, needs
from mnemon.api.json_route import JsonRoute
from mnemon.api.memory_shapes import (
    BatchIn,
    MemoryIn,
    MemoryOut,
    MemoryPatch,
    RestoreIn,
    StatedOut,
    VersionOut,
    stated_out,
)
from mnemon.api.wire import HeldName, Name, position_of
from mnemon.db.tx import Tx
from mnemon.memory import browse, edit
from mnemon.memory.fact import API, MemoryType
from mnemon.memory.lifecycle import Status
from mnemon.memory.plan import Outcome
from mnemon.memory.state import Stated, state, vectors_for
from mnemon.memory.store import Filter
from mnemon.memory.trust import Trust
from mnemon.memory.turnstile import one_at_a_time
from mnemon.scope import Scope
from mnemon.sessions.people import external_name
from mnemon.vectors.embed import embed_texts

router = APIRouter(prefix="/api/memories", tags=["memories"], route_class=JsonRoute)

_STATED = {**documented(StatedOut), 201: documented(StatedOut, status=201)[201]}


@router.post("", responses=_STATED)
async def remember(body: MemoryIn, door: Annotated[Door, needs(Grant.MEMORY_WRITE)]) -> Response:
    """The fact is held: created, or updated where one with the same key was held before."""
    door.declared(body.source)
    statement = body.statement(door.person(body.user_id, body.persona_id))
    vectors = await vectors_for(door.basement.embedder, [statement])
    async with one_at_a_time(door.basement.db, [statement.scope.user]):
        return await door.write(
            lambda tx: state(tx, [statement], vectors=vectors),
            lambda stated: stated_out(stated[0]),
            status=_status,
        )


@router.post("/batch", responses=documented(list[StatedOut]))
async def remember_batch(
    body: Annotated[list[MemoryIn], Query(max_length=1000)] | BatchIn,
    door: Annotated[Door, needs(Grant.MEMORY_WRITE)],
) -> Response:
    """Up to 1,000 facts are held, all of them or none, in order."""
    given = body.memories if isinstance(body, BatchIn) else body
    for source in {one.source for one in given}:
        door.declared(source)
    statements = [one.statement(door.person(one.user_id, one.persona_id)) for one in given]
    vectors = await vectors_for(door.basement.embedder, statements)
    async with one_at_a_time(door.basement.db, (one.scope.user for one in statements)):
        return await door.write(
            lambda tx: state(tx, statements, vectors=vectors), lambda all_: [stated_out(one) for one in all_]
        )


def _status(stated: list[Stated]) -> int:
    return 201 if stated[0].outcome is Outcome.CREATED else 200


@router.get("", responses=documented(MemoryOut, page=True))
async def list_memories(
    door: Annotated[Door, needs(Grant.MEMORY_READ)],
    user_id: Annotated[Name, Query(alias="userId")],
    persona_id: Annotated[Name | None, Query(alias="personaId")] = None,
    type_: Annotated[MemoryType | None, Query(alias="type")] = None,
    status: Status | Literal["ALL"] = Status.ACTIVE,
    entity: HeldName | None = None,
    source: Annotated[HeldName | None, Query(description="Only what this source said: a memory's `origin`.")] = None,
    q: HeldName | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Response:
    """What the persona may see, newest first; without a persona, what is global."""
    before = browse.place_of(position_of(cursor))
    wanted = Filter(type=type_, status=None if status == "ALL" else status, q=q, origin=source, before=before)
    async with door.tx() as tx:
        scope = door.person(user_id, persona_id)
        found = await browse.listed(tx, scope, wanted, entity=entity, most=limit + 1)
    return door.page([MemoryOut.of(one, user_id) for one in found], limit=limit, position=browse.position_of)


@router.get("/{memory_id}", responses=documented(MemoryOut))
async def get_memory(memory_id: str, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """One memory, with where it was said."""
    async with door.tx() as tx:
        scope = await browse.locate(tx, _whose(door), memory_id)
        memory = await browse.get(tx, scope, memory_id)
        name = await external_name(tx, scope)
    return door.reply(MemoryOut.of(memory, name or ""))


@router.patch("/{memory_id}", responses=documented(MemoryOut))
async def change_memory(
    memory_id: str, body: MemoryPatch, door: Annotated[Door, needs(Grant.MEMORY_WRITE)]
) -> Response:
    """The memory is as the body says; a text it replaces is kept as a version. 409 for a less trusted `source`.

    A new text is a statement of who writes it. Of a claim it is stated anew: the answer is the memory that holds it.
    """
    vectors = await embed_texts(door.basement.embedder, [body.content] if body.content else [])
    wanted = edit.Edit(**{**dict(body), "source": _editor(door, body.source)})

    async def effect(tx: Tx) -> MemoryOut:
        scope = await browse.locate(tx, _whose(door), memory_id)
        memory = await edit.change(tx, scope, memory_id, wanted, vectors=vectors)
        return MemoryOut.of(memory, await external_name(tx, scope) or "")

    return await door.write(effect)


@router.get("/{memory_id}/history", responses=documented(list[VersionOut]))
async def memory_history(memory_id: str, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """Every version in the order it held, the current one last."""
    async with door.tx() as tx:
        scope = await browse.locate(tx, _whose(door), memory_id)
        versions = await browse.history(tx, scope, memory_id)
    return door.reply([VersionOut.of(one) for one in versions])


@router.post("/{memory_id}/restore", responses=documented(MemoryOut))
async def restore_memory(
    memory_id: str, door: Annotated[Door, needs(Grant.MEMORY_WRITE)], body: RestoreIn | None = None
) -> Response:
    """An archived memory is active again; with `version`, that version's text is what is held."""
    wanted = body or RestoreIn()
    source = _editor(door, wanted.source)

    async def effect(tx: Tx) -> MemoryOut:
        scope = await browse.locate(tx, _whose(door), memory_id)
        memory = await edit.bring_back(tx, scope, memory_id, **{**dict(wanted), "source": source})
        return MemoryOut.of(memory, await external_name(tx, scope) or "")

    return await door.write(effect)


def _editor(door: Door, declared: str | None) -> str:
    """Who changes a memory by hand: whom the request declares, else the operator, or the person a key is bound to."""
    if declared is not None:
        return door.declared(declared)
    return Trust.OPERATOR if door.principal.bound_user is None else API


def _whose(door: Door) -> Scope:
    """All of the organization's, or the one person's the key is bound to."""
    return Scope(org_id=door.org.org_id, user_id=door.bound_user_id)
