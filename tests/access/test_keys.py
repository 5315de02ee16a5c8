"""Keys at the database: who may use one, for what and until when."""

import asyncio
import re
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from structlog.contextvars import clear_contextvars, get_contextvars

from mnemon.access import store
from mnemon.access.grants import ALL_GRANTS, DEFAULT_PERSONAL_GRANTS, Grant, Key, Principal
from mnemon.access.keys import (
    MAX_NAME_CHARS,
    KeyWatch,
    authenticate,
    create_key,
    parse_key,
    revoke_key,
    server_stops,
)
from mnemon.access.signin import authenticate_session, open_session, parse_token
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.errors import DatabaseDown, Invalid, NotAllowed, NotFound, Unauthenticated
from mnemon.scope import Scope
from support.bounds import HANGS_S

ACME = Scope(org_id="acme")
HOUR = timedelta(hours=1)


async def new_key(db: Database, **options: object) -> tuple[Key, str]:
    async with db.tx("acme") as tx:
        return await create_key(tx, ACME, name="test", **options)  # type: ignore[arg-type]


async def stored_keys(db: Database) -> list[Key]:
    async with db.tx("acme") as tx:
        return await store.list_keys(tx, ACME)


async def refusal(db: Database, text: str) -> str:
    with pytest.raises(Unauthenticated) as refused:
        await authenticate(db, text)
    return refused.value.code


@pytest.mark.parametrize(
    "text",
    ["", "mnk_acme", f"mnk_acme_{'a' * 63}", f"mnk_acme_{'a' * 65}", f"mnk_acme_{'G' * 64}", f"mnk_-acme_{'a' * 64}"],
)
def test_what_is_no_key_is_refused_unread(text: str) -> None:
    with pytest.raises(Unauthenticated):
        parse_key(text)


async def test_a_key_is_its_organizations_and_a_secret_nobody_else_has(db: Database, org: str) -> None:
    (_, one), (_, two) = await new_key(db), await new_key(db)
    assert re.fullmatch(r"mnk_acme_[0-9a-f]{64}", one)
    assert one != two
    with psycopg.connect(db.url) as connection:
        stored = connection.execute("select secret from keys").fetchall()
    assert not any(bytes(secret).hex() in one for (secret,) in stored), "only a hash is stored"


async def test_whoever_shows_the_key_is_who_it_was_made_for(db: Database, org: str, clock: ManualClock) -> None:
    key, text = await new_key(db, bound_user="ann", expires_at=clock.now() + HOUR)
    assert await authenticate(db, text) == Principal(
        org_id="acme",
        key_id=key.id,
        grants=DEFAULT_PERSONAL_GRANTS,
        bound_user="ann",
        expires_at=clock.now() + HOUR,
    )


async def test_a_key_is_stored_as_it_was_asked_for(db: Database, org: str, clock: ManualClock) -> None:
    async with db.tx("acme") as tx:
        key, _ = await create_key(tx, ACME, name=" the app ", grants=frozenset({Grant.CHAT}))
    assert (key.name, key.grants, key.bound_user, key.created_at) == (
        "the app",
        frozenset({Grant.CHAT}),
        None,
        clock.now(),
    )
    assert (key.expires_at, key.revoked_at, key.used_at) == (None, None, None)
    assert await stored_keys(db) == [key]


async def test_without_named_grants_a_key_may_do_everything(db: Database, org: str) -> None:
    key, _ = await new_key(db)
    assert key.grants == ALL_GRANTS


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"name": " "}, "name_missing"),
        ({"grants": frozenset()}, "scopes_missing"),
        ({"bound_user": " "}, "user_missing"),
        ({"bound_user": "a" * (MAX_NAME_CHARS + 1)}, "bad_user_id"),
        ({"bound_user": "a\x00b"}, "bad_user_id"),
        ({"bound_user": "ann", "grants": frozenset({Grant.ADMIN})}, "scope_not_for_bound_key"),
    ],
)
async def test_a_key_that_would_be_of_no_use_is_not_made(
    db: Database, org: str, options: dict[str, object], code: str
) -> None:
    async with db.tx("acme") as tx:
        with pytest.raises(Invalid) as refused:
            await create_key(tx, ACME, **{"name": "test", **options})  # type: ignore[arg-type]
    assert refused.value.code == code
    assert await stored_keys(db) == []


