"""`/api/todos`: a person's promises, habits, open points and struggles, per persona."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for, write_responses
from mnemon.api.memory_shapes import TodoOut
from mnemon.api.models import ApiModel, Name, NonEmptyText, decode_cursor
from mnemon.db.tx import Tx
from mnemon.memory import browse
from mnemon.memory.todos import store
from mnemon.memory.todos.todo import TodoKind, TodoStatus
from mnemon.sessions.people import external_name

router = APIRouter(prefix="/api/todos", tags=["todos"], route_class=JsonRoute)


class TodoPatch(ApiModel):
    """The fields of a todo to change; a field that is left out stays."""

    kind: TodoKind | None = None
    content: NonEmptyText | None = None
    status: TodoStatus | None = None


@router.get("", responses=responses_for(TodoOut, page=True))
async def list_todos(
    door: Annotated[Door, needs(Grant.MEMORY_READ)],
    user_id: Annotated[Name, Query(alias="userId")],
    persona_id: Annotated[Name | None, Query(alias="personaId")] = None,
    status: TodoStatus | None = None,
    kind: TodoKind | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Response:
    """List the todos told to the persona, or to none, newest first."""
    before = browse.parse_cursor(decode_cursor(cursor))
    scope = door.person_scope(user_id, persona_id)
    async with door.tx() as tx:
        found = await store.list_todos(tx, scope, status=status, kind=kind, before=before, most=limit + 1)
    shown = [TodoOut.from_todo(one, user_id) for one in found]
    return door.page(shown, limit=limit, position=browse.cursor_of)


@router.patch("/{todo_id}", responses=write_responses(TodoOut))
async def change_todo(todo_id: str, body: TodoPatch, door: Annotated[Door, needs(Grant.MEMORY_WRITE)]) -> Response:
    """Change a todo; 409 for one of the operator's with a key that is bound to a person."""
    wanted = store.TodoEdit(**dict(body), source=door.editor_source())

    async def store_edit(tx: Tx) -> TodoOut:
        """Change the todo, if the key may see its person, and return it as its response."""
        scope, todo = await store.get_todo(tx, door.visible_scope, todo_id)
        changed = await store.update_todo(tx, scope, todo, wanted, at=tx.now)
        return TodoOut.from_todo(changed, await external_name(tx, scope) or "")

    return await door.write(store_edit)
