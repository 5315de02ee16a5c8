"""SQL statements that read and write memories, their versions and their provenance."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.event_loop import with_pauses
from mnemon.memory.fact import MemoryType, QuoteLocation
from mnemon.memory.lifecycle import ArchiveStatus
from mnemon.memory.memory import MemoryVersion, Provenance, StoredMemory
from mnemon.memory.plan import MemoryChange, MemoryOutcome
from mnemon.memory.trust import Trust, coarse_trust, legacy_trust_of
from mnemon.memory.version_quotes import RecordedQuote, with_own_quotes
from mnemon.scope import Scope

SQL = load_statements("mnemon.memory")
MOST_PROVENANCE = 20
"""The most statements that a memory is shown with."""
_ROWS_BETWEEN_PAUSES = 200
"""Rows converted between two pauses for other tasks, about 2 ms: recall reads up to 1,500 ahead, a batch has 1,000."""

_MOST_UNREAD = 20_000
"""Memories whose slots are filled in at one writing."""

StatementKey = tuple[str, str, int, int, str]
"""One recorded statement: memory, message, start, end, content hash."""


async def by_keys(tx: Tx, scope: Scope, keys: Iterable[str]) -> list[StoredMemory]:
    """Return the memories under these keys that the scope's persona may see."""
    rows = await tx.fetch_all(SQL["by_keys"], **scope.owner_params, persona_id=scope.persona_id, keys=list(set(keys)))
    return [memory_of(row) for row in rows]


async def with_claims(tx: Tx, scope: Scope, keys: Iterable[str], facts: Iterable[str]) -> list[StoredMemory]:
    """Return the memories under the keys that the persona may see, and every persona's claims against the facts' keys.

    With each claim comes what its own persona holds under that key.
    """
    named = {"keys": list(set(keys)), "facts": list(set(facts))}
    rows = await tx.fetch_all(SQL["with_claims"], **scope.owner_params, persona_id=scope.persona_id, **named)
    return list({row["id"]: memory_of(row) for row in rows}.values())


async def without_slot(tx: Tx, scope: Scope) -> list[StoredMemory]:
    """Return the person's memories whose slot (entity and attribute) was not computed yet."""
    rows = await tx.fetch_all(SQL["without_slot"], **scope.owner_params, most=_MOST_UNREAD)
    return [memory_of(row) for row in rows]


async def set_slots(tx: Tx, scope: Scope, slots: Sequence[tuple[str, str]]) -> None:
    """Store the slots (entity and attribute) of memories, given as pairs of memory id and slot."""
    if slots:
        await tx.execute_many(SQL["set_slot"], [{**scope.owner_params, "id": id_, "slot": slot} for id_, slot in slots])


async def in_slots(tx: Tx, scope: Scope, slots: Sequence[str]) -> list[StoredMemory]:
    """Return the memories with one of these slots (entity and attribute) that the scope's persona may see."""
    if not slots:
        return []
    rows = await tx.fetch_all(SQL["in_slots"], **scope.owner_params, persona_id=scope.persona_id, slots=list(slots))
    return [memory_of(row) for row in rows]


async def about_keys(tx: Tx, scope: Scope, keys: Sequence[str]) -> list[StoredMemory]:
    """Return the active memories, of all personas, that are a value of an attribute of one of these entity keys."""
    rows = await tx.fetch_all(SQL["about_keys"], **scope.owner_params, keys=list(keys))
    return [memory_of(row) for row in rows]


async def set_aside_by(tx: Tx, scope: Scope, note: str) -> list[StoredMemory]:
    """Return the archived memories, of all personas, whose note is this one or begins with it and a colon."""
    rows = await tx.fetch_all(SQL["set_aside_by"], **scope.owner_params, note=note)
    return [memory_of(row) for row in rows]


async def active_of(tx: Tx, scope: Scope, *, most: int) -> list[StoredMemory]:
    """Return the latest active memories that the scope's persona may see, without claims."""
    rows = await tx.fetch_all(SQL["active_of"], **scope.owner_params, persona_id=scope.persona_id, most=most)
    return [memory_of(row) for row in rows]


