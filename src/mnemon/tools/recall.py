"""`recall`: what is known about something, and what was said about it."""

import numpy as np
from pydantic import Field

from mnemon.clock import iso
from mnemon.db.tx import Tx
from mnemon.memory.memory import Memory
from mnemon.memory.recall.query import Hit, Query, RecallKind
from mnemon.memory.recall.search import search
from mnemon.memory.trust import Trust, coarse_trust, source_mark
from mnemon.tool import Arguments, Caller, ToolReply
from mnemon.turn import Role, speaker_of


class ToRecall(Arguments):
    """A question to memory."""

    query: str = Field(min_length=1, max_length=2000, description="What you want to know, in words.")
    limit: int = Field(5, ge=1, le=50)
    messages: bool = Field(False, description="Also what was said, word for word.")


class Recall:
    """Searches the person's memories."""

    name = "recall"
    description = "Look up what is remembered about the person, someone in their life, or a project."
    arguments: type[Arguments] = ToRecall
    needs = "memory:read"

    def text_to_embed(self, arguments: Arguments) -> str | None:
        assert isinstance(arguments, ToRecall)
        return arguments.query

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """What answers the question, best first."""
        assert isinstance(arguments, ToRecall)
        kinds = {RecallKind.MEMORIES, *((RecallKind.MESSAGES,) if arguments.messages else ())}
        query = Query(
            text=arguments.query,
            vector=vector if caller.embedder else None,
            model=caller.embedder,
            kinds=frozenset(kinds),
            limit=arguments.limit,
        )
        found = await search(tx, caller.scope, query)
        return ToolReply(
            content={
                "results": [_shown(hit) for hit in found.hits],
                "entityCards": [card.text for card in found.cards],
            },
            ids=tuple(hit.found.id for hit in found.hits),
            types=("memory",) if found.memories else (),
            count=len(found.hits),
        )


def _shown(hit: Hit) -> dict[str, object]:
    found = hit.found
    if isinstance(found, Memory):
        return {
            "id": found.id,
            "content": found.content,
            "type": found.type,
            "trust": coarse_trust(found.trust),
            "trustLevel": found.trust,
            "origin": found.origin,
            "claimOf": found.claim_of,
            **({"claims": hit.claims} if hit.claims else {}),
        }
    # A tool's message is called one whatever name its caller gave it.
    by = source_mark(Trust.TOOL, found.name or "") if found.role is Role.TOOL else speaker_of(found.role, found.name)
    return {"id": found.id, "said": found.content, "by": by, "at": iso(found.at)}
