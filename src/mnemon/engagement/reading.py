"""What the doors read: the engagement now, on a day, its history, and whether a reply recites it."""

from datetime import datetime

from prometheus_client import Counter

from mnemon.db.tx import Tx
from mnemon.engagement import store
from mnemon.engagement.delta import Entry
from mnemon.engagement.document import Engagement
from mnemon.engagement.fold import apply
from mnemon.engagement.recital import recited, texts_of
from mnemon.scope import Scope
from mnemon.sessions.personas import takes_part_in_engagement

RECITED = Counter("mnemon_recited_replies", "Replies that repeat eight or more words of the engagement in a row.")


async def engagement(tx: Tx, scope: Scope, as_of: datetime | None = None) -> Engagement | None:
    """What is believed now, or what was believed at that time; None before the first session."""
    if as_of is None:
        return (await store.read(tx, scope)).document
    document = None
    async for entry in store.journal(tx, scope, until=as_of):
        document = apply(document, entry)
    return document


async def history(tx: Tx, scope: Scope, *, after: int, most: int) -> list[Entry]:
    """Every change after a place, oldest first, with its turn and reason."""
    return await store.entries(tx, scope, after=after, most=most)


async def recital(tx: Tx, scope: Scope, reply: str) -> str | None:
    """The run of words with which the reply recites the state its persona was shown; None when it does not."""
    if not await takes_part_in_engagement(tx, scope):
        return None
    document = (await store.read(tx, scope)).document
    found = None if document is None else recited(reply, texts_of(document))
    if found is not None:
        RECITED.inc()
    return found