async def by_ids(tx: Tx, scope: Scope, ids: Sequence[str]) -> list[StoredMemory]:
    """Return the person's memories with these ids, in the order of the ids."""
    if not ids:
        return []
    rows = await tx.fetch_all(SQL["by_ids"], **scope.owner_params, ids=list(ids))
    found = {row["id"]: memory_of(row) for row in rows}
    return [found[one] for one in ids if one in found]


async def by_ids_with_provenance(tx: Tx, scope: Scope, ids: Sequence[str]) -> list[StoredMemory]:
    """Return the person's memories with these ids, each with its latest provenance, in no particular order."""
    if not ids:
        return []
    rows = await tx.fetch_all(SQL["with_provenance"], **scope.owner_params, ids=list(ids), most=MOST_PROVENANCE)
    return [with_own_quotes(memory_of(row), _quotes_of(row)) async for row in with_pauses(rows, _ROWS_BETWEEN_PAUSES)]


async def under_key(tx: Tx, scope: Scope, key: str) -> list[StoredMemory]:
    """Return the memories under the key for any persona, and the claims that contradict them."""
    return [memory_of(row) for row in await tx.fetch_all(SQL["under_key"], **scope.owner_params, key=key)]


async def owner_of(tx: Tx, scope: Scope, memory_id: str) -> str | None:
    """Return the internal id of the person whose memory it is, within the organization; None if there is none."""
    row = await tx.fetch_one_or_none(SQL["owner"], org_id=scope.org_id, id=memory_id)
    return None if row is None else str(row["user_id"])


async def past_versions(tx: Tx, scope: Scope, ids: Sequence[str]) -> dict[str, tuple[MemoryVersion, ...]]:
    """Return the past versions of each of these memories, in the order of their validity, by memory id."""
    found: dict[str, tuple[MemoryVersion, ...]] = {}
    if ids:
        for row in await tx.fetch_all(SQL["versions"], **scope.owner_params, ids=list(ids)):
            found[row["memory_id"]] = (*found.get(row["memory_id"], ()), version_from_row(row))
    return found


async def with_provenance(tx: Tx, scope: Scope, memories: Sequence[StoredMemory]) -> list[StoredMemory]:
    """Return the memories, each with the latest messages in which its current text was said."""
    quotes = await recorded_quotes(tx, scope, [one.id for one in memories], most=MOST_PROVENANCE)
    return [with_own_quotes(one, quotes.get(one.id, ())) async for one in with_pauses(memories, _ROWS_BETWEEN_PAUSES)]


async def recorded_quotes(
    tx: Tx, scope: Scope, ids: Sequence[str], *, most: int
) -> Mapping[str, Sequence[RecordedQuote]]:
    """Return the latest quotes of each memory, of any of its versions, newest first, by memory id."""
    quotes_by_id: dict[str, list[RecordedQuote]] = {}
    for row in await tx.fetch_all(SQL["provenance"], **scope.owner_params, ids=list(ids), most=most):
        quotes_by_id.setdefault(row["memory_id"], []).append(quote_from_row(row))
    return quotes_by_id


async def recorded_statements(tx: Tx, scope: Scope, message_ids: Iterable[str]) -> set[StatementKey]:
    """Return the recorded statements (memory, message, position, hash) that these messages made."""
    rows = await tx.fetch_all(SQL["told_before"], **scope.owner_params, message_ids=list(set(message_ids)))
    return {(row["memory_id"], row["message_id"], row["starts"], row["ends"], row["content_hash"]) for row in rows}


async def write_changes(tx: Tx, scope: Scope, changes: Sequence[MemoryChange]) -> None:
    """Write the changes of memories in order; one changed more than once is written once, in its last state."""
    done = [change for change in changes if change.outcome is not MemoryOutcome.SKIPPED]
    # A memory may be created and changed within one batch; it is inserted in its last state.
    created = {change.memory.id for change in done if change.outcome is MemoryOutcome.CREATED}
    last = {change.memory.id: change.memory for change in done}
    new = [_memory_params(scope, memory, tx.now) for memory in last.values() if memory.id in created]
    old = [_memory_params(scope, memory, tx.now) for memory in last.values() if memory.id not in created]
    versions = [
        {**scope.owner_params, "memory_id": change.memory.id, **asdict(version), **_trust_columns(version.trust)}
        for change in changes
        for version in change.versions
    ]
    # Memories before their versions, which refer to them.
    if new:
        await tx.execute_many(SQL["insert_memory"], new)
    if old:
        await tx.execute_many(SQL["update_memory"], old)
    if versions:
        await tx.execute_many(SQL["insert_version"], versions)
    for change in changes:
        for number, (since, until) in change.moved.items():
            moved = {"memory_id": change.memory.id, "number": number, "valid_from": since, "valid_to": until}
            await tx.execute(SQL["move_version"], **scope.owner_params, **moved)
        if change.mentioned:
            numbers = {"memory_id": change.memory.id, "numbers": list(change.mentioned)}
            await tx.execute(SQL["mention_versions"], **scope.owner_params, **numbers)
        if change.withdrawn:
            numbers = {"memory_id": change.memory.id, "numbers": list(change.withdrawn)}
            await tx.execute(SQL["withdraw_versions"], **scope.owner_params, **numbers)


