"""Stored replies: a retry gets what the first request was answered, and nothing else does."""

from datetime import timedelta

import psycopg
import pytest

from mnemon.access.idempotency import (
    REPLY_LIFETIME,
    IdempotencyKey,
    StoredReply,
    load_reply,
    request_fingerprint,
    store_reply,
)
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.errors import Conflict, Invalid
from mnemon.scope import Scope

ACME = Scope(org_id="acme")
SECOND = timedelta(seconds=1)


def slot(key: str = "one", *, caller: str = "key_1", body: bytes = b"x") -> IdempotencyKey:
    return IdempotencyKey(caller=caller, key=key, fingerprint=request_fingerprint("POST", "/api/turns", "", body))


async def keep(db: Database, at: IdempotencyKey, **reply: object) -> None:
    async with db.tx("acme") as tx:
        await store_reply(tx, ACME, at, **reply)  # type: ignore[arg-type]


async def kept(db: Database, at: IdempotencyKey) -> StoredReply | None:
    async with db.tx("acme") as tx:
        return await load_reply(tx, ACME, at)


def stored(db: Database) -> list[str]:
    with psycopg.connect(db.url) as connection:
        return [key for (key,) in connection.execute("select key from replies order by key")]


async def test_the_same_request_of_the_same_caller_gets_the_first_answer(db: Database, org: str) -> None:
    assert await kept(db, slot()) is None
    await keep(db, slot(), status=201, body=b"made")
    assert await kept(db, slot()) == StoredReply(status=201, body=b"made", subject=None)
    assert await kept(db, slot(caller="key_2")) is None
    assert await kept(db, slot("two")) is None


async def test_an_effect_that_is_under_way_names_its_subject(db: Database, org: str) -> None:
    await keep(db, slot(), subject="trn_1")
    assert await kept(db, slot()) == StoredReply(status=None, body=None, subject="trn_1")


async def test_another_request_with_the_same_key_is_refused(db: Database, org: str) -> None:
    await keep(db, slot(), status=200, body=b"")
    with pytest.raises(Invalid) as refused:
        await kept(db, slot(body=b"y"))
    assert refused.value.code == "idempotency_key_reused"
    assert await kept(db, slot()) == StoredReply(status=200, body=b"", subject=None), "an empty body is a body"


async def test_a_second_request_waits_for_nobody_while_the_first_runs(db: Database, org: str) -> None:
    async with db.tx("acme") as first:
        assert await load_reply(first, ACME, slot()) is None
        async with db.tx("acme") as second:
            with pytest.raises(Conflict) as refused:
                await load_reply(second, ACME, slot())
            assert await load_reply(second, ACME, slot("two")) is None
    assert refused.value.code == "idempotency_in_progress"
    assert await kept(db, slot()) is None, "the lock went with the transaction"


async def test_an_answer_is_kept_for_a_day(db: Database, org: str, clock: ManualClock) -> None:
    assert timedelta(hours=24) == REPLY_LIFETIME
    await keep(db, slot(), status=200, body=b"")
    clock.advance(REPLY_LIFETIME - SECOND)
    assert await kept(db, slot()) is not None
    clock.advance(SECOND)
    assert await kept(db, slot(body=b"y")) is None, "a key may be used anew"


async def test_old_answers_go_with_later_writes(db: Database, org: str, clock: ManualClock) -> None:
    await keep(db, slot("old"), status=200, body=b"")
    clock.advance(SECOND)
    await keep(db, slot("newer"), status=200, body=b"")
    clock.advance(REPLY_LIFETIME - SECOND)
    await keep(db, slot("new"), status=200, body=b"")
    assert stored(db) == ["new", "newer"]


async def test_whom_an_answer_concerns_is_stored_with_it(db: Database, org: str) -> None:
    await keep(db, slot(), status=200, body=b"", concerns={"usr_b", "usr_a"})
    await keep(db, slot("two"), status=200, body=b"")
    with psycopg.connect(db.url) as connection:
        found = connection.execute("select concerns from replies order by key").fetchall()
    assert found == [(["usr_a", "usr_b"],), ([],)]


def test_every_part_of_a_request_counts() -> None:
    asked = [
        ("POST", "/api/turns", "", b"x"),
        ("PUT", "/api/turns", "", b"x"),
        ("POST", "/api/turn", "", b"x"),
        ("POST", "/api/turns", "a=1", b"x"),
        ("POST", "/api/turns", "a=2", b"x"),
        ("POST", "/api/turns", "", b"y"),
        ("POST", "/api/turns", "", b"a=1\0x"),
    ]
    assert len({request_fingerprint(*one) for one in asked}) == len(asked)
