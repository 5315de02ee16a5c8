"""Moves an organization's vectors to another model while it is being served.

The new model's vectors are written beside the old ones, a batch per transaction, so that a killed run is taken up where
it ended. Only when nothing is left does the active model change; the old vectors stay until they are dropped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mnemon.basement import Basement
from mnemon.scope import Scope
from mnemon.vectors import active
from mnemon.vectors.batch import embed_some
from mnemon.vectors.people import people_of
from mnemon.vectors.texts import Texts


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far an organization is."""

    org_id: str
    done: int
    texts: int
    """All that can have a vector; grows while people write."""


Report = Callable[[Progress], None]


async def reembed(basement: Basement, rooms: Sequence[Texts], org_id: str, report: Report) -> int:
    """Every text has a vector of the basement's embedder, which is now active; how many were made."""
    scope = Scope(org_id=org_id)
    start = await progress(basement, rooms, org_id)
    report(start)
    made = 0

    def add(count: int) -> None:
        nonlocal made
        made += count
        report(Progress(org_id=org_id, done=start.done + made, texts=max(start.texts, start.done + made)))

    # Whoever wrote while one round went on is met by the next; the flip waits for a round without work.
    while await _round(basement, rooms, scope, add):
        pass
    async with basement.db.tx(org_id) as tx:
        await active.flip(tx, scope, basement.embedder.model)
    report(await progress(basement, rooms, org_id))
    return made


async def _round(basement: Basement, rooms: Sequence[Texts], scope: Scope, add: Callable[[int], None]) -> int:
    """Everyone is visited once; how many vectors that made."""
    made = 0
    async for people in people_of(basement.db, scope):
        for user_id in people:
            for texts in rooms:
                while count := await embed_some(basement, texts, Scope(org_id=scope.org_id, user_id=user_id)):
                    made += count
                    add(count)
    return made


async def progress(basement: Basement, rooms: Sequence[Texts], org_id: str) -> Progress:
    """How many texts there are, and how many have a vector of the basement's embedder."""
    async with basement.db.tx(org_id) as tx:
        counts = [await texts.counted(tx, Scope(org_id=org_id), basement.embedder.model) for texts in rooms]
    return Progress(org_id=org_id, done=sum(one.done for one in counts), texts=sum(one.texts for one in counts))


async def drop_others(basement: Basement, rooms: Sequence[Texts], org_id: str) -> int:
    """No vectors of other models are left; how many were there."""
    dropped = 0
    async for people in people_of(basement.db, Scope(org_id=org_id)):
        for user_id in people:
            async with basement.db.tx(org_id) as tx:
                for texts in rooms:
                    dropped += await texts.drop_others(
                        tx, Scope(org_id=org_id, user_id=user_id), basement.embedder.model
                    )
    return dropped