async def write_provenance(tx: Tx, scope: Scope, statements: Sequence[tuple[str, QuoteLocation, str]]) -> None:
    """Insert into `memory_provenance` where each memory was said: the quote's place and its content's hash."""
    rows = [
        {
            **scope.owner_params,
            "memory_id": memory_id,
            "message_id": ground.message_id,
            "starts": ground.start,
            "ends": ground.end,
            "content_hash": digest,
            "turn_id": ground.turn_id,
            "session_id": ground.session_id,
            "quote": ground.quote,
            "at": ground.at,
        }
        for memory_id, ground, digest in statements
    ]
    if rows:
        await tx.execute_many(SQL["insert_provenance"], rows)


async def sessions_mentioning(tx: Tx, scope: Scope, ids: Iterable[str]) -> dict[str, int]:
    """Return the number of distinct sessions that mention each memory."""
    rows = await tx.fetch_all(SQL["sessions_mentioning"], **scope.owner_params, ids=list(set(ids)))
    return {row["memory_id"]: row["sessions"] for row in rows}


async def set_importance(tx: Tx, scope: Scope, memory_id: str, importance: int) -> None:
    """Set the memory's importance, unless it is pinned."""
    await tx.execute(SQL["set_importance"], **scope.owner_params, id=memory_id, importance=importance)


@dataclass(frozen=True, kw_only=True)
class MemoryFilter:
    """Which memories a list shows. A filter that is None does not apply."""

    type: MemoryType | None = None
    status: ArchiveStatus | None = None
    entities: tuple[str, ...] | None = None
    """Entity keys, including aliases; a memory matches with any of them."""
    q: str | None = None
    """Words that the content contains."""
    origin: str | None = None
    """The exact name of the source."""
    before: tuple[datetime, str] | None = None
    """The position of the last memory of the previous page."""


async def list_memories(tx: Tx, scope: Scope, wanted: MemoryFilter, *, most: int) -> list[StoredMemory]:
    """Return a page of the memories that the scope's persona may see, newest first."""
    before_at, before_id = wanted.before or (None, None)
    rows = await tx.fetch_all(
        SQL["listed"],
        **scope.owner_params,
        persona_id=scope.persona_id,
        status=wanted.status,
        type=wanted.type,
        entities=None if wanted.entities is None else list(wanted.entities),
        q=wanted.q,
        origin=wanted.origin,
        before_at=before_at,
        before_id=before_id,
        most=most,
    )
    return [memory_of(row) for row in rows]


async def texts_of_others(tx: Tx, scope: Scope, *, most: int) -> list[tuple[Trust, str, str]]:
    """Return trust, origin and text of the memories that are not the person's own statements."""
    rows = await tx.fetch_all(SQL["of_other_voices"], **scope.owner_params, persona_id=scope.persona_id, most=most)
    return [(trust_of_row(row), row["origin"] or row["source"], row["content"]) for row in rows]


async def pinned_and_seeded(tx: Tx, scope: Scope, *, most: int) -> list[StoredMemory]:
    """Return the pinned memories that the scope's persona may see, then the profile that the person was seeded with."""
    rows = await tx.fetch_all(SQL["pinned"], **scope.owner_params, persona_id=scope.persona_id, most=most)
    return [memory_of(row) for row in rows]


