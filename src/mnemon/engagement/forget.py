"""Forgetting in the engagement: what came from a person's turns, or from one quote, leaves the journal, and what is
left is folded again. A finding that loses its ground is reopened."""

import re
from collections.abc import Iterator
from datetime import datetime

from mnemon.db.tx import Tx
from mnemon.engagement import gates, store
from mnemon.engagement.delta import Advanced, Answered, Archived, Collected, Entry, Formed, Resolvable, Wondered
from mnemon.engagement.document import Engagement
from mnemon.engagement.fold import apply
from mnemon.engagement.settle import mended
from mnemon.engagement.store import Held
from mnemon.outside import reads_outside_text
from mnemon.scope import Scope

_WORD = re.compile(r"\w+")
_LONG = re.compile(r"[^\W_]{5,}")
_COMMON = frozenset(
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
    held = await store.lock(tx, scope)
    entries, turns = await store.forget_person(tx, scope)
    if entries or turns:
        await _refold(tx, scope, now, Held(document=None, seq=held.seq, heard=held.heard - turns))
    return {"engagement_journal": entries, "engagement_turns": turns}


async def redact(
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
    held = await store.lock(tx, scope)
    gone = [
        entry.seq
        async for entry in store.journal(tx, scope)
        if _cites(entry, message_id, start, end)
        or (entry.user_id == scope.user and _repeats(entry, text))
        or (entry.turn_id == turn_id and _derives(entry, text))
    ]
    if not gone:
        return 0
    removed = await store.forget_entries(tx, scope, gone)
    await _refold(tx, scope, now, held)
    return removed


async def refold(tx: Tx, scope: Scope, now: datetime) -> None:
    """The document is the fold of the journal as that stands now."""
    await _refold(tx, scope, now, await store.lock(tx, scope))


async def _refold(tx: Tx, scope: Scope, now: datetime, held: Held) -> None:
    document: Engagement | None = None
    async for entry in store.journal(tx, scope):
        document = apply(document, entry)
    mends = mended(document, now, held.seq) if document else []
    for entry in mends:
        document = apply(document, entry)
    await store.append(tx, scope, mends)
    # The version moves although entries went: whoever holds the old one must see that it is no longer current.
    seq = mends[-1].seq if mends else held.seq + 1
    await store.keep(tx, scope, Held(document=document, seq=seq, heard=held.heard))


def _cites(entry: Entry, message_id: str, start: int, end: int) -> bool:
    delta = entry.delta
    if isinstance(delta, Collected):
        cited = (delta.evidence.message_id, delta.evidence.start, delta.evidence.end)
    elif isinstance(delta, Answered):
        cited = (delta.answer.message_id, delta.answer.start, delta.answer.end)
    else:
        return False
    return cited[0] == message_id and cited[1] < end and start < cited[2]


def _repeats(entry: Entry, text: str) -> bool:
    """Whether an entry of the same person has the very words, from whatever turn; a single plain word is too little."""
    wanted = gates.normal(text)
    if len(wanted.split()) < 2 and not any(sign.isdigit() for sign in wanted):
        return False
    return any(f" {wanted} " in f" {gates.normal(part)} " for part in _texts(entry))


def _derives(entry: Entry, text: str) -> bool:
    """Whether an entry of the same turn may carry the content in other words: it shares a telling word or number."""
    telling = _telling(text)
    return any(telling & _telling(part) for part in _texts(entry))


@reads_outside_text
def _telling(text: str) -> set[str]:
    """The words of five letters and more, and those with a digit in them."""
    numbered = (word for word in _WORD.findall(text) if any(sign.isdigit() for sign in word))
    return {word.casefold() for word in (*_LONG.findall(text), *numbered)} - _COMMON


def _texts(entry: Entry) -> Iterator[str]:
    delta = entry.delta
    if isinstance(delta, Collected):
        yield from (delta.evidence.line, delta.evidence.quote)
    elif isinstance(delta, Formed):
        yield from (delta.statement, delta.falsified_by)
    elif isinstance(delta, Wondered):
        yield from (delta.question, delta.why_it_matters)
    elif isinstance(delta, Answered):
        yield delta.answer.quote
    elif isinstance(delta, Resolvable):
        yield delta.text
    elif isinstance(delta, Archived):
        yield delta.note
    elif isinstance(delta, Advanced):
        yield entry.reason
