"""Calibration: what agents said they were sure of against what happened, and the hit rate of expectations."""

from dataclasses import dataclass

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.agentstate.hit_rate import hit_rates
from mnemon.console.plot import Spot, reliability_spots
from mnemon.console.shell import Shown, page
from mnemon.console.visit import Visit
from mnemon.runs import agent_store
from mnemon.runs.agents import get_agent
from mnemon.runs.calibration import Calibration
from mnemon.runs.card import load_cards
from mnemon.runs.track_record import track_record

router = APIRouter()


@dataclass(frozen=True, kw_only=True)
class Group:
    """One agent's decisions of one card type."""

    agent: str
    card: str
    found: Calibration
    stated: tuple[Spot, ...]
    convictions: tuple[Spot, ...]


@page(router, "/calibration", "calibration.html", grant=Grant.AGENTS_READ)
async def calibration(visit: Visit) -> Shown:
    """Reliability and Brier score over all, and per agent and card type; the hit rate of expectations."""
    agent_id = visit.asked("agent") or None
    cards = load_cards(visit.basement.settings.cards_dir)
    async with visit.tx() as tx:
        if agent_id:
            await get_agent(tx, visit.org, agent_id)
        record = await track_record(tx, visit.org, cards, agent_id)
        agents = {agent.id: agent.name for agent in await agent_store.agents(visit.org, tx, most=200)}
        total, actions = await hit_rates(tx, visit.org)
    groups = [
        Group(
            agent=agents.get(str(found.agent_id), str(found.agent_id)),
            card=cards[str(found.card_type)].title,
            found=found,
            stated=reliability_spots(found.stated),
            convictions=reliability_spots(found.convictions),
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
    return Shown(title="Calibration", data=data)
