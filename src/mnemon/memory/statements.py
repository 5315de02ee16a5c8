"""Statements that an application makes about people: facts become memories, open loops become todos."""

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
    """One statement of an application about a person."""

    external: str
    """The application's id of the person."""
    scope: Scope
    """The person, and the persona that the statement is private to, if any."""
    says: Fact | NewTodo


@dataclass(frozen=True, kw_only=True)
class StatementResult:
    """The outcome of a statement."""

    external: str
    outcome: MemoryOutcome
    thing: StoredMemory | Todo
    why: str | None = None
    """Why it was skipped; None if it was not."""


async def embed_statements(embedder: Embedder, statements: Sequence[MemoryStatement]) -> TextVectors:
    """Return the embeddings of the stated facts; call it before the transaction."""
    # Todos are not embedded: they are listed, never searched by meaning.
    return await embed_texts(embedder, [one.says.content for one in statements if isinstance(one.says, Fact)])


async def store_statements(
    tx: Tx, statements: Sequence[MemoryStatement], *, vectors: TextVectors | None = None
) -> list[StatementResult]:
    """Store an application's statements, all or none; return the results in the order of the statements."""
    results: dict[int, StatementResult] = {}
    groups: dict[Scope, list[int]] = {}
    for position, one in enumerate(statements):
        groups.setdefault(one.scope, []).append(position)
    # Lock people in the same order everywhere: two batches about the same people then wait and cannot deadlock.
    for scope in sorted(groups, key=lambda scope: (scope.user, scope.persona_id or "")):
        places = groups[scope]
        external = statements[places[0]].external
        await ensure_person(tx, scope.org_id, external)
        facts = [(position, says) for position in places if isinstance(says := statements[position].says, Fact)]
        if facts:
            remembered = await remember_facts(tx, scope, [fact for _, fact in facts], vectors=vectors)
            for (position, _), outcome_of_fact in zip(facts, remembered, strict=True):
                results[position] = StatementResult(
                    external=external,
                    outcome=outcome_of_fact.outcome,
                    thing=outcome_of_fact.memory,
                    why=outcome_of_fact.why,
                )
        for position in places:
            if isinstance(draft := statements[position].says, NewTodo):
                todo, new = await todos.add_todo(tx, scope, draft, at=tx.now)
                outcome = MemoryOutcome.CREATED if new else MemoryOutcome.UPDATED
                results[position] = StatementResult(external=external, outcome=outcome, thing=todo)
    return [results[position] for position in range(len(statements))]
