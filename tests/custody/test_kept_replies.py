"""Stored replies, JSON and vectors after a forgetting: what they hold of the forgotten goes, and the rest stays."""

import json
from collections.abc import Collection
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

from mnemon.access.idempotency import IdempotencyKey, store_reply
from mnemon.custody.forget_memory import forget_memory
from mnemon.custody.forget_person import forget_person
from mnemon.custody.ledger import Receipt
from mnemon.db.database import Database
from mnemon.memory.fact import Fact, MemoryType
from mnemon.memory.remember import remember_facts
from mnemon.reflection import store
from mnemon.scope import Scope
from mnemon.sessions.people import ensure_person
from support.reflecting import told

ACME = Scope(org_id="acme")
SECRET = "The alarm word is marmalade"


@pytest.fixture
async def ann(db: Database, org: str) -> Scope:
    async with db.tx(org) as tx:
        return await ensure_person(tx, org, "ann")


async def remember(db: Database, scope: Scope, content: str) -> str:
    async with db.tx("acme") as tx:
        (made,) = await remember_facts(tx, scope, [Fact(type=MemoryType.PROFILE, content=content)], extracted=False)
    return made.memory.id


async def keep(
    db: Database, key: str, body: Any, *, concerns: Collection[str] = (), subject: str | None = None
) -> None:
    text = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    slot = IdempotencyKey(caller="key_1", key=key, fingerprint=b"x")
    async with db.tx("acme") as tx:
        await store_reply(tx, ACME, slot, status=200, body=text, concerns=concerns, subject=subject)


def kept(db: Database) -> dict[str, Any]:
    with psycopg.connect(db.url) as connection:
        rows = connection.execute("select key, body from replies").fetchall()
    return {key: None if body is None else json.loads(bytes(body)) for key, body in rows}


async def forget(db: Database, scope: Scope, memory_id: str) -> Receipt:
    async with db.tx("acme") as tx:
        return await forget_memory(tx, scope, memory_id)


async def test_an_object_of_a_forgotten_memory_is_reduced_to_its_id(db: Database, ann: Scope) -> None:
    memory_id = await remember(db, ann, SECRET)
    gone, stays = {"id": memory_id, "attribute": "x", "tags": ["y"]}, {"id": "mem_other", "attribute": "x", "n": 3}
    await keep(db, "one", {"data": {"memory": gone, "list": [gone, stays, 5, None]}, "meta": {"id": 7}})
    with capture_logs() as lines:
        receipt = await forget(db, ann, memory_id)
    (line,) = [line for line in lines if line["event"] == "memory_forgotten"]
    assert (line["receipt"], line["removed"]) == (receipt.id, receipt.total)
    assert line["redacted"] == sum(receipt.redacted.values()) > 0
    reduced = {"id": memory_id, "forgotten": True}
    assert kept(db)["one"] == {"data": {"memory": reduced, "list": [reduced, stays, 5, None]}, "meta": {"id": 7}}
    assert receipt.redacted["replies"] == 1


async def test_words_of_it_are_covered_wherever_they_are_quoted(db: Database, ann: Scope) -> None:
    memory_id = await remember(db, ann, SECRET)
    await keep(db, "text", b"Noted: the alarm word is marmalade.")
    await keep(db, "own", {"said": "I like marmalade. I ski."}, concerns={ann.user})
    await keep(db, "other", {"said": "I like marmalade. I ski."}, concerns={"usr_other"})
    await keep(db, "open", None, concerns={ann.user})
    receipt = await forget(db, ann, memory_id)
    found = kept(db)
    assert "marmalade" not in found["text"]
    assert found["text"].startswith("Noted: █")
    assert found["own"] == {"said": f"{'█' * 17} I ski."}
    assert found["other"] == {"said": "I like marmalade. I ski."}, "a single word may be anybody's"
    assert found["open"] is None
    assert receipt.redacted["replies"] == 2


async def test_replies_that_concern_or_name_a_forgotten_person_are_blanked(db: Database, ann: Scope) -> None:
    memory_id = await remember(db, ann, SECRET)
    whole = {"data": {"content": "Sails"}, "meta": {"requestId": "req_1"}}
    blank = {"data": None, "meta": {"requestId": "req_1"}}
    await keep(db, "concerns", whole, concerns={ann.user})
    await keep(db, "names them", {**whole, "who": ["x", {"y": "ann"}]})
    await keep(db, "names theirs", {**whole, "which": memory_id})
    await keep(db, "subject", whole, subject=memory_id)
    await keep(db, "a list", ["ann"])
    await keep(db, "other", whole, concerns={"usr_other"}, subject="mem_other")
    await keep(db, "longer word", {**whole, "who": "annette"})
    await keep(db, "open", None, concerns={ann.user})
    with capture_logs() as lines:
        async with db.tx("acme") as tx:
            receipt = await forget_person(tx, ann)
    (line,) = [line for line in lines if line["event"] == "person_forgotten"]
    assert (line["receipt"], line["removed"]) == (receipt.id, receipt.total)
    assert kept(db) == {
        **dict.fromkeys(("concerns", "names them", "names theirs", "subject"), blank),
        "a list": {"data": None, "meta": None},
        "other": whole,
        "longer word": {**whole, "who": "annette"},
        "open": None,
    }
    assert receipt.redacted["replies"] == 5
    with psycopg.connect(db.url) as connection:
        rows = connection.execute("select concerns from replies where key = 'concerns'").fetchall()
    assert rows == [([],)], "a blanked reply concerns nobody"


async def test_words_inside_json_are_covered_and_the_rest_of_it_stays(db: Database, ann: Scope) -> None:
    memory_id = await remember(db, ann, SECRET)
    turn = await told(db, "hello", user="ann")
    async with db.tx("acme") as tx:
        store.store_raw_answer(tx, turn.scope, turn.id, {"notes": [SECRET, 5], "marks": {"a": None}}, None)
    receipt = await forget(db, ann, memory_id)
    async with db.tx("acme") as tx:
        found = await store.find(tx, turn.scope, turn.id)
    assert found is not None
    assert found.raw == {"notes": ["█" * len(SECRET), 5], "marks": {"a": None}}
    assert receipt.redacted["reflections"] == 1


async def test_the_vectors_of_messages_that_quote_it_go_and_those_of_others_stay(db: Database, ann: Scope) -> None:
    memory_id = await remember(db, ann, SECRET)
    quoting = await told(db, f"Once more: {SECRET}.", user="ann")
    other = await told(db, "I ski.", user="ann")
    with psycopg.connect(db.url, autocommit=True) as connection:
        for turn in (quoting, other):
            connection.execute(
                "insert into embeddings (org_id, user_id, model, kind, id, vector, revision) "
                "values ('acme', %s, 'm', 'message', %s, '[1]', 1)",
                (ann.user, turn.messages[0].message_id),
            )
    receipt = await forget(db, ann, memory_id)
    assert receipt.redacted["messages"] == 1
    with psycopg.connect(db.url) as connection:
        left = connection.execute("select id from embeddings where kind = 'message'").fetchall()
    assert left == [(other.messages[0].message_id,)]
