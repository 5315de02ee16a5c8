"""Sign-in to the console: a link opens one session, and a session ends with its time or with its key."""

import re
from datetime import timedelta

import psycopg
import pytest
from structlog.contextvars import clear_contextvars, get_contextvars

from mnemon.access.grants import ALL_GRANTS, Grant, Principal
from mnemon.access.keys import create_key
from mnemon.access.signin import (
    LINK_LIFETIME,
    SESSION_LIFETIME,
    authenticate_session,
    close_session,
    create_link,
    csrf_token,
    open_session,
    parse_token,
    redeem_link,
)
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.errors import Unauthenticated
from mnemon.scope import Scope

ACME = Scope(org_id="acme")
SECOND = timedelta(seconds=1)
FEW = frozenset({Grant.CHAT, Grant.JOBS})


async def new_link(db: Database) -> str:
    async with db.tx("acme") as tx:
        return parse_token(await create_link(tx, ACME, actor="operator"))[1]


async def new_session(db: Database, actor: str = "operator", **options: object) -> str:
    async with db.tx("acme") as tx:
        cookie = await open_session(tx, ACME, actor=actor, grants=FEW, **options)  # type: ignore[arg-type]
    return parse_token(cookie)[1]


async def redeem(db: Database, secret: str) -> str:
    async with db.tx("acme") as tx:
        return parse_token(await redeem_link(tx, ACME, secret))[1]


async def who(db: Database, secret: str) -> Principal:
    async with db.tx("acme") as tx:
        return await authenticate_session(tx, ACME, secret)


async def new_key(db: Database, **options: object) -> str:
    async with db.tx("acme") as tx:
        key, _ = await create_key(tx, ACME, name="test", **options)  # type: ignore[arg-type]
    return key.id


@pytest.mark.parametrize("text", ["", "acme", f"acme_{'a' * 63}", f"ac me_{'a' * 64}", f"acme-_{'a' * 64}"])
def test_what_is_no_token_is_refused_unread(text: str) -> None:
    with pytest.raises(Unauthenticated):
        parse_token(text)


async def test_a_link_opens_one_session_with_everything(db: Database, org: str) -> None:
    link = await new_link(db)
    session = await redeem(db, link)
    assert await who(db, session) == Principal(org_id="acme", key_id="operator", grants=ALL_GRANTS)
    with pytest.raises(Unauthenticated, match="used already"):
        await redeem(db, link)


async def test_a_link_is_no_session_and_a_session_no_link(db: Database, org: str) -> None:
    link, session = await new_link(db), await new_session(db)
    with pytest.raises(Unauthenticated):
        await who(db, link)
    with pytest.raises(Unauthenticated):
        await redeem(db, session)
    async with db.tx("acme") as tx:
        await close_session(tx, ACME, link)
    await redeem(db, link)


async def test_a_link_works_until_a_quarter_of_an_hour_is_over(db: Database, org: str, clock: ManualClock) -> None:
    assert timedelta(minutes=15) == LINK_LIFETIME
    early, late = await new_link(db), await new_link(db)
    clock.advance(LINK_LIFETIME - SECOND)
    await redeem(db, early)
    clock.advance(SECOND)
    with pytest.raises(Unauthenticated, match="too old"):
        await redeem(db, late)


async def test_a_session_lasts_a_fortnight(db: Database, org: str, clock: ManualClock) -> None:
    assert timedelta(days=14) == SESSION_LIFETIME
    session = await new_session(db)
    clock.advance(SESSION_LIFETIME - SECOND)
    assert (await who(db, session)).grants == FEW
    clock.advance(SECOND)
    with pytest.raises(Unauthenticated, match="ended"):
        await who(db, session)


async def test_a_session_lasts_no_longer_than_the_key_that_opened_it(
    db: Database, org: str, clock: ManualClock
) -> None:
    soon, late = clock.now() + timedelta(days=1), clock.now() + timedelta(days=99)
    short, long = await new_session(db, key_ends=soon), await new_session(db, key_ends=late)
    clock.advance(timedelta(days=1))
    with pytest.raises(Unauthenticated):
        await who(db, short)
    await who(db, long)
    clock.advance(SESSION_LIFETIME)
    with pytest.raises(Unauthenticated):
        await who(db, long)


async def test_a_session_may_do_what_its_key_may_do_now(db: Database, org: str, clock: ManualClock) -> None:
    ends = clock.now() + timedelta(days=1)
    key_id = await new_key(db, grants=frozenset({Grant.CHAT, Grant.ADMIN}), expires_at=ends)
    session = await new_session(db, key_id)
    clear_contextvars()
    try:
        found = await who(db, session)
        assert get_contextvars() == {"org": "acme", "key": key_id}
    finally:
        clear_contextvars()
    assert found == Principal(org_id="acme", key_id=key_id, grants=frozenset({Grant.CHAT}), expires_at=ends)


async def test_a_session_of_a_key_that_is_gone_has_ended(db: Database, org: str) -> None:
    session = await new_session(db, await new_key(db))
    await who(db, session)
    with psycopg.connect(db.url, autocommit=True) as connection:
        connection.execute("delete from keys")
    with pytest.raises(Unauthenticated):
        await who(db, session)


async def test_signing_out_ends_this_session_only(db: Database, org: str) -> None:
    one, two = await new_session(db), await new_session(db)
    async with db.tx("acme") as tx:
        await close_session(tx, ACME, one)
    with pytest.raises(Unauthenticated):
        await who(db, one)
    await who(db, two)


async def test_a_new_session_clears_away_what_has_ended(db: Database, org: str, clock: ManualClock) -> None:
    await new_link(db)
    clock.advance(LINK_LIFETIME)
    await new_session(db)
    with psycopg.connect(db.url) as connection:
        assert connection.execute("select kind from signins").fetchall() == [("session",)]


async def test_a_token_is_a_secret_nobody_else_has_and_is_stored_as_a_hash(db: Database, org: str) -> None:
    async with db.tx("acme") as tx:
        one, two = [await create_link(tx, ACME, actor="operator") for _ in range(2)]
    assert re.fullmatch(r"acme_[0-9a-f]{64}", one)
    assert one != two
    with psycopg.connect(db.url) as connection:
        assert not any(bytes(row[0]).hex() in one for row in connection.execute("select digest from signins"))


def test_a_form_token_belongs_to_its_session() -> None:
    assert csrf_token("a") == csrf_token("a")
    assert csrf_token("a") != csrf_token("b")
    assert "a" * 64 not in csrf_token("a" * 64)
