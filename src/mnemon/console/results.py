"""Pages of results: the decisions of each card type in one table, with conviction and outcome."""

from collections import defaultdict
from dataclasses import dataclass

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.live import live_topic
from mnemon.console.page_request import PageRequest
from mnemon.console.pages import PageContent, page
from mnemon.console.runs import Conviction, conviction_of
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.runs import agent_store, store
from mnemon.runs.card import RE_EXAMINATION, CardDefinition, load_cards
from mnemon.runs.decisions import card_subject, format_decision
from mnemon.runs.re_examination import not_re_examinable_reason
from mnemon.runs.run import ResolutionStatus, Run, RunStatus
from mnemon.runs.store import RunFilter
from mnemon.scope import Scope

router = APIRouter()
PAGE_SIZE = 50


@dataclass(frozen=True, kw_only=True)
class ResultRow:
    """One decision in the table."""

    run: Run
    agent: str
    tone: str
    text: str
    """Verdict, subject and why; conviction and outcome have columns of their own."""
    confidence: float | None
    convictions: tuple[Conviction, ...]
    """Re-examinations that have a score, oldest first."""
    re_examinable: bool

    @property
    def latest(self) -> Conviction | None:
        """Return the decision's last re-examination with a score; None if there is none."""
        return self.convictions[-1] if self.convictions else None


def plural_name(card_type: str) -> str:
    """Return the card type in the plural, as its page is named: `trade-decisions`, `research-theses`."""
    if card_type.endswith("sis"):
        return card_type[:-2] + "es"
    if card_type.endswith("y") and card_type[-2:-1] not in "aeiou":
        return card_type[:-1] + "ies"
    return card_type + ("es" if card_type.endswith(("s", "x", "ch", "sh")) else "s")


@page(router, "/results", "results_index.html", grant=Grant.AGENTS_READ)
async def results_index(visit: PageRequest) -> PageContent:
    """Show the page that lists the card types, each with its purpose and number of decisions."""
    cards = load_cards(visit.services.settings.cards_dir)
    async with visit.tx() as tx:
        counts = await store.count_decisions(tx, visit.org_scope)
    kinds = [
        {"path": plural_name(name), "title": card.title, "purpose": card.purpose, **_counts_of(counts, name)}
        for name, card in cards.items()
        if name != RE_EXAMINATION
    ]
    return PageContent(title="Results", data={"kinds": kinds, "any": any(one["made"] for one in kinds)})


def _counts_of(counts: dict[str, tuple[int, int]], card_type: str) -> dict[str, int]:
    """Return how many decisions of a card type there are, and how many of them are open."""
    made, open_ = counts.get(card_type, (0, 0))
    return {"made": made, "open": open_}


@page(router, "/results/{kind}", "results.html", grant=Grant.AGENTS_READ)
async def results(visit: PageRequest, kind: str) -> PageContent:
    """Show the page of the decisions of one card type, newest first."""
    cards = load_cards(visit.services.settings.cards_dir)
    kinds = {plural_name(name): name for name in cards if name != RE_EXAMINATION}
    if kind not in kinds:
        raise NotFound(f"results page {kind[:60]}; there are {', '.join(sorted(kinds))}")
    card = cards[kinds[kind]]
    agent_id, status = visit.asked("agent"), visit.asked("status")
    before = visit.query_number("before", 0, most=2**31 - 1) or None
    wanted = RunFilter(
        agent_id=agent_id or None,
        card_type=card.type,
        status=RunStatus.SUCCEEDED,
        resolution=ResolutionStatus(status) if status in set(ResolutionStatus) else None,
    )
    async with visit.tx() as tx:
        # Pages go by sequence number, not by offset: a new run does not shift them.
        found = await store.list_runs(tx, visit.org_scope, wanted, before=before, most=PAGE_SIZE + 1)
        rows = await _load_rows(tx, visit.org_scope, [run for _, run in found[:PAGE_SIZE]], card)
        agents = await agent_store.list_agents(tx, visit.org_scope, most=200)
    data = {
        "kind": kind,
        "kinds": {path: path.replace("-", " ").capitalize() for path in kinds},
        "card": {"type": card.type, "title": card.title, "purpose": card.purpose},
        "rows": rows,
        "latest": {row.run.id: row.latest for row in rows},
        "agents": {agent.id: agent.name for agent in agents if agent.card_type == card.type},
        "asked": {"agent": agent_id, "status": status},
        "statuses": [one.value for one in ResolutionStatus],
        "more": found[PAGE_SIZE - 1][0] if len(found) > PAGE_SIZE else None,
        "now": tx.now,
    }
    return PageContent(title=kind.replace("-", " ").capitalize(), data=data)


@live_topic("results", grant=Grant.AGENTS_READ)
async def _results_version(tx: Tx, scope: Scope, argument: str) -> str:
    """Return a text that changes when a run does; a new one reloads the page of results."""
    found = await store.list_runs(tx, scope, RunFilter(), most=PAGE_SIZE)
    return "|".join(f"{run.id}{run.status}{run.outcome}" for _, run in found)


async def _load_rows(tx: Tx, scope: Scope, found: list[Run], card: CardDefinition) -> list[ResultRow]:
    """Return a table row per run: agent, colour, stated confidence, convictions, if it can be re-examined."""
    again: dict[str, list[Conviction]] = defaultdict(list)
    for one in await store.list_re_examinations(tx, scope, [run.id for run in found]):
        made = conviction_of(one)
        if made.score is not None:
            again[str(one.parent_run_id)].append(made)
    agents = {agent.id: agent.name for agent in await agent_store.list_team(tx, scope, [run.agent_id for run in found])}
    return [
        ResultRow(
            run=run,
            agent=agents.get(run.agent_id, ""),
            tone=card.tone_of(run.result or {}),
            text=format_decision(run.headline or "", card_subject(card, run.result or {}), None, None),
            confidence=_stated_confidence(run, card),
            convictions=tuple(again[run.id]),
            re_examinable=not_re_examinable_reason(run, card) is None,
        )
        for run in found
    ]


def _stated_confidence(run: Run, card: CardDefinition) -> float | None:
    """Return the confidence that the run's card states; None where it states none."""
    stated = (run.result or {}).get(card.confidence) if card.confidence else None
    return float(stated) if isinstance(stated, int | float) else None
