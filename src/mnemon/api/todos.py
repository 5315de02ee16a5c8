"""`/api/todos`: what a person promised, does regularly, left open or struggles with, per persona."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from mnemon.access.grants import Grant
from mnemon.api.door import Door, documented, needs
from mnemon.api.json_route import JsonRoute
from mnemon.api.memory_shapes import TodoOut
from mnemon.api.wire import Name, Wire, Words, position_of
from mnemon.db.tx import Tx
from mnemon.memory import browse
from mnemon.memory.todos import store
from mnemon.memory.todos.todo import TodoKind, TodoStatus
from mnemon.scope import Scope
from mnemon.sessions.people import external_name

router = APIRouter(prefix="/api/todos", tags=["todos"], route_class=JsonRoute)


class TodoPatch(Wire):
    kind: TodoKind | None = None
    content: Words | None = None
    status: TodoStatus | None = None


@router.get("", responses=documented(TodoOut, page=True))
async def list_todos(
    door: Annotated[Door, needs(Grant.MEMORY_READ)],
    user_id: Annotated[Name, Query(alias="userId")],
    persona_id: Annotated[Name | None, Query(alias="personaId")] = None,
    status: TodoStatus | None = None,
    kind: TodoKind | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Response:
    """The todos told to the persona, or to none, newest first."""
    before = browse.place_of(position_of(cursor))
    scope = door.person(user_id, persona_id)
    async with door.tx() as tx:
        found = await store.listed(tx, scope, status=status, kind=kind, before=before, most=limit + 1)
    shown = [TodoOut.of(one, user_id) for one in found]
    return door.page(shown, limit=limit, position=browse.position_of)


@router.patch("/{todo_id}", responses=documented(TodoOut))
async def change_todo(todo_id: str, body: TodoPatch, door: Annotated[Door, needs(Grant.MEMORY_WRITE)]) -> Response:
    """The todo is as the body says."""
    wanted = store.TodoEdit(**dict(body))

    async def effect(tx: Tx) -> TodoOut:
        scope, todo = await store.get(tx, Scope(org_id=door.org.org_id, user_id=door.bound_user_id), todo_id)
        changed = await store.change(tx, scope, todo, wanted, at=tx.now)
        return TodoOut.of(changed, await external_name(tx, scope) or "")

    return await door.write(effect)