async def test_the_longest_name_of_a_person_is_taken(db: Database, org: str) -> None:
    key, _ = await new_key(db, bound_user="a" * MAX_NAME_CHARS)
    assert key.bound_user == "a" * MAX_NAME_CHARS


async def test_a_key_made_by_a_key_has_no_more_than_that_and_lasts_no_longer(
    db: Database, org: str, clock: ManualClock
) -> None:
    few, ends = frozenset({Grant.ADMIN, Grant.CHAT}), clock.now() + HOUR
    maker = Principal(org_id="acme", key_id="key_1", grants=few, expires_at=ends)
    key, _ = await new_key(db, maker=maker)
    assert (key.grants, key.expires_at) == (few, ends)
    key, _ = await new_key(db, maker=maker, expires_at=ends)
    assert key.expires_at == ends, "as long as the maker's is not longer"
    for beyond in ({"grants": frozenset({Grant.CUSTODY})}, {"expires_at": ends + HOUR}):
        with pytest.raises(NotAllowed):
            await new_key(db, maker=maker, **beyond)


async def test_a_key_of_another_organization_or_another_secret_is_unknown(db: Database, org: str) -> None:
    _, text = await new_key(db)
    other = text.replace("acme", "globex")
    assert await refusal(db, other) == "unauthenticated"
    assert await refusal(db, text[:-1] + ("0" if text[-1] != "0" else "1")) == "unauthenticated"


async def test_a_key_is_good_until_the_moment_it_expires(db: Database, org: str, clock: ManualClock) -> None:
    _, text = await new_key(db, expires_at=clock.now() + HOUR)
    clock.advance(HOUR - timedelta(seconds=1))
    await authenticate(db, text)
    clock.advance(timedelta(seconds=1))
    assert await refusal(db, text) == "key_expired"


async def test_a_refused_key_is_named_in_the_log(db: Database, org: str) -> None:
    key, text = await new_key(db)
    async with db.tx("acme") as tx:
        await revoke_key(tx, ACME, key.id)
    clear_contextvars()
    try:
        assert await refusal(db, text) == "key_revoked"
        assert get_contextvars() == {"org": "acme", "key": key.id}
    finally:
        clear_contextvars()


async def test_revoking_a_key_ends_the_sessions_it_opened_and_no_others(
    db: Database, org: str, clock: ManualClock
) -> None:
    (one, text), (two, other) = await new_key(db), await new_key(db)
    async with db.tx("acme") as tx:
        cookies = [await open_session(tx, ACME, actor=key.id, grants=ALL_GRANTS) for key in (one, two)]
        await revoke_key(tx, ACME, one.id)
    assert await refusal(db, text) == "key_revoked"
    await authenticate(db, other)
    async with db.tx("acme") as tx:
        rows = await tx.fetch_all("select actor from signins where org_id = 'acme'")
        assert [row["actor"] for row in rows] == [two.id]
        assert (await authenticate_session(tx, ACME, parse_token(cookies[1])[1])).key_id == two.id
    assert {key.id: key.revoked_at for key in await stored_keys(db)} == {one.id: clock.now(), two.id: None}


async def test_a_key_that_does_not_exist_cannot_be_revoked(db: Database, org: str) -> None:
    async with db.tx("acme") as tx:
        with pytest.raises(NotFound):
            await revoke_key(tx, ACME, "key_unknown")


