"""Forgetting a memory: its rows, and every trace of what it said.

All in one transaction, under the lock of the person's row: delete the memories, their folds and vectors, cover the
words they rest on in the messages, drop or rebuild derived text, cover traces everywhere else, and leave tombstones, so
that the same fact is not learnt again from the same words. The ledger keeps ids and hashes, for a replay after a
restore.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog

from mnemon.agentstate import journal as agentstate
from mnemon.custody import ledger
from mnemon.custody.ledger import ForgetTally, LedgerEntry, Receipt
from mnemon.custody.redaction import redact_everywhere
from mnemon.custody.tables import SQL
from mnemon.custody.traces import ForgottenTraces, TextSpan, distinctive_words, redact_spans
from mnemon.db.tx import Row, Tx
from mnemon.engagement import forget as engagement
from mnemon.errors import NotFound
from mnemon.event_loop import run_off_loop
from mnemon.jobs.store import enqueue_work
from mnemon.memory import spine
from mnemon.memory.edit import restore_memory
from mnemon.memory.keys import original_key
from mnemon.memory.lifecycle import ArchiveReason
from mnemon.memory.tombstones import (
    content_tombstone,
    place_tombstone,
    quote_tombstone,
    store_dated_tombstones,
    store_tombstones,
)
from mnemon.memory.trust import Trust
from mnemon.memory.upkeep import seed
from mnemon.memory.upkeep import store as upkeep
from mnemon.memory.upkeep.schedule import enqueue_after_forgetting
from mnemon.memory.upkeep.seed import SeedEntry
from mnemon.scope import Scope
from mnemon.sessions.record import CLOSE_SESSION
from mnemon.vectors.text_vectors import enqueue_embedding

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class ForgetTarget:
    """The memories to forget, and what was made from them or led to them."""

    memories: tuple[Row, ...]
    folds: tuple[Row, ...]
    """Folds that were made from them among others: they are deleted, and their other fragments restored."""
    grounds: tuple[Row, ...]
    """The quotes that the memories rest on, with their places in messages."""

    @property
    def memory_ids(self) -> list[str]:
        """Return the ids of the memories to forget, without the folds (memories merged from several) made from them."""
        return [str(row["id"]) for row in self.memories]

    @property
    def removed_ids(self) -> list[str]:
        """Return the ids of all memories to delete, folds (memories merged from several) included."""
        return [*self.memory_ids, *(str(row["id"]) for row in self.folds)]

    @property
    def contents(self) -> list[str]:
        """Return every text the forgotten memories ever had, earlier versions included."""
        return [text for row in self.memories for text in (row["content"], *row["earlier"])]

    @property
    def quotes(self) -> list[str]:
        """Return the quotes from messages on which the forgotten memories are based."""
        return [str(row["quote"]) for row in self.grounds]

    @property
    def spans(self) -> tuple[TextSpan, ...]:
        """Return where in messages the forgotten memories' quotes are: message id, start and end."""
        return tuple(TextSpan(message_id=r["message_id"], start=r["starts"], end=r["ends"]) for r in self.grounds)

    def traces_besides(self, kept: Sequence[str]) -> ForgottenTraces:
        """Return the words to search for in other texts and redact, without those that `kept` texts have too."""
        texts = [*self.contents, *self.quotes]
        texts += [text for row in self.folds for text in (row["content"], *row["earlier"])]
        # The note of a fragment names its fold: an id of ours, which the record of the curator's run needs.
        notes = [row["note"] or "" for row in self.memories if row["archive_reason"] != ArchiveReason.FOLDED]
        more = [*notes, *(row["entity_label"] or "" for row in self.memories)]
        return ForgottenTraces(phrases=tuple(texts), marks=distinctive_words([*texts, *more], kept))

    def tombstone_hashes(self, scope: Scope) -> frozenset[bytes]:
        """Return keyed hashes of the contents, quotes and places that must not be stored as memories again."""
        keys = {row["id"]: row["claim_of"] or original_key(row["memory_key"]) for row in self.memories}
        stones = {content_tombstone(scope, text) for text in self.contents}
        stones |= {quote_tombstone(scope, text) for text in self.quotes}
        return frozenset(stones | {place_tombstone(scope, r["turn_id"], keys[r["memory_id"]]) for r in self.grounds})


