"""Read the engagement: now, at an earlier time, its history, and whether a reply recites it."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from prometheus_client import Counter

from mnemon.db.tx import Tx
from mnemon.engagement import store
from mnemon.engagement.document import Engagement
from mnemon.engagement.journal import EngagementEntry, apply_entry
from mnemon.engagement.shape import EngagementShape
from mnemon.engagement.store import StoredEngagement
from mnemon.scope import Scope
from mnemon.sessions.organization import engagement_is_on, takes_part_in_engagement
from mnemon.untrusted_text import reads_outside_text

RECITED_WORDS = 8
"""The number of words in a row that make a recital."""
_MAX_REPLY_CHARS = 20_000
"""The most characters of a reply that are checked, since this runs on the event loop."""
_WORD_PATTERN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@reads_outside_text
def find_recited_words(reply: str, texts: Iterable[str], run: int = RECITED_WORDS) -> str | None:
    """Return the first run of `run` consecutive words that the reply shares with a text; None without."""
    known: set[tuple[str, ...]] = set()
    for text in texts:
        # Typographic and plain apostrophes spell the same word.
        words = [match.group().casefold().replace("’", "'") for match in _WORD_PATTERN.finditer(text)]
        known.update(zip(*(words[place:] for place in range(run)), strict=False))
    if not known:
        return None
    found = list(_WORD_PATTERN.finditer(reply[:_MAX_REPLY_CHARS]))
    words = [match.group().casefold().replace("’", "'") for match in found]
    for place in range(len(words) - run + 1):
        if tuple(words[place : place + run]) in known:
            return reply[found[place].start() : found[place + run - 1].end()]
    return None


def document_texts(document: Engagement) -> Iterator[str]:
    """Yield every sentence of the engagement that a reply could repeat verbatim."""
    for hypothesis in document.hypotheses:
        yield from (hypothesis.statement, hypothesis.falsified_by)
        yield from (text for text in (hypothesis.would_resolve, hypothesis.note) if text)
        yield from (line.line for line in hypothesis.evidence)
    for unknown in document.unknowns:
        yield from (unknown.question, unknown.why_it_matters)


RECITED_REPLIES = Counter(
    "mnemon_recited_replies", "Replies that repeat eight or more words of the engagement in a row."
)
"""Counts the replies that recite the engagement."""


async def load_engagement_at(tx: Tx, scope: Scope, moment: datetime | None = None) -> StoredEngagement:
    """Return the engagement now, or as it was at that moment (folded from the journal), with its version.

    Without a document where the organization's engagement is off: what is stored waits until it is on again.
    """
    is_on, stored = await tx.gather(engagement_is_on(tx, scope), store.load_engagement(tx, scope))
    if not is_on:
        return StoredEngagement(document=None, seq=0, heard=0)
    if moment is None:
        return stored
    document, seq = None, 0
    # By the time of the turns, not of writing: a turn that was reflected late counts from when it happened.
    async for entry in store.iterate_journal(tx, scope, until=moment):
        document, seq = apply_entry(document, entry), entry.seq
    return StoredEngagement(document=document, seq=seq, heard=stored.heard)


async def load_document(tx: Tx, scope: Scope, as_of: datetime | None = None) -> Engagement | None:
    """Return the engagement document now, or as it was at that time; None before the first session."""
    return (await load_engagement_at(tx, scope, as_of)).document


async def load_tool_view(tx: Tx, scope: Scope) -> dict[str, Any] | None:
    """Return the engagement as JSON, as the tool `get_engagement` gives it to an agent.

    None before the first session and where the persona takes no part.
    """
    if not await takes_part_in_engagement(tx, scope):
        return None
    document = await load_document(tx, scope)
    return None if document is None else EngagementShape.from_document(document, expand=True).as_json()


async def list_history(tx: Tx, scope: Scope, *, after: int, most: int) -> list[EngagementEntry]:
    """Return up to `most` journal entries of the engagement after a position, oldest first."""
    return await store.list_entries(tx, scope, after=after, most=most)


async def find_recital(tx: Tx, scope: Scope, reply: str) -> str | None:
    """Return the words that a reply repeats from the engagement shown to its persona; None without."""
    takes_part, document = await tx.gather(takes_part_in_engagement(tx, scope), load_document(tx, scope))
    if not takes_part:
        return None
    found = None if document is None else find_recited_words(reply, document_texts(document))
    if found is not None:
        RECITED_REPLIES.inc()
    return found
