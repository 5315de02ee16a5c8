"""Whether a key is still good is asked once for all its streams, and told as soon as it is not."""

import asyncio
from datetime import timedelta

import pytest

from mnemon.access.grants import Principal
from mnemon.access.keys import CHECK_INTERVAL_S, KeyWatch, authenticate, create_key, revoke_key
from mnemon.access.organizations import create_organization
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.errors import Unauthenticated
from mnemon.scope import Scope
from support.rounds import watch_rounds

ACME = Scope(org_id="acme")


async def new_key(db: Database, *, lasts: timedelta | None = None) -> tuple[str, str]:
    async with db.tx("acme") as tx:
        await create_organization(tx)
        key, text = await create_key(tx, ACME, name="test", expires_at=tx.now + lasts if lasts else None)
    return key.id, text


async def test_many_streams_of_a_key_make_one_look(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    key_id, text = await new_key(db)
    principal, at = await authenticate(db, text), 0.0
    watch = KeyWatch(db, lambda: at)

    async def ends() -> set[str | None]:
        """Why the key is not good, as 600 streams are told."""
        told = await asyncio.gather(*(watch.reason_ended(principal) for _ in range(600)))
        return {None if one is None else one.code for one in told}

    sent = watch_rounds(monkeypatch)
    assert await ends() == {None}
    assert len(sent) == 1
    async with db.tx("acme") as tx:
        await revoke_key(tx, ACME, key_id)
    at = CHECK_INTERVAL_S
    assert await ends() == {"key_revoked"}


async def test_expiry_needs_no_look(db: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    _, text = await new_key(db, lasts=timedelta(hours=1))
    principal = await authenticate(db, text)
    watch = KeyWatch(db)
    assert await watch.reason_ended(principal) is None
    clock.advance(timedelta(hours=1))
    sent = watch_rounds(monkeypatch)
    ended = await watch.reason_ended(principal)
    assert ended is not None
    assert ended.code == "key_expired"
    assert sent == []


async def test_a_key_that_is_gone_is_not_good(db: Database) -> None:
    _, text = await new_key(db)
    principal = await authenticate(db, text)
    async with db.owner_tx() as tx:
        await tx.execute("delete from keys where org_id = 'acme'")
    ended = await KeyWatch(db).reason_ended(principal)
    assert ended is not None
    assert ended.code == "unauthenticated"


async def test_while_the_database_is_away_a_stream_goes_on(db: Database) -> None:
    _, text = await new_key(db)
    principal = await authenticate(db, text)
    away = Database("postgresql://127.0.0.1:1/nowhere", db._clock, pool_size=1, timeout_s=0.1)
    await away.open()
    try:
        assert await KeyWatch(away).reason_ended(principal) is None
    finally:
        await away.close()


async def test_a_watch_rests_between_two_looks(db: Database) -> None:
    class Counting(KeyWatch):
        asked = 0

        async def reason_ended(self, principal: Principal) -> Unauthenticated | None:
            self.asked += 1
            return await super().reason_ended(principal)

    _, text = await new_key(db)
    watch = Counting(db)
    async with watch.key_end_event(await authenticate(db, text), asyncio.Event()):
        while not watch.asked:
            await asyncio.sleep(0)
        await watch.reason_ended(await authenticate(db, text))
        before = watch.asked
        for _ in range(100):
            await asyncio.sleep(0)
    assert watch.asked <= before + 1
