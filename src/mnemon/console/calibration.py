"""Page of calibration: stated confidence against outcomes, and the hit rate of expectations."""

from dataclasses import dataclass

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.agentstate.store import load_hit_rates
from mnemon.console.charts import ReliabilityPoint, reliability_points
from mnemon.console.page_request import PageRequest
from mnemon.console.pages import PageContent, page
from mnemon.runs import agent_store
from mnemon.runs.agents import get_agent
from mnemon.runs.calibration import Calibration, load_track_record
from mnemon.runs.card import load_cards

router = APIRouter()


@dataclass(frozen=True, kw_only=True)
class CalibrationGroup:
    """One agent's decisions of one card type."""

    agent: str
    card: str
    found: Calibration
    stated: tuple[ReliabilityPoint, ...]
    convictions: tuple[ReliabilityPoint, ...]


@page(router, "/calibration", "calibration.html", grant=Grant.AGENTS_READ)
async def calibration(visit: PageRequest) -> PageContent:
    """Show the page of reliability and Brier score, overall and per agent and card type, and expectations' hit rate."""
    agent_id = visit.asked("agent") or None
    cards = load_cards(visit.services.settings.cards_dir)
    async with visit.tx() as tx:
        if agent_id:
            # Raises NotFound for an agent of another organization.
            await get_agent(tx, visit.org_scope, agent_id)
        record = await load_track_record(tx, visit.org_scope, cards, agent_id)
        agents = {agent.id: agent.name for agent in await agent_store.list_agents(tx, visit.org_scope, most=200)}
        total, actions = await load_hit_rates(tx, visit.org_scope)
    groups = [
        CalibrationGroup(
            agent=agents.get(str(found.agent_id), str(found.agent_id)),
            card=cards[str(found.card_type)].title,
            found=found,
            stated=reliability_points(found.stated),
            convictions=reliability_points(found.convictions),
        )
        for found in record.groups
    ]
    data = {
        "overall": record.overall,
        "groups": groups,
        "agents": agents,
        "asked": {"agent": agent_id or ""},
        "hits": [
            {"action": one.action, "confirmed": one.confirmed, "failed": one.failed, "rate": one.rate}
            for one in (total, *actions)
        ],
    }
    return PageContent(title="Calibration", data=data)
