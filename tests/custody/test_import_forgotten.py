"""What an import brings back of something forgotten is forgotten again, in one pass over what it brought."""

import json
from typing import Any

import pytest

from mnemon.api.custody import IMPORTED_TABLES
from mnemon.custody.export import export_lines, json_line
from mnemon.custody.forget_memory import forget_memory
from mnemon.custody.import_person import ImportResult, import_person
from mnemon.custody.traces import ForgottenTraces
from mnemon.db.database import Database
from mnemon.memory.fact import Fact, MemoryType
from mnemon.memory.remember import remember_facts
from mnemon.memory.upkeep.seed import SeedEntry, store_seed
from mnemon.scope import Scope
from mnemon.sessions.people import ensure_person

LONG = "I live in Graz. " * 1_000


async def person_with(db: Database, org: str, facts: int) -> tuple[Scope, bytes]:
    """A person with a seed and that many facts, and their export; then every fact is forgotten."""
    async with db.tx(org) as tx:
        scope = await ensure_person(tx, org, "ann")
        said = [Fact(type=MemoryType.PROFILE, content=f"Keeps zebra{n} at home") for n in range(facts)]
        done = await remember_facts(tx, scope, said, extracted=False)
        await store_seed(tx, scope, [SeedEntry(content=LONG), SeedEntry(content="Feeds zebra1 and zebra2")])
    async with db.tx(org) as tx:
        text = b"".join([line async for line in export_lines(tx, scope)])
    for one in done:
        async with db.tx(org) as tx:
            await forget_memory(tx, scope, one.memory.id)
    return scope, text


async def bring_in(db: Database, org: str, text: bytes) -> ImportResult:
    async with db.tx(org) as tx:
        return await import_person(tx, org, text, rooms=IMPORTED_TABLES)


async def test_what_was_forgotten_one_by_one_is_forgotten_again(db: Database, org: str) -> None:
    scope, text = await person_with(db, "acme", 3)
    async with db.tx("acme") as tx:
        await tx.execute("delete from user_seeds where org_id = 'acme' and user_id = %(u)s", u=scope.user)
    done = await bring_in(db, "acme", text)
    assert done.forgotten["memories"] == 3
    async with db.tx("acme") as tx:
        assert (
            await tx.fetch_all("select id from memories where org_id = 'acme' and user_id = %(u)s", u=scope.user) == []
        )
        seed = await tx.fetch_one(
            "select profile from user_seeds where org_id = 'acme' and user_id = %(u)s", u=scope.user
        )
        stones = await tx.fetch_all(
            "select hash from tombstones where org_id = 'acme' and user_id = %(u)s", u=scope.user
        )
    assert [entry["content"] for entry in seed["profile"]] == [LONG], "the line with a mark of theirs is gone"
    assert len(stones) == 3


@pytest.mark.parametrize("brought_back", [True, False], ids=["memories too", "the seed alone"])
async def test_the_text_is_read_once_however_much_was_forgotten(
    db: Database, org: str, monkeypatch: pytest.MonkeyPatch, brought_back: bool
) -> None:
    read = 0
    redact_text = ForgottenTraces.redact_text

    def count(traces: ForgottenTraces, text: str, **options: Any) -> str:
        nonlocal read
        read += len(text)
        return redact_text(traces, text, **options)

    monkeypatch.setattr(ForgottenTraces, "redact_text", count)

    async def characters(org_id: str, facts: int) -> int:
        nonlocal read
        scope, text = await person_with(db, org_id, facts)
        async with db.tx(org_id) as tx:
            await tx.execute("delete from user_seeds where org_id = %(o)s and user_id = %(u)s", o=org_id, u=scope.user)
        lines = [json.loads(line) for line in text.splitlines()]
        rows = [line for line in lines if "table" in line and (brought_back or line["table"] == "user_seeds")]
        read = 0
        await bring_in(db, org_id, b"".join(map(json_line, [lines[0], *rows, {"end": True, "rows": len(rows)}])))
        return read

    few, many = await characters("acme", 2), await characters("globex", 12)
    assert few >= len(LONG) / 2
    assert many < few + len(LONG) / 2
