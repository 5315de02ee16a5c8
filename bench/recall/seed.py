"""Fill the database quickly with people who have many memories: the rows, revisions and vectors that writes leave."""

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import numpy as np

from mnemon.db.tx import Tx
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.sessions.people import bump_revision, ensure_person
from mnemon.vectors.text_vectors import vector_literal

WORDS = (
    "garden museum letter violin recital harbour kitchen bicycle summer concert doctor train sister bread taxes lake "
    "house painting project deadline meeting coffee market teacher football mountain camera recipe library holiday "
    "window dentist neighbour birthday orchestra budget laptop winter sailing novel theatre cousin marathon vegetable "
    "passport airport ceremony workshop chapter pottery festival volunteer scholarship adoption therapy hiking"
)
PEOPLE = ("Sam", "Anna", "Tom", "Lena", "Omar", "Ruth", "Ivan", "Mia")
COPY_BATCH = 5_000
"""Rows per COPY."""
PEOPLE_BATCH = 20
"""People per transaction."""
_FACTS_PER_DAY = 20
_MEMORY_COLUMNS = (
    "org_id, user_id, id, type, content, entity_refs, entity_label, entity_type, fact_type, importance, memory_key, "
    "source, trust, confidence, valid_from, stated_at, revision, created_at, updated_at, recorded_at"
)
_EMBEDDING_COLUMNS = "org_id, user_id, model, kind, id, vector, revision"


def random_sentences(count: int, seed: int) -> list[str]:
    """Return made-up facts, the same for the same seed."""
    chance, words = random.Random(seed), WORDS.split()
    return [
        f"{chance.choice(PEOPLE)} talked about the {chance.choice(words)} and the {chance.choice(words)} "
        f"of {chance.choice(words)} number {chance.randrange(count * 4)} near the {chance.choice(words)}"
        for _ in range(count)
    ]


async def fill_person(services: Services, org: str, user: str, count: int, seed: int) -> None:
    """Give the person so many memories with their vectors, by COPY."""
    scope, revision = await _prepare_person(services, org, user)
    for start in range(0, count, COPY_BATCH):
        texts = random_sentences(min(COPY_BATCH, count - start), seed + start)
        vectors = await services.embedder.embed(texts)
        # As the owner: PostgreSQL does not copy into a table under row-level security.
        async with services.db.owner_tx() as tx:
            facts = (_memory_row(scope, text, place, revision, tx.now) for place, text in enumerate(texts, start))
            await _copy_rows(tx, f"copy memories ({_MEMORY_COLUMNS}) from stdin", facts)
            made = _embedding_rows(scope, services.embedder.model, vectors, start, revision)
            await _copy_rows(tx, f"copy embeddings ({_EMBEDDING_COLUMNS}) from stdin", made)


async def copy_to_others(services: Services, org: str, users: Sequence[str], like: str) -> None:
    """Give more people the same memories and vectors as one person; they only fill the tables."""
    pattern, _ = await _prepare_person(services, org, like, bump=False)
    scopes = []
    for user in users:
        scope, revision = await _prepare_person(services, org, user)
        scopes.append((scope.user, revision))
    async with services.db.owner_tx() as tx:
        for table, columns in (("memories", _MEMORY_COLUMNS), ("embeddings", _EMBEDDING_COLUMNS)):
            taken = columns.replace("user_id", "o.user_id").replace("revision", "o.revision")
            await tx.execute(
                f"insert into {table} ({columns}) select {taken} from {table} m "
                "cross join unnest(%(users)s::text[], %(revisions)s::bigint[]) o(user_id, revision) "
                "where m.org_id = %(org_id)s and m.user_id = %(user_id)s",
                users=[user for user, _ in scopes],
                revisions=[revision for _, revision in scopes],
                org_id=org,
                user_id=pattern.user,
            )


async def vacuum_tables(url: str) -> None:
    """Vacuum and analyze the tables, as autovacuum would after a while."""
    import psycopg

    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("vacuum (analyze) memories, embeddings, users")


async def _prepare_person(services: Services, org: str, user: str, *, bump: bool = True) -> tuple[Scope, int]:
    async with services.db.tx(org) as tx:
        scope = await ensure_person(tx, org, user)
        return scope, await bump_revision(tx, scope) if bump else 0


async def _copy_rows(tx: Tx, sql: str, rows: Iterator[tuple[object, ...]]) -> None:
    connection = await tx.raw_connection()
    async with connection.cursor() as cursor, cursor.copy(sql) as copy:
        for row in rows:
            await copy.write_row(row)


def _memory_row(scope: Scope, text: str, place: int, revision: int, now: datetime) -> tuple[object, ...]:
    """Return a row of `memories` as a write makes it, with 20 facts a day, a minute apart."""
    day, minute = divmod(place, _FACTS_PER_DAY)
    label, at = text.split(" ", 1)[0], now - timedelta(days=1 + day % 1000) + timedelta(minutes=minute)
    key = f"people|person|{label.lower()}|fact|{place}"
    return (
        scope.org_id, scope.user, _memory_id(place), "PEOPLE", text,
        [f"person:{label.lower()}"], label, "person", "fact", 1,
        key, "api", "person", 1.0, at, at, revision, at, at, at,
    )  # fmt: skip


def _embedding_rows(
    scope: Scope, model: str, vectors: np.ndarray, start: int, revision: int
) -> Iterator[tuple[object, ...]]:
    for place, vector in enumerate(vectors, start):
        yield scope.org_id, scope.user, model, "memory", _memory_id(place), vector_literal(vector), revision


def _memory_id(place: int) -> str:
    return f"mem_bench{place:09}"