async def forget_memory(tx: Tx, scope: Scope, memory_id: str) -> Receipt:
    """Delete the memory and redact what it said everywhere (messages, summaries, journals …); return the receipt.

    Raises NotFound for an unknown memory.
    """
    receipt = await forget_memories(tx, scope, [memory_id], entry_id=tx.new_id("fgt"), at=tx.now)
    if receipt is None:
        raise NotFound("memory")
    return receipt


async def forget_memories(
    tx: Tx, scope: Scope, memory_ids: Sequence[str], *, entry_id: str, at: datetime
) -> Receipt | None:
    """Forget several memories under one ledger entry; return the receipt, None when none of them exists."""
    tally = ForgetTally()
    # Lock order: the person's row first, then everything of theirs. The update below does not conflict with a
    # transaction that holds the row by a key-share lock, so FOR UPDATE waits for those.
    tx.defer(SQL["await_holders"], **scope.owner_params)
    await tx.fetch_one_or_none(SQL["lock_person"], **scope.owner_params)
    target = await _load_target(tx, scope, memory_ids)
    if not target.memories:
        return None
    kept = await _load_kept_texts(tx, scope, target.removed_ids)
    entry = LedgerEntry(
        org_id=scope.org_id,
        id=entry_id,
        kind="memory",
        subject=scope.user,
        at=at,
        memory_ids=tuple(target.memory_ids),
        spans=target.spans,
        stones=tuple(sorted(target.tombstone_hashes(scope))),
    )
    await _remove_memories(tx, scope, target, tally)
    await _redact_engagement(tx, scope, target, tally)
    await _clear_spines(tx, scope, target.removed_ids, tally)
    await clear_traces(tx, scope, await _traces_besides(target, kept), entry, tally)
    receipt = tally.make_receipt(entry.id, tx.now)
    await ledger.add_entry(tx, entry, receipt)
    covered = sum(receipt.redacted.values())
    log.info("memory_forgotten", user=scope.user, receipt=receipt.id, removed=receipt.total, redacted=covered)
    await ledger.enqueue_ledger_copy(tx, scope)
    return receipt


async def reapply_forgettings(tx: Tx, scope: Scope, entries: Sequence[LedgerEntry]) -> Counter[str]:
    """Forget again what the ledger's entries of a person list; return the deleted rows, per table.

    All entries in one pass over the person's texts, which an import may just have brought back.
    """
    tally = ForgetTally()
    if not entries:
        return tally.removed
    target = await _load_target(tx, scope, [id_ for entry in entries for id_ in entry.memory_ids])
    traces = ForgottenTraces(phrases=())
    if target.memories:
        kept = await _load_kept_texts(tx, scope, target.removed_ids)
        traces = await _traces_besides(target, kept)
        await _remove_memories(tx, scope, target, tally)
        await _redact_engagement(tx, scope, target, tally)
        await _clear_spines(tx, scope, target.removed_ids, tally)
    last = max(entry.at for entry in entries)
    stones = {stone: entry.at for entry in sorted(entries, key=lambda one: one.at) for stone in entry.stones}
    stones = dict.fromkeys(target.tombstone_hashes(scope), last) | stones
    await store_dated_tombstones(tx, scope, stones)
    whole = LedgerEntry(
        org_id=scope.org_id,
        id=entries[-1].id,
        kind="memory",
        subject=scope.user,
        at=last,
        memory_ids=tuple({*target.memory_ids, *(id_ for entry in entries for id_ in entry.memory_ids)}),
        spans=(*target.spans, *(span for entry in entries for span in entry.spans)),
    )
    await clear_traces(tx, scope, traces, whole, tally)
    return tally.removed


async def _traces_besides(target: ForgetTarget, kept: Sequence[str]) -> ForgottenTraces:
    """Return `target.traces_besides(kept)`, in a thread where the kept texts are long."""
    return await run_off_loop(sum(map(len, kept)), partial(target.traces_besides, kept))