async def sharing_entities(tx: Tx, scope: Scope, keys: Iterable[str]) -> list[StoredMemory]:
    """Return the important memories that mention one of the entities and that the persona may see."""
    wanted = sorted(set(keys))
    if not wanted:
        return []
    rows = await tx.fetch_all(SQL["sharing_entities"], **scope.owner_params, persona_id=scope.persona_id, keys=wanted)
    return [memory_of(row) for row in rows]


async def count_active(tx: Tx, scope: Scope) -> int:
    """Return the number of the person's active memories, over all personas."""
    return int((await tx.fetch_one(SQL["count_active"], **scope.owner_params))["number"])


async def names_in_use(tx: Tx, scope: Scope, *, most: int) -> list[tuple[str | None, str | None]]:
    """Return the entity label (None for the person) and attribute of the facts the persona may see, latest first."""
    # Names chosen by other sources are left out: a name can be a sentence, and the model reads it in every later turn.
    rows = await tx.fetch_all(SQL["vocabulary"], **scope.owner_params, persona_id=scope.persona_id, most=most)
    return [(row["entity_label"], row["attribute"]) for row in rows]


@dataclass(frozen=True, kw_only=True)
class HeldFact:
    """A fact on record, as a prompt names it."""

    entity_label: str | None
    """Whom or what it is about; None for the person."""
    attribute: str | None
    content: str


async def latest_facts(tx: Tx, scope: Scope, *, most: int) -> list[HeldFact]:
    """Return the person's own facts that the persona may see, the latest last, each cut to 300 characters."""
    # Facts of other sources are left out, as their names are: the model would read them in every later turn.
    rows = await tx.fetch_all(SQL["latest_facts"], **scope.owner_params, persona_id=scope.persona_id, most=most)
    return [HeldFact(**row) for row in reversed(rows)]


_QUOTE_COLUMNS = ("content_hash", "turn_id", "message_id", "starts", "ends", "quote", "at")


def _quote_of(
    digest: str, turn_id: str, message_id: str, start: int, end: int, quote: str, at: datetime
) -> RecordedQuote:
    """Return a quote's columns, in the order of `_QUOTE_COLUMNS`, as a RecordedQuote."""
    said = Provenance(turn_id=turn_id, message_id=message_id, start=start, end=end, quote=quote, at=at)
    return RecordedQuote(content_hash=digest, provenance=said)


def quote_from_row(row: Row) -> RecordedQuote:
    """Return a row of `memory_provenance` as a recorded quote."""
    return _quote_of(*(row[name] for name in _QUOTE_COLUMNS))


def _quotes_of(row: Row) -> Sequence[RecordedQuote]:
    """Return where a memory was said, from the arrays of a row of `with_provenance`."""
    if row["all_at"] is None:
        return ()
    columns = (row[f"all_{name}"] for name in _QUOTE_COLUMNS)
    return [_quote_of(*values) for values in zip(*columns, strict=True)]


def memory_of(row: Row) -> StoredMemory:
    """Return a row of `memories` as a StoredMemory, without its provenance."""
    return from_row(StoredMemory, row, origin=row["origin"] or row["source"], trust=trust_of_row(row), provenance=())


def version_from_row(row: Row) -> MemoryVersion:
    """Return a row of `memory_versions` as a MemoryVersion."""
    return from_row(
        MemoryVersion, row, origin=row["origin"] or row["source"], trust=trust_of_row(row), current=False, provenance=()
    )


def _memory_params(scope: Scope, memory: StoredMemory, now: datetime) -> dict[str, object]:
    """Return the parameters of the statements that insert or update a memory."""
    row = {name: value for name, value in vars(memory).items() if name != "provenance"}
    named = ("entity_refs", "sources", "entity_labels", "entity_roles", "dates")
    lists = {name: None if row[name] is None else list(row[name]) for name in named}
    return {**row, **lists, **_trust_columns(memory.trust), **scope.owner_params, "now": now}


def trust_of_row(row: Row, prefix: str = "") -> Trust:
    """Return the trust of a memory's or version's row; without a level (earlier releases, imports) derive it."""
    level = row[f"{prefix}trust_level"]
    return Trust(level) if level else legacy_trust_of(row[f"{prefix}source"], row[f"{prefix}trust"])


def _trust_columns(level: Trust) -> dict[str, str]:
    """Return both columns in which a memory's trust is stored: the coarse word and the level."""
    return {"trust": coarse_trust(level), "trust_level": level}
