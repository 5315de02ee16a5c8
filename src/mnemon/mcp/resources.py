"""Resources: the engagement page, the person's spine, and a card for each entity."""

import json
from typing import Any

import mcp_types as types

from mnemon.access.grants import Grant
from mnemon.db.tx import Tx
from mnemon.engagement.reading import load_tool_view
from mnemon.errors import NotFound
from mnemon.mcp.caller import McpCaller
from mnemon.memory.entities.overview import entity_overviews
from mnemon.memory.entities.store import list_mentions, load_aliases
from mnemon.memory.upkeep.store import latest_spine
from mnemon.services import Services

ENGAGEMENT_URI = "mnemon://engagement"
SPINE_URI = "mnemon://spine"
ENTITY_URI = "mnemon://entities/"


class McpResources:
    """What a client may read without calling a tool."""

    def __init__(self, services: Services) -> None:
        self._basement = services

    async def list_resources(self, visitor: McpCaller) -> list[types.Resource]:
        """What there is for this visitor."""
        if visitor.agent_id is not None:
            return []
        found: list[types.Resource] = []
        if Grant.ENGAGEMENT_READ in visitor.grants:
            words = "What is believed about the organization: hypotheses, unknowns, findings."
            found.append(
                types.Resource(uri=ENGAGEMENT_URI, name="engagement", description=words, mime_type="application/json")
            )
        if Grant.MEMORY_READ in visitor.grants:
            words = "Who this person is over all conversations."
            found.append(types.Resource(uri=SPINE_URI, name="spine", description=words, mime_type="application/json"))
            async with self._basement.db.tx(visitor.org_id) as tx:
                cards = await _entity_cards(tx, visitor)
            found += [
                types.Resource(
                    uri=f"{ENTITY_URI}{key}",
                    name=key,
                    description=f"What is known about {label}.",
                    mime_type="text/plain",
                )
                for key, (label, _) in cards.items()
            ]
        return found

    async def read_resource(self, visitor: McpCaller, uri: str) -> types.TextResourceContents:
        """The resource's text; one that is not there, or not for this visitor, is not found."""
        if visitor.agent_id is not None:
            raise NotFound("resource")
        async with self._basement.db.tx(visitor.org_id) as tx:
            if uri == ENGAGEMENT_URI and Grant.ENGAGEMENT_READ in visitor.grants:
                return _json_contents(uri, await load_tool_view(tx, visitor.scope))
            if uri == SPINE_URI and Grant.MEMORY_READ in visitor.grants:
                spine = await latest_spine(tx, visitor.scope)
                return _json_contents(
                    uri,
                    None
                    if spine is None
                    else {part: [line.text for line in lines] for part, lines in spine.lines.items()},
                )
            if uri.startswith(ENTITY_URI) and Grant.MEMORY_READ in visitor.grants:
                card = (await _entity_cards(tx, visitor)).get(uri.removeprefix(ENTITY_URI))
                if card is not None:
                    return types.TextResourceContents(uri=uri, mime_type="text/plain", text=card[1])
        raise NotFound("resource")


async def _entity_cards(tx: Tx, visitor: McpCaller) -> dict[str, tuple[str, str]]:
    """Label and card text of every entity the person's memories speak of, by key."""
    aliases = await load_aliases(tx, visitor.scope)
    found = entity_overviews(await list_mentions(tx, visitor.scope), aliases)
    return {entity.key: (entity.label, entity.card.text) for entity in found}


def _json_contents(uri: str, value: Any) -> types.TextResourceContents:
    return types.TextResourceContents(
        uri=uri, mime_type="application/json", text=json.dumps(value, ensure_ascii=False, default=str)
    )
