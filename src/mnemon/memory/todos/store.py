"""SQL statements that read and write todos. Each todo belongs to one persona, or to none; no other one sees it."""

from dataclasses import dataclass
from datetime import datetime

import psycopg

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.errors import Conflict, NotFound
from mnemon.memory.fact import API
from mnemon.memory.todos.todo import Todo, TodoKind, TodoStatus, find_same_todo, todo_key
from mnemon.memory.trust import trust_of
from mnemon.scope import Scope

SQL = load_statements("mnemon.memory.todos")


@dataclass(frozen=True, kw_only=True)
class NewTodo:
    """A todo to be opened."""

    kind: TodoKind
    content: str
    source: str = API
    turn_id: str | None = None
    message_id: str | None = None
    quote: str | None = None


@dataclass(frozen=True, kw_only=True)
class TodoEdit:
    """What to change; None leaves a field as it is."""

    kind: TodoKind | None = None
    content: str | None = None
    status: TodoStatus | None = None
    source: str = API
    """Who makes the change; a todo of a more trusted source is not changed."""
    turn_id: str | None = None
    """The turn that closes it."""
    quote: str | None = None
    """The words that close it."""


async def open_todos(tx: Tx, scope: Scope) -> list[Todo]:
    """Return the open todos of the scope's persona, or of none if it names none, oldest first."""
    rows = await tx.fetch_all(SQL["open"], **scope.owner_params, persona_id=scope.persona_id)
    return [todo_from_row(row) for row in rows]


async def add_todo(tx: Tx, scope: Scope, draft: NewTodo, *, at: datetime) -> tuple[Todo, bool]:
    """Open the todo, or refresh the open one of the same deed; return it and whether it is new."""
    same = find_same_todo(draft.kind, draft.content, await open_todos(tx, scope))
    row = await tx.fetch_one(
        SQL["insert"],
        **scope.owner_params,
        id=tx.new_id("tod"),
        persona_id=scope.persona_id,
        # The key of the todo that it repeats, which is then refreshed.
        todo_key=todo_key(draft.kind, same.content if same else draft.content),
        at=at,
        **vars(draft),
    )
    return todo_from_row(row), bool(row["created"])


async def todo_opened_by(tx: Tx, scope: Scope, draft: NewTodo) -> Todo | None:
    """Return the todo that the draft's turn opened before with this content; None if there is none."""
    key = todo_key(draft.kind, draft.content)
    row = await tx.fetch_one_or_none(
        SQL["of_turn"], **scope.owner_params, persona_id=scope.persona_id, todo_key=key, turn_id=draft.turn_id
    )
    return None if row is None else todo_from_row(row)


async def has_closed_todo(tx: Tx, scope: Scope, turn_id: str, quote: str) -> bool:
    """Say whether the turn has closed a todo with these words before."""
    params = {"persona_id": scope.persona_id, "turn_id": turn_id, "quote": quote}
    return await tx.fetch_one_or_none(SQL["closed_by"], **scope.owner_params, **params) is not None


async def get_todo(tx: Tx, scope: Scope, todo_id: str) -> tuple[Scope, Todo]:
    """Return the todo of this id and the scope of its person.

    Raises NotFound if the todo is of another organization, or of another person than the scope names.
    """
    row = await tx.fetch_one_or_none(SQL["by_id"], org_id=scope.org_id, user_id=scope.user_id, id=todo_id)
    if row is None:
        raise NotFound("todo")
    todo = todo_from_row(row)
    return Scope(org_id=scope.org_id, user_id=row["user_id"], persona_id=todo.persona_id), todo


async def update_todo(tx: Tx, scope: Scope, todo: Todo, edit: TodoEdit, *, at: datetime) -> Todo:
    """Apply the edit to a todo and return it; a closed one keeps the time of its closing.

    Raises NotFound, and Conflict if the todo is of a more trusted source or another open todo says the same.
    """
    if todo.outranks_source(edit.source):
        raise Conflict(
            f"This todo comes from a more trusted source ({todo.trust}) than the change ({trust_of(edit.source)}). "
            "Use a key that is not bound to a person, or leave it to whoever opened the todo.",
            code="outranked",
        )
    kind, content = edit.kind or todo.kind, edit.content or todo.content
    status = edit.status or todo.status
    closed_at = None if status is TodoStatus.OPEN else (todo.closed_at or at)
    try:
        # In a savepoint, so that the caller's transaction survives the unique violation.
        async with tx.savepoint():
            row = await tx.fetch_one_or_none(
                SQL["update"],
                **scope.owner_params,
                id=todo.id,
                kind=kind,
                content=content,
                todo_key=todo_key(kind, content),
                status=status,
                at=at,
                closed_at=closed_at,
                closing_turn_id=None if closed_at is None else edit.turn_id,
                closing_quote=None if closed_at is None else edit.quote,
            )
    except psycopg.errors.UniqueViolation:
        raise Conflict("Another open todo says the same. Close one of the two.", code="todo_exists") from None
    # The person was forgotten in the meantime.
    if row is None:
        raise NotFound("todo")
    return todo_from_row(row)


async def list_todos(
    tx: Tx,
    scope: Scope,
    *,
    status: TodoStatus | None = None,
    kind: TodoKind | None = None,
    before: tuple[datetime, str] | None = None,
    most: int,
) -> list[Todo]:
    """Return a page of the todos of the scope's persona, or of none if it names none, newest first."""
    before_at, before_id = before or (None, None)
    rows = await tx.fetch_all(
        SQL["listed"],
        **scope.owner_params,
        persona_id=scope.persona_id,
        status=status,
        kind=kind,
        before_at=before_at,
        before_id=before_id,
        most=most,
    )
    return [todo_from_row(row) for row in rows]


def todo_from_row(row: Row) -> Todo:
    """Return a row of `todos` as a Todo."""
    return from_row(Todo, row)
