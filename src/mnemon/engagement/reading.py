"""What the doors read: the engagement now, on a day, its history, and whether a reply recites it."""

from datetime import datetime
from typing import Any

from prometheus_client import Counter

from mnemon.db.tx import Tx
from mnemon.engagement import store
from mnemon.engagement.delta import Entry
from mnemon.engagement.document import Engagement
from mnemon.engagement.fold import apply
from mnemon.engagement.recital import recited, texts_of
from mnemon.engagement.shape import EngagementShape
from mnemon.engagement.store import Held
from mnemon.scope import Scope
from mnemon.sessions.personas import takes_part_in_engagement

RECITED = Counter("mnemon_recited_replies", "Replies that repeat eight or more words of the engagement in a row.")


async def at(tx: Tx, scope: Scope, moment: datetime | None = None) -> Held:
    """What is believed now, or what was believed at that moment, with its version."""
    held = await store.read(tx, scope)
    if moment is None:
        return held
    document, seq = None, 0
    async for entry in store.journal(tx, scope, until=moment):
        document, seq = apply(document, entry), entry.seq
    return Held(document=document, seq=seq, heard=held.heard)


async def engagement(tx: Tx, scope: Scope, as_of: datetime | None = None) -> Engagement | None:
    """What is believed now, or what was believed at that time; None before the first session."""
    return (await at(tx, scope, as_of)).document


async def shown_to(tx: Tx, scope: Scope) -> dict[str, Any] | None:
    """The engagement as an agent's tool shows it; None before the first session and where the persona takes no part."""
    if not await takes_part_in_engagement(tx, scope):
        return None
    document = await engagement(tx, scope)
    return None if document is None else EngagementShape.of(document, expand=True).as_json()


async def history(tx: Tx, scope: Scope, *, after: int, most: int) -> list[Entry]:
    """Every change after a place, oldest first, with its turn and reason."""
    return await store.entries(tx, scope, after=after, most=most)


async def recital(tx: Tx, scope: Scope, reply: str) -> str | None:
    """The run of words with which the reply recites the state its persona was shown; None when it does not."""
    if not await takes_part_in_engagement(tx, scope):
        return None
    document = await engagement(tx, scope)
    found = None if document is None else recited(reply, texts_of(document))
    if found is not None:
        RECITED.inc()
    return found