async def clear_traces(tx: Tx, scope: Scope, traces: ForgottenTraces, entry: LedgerEntry, tally: ForgetTally) -> None:
    """Redact quotes and traces of what is forgotten, delete or rebuild texts made from it, store tombstones."""
    revision = int((await tx.fetch_one(SQL["lock_person"], **scope.owner_params))["revision"])
    copies, touched = await _redact_messages(tx, scope, entry.spans, revision)
    tally.redacted["messages"] += len(touched)
    await _delete_summaries(tx, scope, touched, tally)
    await _clear_seed(tx, scope, traces)
    whole = ForgottenTraces(phrases=traces.phrases, marks=traces.marks, copies=copies)
    covered = await redact_everywhere(tx, scope, whole, entry.memory_ids, tally)
    changed = [row["id"] for row in touched] + covered.messages
    # A vector of the old text still holds its meaning; the job enqueued below makes a new one.
    tally.removed["embeddings"] += await tx.execute(SQL["drop_message_embeddings"], **scope.owner_params, ids=changed)
    for namespace, key in covered.notes:
        where = {**scope.owner_params, "namespace": namespace, "key": key}
        tally.removed["note_vectors"] += await tx.execute(SQL["drop_note_vectors"], **where)
    # The state is what its journal folds to, so covered entries change it.
    if tally.redacted["agent_state_journal"]:
        await agentstate.refold_documents(tx, scope, tx.now)
    await store_tombstones(tx, scope, entry.stones, at=entry.at)
    await enqueue_embedding(tx, scope)
    await enqueue_after_forgetting(tx, scope)


async def _load_target(tx: Tx, scope: Scope, ids: Sequence[str]) -> ForgetTarget:
    """Return the memories to forget with their quotes, the folds made from them, and a fold's fragments."""
    # A fold says the same as its fragments, so forgetting it takes them along, and folds among them theirs. Fragments
    # that are active again are memories of their own.
    wanted, found = list(ids), []
    known: set[str] = set()
    while wanted:
        rows = await tx.fetch_all(SQL["memories"], **scope.owner_params, ids=wanted)
        known |= set(wanted)
        rows = [row for row in rows if row["id"] in ids or row["archive_reason"] == ArchiveReason.FOLDED]
        found += rows
        wanted = [one for row in rows for one in row["sources"] if one not in known]
    ids = [row["id"] for row in found]
    grounds = await tx.fetch_all(SQL["provenance"], **scope.owner_params, ids=ids)
    return ForgetTarget(memories=tuple(found), folds=tuple(await _load_folds(tx, scope, ids)), grounds=tuple(grounds))


async def _load_folds(tx: Tx, scope: Scope, ids: Sequence[str]) -> list[Row]:
    """Return the folds (memories merged from fragments) made from these memories, and folds of those."""
    known, found = set(ids), []
    wanted = list(ids)
    while wanted:
        made = [row["id"] for row in await tx.fetch_all(SQL["folds_of"], **scope.owner_params, ids=wanted)]
        wanted = [one for one in made if one not in known]
        known |= set(wanted)
        found += await tx.fetch_all(SQL["memories"], **scope.owner_params, ids=wanted)
    return found


async def _load_kept_texts(tx: Tx, scope: Scope, ids: Sequence[str]) -> list[str]:
    """Return the texts of the person's other memories, which are not forgotten."""
    rows = await tx.fetch_all(SQL["kept_texts"], **scope.owner_params, ids=list(ids))
    return [text for row in rows for text in (row["content"], row["entity_label"] or "", *row["earlier"])]


async def _remove_memories(tx: Tx, scope: Scope, target: ForgetTarget, tally: ForgetTally) -> None:
    """Delete the memories and their folds, and the aliases and merges of entities that no memory refers to then."""
    await _restore_fragments(tx, scope, target)
    await _delete_memory_rows(tx, scope, target.removed_ids, tally)
    refs = {ref for row in target.memories for ref in row["entity_refs"]}
    used = {row["ref"] for row in await tx.fetch_all(SQL["refs_in_use"], **scope.owner_params)}
    gone = sorted(refs - used)
    for name, statement in (
        ("entity_aliases", "drop_aliases"),
        ("entity_merges", "drop_merges"),
        ("entities_kept_apart", "drop_kept_apart"),
    ):
        tally.removed[name] += await tx.execute(SQL[statement], **scope.owner_params, keys=gone)