async def test_a_restore_revokes_once_and_as_of_then(db: Database, org: str, clock: ManualClock) -> None:
    key, _ = await new_key(db)
    async with db.tx("acme") as tx:
        assert await store.revoke_key_at(tx, ACME, key.id, clock.now() - HOUR)
        assert not await store.revoke_key_at(tx, ACME, key.id, clock.now())
        assert not await store.revoke_key_at(tx, ACME, "key_unknown", clock.now())
    assert [one.revoked_at for one in await stored_keys(db)] == [clock.now() - HOUR]


async def test_use_is_recorded_at_most_once_a_minute(db: Database, org: str, clock: ManualClock) -> None:
    _, text = await new_key(db)
    first = clock.now()
    await authenticate(db, text)
    clock.advance(timedelta(seconds=59))
    await authenticate(db, text)
    assert [key.used_at for key in await stored_keys(db)] == [first]
    clock.advance(timedelta(seconds=1))
    await authenticate(db, text)
    assert [key.used_at for key in await stored_keys(db)] == [clock.now()]


async def test_a_key_opens_a_database_that_is_read_only_and_is_refused_by_one_that_fails_otherwise(
    db: Database, org: str, database_url: str
) -> None:
    key, text = await new_key(db)
    with psycopg.connect(database_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f'alter database "{name}" set default_transaction_read_only = on')
    fenced = Database(database_url, db._clock)
    await fenced.open()
    try:
        assert (await authenticate(fenced, text)).key_id == key.id
    finally:
        await fenced.close()
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("set default_transaction_read_only = off")
        connection.execute(f'alter database "{name}" reset default_transaction_read_only')
        connection.execute("revoke update on keys from mnemon_app")
    with pytest.raises(DatabaseDown):
        await authenticate(db, text)


async def test_a_stream_is_told_why_it_ends(db: Database, org: str, clock: ManualClock) -> None:
    _, text = await new_key(db, expires_at=clock.now() + HOUR)
    principal, closing = await authenticate(db, text), asyncio.Event()
    async with asyncio.timeout(HANGS_S):
        async with KeyWatch(db).key_end_event(principal, closing) as ended:
            await asyncio.sleep(0)
            assert not ended.is_set()
            closing.set()
            await ended.wait()
        assert ended.reason.code == server_stops().code
        clock.advance(HOUR)
        async with KeyWatch(db).key_end_event(principal, asyncio.Event()) as ended:
            await ended.wait()
        assert ended.reason.code == "key_expired"


async def test_a_stream_whose_key_cannot_be_checked_for_a_bug_ends(db: Database, org: str) -> None:
    _, text = await new_key(db)
    principal = await authenticate(db, text)
    nobody = replace(principal, org_id="not a name!")
    async with asyncio.timeout(HANGS_S), KeyWatch(db).key_end_event(nobody, asyncio.Event()) as ended:
        await ended.wait()
    assert ended.reason.code == "internal"


async def test_a_watch_that_nobody_waits_for_stops(db: Database, org: str) -> None:
    _, text = await new_key(db)
    principal, before = await authenticate(db, text), asyncio.all_tasks()
    async with KeyWatch(db).key_end_event(principal, asyncio.Event()):
        await asyncio.sleep(0)
        watching = asyncio.all_tasks() - before
    _, left = await asyncio.wait(watching, timeout=HANGS_S)
    assert not left


async def test_an_earlier_end_than_the_principal_knows_ends_it(db: Database, org: str, clock: ManualClock) -> None:
    key, text = await new_key(db)
    principal = await authenticate(db, text)
    with psycopg.connect(db.url, autocommit=True) as connection:
        connection.execute("update keys set expires_at = %s where key_id = %s", (clock.now() + HOUR, key.id))
    assert await KeyWatch(db).reason_ended(principal) is None
    clock.advance(HOUR)
    ended = await KeyWatch(db).reason_ended(principal)
    assert ended is not None
    assert ended.code == "key_expired"
