"""A second withdrawal of a source changes nothing, whatever was said and done by hand before, in a real database."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemon.access.organizations import create_organization
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.errors import MnemonError
from mnemon.memory import store
from mnemon.memory.edit import MemoryEdit, edit_memory, restore_memory
from mnemon.memory.fact import Fact, MemoryType
from mnemon.memory.lifecycle import ArchiveStatus
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.remember import remember_facts
from mnemon.memory.sources.withdrawal import Withdrawal, withdraw_source
from mnemon.scope import Scope
from mnemon.sessions.people import ensure_person

ORIGINS = ("operator", "person", "user:bob", "tool:b", "email")
CITIES = ("Boston", "Chicago")
HOUR = timedelta(hours=1)


class Say(NamedTuple):
    origin: str
    city: str
    persona: str | None = None


class Edit(NamedTuple):
    """A change by hand of one of the memories, by the operator."""

    which: int
    edit: MemoryEdit


class Restore(NamedTuple):
    which: int
    version: int | None


class Withdraw(NamedTuple):
    origin: str


Act = Say | Edit | Restore | Withdraw
Snapshot = tuple[list[StoredMemory], dict[str, tuple[MemoryVersion, ...]]]


class Record:
    """What is held of one person; every act is a transaction an hour after the one before."""

    def __init__(self, db: Database, clock: ManualClock, scope: Scope) -> None:
        self._db, self._clock, self._scope = db, clock, scope

    async def act(self, act: Act) -> None:
        """Do it; what is refused, as for want of such a version or source, changes nothing."""
        self._clock.advance(HOUR)
        try:
            async with self._db.tx("acme") as tx:
                await self._apply(tx, act)
        except MnemonError:
            pass

    async def _apply(self, tx: Tx, act: Act) -> None:
        match act:
            case Say(origin=origin, city=city, persona=persona):
                fact = Fact(
                    type=MemoryType.PROFILE, content=f"Lives in {city}", attribute="lives in", source=origin,
                    private=persona is not None,
                )  # fmt: skip
                await remember_facts(tx, replace(self._scope, persona_id=persona), [fact])
            case Edit(which=which, edit=edit):
                if rows := await self._rows(tx):
                    await edit_memory(tx, self._scope, rows[which % len(rows)].id, edit)
            case Restore(which=which, version=version):
                if rows := await self._rows(tx):
                    one = rows[which % len(rows)].id
                    await restore_memory(tx, self._scope, one, version=version, source="operator")
            case Withdraw(origin=origin):
                await withdraw_source(tx, self._scope, origin)

    async def withdraw(self, origin: str) -> Withdrawal | None:
        """Return the receipt; None if the source never spoke."""
        self._clock.advance(HOUR)
        try:
            async with self._db.tx("acme") as tx:
                return await withdraw_source(tx, self._scope, origin)
        except MnemonError:
            return None

    async def snapshot(self) -> Snapshot:
        """Return every row with its versions."""
        async with self._db.tx("acme") as tx:
            rows = await self._rows(tx)
            return rows, await store.past_versions(tx, self._scope, [one.id for one in rows])

    async def _rows(self, tx: Tx) -> list[StoredMemory]:
        # Ids are random; the same acts must find the same memory in every run.
        found = await tx.fetch_all(
            "select * from memories where org_id = %(org_id)s and user_id = %(user_id)s "
            "order by created_at, coalesce(persona_id, ''), memory_key",
            **self._scope.owner_params,
        )
        return [store.memory_of(row) for row in found]


def by_operator(**change: object) -> MemoryEdit:
    return MemoryEdit(source="operator", **change)  # type: ignore[arg-type]


EDITS = st.sampled_from(
    [
        *[by_operator(status=ArchiveStatus.ARCHIVED, reason=reason) for reason in ("wrong", "outdated", "unwanted")],
        by_operator(status=ArchiveStatus.ARCHIVED, reason="unwanted"),
        by_operator(status=ArchiveStatus.ACTIVE),
        by_operator(pinned=True),
        by_operator(pinned=False),
        by_operator(reason="looked at it"),
        by_operator(content="Lives in Oslo"),
        MemoryEdit(content="Lives in Chicago", source="person"),
    ]
)
PLACES = st.integers(0, 3)
SAYINGS = st.builds(
    Say, st.sampled_from(ORIGINS), st.sampled_from(CITIES), st.sampled_from([None, None, None, "coach"])
)
ACTS = st.one_of(
    SAYINGS,
    st.builds(Edit, PLACES, EDITS),
    st.builds(Restore, PLACES, st.sampled_from([None, 1, 2])),
    st.builds(Withdraw, st.sampled_from(ORIGINS)),
)


async def new_record(db: Database, clock: ManualClock, name: str) -> Record:
    """Return a person of this name about whom nothing is held."""
    async with db.tx("acme") as tx:
        return Record(db, clock, await ensure_person(tx, "acme", name))


async def check_second_withdrawal(record: Record, acts: list[Act], origin: str) -> None:
    for act in acts:
        await record.act(act)
    if await record.withdraw(origin) is None:
        return
    before = await record.snapshot()
    receipt = await record.withdraw(origin)
    assert receipt is not None
    assert await record.snapshot() == before
    assert receipt.total == 0


ARCHIVED_BY_HAND = Edit(0, by_operator(status=ArchiveStatus.ARCHIVED, reason="unwanted"))


@pytest.mark.parametrize(
    ("acts", "origin", "left"),
    [
        ([Say("operator", "Boston"), Say("user:bob", "Boston"), ARCHIVED_BY_HAND], "operator", []),
        (
            [Say("person", "Boston"), Say("tool:b", "Chicago"), ARCHIVED_BY_HAND],
            "person",
            ["Lives in Chicago, a claim"],
        ),
        # Nobody archived anything: the withdrawn memory has the tool's first statement in its history.
        ([Say("person", "Boston"), Say("tool:b", "Boston"), Say("tool:b", "Chicago")], "person", ["Lives in Chicago"]),
    ],
)
@pytest.mark.usefixtures("org")
async def test_a_second_withdrawal_brings_nothing_back(
    db: Database, clock: ManualClock, acts: list[Act], origin: str, left: list[str]
) -> None:
    record = await new_record(db, clock, "ann")
    await check_second_withdrawal(record, acts, origin)
    rows, _ = await record.snapshot()
    active = [one for one in rows if one.status is ArchiveStatus.ACTIVE]
    assert [one.content + (", a claim" if one.claim_of else "") for one in active] == left


@pytest.mark.usefixtures("org")
async def test_what_was_archived_by_hand_stays_so_when_two_sources_are_withdrawn(
    db: Database, clock: ManualClock
) -> None:
    record = await new_record(db, clock, "ann")
    said: list[Act] = [Say("operator", "Boston"), Say("tool:b", "Chicago"), Say("email", "Oslo"), ARCHIVED_BY_HAND]
    acts = [*said, Withdraw("operator"), Withdraw("email")]
    for act in acts:
        await record.act(act)
    rows, _ = await record.snapshot()
    assert [(one.content, one.claim_of is not None) for one in rows if one.status is ArchiveStatus.ACTIVE] == [
        ("Lives in Chicago", True)
    ]
    assert rows[0].note == "withdrawn after it was archived"


def test_a_second_withdrawal_changes_nothing(database_url: str, clock: ManualClock) -> None:
    names = (f"person{number}" for number in count(1))
    with asyncio.Runner() as runner:
        db = Database(database_url, clock)
        runner.run(open_with_organization(db))

        @settings(max_examples=200)
        @given(st.lists(SAYINGS, min_size=2, max_size=4), st.lists(ACTS, min_size=1, max_size=6), PLACES)
        def check(first: list[Say], acts: list[Act], which: int) -> None:
            record = runner.run(new_record(db, clock, next(names)))
            runner.run(check_second_withdrawal(record, [*first, *acts], first[which % len(first)].origin))

        try:
            check()
        finally:
            runner.run(db.close())


async def open_with_organization(db: Database) -> None:
    await db.open()
    async with db.tx("acme") as tx:
        await create_organization(tx)
