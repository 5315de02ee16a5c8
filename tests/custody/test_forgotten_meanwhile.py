"""A person who is forgotten while something of theirs is changed: not found in the end, and nothing comes back."""

from collections.abc import Awaitable, Callable

import pytest

from mnemon.custody.forget_memory import forget_memory
from mnemon.custody.forget_person import forget_person
from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.memory import edit
from mnemon.memory.entities.merge import merge_clear_cases, merge_entities, open_proposals, split_entities
from mnemon.memory.entities.store import list_mentions, load_aliases, pairs_kept_apart
from mnemon.memory.fact import EntityType, Fact, FactEntity, MemoryType
from mnemon.memory.lifecycle import ArchiveReason
from mnemon.memory.remember import remember_facts
from mnemon.memory.todos import store as todos
from mnemon.memory.todos.todo import TodoKind, TodoStatus
from mnemon.scope import Scope
from mnemon.sessions.boundary import SessionBoundary, boundary_from_settings
from mnemon.sessions.close import close_session
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.people import ensure_person
from mnemon.sessions.record import NewTurn, store_turn
from mnemon.settings import Settings
from mnemon.turn import Role
from support.racing import run_behind

BOUNDARY: SessionBoundary = boundary_from_settings(Settings())


def told_of(label: str, content: str) -> Fact:
    return Fact(type=MemoryType.PEOPLE, content=content, entity=FactEntity(type=EntityType.PERSON, label=label))


FACTS = [
    told_of("Jon Smith", "Jon Smith is my brother"),
    told_of("John Smith", "John Smith, my brother, lives in Oslo"),
    told_of("Cleo Gray", "Cleo Gray rows"),
]


class Ann:
    """A person with a memory, a todo and a session."""

    def __init__(self, db: Database, scope: Scope) -> None:
        self.db = db
        self.scope = scope

    async def live(self) -> None:
        """Store something of every kind."""
        async with self.db.tx(self.scope.org_id) as tx:
            self.memory = (await remember_facts(tx, self.scope, FACTS))[0].memory
            draft = todos.NewTodo(kind=TodoKind.COMMITMENT, content="Call Jon.")
            self.todo, _ = await todos.add_todo(tx, self.scope, draft, at=tx.now)
            said = (NewMessage(role=Role.USER, content="Hello."),)
            turn = await store_turn(tx, self.scope, NewTurn(user_name="ann", messages=said), BOUNDARY)
            self.session_id = turn.session_id


@pytest.fixture
async def ann(db: Database, org: str) -> Ann:
    async with db.tx(org) as tx:
        scope = await ensure_person(tx, org, "ann")
    made = Ann(db, scope)
    await made.live()
    return made


DONE = todos.TodoEdit(status=TodoStatus.DONE)
CHANGES: dict[str, Callable[[Tx, Ann], Awaitable[object]]] = {
    "a change": lambda tx, ann: edit.edit_memory(tx, ann.scope, ann.memory.id, edit.MemoryEdit(content="Jon bakes.")),
    "a restoration": lambda tx, ann: edit.restore_memory(tx, ann.scope, ann.memory.id),
    "an archiving": lambda tx, ann: edit.archive_memories(tx, ann.scope, [ann.memory.id], ArchiveReason.UNWANTED),
    "a forgetting": lambda tx, ann: forget_memory(tx, ann.scope, ann.memory.id),
    "a merge": lambda tx, ann: merge_entities(tx, ann.scope, "person:jon_smith", "person:cleo_gray"),
    "a split": lambda tx, ann: split_entities(tx, ann.scope, "person:jon_smith", "person:cleo_gray"),
    "a todo": lambda tx, ann: todos.update_todo(tx, ann.scope, ann.todo, DONE, at=tx.now),
    "the end of a session": lambda tx, ann: close_session(tx, ann.scope, ann.session_id, BOUNDARY),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_that_waits_for_a_forgetting_is_not_found(db: Database, ann: Ann, change: str) -> None:
    with pytest.raises(NotFound):
        await run_behind(
            db, ann.scope.org_id, lambda tx: forget_person(tx, ann.scope), lambda tx: CHANGES[change](tx, ann)
        )


async def test_a_clear_case_of_a_forgotten_person_is_not_merged(db: Database, ann: Ann) -> None:
    async with db.tx(ann.scope.org_id) as tx:
        spoken, aliases = await list_mentions(tx, ann.scope), await load_aliases(tx, ann.scope)
        clear = open_proposals(spoken, aliases, await pairs_kept_apart(tx, ann.scope))
    assert clear
    merged = await run_behind(
        db,
        ann.scope.org_id,
        lambda tx: forget_person(tx, ann.scope),
        lambda tx: merge_clear_cases(tx, ann.scope, clear),
    )
    assert merged == 0