async def _delete_memory_rows(tx: Tx, scope: Scope, ids: Sequence[str], tally: ForgetTally) -> None:
    """Delete the memories' rows in four tables, dependents first, and count them."""
    for name, statement in (
        ("embeddings", "drop_embeddings"),
        ("memory_provenance", "drop_provenance"),
        ("memory_versions", "drop_versions"),
        ("memories", "drop_memories"),
    ):
        tally.removed[name] += await tx.execute(SQL[statement], **scope.owner_params, ids=list(ids))


async def _restore_fragments(tx: Tx, scope: Scope, target: ForgetTarget) -> None:
    """Make active again the archived memories that had been merged into a fold that is deleted."""
    removed = set(target.removed_ids)
    for one in await upkeep.fragments_of(tx, scope, [str(row["id"]) for row in target.folds]):
        if one.id not in removed:
            await restore_memory(
                tx, scope, one.id, reason="a fragment of its fold was forgotten", source=Trust.OPERATOR
            )


async def _redact_engagement(tx: Tx, scope: Scope, target: ForgetTarget, tally: ForgetTally) -> None:
    """Remove the forgotten quotes from the engagement journal and count the entries."""
    for row in target.grounds:
        tally.removed["engagement_journal"] += await engagement.redact_quote(
            tx,
            scope,
            tx.now,
            turn_id=row["turn_id"],
            message_id=row["message_id"],
            start=row["starts"],
            end=row["ends"],
            text=row["quote"],
        )


async def _redact_messages(
    tx: Tx, scope: Scope, spans: Iterable[TextSpan], revision: int
) -> tuple[tuple[tuple[str, str], ...], list[Row]]:
    """Cover these spans of messages by `█`; return each text before and after, and the changed rows."""
    by_message: dict[str, list[TextSpan]] = {}
    for span in spans:
        by_message.setdefault(span.message_id, []).append(span)
    rows = await tx.fetch_all(SQL["messages"], **scope.owner_params, ids=list(by_message))
    copies = []
    for row in rows:
        spans = by_message[row["id"]]
        covered = await run_off_loop(len(row["content"]) + len(spans), partial(redact_spans, row["content"], spans))
        # Other tables hold truncated copies of messages; they are covered in the same places.
        copies.append((str(row["content"]), covered))
        await tx.execute(SQL["rewrite_message"], **scope.owner_params, id=row["id"], content=covered, revision=revision)
    return tuple(copies), rows


async def _delete_summaries(tx: Tx, scope: Scope, touched: Sequence[Row], tally: ForgetTally) -> None:
    """Delete the summaries made from the changed messages; a session's is written anew from what is left."""
    ids = [row[name] for row in touched for name in ("id", "turn_id")]
    sessions = sorted({row["session_id"] for row in touched})
    rolling = await tx.fetch_all(SQL["drop_rolling_summaries"], **scope.owner_params, ids=ids)
    tally.removed["rolling_summaries"] += len(rolling)
    personas = sorted({row["persona"] for row in rolling})
    await tx.execute(SQL["reset_rolling_summary"], **scope.owner_params, personas=personas)
    for row in await tx.fetch_all(SQL["drop_session_summaries"], **scope.owner_params, ids=ids, sessions=sessions):
        tally.redacted["sessions"] += 1
        await enqueue_work(tx, scope, CLOSE_SESSION, row["id"])


async def _clear_spines(tx: Tx, scope: Scope, ids: Sequence[str], tally: ForgetTally) -> None:
    """Rewrite the versions of the spine (the person's summary) that were made from the forgotten memories."""
    for version in await upkeep.spines_from(tx, scope, ids):
        await upkeep.rewrite_spine(tx, scope, spine.without_forgotten(version, ids))
        tally.redacted["spines"] += 1


async def _clear_seed(tx: Tx, scope: Scope, traces: ForgottenTraces) -> None:
    """Remove the entries of the person's seed (profile loaded at the start) that have a trace of what is forgotten."""
    before = await seed.seed_entries(tx, scope)
    size = sum(len(entry.content) for entry in before)
    after = await run_off_loop(size, lambda: [entry for entry in before if not _mentions_trace(entry, traces)])
    if len(after) < len(before):
        await seed.store_seed(tx, scope, after)


def _mentions_trace(entry: SeedEntry, traces: ForgottenTraces) -> bool:
    """Say whether a seed entry contains a trace of what is forgotten."""
    return traces.redact_text(entry.content) != entry.content
