"""The tables `engagements`, `engagement_journal` and `engagement_turns`."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.types.json import Jsonb

from mnemon.db.statements import statements
from mnemon.db.tx import Row, Tx
from mnemon.engagement.delta import DELTA, Entry
from mnemon.engagement.document import DOCUMENT, Engagement
from mnemon.scope import Scope
from mnemon.turn import Turn

SQL = statements("mnemon.engagement")
_PAGE = 500


@dataclass(frozen=True, kw_only=True)
class Held:
    """An organization's engagement as stored."""

    document: Engagement | None
    """None before the first session."""
    seq: int
    """The journal's last place: the document's version."""
    heard: int
    """User turns that entered."""


async def read(tx: Tx, scope: Scope) -> Held:
    """The engagement as it stands."""
    row = await tx.maybe(SQL["current"], org_id=scope.org_id)
    return Held(document=None, seq=0, heard=0) if row is None else _held(row)


async def lock(tx: Tx, scope: Scope) -> Held:
    """The engagement, which nobody else changes until the transaction ends."""
    await tx.run(SQL["begin"], org_id=scope.org_id, now=tx.now)
    return _held(await tx.one(SQL["locked"], org_id=scope.org_id))


async def hear(tx: Tx, scope: Scope, turn: Turn) -> bool:
    """The turn has entered; whether it had not before."""
    touched = await tx.run(SQL["hear"], org_id=scope.org_id, turn_id=turn.id, user_id=scope.user, at=turn.at)
    return touched == 1


async def append(tx: Tx, scope: Scope, entries: Sequence[Entry]) -> None:
    """The entries stand in the journal."""
    if not entries:
        return
    rows = [
        {
            "org_id": scope.org_id,
            "seq": entry.seq,
            "at": entry.at,
            "now": tx.now,
            "turn_id": entry.turn_id,
            "user_id": entry.user_id,
            "who": entry.who,
            "reason": entry.reason,
            "delta": Jsonb(DELTA.dump_python(entry.delta, mode="json")),
        }
        for entry in entries
    ]
    await tx.many(SQL["append"], rows)


async def keep(tx: Tx, scope: Scope, held: Held) -> None:
    """The document is as given. The row was locked before."""
    document = None if held.document is None else Jsonb(DOCUMENT.dump_python(held.document, mode="json"))
    await tx.run(SQL["keep"], org_id=scope.org_id, seq=held.seq, heard=held.heard, document=document, now=tx.now)


async def entries(
    tx: Tx, scope: Scope, *, after: int = 0, until: datetime | None = None, most: int = _PAGE
) -> list[Entry]:
    """The journal after a place and up to a time, oldest first."""
    rows = await tx.all(SQL["entries"], org_id=scope.org_id, after=after, until=until, most=most)
    return [_entry(row) for row in rows]


async def journal(tx: Tx, scope: Scope, *, until: datetime | None = None) -> AsyncIterator[Entry]:
    """All of the journal up to a time, oldest first, page by page."""
    after = 0
    while page := await entries(tx, scope, after=after, until=until):
        for entry in page:
            yield entry
        after = page[-1].seq


async def forget_entries(tx: Tx, scope: Scope, seqs: Sequence[int]) -> int:
    """These entries are gone; how many there were."""
    return await tx.run(SQL["forget_entries"], org_id=scope.org_id, seqs=list(seqs))


async def forget_person(tx: Tx, scope: Scope) -> tuple[int, int]:
    """Nothing that came from the person's turns is left; how many entries and turns there were."""
    gone = await tx.run(SQL["forget_person_entries"], org_id=scope.org_id, user_id=scope.user)
    turns = await tx.run(SQL["forget_person_turns"], org_id=scope.org_id, user_id=scope.user)
    return gone, turns


def _held(row: Row) -> Held:
    document = row["document"]
    return Held(
        document=None if document is None else DOCUMENT.validate_python(document),
        seq=int(row["seq"]),
        heard=int(row["heard"]),
    )


def _entry(row: Row) -> Entry:
    return Entry(
        seq=int(row["seq"]),
        at=row["at"],
        turn_id=row["turn_id"],
        user_id=row["subject_user_id"],
        who=row["who"],
        reason=row["reason"],
        delta=DELTA.validate_python(row["delta"]),
    )
