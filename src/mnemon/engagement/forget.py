"""Forgetting in the engagement: delete the journal entries that came from a person's turns, or from one quote.

What others support stays, under nobody's name. The remaining journal is folded again, each claim that lost evidence is
weighed anew, and a finding that has lost its support is reopened.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from mnemon.db.tx import Tx
from mnemon.engagement import gates, store
from mnemon.engagement.journal import (
    ContradictionSettled,
    EngagementEntry,
    EvidenceCollected,
    EvidenceWithdrawn,
    HypothesisArchived,
    HypothesisFormed,
    ResolutionNamed,
    UnknownAnswered,
    UnknownAsked,
    WeekAdvanced,
    fold_entries,
)
from mnemon.engagement.promotion import reopening_entries
from mnemon.engagement.store import StoredEngagement
from mnemon.engagement.withdrawal import kept_entries, orphaned_seqs, withdrawal_entries
from mnemon.scope import Scope
from mnemon.untrusted_text import reads_outside_text

_WORD_PATTERN = re.compile(r"\w+")
_LONG_WORD = re.compile(r"[^\W_]{5,}")
_COMMON_WORDS = frozenset(
    [
        "about",
        "above",
        "after",
        "again",
        "being",
        "below",
        "because",
        "before",
        "could",
        "every",
        "first",
        "going",
        "other",
        "people",
        "really",
        "should",
        "still",
        "their",
        "there",
        "these",
        "thing",
        "think",
        "those",
        "through",
        "under",
        "where",
        "which",
        "while",
        "would",
        "years",
    ]
)
"""Words of five letters and more that do not show where a sentence came from."""


async def forget_person(tx: Tx, scope: Scope, now: datetime) -> dict[str, int]:
    """Delete what the person's turns put into the engagement, rebuild it; return the rows deleted per table."""
    stored = await store.lock_engagement(tx, scope)
    # Under the lock: a reflection that ran meanwhile would write back a document with what is being deleted.
    journal = [entry async for entry in store.iterate_journal(tx, scope)]
    gone = await store.delete_person(tx, scope)
    if not gone.entries and not gone.turns:
        return {"engagement_journal": 0, "engagement_turns": 0}
    # A row that is rewritten counts as deleted: nothing of the person is left in it.
    own = {entry.seq for entry in journal if entry.user_id == scope.user}
    await store.append_entries(tx, scope, kept_entries(journal, own))
    stored = replace(stored, heard=max(0, stored.heard - gone.heard))
    orphans = await _refold_from(tx, scope, now, stored, "a forgotten person")
    return {"engagement_journal": gone.entries + orphans, "engagement_turns": gone.turns}


async def redact_quote(
    tx: Tx,
    scope: Scope,
    now: datetime,
    *,
    turn_id: str,
    message_id: str,
    start: int,
    end: int,
    text: str,
) -> int:
    """Delete journal entries that cite, repeat or derive from a quote, rebuild the engagement; return how many."""
    stored = await store.lock_engagement(tx, scope)
    journal = [entry async for entry in store.iterate_journal(tx, scope)]
    seqs = [
        entry.seq
        for entry in journal
        # Three ways a quote lives on: cited by position, repeated verbatim in another turn of the person, or reworded
        # in its own.
        if _is_citing(entry, message_id, start, end)
        or (entry.user_id == scope.user and _is_repeating(entry, text))
        or (entry.turn_id == turn_id and _may_derive(entry, text))
    ]
    if not seqs:
        return 0
    removed = await store.delete_entries(tx, scope, seqs)
    await store.append_entries(tx, scope, kept_entries(journal, set(seqs), in_their_words=False))
    return removed + await _refold_from(tx, scope, now, stored, "a forgotten quote")


async def refold_document(tx: Tx, scope: Scope, now: datetime) -> None:
    """Recompute the stored engagement document from its journal."""
    await _refold_from(tx, scope, now, await store.lock_engagement(tx, scope), "a forgotten quote")


async def _refold_from(tx: Tx, scope: Scope, now: datetime, stored: StoredEngagement, whose: str) -> int:
    """Refold the journal into a new version, note what was withdrawn, reopen unsupported findings.

    Return how many entries were deleted because their claim is gone.
    """
    journal = [entry async for entry in store.iterate_journal(tx, scope)]
    orphans = set(orphaned_seqs(journal))
    await store.delete_entries(tx, scope, sorted(orphans))
    document = fold_entries(entry for entry in journal if entry.seq not in orphans)
    told = withdrawal_entries(stored.document, document, now, stored.seq, whose)
    changed = {entry.delta.hypothesis for entry in told if isinstance(entry.delta, EvidenceWithdrawn)}
    if document is not None:
        told += reopening_entries(document, now, stored.seq + len(told), changed)
    document = fold_entries(told, document)
    await store.append_entries(tx, scope, told)
    # The version increases although entries were deleted: a client with the old version must see that it is outdated.
    seq = told[-1].seq if told else stored.seq + 1
    await store.store_engagement(tx, scope, StoredEngagement(document=document, seq=seq, heard=stored.heard))
    return len(orphans)


def _is_citing(entry: EngagementEntry, message_id: str, start: int, end: int) -> bool:
    """Say whether a journal entry cites any part of the characters `start` to `end` of the message."""
    delta = entry.delta
    if isinstance(delta, EvidenceCollected):
        cited = (delta.evidence.message_id, delta.evidence.start, delta.evidence.end)
    elif isinstance(delta, UnknownAnswered):
        cited = (delta.answer.message_id, delta.answer.start, delta.answer.end)
    else:
        return False
    return cited[0] == message_id and cited[1] < end and start < cited[2]


def _is_repeating(entry: EngagementEntry, text: str) -> bool:
    """Say whether a journal entry contains the text verbatim, from whatever turn.

    A single word without a digit is too little to tell.
    """
    wanted = gates.normalize_words(text)
    if len(wanted.split()) < 2 and not any(sign.isdigit() for sign in wanted):
        return False
    return any(f" {wanted} " in f" {gates.normalize_words(part)} " for part in _entry_texts(entry))


def _may_derive(entry: EngagementEntry, text: str) -> bool:
    """Say whether an entry of the same turn may reword the text: they share a distinctive word or number."""
    telling = _distinctive_words(text)
    return any(telling & _distinctive_words(part) for part in _entry_texts(entry))


@reads_outside_text
def _distinctive_words(text: str) -> set[str]:
    """Return the text's distinctive words: those of five letters and more, or with a digit, except common ones."""
    numbered = (word for word in _WORD_PATTERN.findall(text) if any(sign.isdigit() for sign in word))
    return {word.casefold() for word in (*_LONG_WORD.findall(text), *numbered)} - _COMMON_WORDS


def _entry_texts(entry: EngagementEntry) -> Iterator[str]:
    """Yield the texts of a journal entry that came from a turn, so that forgetting can search them."""
    delta = entry.delta
    if isinstance(delta, EvidenceCollected):
        yield from (delta.evidence.line, delta.evidence.quote)
    elif isinstance(delta, HypothesisFormed):
        yield from (delta.statement, delta.falsified_by)
    elif isinstance(delta, UnknownAsked):
        yield from (delta.question, delta.why_it_matters)
    elif isinstance(delta, UnknownAnswered):
        yield delta.answer.quote
    elif isinstance(delta, ResolutionNamed):
        yield delta.text
    elif isinstance(delta, HypothesisArchived | ContradictionSettled):
        yield delta.note
    elif isinstance(delta, WeekAdvanced):
        yield entry.reason
