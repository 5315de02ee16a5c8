"""Page of recall: what a query finds under one or two rankings, the parts of each score, and what was left out."""

from datetime import datetime
from typing import Any

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.clock import parse_time
from mnemon.console.charts import ScoreBar, stacked_bars
from mnemon.console.forms import form_refusal
from mnemon.console.page_request import PageRequest, PersonFilter, load_person_filter, scope_of
from mnemon.console.pages import PageContent, page
from mnemon.errors import Invalid
from mnemon.memory.memory import StoredMemory
from mnemon.memory.ranking import Ranking
from mnemon.memory.recall.query import RecallHit, RecallKind, RecallQuery, RecallResult
from mnemon.memory.recall.search import search
from mnemon.memory.recall.store import list_left_out
from mnemon.memory.trust import mark_of
from mnemon.vectors.text_vectors import embed_query

router = APIRouter()
SHOWN_BELOW_LIMIT = 8
"""How many hits below the limit are shown too."""


@page(router, "/recall", "recall.html", grant=Grant.MEMORY_READ)
async def recall(visit: PageRequest) -> PageContent:
    """Show the page of a query's hits under one ranking, or under two side by side."""
    text, limit = visit.asked("q"), visit.query_number("limit", 8, most=50)
    as_of = _parse_as_of(visit)
    # Before the transaction: no connection is held while the embedder works.
    vector = await embed_query(visit.services.embedder, text) if text else None
    async with visit.tx() as tx:
        chosen = await load_person_filter(visit, tx)
        columns: list[dict[str, Any]] = []
        missing: list[Any] = []
        if text and chosen.user and not visit.refused:
            scope = scope_of(visit, chosen)
            for ranking in _requested_rankings(visit):
                # A few more than asked for, to show what is just below the limit.
                query = _build_query(visit, text, vector, ranking, limit + SHOWN_BELOW_LIMIT, as_of)
                columns.append(_ranking_column(ranking, await search(tx, scope, query), limit))
            # What is left out before ranking is the same for both rankings.
            missing = await list_left_out(tx, scope, query)
    return PageContent(title="Recall", data=_recall_data(visit, chosen, limit, _link_columns(columns), missing, tx.now))


def _recall_data(
    visit: PageRequest,
    chosen: PersonFilter,
    limit: int,
    columns: list[dict[str, Any]],
    missing: list[Any],
    now: datetime,
) -> dict[str, Any]:
    """Return the values of the recall page: what was asked, and a column of hits per ranking."""
    return {
        "asked": {name: visit.asked(name) for name in ("q", "ranking", "versus", "as_of", "kinds")},
        "limit": limit,
        "whom": chosen,
        "rankings": [one.value for one in Ranking],
        "columns": columns,
        "missing": missing,
        "now": now,
    }


def _requested_rankings(visit: PageRequest) -> list[Ranking]:
    """Return the ranking that the query asks for, and the one to compare it with if there is one."""
    known = {one.value: one for one in Ranking}
    first = known.get(visit.asked("ranking"), Ranking.HYBRID)
    second = known.get(visit.asked("versus"))
    return [first] if second in (None, first) else [first, second]


def _build_query(
    visit: PageRequest, text: str, vector: Any, ranking: Ranking, limit: int, as_of: datetime | None
) -> RecallQuery:
    """Return the recall query for one ranking, for memories and, if the page asks for them, messages."""
    kinds = frozenset(RecallKind) if visit.asked("kinds") == "both" else frozenset({RecallKind.MEMORIES})
    return RecallQuery(
        text=text,
        vector=vector,
        model=visit.services.embedder.model,
        ranking=ranking,
        kinds=kinds,
        limit=limit,
        as_of=as_of,
    )


def _parse_as_of(visit: PageRequest) -> datetime | None:
    """Return the past moment asked for, for a day its end; None without one, or marked as refused if unreadable."""
    word = visit.asked("as_of")
    if not word:
        return None
    try:
        return parse_time(f"{word}T23:59:59Z" if len(word) == len("2026-04-12") else word)
    except (ValueError, OverflowError):
        wrong = Invalid("“As of” takes a day like 2026-04-12, or a time in ISO form.", code="bad_time")
        visit.refused = form_refusal("/recall", {"as_of": word}, wrong, "as_of")
        return None


def _ranking_column(ranking: Ranking, found: RecallResult, limit: int) -> dict[str, Any]:
    """Return one ranking's column: its hits with their score bars, those below the limit, entity cards."""
    bars = stacked_bars([{name: hit.weights[name] * part for name, part in hit.parts.items()} for hit in found.hits])
    lines = [_hit_line(place, hit, bar) for place, (hit, bar) in enumerate(zip(found.hits, bars, strict=True), start=1)]
    return {
        "ranking": ranking.value,
        "weights": dict(found.hits[0].weights) if found.hits else {},
        "hits": lines[:limit],
        "below": lines[limit:],
        "considered": found.considered,
        "cards": [{"key": card.key, "label": card.label, "facts": list(card.facts)} for card in found.cards],
    }


def _hit_line(place: int, hit: RecallHit, bar: ScoreBar) -> dict[str, Any]:
    """Return one hit as the recall page shows it: place, text, score, its parts and their bar."""
    # A claim is marked as one only directly after what it contradicts.
    is_claim, found = hit.contradicts is not None, hit.found
    return {
        "place": place,
        "found": found,
        "is_claim": is_claim,
        "mark": mark_of(found.trust, found.origin, is_claim=is_claim) if isinstance(found, StoredMemory) else None,
        "score": hit.score,
        "parts": dict(hit.parts),
        "weights": dict(hit.weights),
        "bar": bar,
        "other": None,
    }


def _link_columns(columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the two columns, with each hit's rank in the other column added."""
    if len(columns) == 2:
        places = [{line["found"].id: line["place"] for line in (*c["hits"], *c["below"])} for c in columns]
        for own, other in ((0, 1), (1, 0)):
            for line in columns[own]["hits"]:
                line["other"] = places[other].get(line["found"].id, "not near")
    return columns
