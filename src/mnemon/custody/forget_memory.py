"""Forgetting a memory: its rows, and every trace of what it said."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from mnemon.agentstate import forget as agentstate
from mnemon.custody import ledger, outbox
from mnemon.custody.catalog import SQL
from mnemon.custody.ledger import Entry
from mnemon.custody.receipt import Receipt, Tally
from mnemon.custody.redaction import cover_everywhere
from mnemon.custody.traces import Span, Traces, cover_spans, marks_of
from mnemon.db.tx import Row, Tx
from mnemon.engagement import forget as engagement
from mnemon.errors import NotFound
from mnemon.jobs.store import enqueue
from mnemon.memory import spine
from mnemon.memory import store as memories
from mnemon.memory.edit import bring_back
from mnemon.memory.fact import CURATED_FOLD
from mnemon.memory.keys import held_key
from mnemon.memory.lifecycle import ArchiveReason
from mnemon.memory.seed import SeedEntry
from mnemon.memory.tombstones.stone import content_stone, place_stone, quote_stone
from mnemon.memory.tombstones.store import lay
from mnemon.memory.trust import Trust
from mnemon.memory.upkeep import seeding
from mnemon.memory.upkeep import store as upkeep
from mnemon.memory.upkeep.enqueue import after_forgetting
from mnemon.scope import Scope
from mnemon.sessions.record import CLOSE
from mnemon.vectors.work import enqueue_embedding

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Doomed:
    """What is about to be forgotten."""

    memories: tuple[Row, ...]
    folds: tuple[Row, ...]
    """Folds that were made from them among others: they go, their other fragments stay."""
    grounds: tuple[Row, ...]
    """Where it was said."""

    @property
    def ids(self) -> list[str]:
        return [str(row["id"]) for row in self.memories]

    @property
    def removed(self) -> list[str]:
        """Ids of everything that goes, folds included."""
        return [*self.ids, *(str(row["id"]) for row in self.folds)]

    @property
    def contents(self) -> list[str]:
        """Everything it ever said."""
        return [text for row in self.memories for text in (row["content"], *row["earlier"])]

    @property
    def quotes(self) -> list[str]:
        return [str(row["quote"]) for row in self.grounds]

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(Span(message_id=r["message_id"], start=r["starts"], end=r["ends"]) for r in self.grounds)

    def traces(self, kept: Sequence[str]) -> Traces:
        """What to look for elsewhere, given what other memories say."""
        texts = [*self.contents, *self.quotes]
        texts += [text for row in self.folds for text in (row["content"], *row["earlier"])]
        more = [row[name] or "" for row in self.memories for name in ("entity_label", "note")]
        return Traces(phrases=tuple(texts), marks=marks_of([*texts, *more], kept))

    def stones(self, scope: Scope) -> frozenset[bytes]:
        keys = {row["id"]: row["claim_of"] or held_key(row["memory_key"]) for row in self.memories}
        stones = {content_stone(scope, text) for text in self.contents}
        stones |= {quote_stone(scope, text) for text in self.quotes}
        return frozenset(stones | {place_stone(scope, r["turn_id"], keys[r["memory_id"]]) for r in self.grounds})


async def forget_memory(tx: Tx, scope: Scope, memory_id: str) -> Receipt:
    """The memory is gone, and what it said stands nowhere: not in messages, summaries, journals, replies or folds."""
    receipt = await forget_memories(tx, scope, [memory_id], entry_id=tx.new_id("fgt"), at=tx.now)
    if receipt is None:
        raise NotFound("memory")
    return receipt


async def forget_memories(
    tx: Tx, scope: Scope, memory_ids: Sequence[str], *, entry_id: str, at: datetime
) -> Receipt | None:
    """The same for several under one entry of the ledger; None when none of them is there."""
    tally = Tally()
    tx.later(SQL["await_holders"], **_owner(scope))
    await tx.maybe(SQL["lock_person"], **_owner(scope))
    doomed = await _gather(tx, scope, memory_ids)
    if not doomed.memories:
        return None
    kept = await _kept_texts(tx, scope, doomed.removed)
    entry = Entry(
        org_id=scope.org_id,
        id=entry_id,
        kind="memory",
        subject=scope.user,
        at=at,
        memory_ids=tuple(doomed.ids),
        spans=doomed.spans,
        stones=tuple(sorted(doomed.stones(scope))),
    )
    await _remove(tx, scope, doomed, tally)
    await _redact_engagement(tx, scope, doomed, tally)
    await _clear_spines(tx, scope, doomed.removed, tally)
    await clear(tx, scope, doomed.traces(kept), entry, tally)
    receipt = tally.receipt(entry.id, tx.now)
    await ledger.add(tx, entry, receipt)
    covered = sum(receipt.redacted.values())
    log.info("memory_forgotten", user=scope.user, receipt=receipt.id, removed=receipt.total, redacted=covered)
    await outbox.enqueue_keeping(tx, scope)
    return receipt


async def clear(tx: Tx, scope: Scope, traces: Traces, entry: Entry, tally: Tally) -> None:
    """Spans are covered, derived text is rebuilt or dropped, traces are covered everywhere, tombstones lie."""
    revision = int((await tx.one(SQL["lock_person"], **_owner(scope)))["revision"])
    copies, touched = await _cover_messages(tx, scope, entry.spans, revision)
    tally.redacted["messages"] += len(touched)
    await _drop_summaries(tx, scope, touched, tally)
    await _clear_seed(tx, scope, traces)
    whole = Traces(phrases=traces.phrases, marks=traces.marks, copies=copies)
    covered = await cover_everywhere(tx, scope, whole, entry.memory_ids, tally)
    changed = [row["id"] for row in touched] + covered.messages
    tally.removed["embeddings"] += await tx.run(SQL["drop_message_embeddings"], **_owner(scope), ids=changed)
    for namespace, key in covered.notes:
        where = {**_owner(scope), "namespace": namespace, "key": key}
        tally.removed["note_vectors"] += await tx.run(SQL["drop_note_vectors"], **where)
    if tally.redacted["agent_state_journal"]:
        await agentstate.refold(tx, scope, tx.now)
    await lay(tx, scope, entry.stones, at=entry.at)
    await enqueue_embedding(tx, scope)
    await after_forgetting(tx, scope)


async def _gather(tx: Tx, scope: Scope, ids: Sequence[str]) -> Doomed:
    """The memories; with a fold also what it was folded from, which says the same."""
    wanted, found = list(ids), []
    while wanted:
        rows = await tx.all(SQL["memories"], **_owner(scope), ids=wanted)
        found += rows
        known = {row["id"] for row in found}
        folds = [row for row in rows if row["source"] == CURATED_FOLD]
        wanted = [one for row in folds for one in row["sources"] if one not in known]
    ids = [row["id"] for row in found]
    grounds = await tx.all(SQL["provenance"], **_owner(scope), ids=ids)
    return Doomed(memories=tuple(found), folds=tuple(await _folds_of(tx, scope, ids)), grounds=tuple(grounds))


async def _folds_of(tx: Tx, scope: Scope, ids: Sequence[str]) -> list[Row]:
    """Folds made from any of these, and folds made from those."""
    known, found = set(ids), []
    wanted = list(ids)
    while wanted:
        made = [row["id"] for row in await tx.all(SQL["folds_of"], **_owner(scope), ids=wanted)]
        wanted = [one for one in made if one not in known]
        known |= set(wanted)
        found += await tx.all(SQL["memories"], **_owner(scope), ids=wanted)
    return found


async def _kept_texts(tx: Tx, scope: Scope, ids: Sequence[str]) -> list[str]:
    rows = await tx.all(SQL["kept_texts"], **_owner(scope), ids=list(ids))
    return [text for row in rows for text in (row["content"], row["entity_label"] or "", *row["earlier"])]


async def _remove(tx: Tx, scope: Scope, doomed: Doomed, tally: Tally) -> None:
    await _bring_back_fragments(tx, scope, doomed)
    await _delete(tx, scope, doomed.removed, tally)
    refs = {ref for row in doomed.memories for ref in row["entity_refs"]}
    used = {row["ref"] for row in await tx.all(SQL["refs_in_use"], **_owner(scope))}
    gone = sorted(refs - used)
    for name, statement in (
        ("entity_aliases", "drop_aliases"),
        ("entity_merges", "drop_merges"),
        ("entities_kept_apart", "drop_kept_apart"),
    ):
        tally.removed[name] += await tx.run(SQL[statement], **_owner(scope), keys=gone)


async def _delete(tx: Tx, scope: Scope, ids: Sequence[str], tally: Tally) -> None:
    for name, statement in (
        ("embeddings", "drop_embeddings"),
        ("memory_provenance", "drop_provenance"),
        ("memory_versions", "drop_versions"),
        ("memories", "drop_memories"),
    ):
        tally.removed[name] += await tx.run(SQL[statement], **_owner(scope), ids=list(ids))


async def _bring_back_fragments(tx: Tx, scope: Scope, doomed: Doomed) -> None:
    """What stood in a fold that goes stands for itself again."""
    others = {one for row in doomed.folds for one in row["sources"]} - set(doomed.removed)
    for one in await memories.by_ids(tx, scope, sorted(others)):
        if one.archive_reason is ArchiveReason.FOLDED:
            await bring_back(tx, scope, one.id, reason="a fragment of its fold was forgotten", source=Trust.OPERATOR)


async def _redact_engagement(tx: Tx, scope: Scope, doomed: Doomed, tally: Tally) -> None:
    for row in doomed.grounds:
        tally.removed["engagement_journal"] += await engagement.redact(
            tx,
            scope,
            tx.now,
            turn_id=row["turn_id"],
            message_id=row["message_id"],
            start=row["starts"],
            end=row["ends"],
            text=row["quote"],
        )


async def _cover_messages(
    tx: Tx, scope: Scope, spans: Iterable[Span], revision: int
) -> tuple[tuple[tuple[str, str], ...], list[Row]]:
    by_message: dict[str, list[Span]] = {}
    for span in spans:
        by_message.setdefault(span.message_id, []).append(span)
    rows = await tx.all(SQL["messages"], **_owner(scope), ids=list(by_message))
    copies = []
    for row in rows:
        covered = cover_spans(row["content"], by_message[row["id"]])
        copies.append((str(row["content"]), covered))
        await tx.run(SQL["rewrite_message"], **_owner(scope), id=row["id"], content=covered, revision=revision)
    return tuple(copies), rows


async def _drop_summaries(tx: Tx, scope: Scope, touched: Sequence[Row], tally: Tally) -> None:
    """Summaries made from the messages are dropped; a session's is written anew from what is left."""
    ids = [row[name] for row in touched for name in ("id", "turn_id")]
    sessions = sorted({row["session_id"] for row in touched})
    rolling = await tx.all(SQL["drop_rolling_summaries"], **_owner(scope), ids=ids)
    tally.removed["rolling_summaries"] += len(rolling)
    personas = sorted({row["persona"] for row in rolling})
    await tx.run(SQL["reset_rolling_summary"], **_owner(scope), personas=personas)
    for row in await tx.all(SQL["drop_session_summaries"], **_owner(scope), ids=ids, sessions=sessions):
        tally.redacted["sessions"] += 1
        await enqueue(tx, scope, CLOSE, row["id"])


async def _clear_spines(tx: Tx, scope: Scope, ids: Sequence[str], tally: Tally) -> None:
    for version in await upkeep.spines_from(tx, scope, ids):
        await upkeep.rewrite_spine(tx, scope, spine.without(version, ids))
        tally.redacted["spines"] += 1


async def _clear_seed(tx: Tx, scope: Scope, traces: Traces) -> None:
    """An entry of the seed that says what is forgotten is taken out of it."""
    before = await seeding.profile(tx, scope)
    after = [entry for entry in before if not _says(entry, traces)]
    if len(after) < len(before):
        await seeding.keep(tx, scope, after)


def _says(entry: SeedEntry, traces: Traces) -> bool:
    return traces.covered(entry.content) != entry.content


def _owner(scope: Scope) -> dict[str, str]:
    return {"org_id": scope.org_id, "user_id": scope.user}
