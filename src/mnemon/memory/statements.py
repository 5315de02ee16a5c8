"""What an application states about people: memories, and todos where it states an open loop."""

from collections.abc import Sequence
from dataclasses import dataclass

from mnemon.db.tx import Tx
from mnemon.embedding.embedder import Embedder
from mnemon.memory.fact import Fact
from mnemon.memory.memory import StoredMemory
from mnemon.memory.plan import MemoryOutcome
from mnemon.memory.remember import remember_facts
from mnemon.memory.todos import store as todos
from mnemon.memory.todos.store import NewTodo
from mnemon.memory.todos.todo import Todo
from mnemon.scope import Scope
from mnemon.sessions.people import ensure_person
from mnemon.vectors.text_vectors import TextVectors, embed_texts


@dataclass(frozen=True, kw_only=True)
class MemoryStatement:
    """One thing an application says about a person."""

    external: str
    """The name the application calls the person by."""
    scope: Scope
    """That person, and the persona it is private to."""
    says: Fact | NewTodo


@dataclass(frozen=True, kw_only=True)
class StatementResult:
    """What became of a statement."""

    external: str
    outcome: MemoryOutcome
    thing: StoredMemory | Todo
    why: str | None = None
    """Why it was skipped."""


async def embed_statements(embedder: Embedder, statements: Sequence[MemoryStatement]) -> TextVectors:
    """The vectors of what is stated; made before the transaction."""
    return await embed_texts(embedder, [one.says.content for one in statements if isinstance(one.says, Fact)])


async def store_statements(
    tx: Tx, statements: Sequence[MemoryStatement], *, vectors: TextVectors | None = None
) -> list[StatementResult]:
    """Every statement is held, in order; all of them or none."""
    done: dict[int, StatementResult] = {}
    groups: dict[Scope, list[int]] = {}
    for place, one in enumerate(statements):
        groups.setdefault(one.scope, []).append(place)
    # People in one order everywhere, so that two batches about the same people wait for each other and never lock.
    for scope in sorted(groups, key=lambda scope: (scope.user, scope.persona_id or "")):
        places = groups[scope]
        external = statements[places[0]].external
        await ensure_person(tx, scope.org_id, external)
        facts = [(place, says) for place in places if isinstance(says := statements[place].says, Fact)]
        if facts:
            kept = await remember_facts(tx, scope, [fact for _, fact in facts], vectors=vectors)
            for (place, _), one_kept in zip(facts, kept, strict=True):
                done[place] = StatementResult(
                    external=external, outcome=one_kept.outcome, thing=one_kept.memory, why=one_kept.why
                )
        for place in places:
            if isinstance(draft := statements[place].says, NewTodo):
                todo, new = await todos.add_todo(tx, scope, draft, at=tx.now)
                outcome = MemoryOutcome.CREATED if new else MemoryOutcome.UPDATED
                done[place] = StatementResult(external=external, outcome=outcome, thing=todo)
    return [done[place] for place in range(len(statements))]
