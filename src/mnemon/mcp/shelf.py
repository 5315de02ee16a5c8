"""Resources: the engagement page, the person's spine, and a card for each entity."""

import json
from typing import Any

import mcp_types as types

from mnemon.access.grants import Grant
from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.engagement.reading import shown_to
from mnemon.errors import NotFound
from mnemon.mcp.caller import Visitor
from mnemon.memory.entities.overview import overviews
from mnemon.memory.entities.store import load_aliases, spoken_of
from mnemon.memory.upkeep.store import latest_spine

ENGAGEMENT = "mnemon://engagement"
SPINE = "mnemon://spine"
ENTITY = "mnemon://entities/"


class Shelf:
    """What a client may read without calling a tool."""

    def __init__(self, basement: Basement) -> None:
        self._basement = basement

    async def listed(self, visitor: Visitor) -> list[types.Resource]:
        """What there is for this visitor."""
        if visitor.agent_id is not None:
            return []
        found: list[types.Resource] = []
        if Grant.ENGAGEMENT_READ in visitor.grants:
            words = "What is believed about the organization: hypotheses, unknowns, findings."
            found.append(
                types.Resource(uri=ENGAGEMENT, name="engagement", description=words, mime_type="application/json")
            )
        if Grant.MEMORY_READ in visitor.grants:
            words = "Who this person is over all conversations."
            found.append(types.Resource(uri=SPINE, name="spine", description=words, mime_type="application/json"))
            async with self._basement.db.tx(visitor.org_id) as tx:
                cards = await _cards(tx, visitor)
            found += [
                types.Resource(
                    uri=f"{ENTITY}{key}", name=key, description=f"What is known about {label}.", mime_type="text/plain"
                )
                for key, (label, _) in cards.items()
            ]
        return found

    async def read(self, visitor: Visitor, uri: str) -> types.TextResourceContents:
        """The resource's text; one that is not there, or not for this visitor, is not found."""
        if visitor.agent_id is not None:
            raise NotFound("resource")
        async with self._basement.db.tx(visitor.org_id) as tx:
            if uri == ENGAGEMENT and Grant.ENGAGEMENT_READ in visitor.grants:
                return _json(uri, await shown_to(tx, visitor.scope))
            if uri == SPINE and Grant.MEMORY_READ in visitor.grants:
                spine = await latest_spine(tx, visitor.scope)
                return _json(
                    uri,
                    None
                    if spine is None
                    else {part: [line.text for line in lines] for part, lines in spine.lines.items()},
                )
            if uri.startswith(ENTITY) and Grant.MEMORY_READ in visitor.grants:
                card = (await _cards(tx, visitor)).get(uri.removeprefix(ENTITY))
                if card is not None:
                    return types.TextResourceContents(uri=uri, mime_type="text/plain", text=card[1])
        raise NotFound("resource")


async def _cards(tx: Tx, visitor: Visitor) -> dict[str, tuple[str, str]]:
    """Label and card text of every entity the person's memories speak of, by key."""
    aliases = await load_aliases(tx, visitor.scope)
    found = overviews(await spoken_of(tx, visitor.scope), aliases)
    return {entity.key: (entity.label, entity.card.text) for entity in found}


def _json(uri: str, value: Any) -> types.TextResourceContents:
    return types.TextResourceContents(
        uri=uri, mime_type="application/json", text=json.dumps(value, ensure_ascii=False, default=str)
    )
