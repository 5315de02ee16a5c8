"""Page of the context: exactly what a model would get for a message, layer by layer, and what did not fit."""

from typing import Any

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.charts import stacked_bars
from mnemon.console.page_request import PageRequest, load_person_filter, scope_of
from mnemon.console.pages import PageContent, page
from mnemon.context.assemble import AssembledContext, preview_context
from mnemon.vectors.text_vectors import embed_query

router = APIRouter()
MAX_TOKENS = 200_000


@page(router, "/context", "context.html", grant=Grant.CHAT)
async def context(visit: PageRequest) -> PageContent:
    """Show the page of the prompt a message would get: its layers with their share of the tokens."""
    text = visit.asked("q")
    budget = max(200, visit.query_number("budget", visit.services.settings.context_budget_tokens, most=MAX_TOKENS))
    vector = await embed_query(visit.services.embedder, text) if text else None
    made: AssembledContext | None = None
    async with visit.tx() as tx:
        chosen = await load_person_filter(visit, tx)
        if text and chosen.user:
            made = await preview_context(
                tx,
                visit.services,
                scope_of(visit, chosen),
                text,
                vector,
                sees_agent_state=visit.principal.may(Grant.AGENT_STATE_READ),
                sees_engagement=visit.principal.may(Grant.ENGAGEMENT_READ),
                budget=budget,
            )
    data = {
        "q": text,
        "budget": budget,
        "whom": chosen,
        "made": None if made is None else _context_data(made),
        "now": tx.now,
    }
    return PageContent(title="Context", data=data)


def _context_data(made: AssembledContext) -> dict[str, Any]:
    """Return the values of the context page: layers, tokens, what was left out, and recent messages."""
    pack = made.pack
    shares = {layer.name: float(layer.tokens) for layer in pack.layers}
    # What was left out has sources but no text; the assembled layers still have it.
    texts = {(layer.name, item.sources): item.text for layer in made.as_read for item in layer.items}
    return {
        "system": pack.system,
        "tokens": pack.tokens,
        "session_id": made.session_id,
        "layers": [
            {
                "name": layer.name,
                "title": layer.title,
                "text": layer.text,
                "tokens": layer.tokens,
                "share": layer.tokens / pack.tokens if pack.tokens else 0.0,
                "sources": list(layer.sources),
            }
            for layer in pack.layers
        ],
        "bar": stacked_bars([shares])[0],
        "left_out": [
            {
                "layer": one.layer,
                "text": texts.get((one.layer, one.sources), ""),
                "tokens": one.tokens,
                "why": one.why,
                "sources": list(one.sources),
            }
            for one in pack.left_out
        ],
        "recent": [{"role": one.role.value, "content": one.content, "at": one.at} for one in made.recent],
    }
