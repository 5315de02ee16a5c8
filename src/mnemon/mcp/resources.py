"""MCP resources: the engagement, the person's spine, and a card for each entity."""

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
        """Keep the services through which MCP resources are read."""
        self._services = services

    async def list_resources(self, caller: McpCaller) -> list[types.Resource]:
        """Return the MCP resources that this caller may read; none for a run."""
        # A run reads nothing but its own decisions, and those by a tool.
        if caller.agent_id is not None:
            return []
        found: list[types.Resource] = []
        if Grant.ENGAGEMENT_READ in caller.grants:
            description = "What is believed about the organization: hypotheses, unknowns, findings."
            found.append(
                types.Resource(
                    uri=ENGAGEMENT_URI, name="engagement", description=description, mime_type="application/json"
                )
            )
        if Grant.MEMORY_READ in caller.grants:
            description = "Who this person is over all conversations."
            found.append(
                types.Resource(uri=SPINE_URI, name="spine", description=description, mime_type="application/json")
            )
            async with self._services.db.tx(caller.org_id) as tx:
                cards = await _entity_cards(tx, caller)
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

    async def read_resource(self, caller: McpCaller, uri: str) -> types.TextResourceContents:
        """Return an MCP resource's text; raise NotFound for one that does not exist or is not for this caller."""
        if caller.agent_id is not None:
            raise NotFound("resource")
        async with self._services.db.tx(caller.org_id) as tx:
            if uri == ENGAGEMENT_URI and Grant.ENGAGEMENT_READ in caller.grants:
                return _json_contents(uri, await load_tool_view(tx, caller.scope))
            if uri == SPINE_URI and Grant.MEMORY_READ in caller.grants:
                spine = await latest_spine(tx, caller.scope)
                return _json_contents(
                    uri,
                    None
                    if spine is None
                    else {part: [line.text for line in lines] for part, lines in spine.lines.items()},
                )
            if uri.startswith(ENTITY_URI) and Grant.MEMORY_READ in caller.grants:
                card = (await _entity_cards(tx, caller)).get(uri.removeprefix(ENTITY_URI))
                if card is not None:
                    return types.TextResourceContents(uri=uri, mime_type="text/plain", text=card[1])
        # The same answer for what is missing and for what is not allowed, so that nothing can be probed.
        raise NotFound("resource")


async def _entity_cards(tx: Tx, caller: McpCaller) -> dict[str, tuple[str, str]]:
    """Return label and card text of every entity that the person's memories mention, by key."""
    aliases = await load_aliases(tx, caller.scope)
    found = entity_overviews(await list_mentions(tx, caller.scope), aliases)
    return {entity.key: (entity.label, entity.card.text) for entity in found}


def _json_contents(uri: str, value: Any) -> types.TextResourceContents:
    """Return the value as the JSON text of an MCP resource."""
    return types.TextResourceContents(
        uri=uri, mime_type="application/json", text=json.dumps(value, ensure_ascii=False, default=str)
    )
