"""The tables `engagements`, `engagement_journal` and `engagement_turns`."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.types.json import Jsonb

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.engagement.document import ENGAGEMENT_ADAPTER, Engagement
from mnemon.engagement.journal import DELTA_ADAPTER, EngagementEntry
from mnemon.scope import Scope
from mnemon.turn import Turn

SQL = load_statements("mnemon.engagement")
_PAGE_SIZE = 500


@dataclass(frozen=True, kw_only=True)
class StoredEngagement:
    """An organization's engagement as stored."""

    document: Engagement | None
    """None before the first session."""
    seq: int
    """The position of the journal's last entry, which is the document's version."""
    heard: int
    """The number of user turns that carried content."""


async def load_engagement(tx: Tx, scope: Scope) -> StoredEngagement:
    """Return the organization's engagement; an empty one at version 0 when there is none."""
    row = await tx.fetch_one_or_none(SQL["current"], org_id=scope.org_id)
    return StoredEngagement(document=None, seq=0, heard=0) if row is None else _engagement_from_row(row)


async def lock_engagement(tx: Tx, scope: Scope) -> StoredEngagement:
    """Create the organization's row in `engagements` unless it exists, lock it, and return the engagement."""
    # A row that does not exist cannot be locked.
    await tx.execute(SQL["begin"], org_id=scope.org_id, now=tx.now)
    return _engagement_from_row(await tx.fetch_one(SQL["locked"], org_id=scope.org_id))


async def insert_turn(tx: Tx, scope: Scope, turn: Turn, *, has_content: bool) -> bool:
    """Record that the turn took part, and whether it had content; return False if it was recorded before."""
    touched = await tx.execute(
        SQL["hear"], org_id=scope.org_id, turn_id=turn.id, user_id=scope.user, at=turn.at, has_content=has_content
    )
    return touched == 1


async def append_entries(tx: Tx, scope: Scope, entries: Sequence[EngagementEntry]) -> None:
    """Insert the entries into the table `engagement_journal`, in one round trip."""
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
            "delta": Jsonb(DELTA_ADAPTER.dump_python(entry.delta, mode="json")),
        }
        for entry in entries
    ]
    await tx.execute_many(SQL["append"], rows)


async def store_engagement(tx: Tx, scope: Scope, engagement: StoredEngagement) -> None:
    """Store document, version and turn count in the organization's row, which the caller has locked."""
    document = (
        None if engagement.document is None else Jsonb(ENGAGEMENT_ADAPTER.dump_python(engagement.document, mode="json"))
    )
    await tx.execute(
        SQL["keep"], org_id=scope.org_id, seq=engagement.seq, heard=engagement.heard, document=document, now=tx.now
    )


async def list_entries(
    tx: Tx, scope: Scope, *, after: int = 0, until: datetime | None = None, most: int = _PAGE_SIZE
) -> list[EngagementEntry]:
    """Return up to `most` entries of the engagement's journal after a position and up to a time, oldest first."""
    rows = await tx.fetch_all(SQL["entries"], org_id=scope.org_id, after=after, until=until, most=most)
    return [_entry_from_row(row) for row in rows]


async def list_latest_entries(tx: Tx, scope: Scope, *, most: int) -> list[EngagementEntry]:
    """Return the last `most` entries of the engagement's journal, oldest first."""
    rows = await tx.fetch_all(SQL["latest_entries"], org_id=scope.org_id, most=most)
    return [_entry_from_row(row) for row in reversed(rows)]


async def iterate_journal(tx: Tx, scope: Scope, *, until: datetime | None = None) -> AsyncIterator[EngagementEntry]:
    """Yield the engagement's whole journal up to a time, oldest first, reading it page by page."""
    after = 0
    # Page by page: a journal is never deleted but by forgetting, and may be long.
    while page := await list_entries(tx, scope, after=after, until=until):
        for entry in page:
            yield entry
        after = page[-1].seq


async def delete_entries(tx: Tx, scope: Scope, seqs: Sequence[int]) -> int:
    """Delete the journal entries at these positions; return how many there were."""
    return await tx.execute(SQL["forget_entries"], org_id=scope.org_id, seqs=list(seqs))


@dataclass(frozen=True, kw_only=True)
class DeletedPart:
    """What was deleted of a person."""

    entries: int
    turns: int
    heard: int
    """Those of the turns that carried content."""


async def delete_person(tx: Tx, scope: Scope) -> DeletedPart:
    """Delete everything that came from the person's turns; return how much there was."""
    entries = await tx.execute(SQL["forget_person_entries"], org_id=scope.org_id, user_id=scope.user)
    row = await tx.fetch_one(SQL["forget_person_turns"], org_id=scope.org_id, user_id=scope.user)
    return DeletedPart(entries=entries, turns=int(row["turns"]), heard=int(row["heard"]))


def _engagement_from_row(row: Row) -> StoredEngagement:
    """Return a row of `engagements` as the stored engagement."""
    document = row["document"]
    return StoredEngagement(
        document=None if document is None else ENGAGEMENT_ADAPTER.validate_python(document),
        seq=int(row["seq"]),
        heard=int(row["heard"]),
    )


def _entry_from_row(row: Row) -> EngagementEntry:
    """Return a row of `engagement_journal` as a journal entry."""
    delta = DELTA_ADAPTER.validate_python(row["delta"])
    return from_row(EngagementEntry, row, user_id=row["subject_user_id"], delta=delta)
