"""Forgetting in the engagement: what came from a person's turns, or from one quote, leaves the journal, and what is
left is folded again. A finding that loses its ground is reopened."""

import re
from collections.abc import Iterator
from datetime import datetime

from mnemon.db.tx import Tx
from mnemon.engagement import gates, store
from mnemon.engagement.document import Engagement
from mnemon.engagement.hypotheses import reopening_entries
from mnemon.engagement.journal import (
    EngagementEntry,
    EvidenceCollected,
    HypothesisArchived,
    HypothesisFormed,
    ResolutionNamed,
    UnknownAnswered,
    UnknownAsked,
    WeekAdvanced,
    apply_entry,
)
from mnemon.engagement.store import StoredEngagement
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
"""Words of five letters and more that tell nothing about where a sentence came from."""


async def forget_person(tx: Tx, scope: Scope, now: datetime) -> dict[str, int]:
    """Nothing that came from the person's turns is left; counts what was removed, per table."""
    held = await store.lock_engagement(tx, scope)
    entries, turns = await store.delete_person(tx, scope)
    if entries or turns:
        await _refold_from(tx, scope, now, StoredEngagement(document=None, seq=held.seq, heard=held.heard - turns))
    return {"engagement_journal": entries, "engagement_turns": turns}


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
    """The quote is in no entry: what cites it goes, and what its turn derived from it. How many entries went."""
    held = await store.lock_engagement(tx, scope)
    gone = [
        entry.seq
        async for entry in store.iterate_journal(tx, scope)
        if _is_citing(entry, message_id, start, end)
        or (entry.user_id == scope.user and _is_repeating(entry, text))
        or (entry.turn_id == turn_id and _may_derive(entry, text))
    ]
    if not gone:
        return 0
    removed = await store.delete_entries(tx, scope, gone)
    await _refold_from(tx, scope, now, held)
    return removed


async def refold_document(tx: Tx, scope: Scope, now: datetime) -> None:
    """The document is the fold of the journal as that stands now."""
    await _refold_from(tx, scope, now, await store.lock_engagement(tx, scope))


async def _refold_from(tx: Tx, scope: Scope, now: datetime, held: StoredEngagement) -> None:
    document: Engagement | None = None
    async for entry in store.iterate_journal(tx, scope):
        document = apply_entry(document, entry)
    mends = reopening_entries(document, now, held.seq) if document else []
    for entry in mends:
        document = apply_entry(document, entry)
    await store.append_entries(tx, scope, mends)
    # The version moves although entries went: whoever holds the old one must see that it is no longer current.
    seq = mends[-1].seq if mends else held.seq + 1
    await store.store_engagement(tx, scope, StoredEngagement(document=document, seq=seq, heard=held.heard))


def _is_citing(entry: EngagementEntry, message_id: str, start: int, end: int) -> bool:
    delta = entry.delta
    if isinstance(delta, EvidenceCollected):
        cited = (delta.evidence.message_id, delta.evidence.start, delta.evidence.end)
    elif isinstance(delta, UnknownAnswered):
        cited = (delta.answer.message_id, delta.answer.start, delta.answer.end)
    else:
        return False
    return cited[0] == message_id and cited[1] < end and start < cited[2]


def _is_repeating(entry: EngagementEntry, text: str) -> bool:
    """Whether an entry of the same person has the very words, from whatever turn; a single plain word is too little."""
    wanted = gates.normalize_words(text)
    if len(wanted.split()) < 2 and not any(sign.isdigit() for sign in wanted):
        return False
    return any(f" {wanted} " in f" {gates.normalize_words(part)} " for part in _entry_texts(entry))


def _may_derive(entry: EngagementEntry, text: str) -> bool:
    """Whether an entry of the same turn may carry the content in other words: it shares a telling word or number."""
    telling = _telling_words(text)
    return any(telling & _telling_words(part) for part in _entry_texts(entry))


@reads_outside_text
def _telling_words(text: str) -> set[str]:
    """The words of five letters and more, and those with a digit in them."""
    numbered = (word for word in _WORD_PATTERN.findall(text) if any(sign.isdigit() for sign in word))
    return {word.casefold() for word in (*_LONG_WORD.findall(text), *numbered)} - _COMMON_WORDS


def _entry_texts(entry: EngagementEntry) -> Iterator[str]:
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
    elif isinstance(delta, HypothesisArchived):
        yield delta.note
    elif isinstance(delta, WeekAdvanced):
        yield entry.reason
