"""`/api/prices`, `/api/cards` and `/api/calibration`: card types, prices that resolve decisions, and outcomes."""

from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Body, Query, Response
from pydantic import Field

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for, write_responses
from mnemon.api.models import ApiModel, Instant, Name
from mnemon.api.run_shapes import RunOut
from mnemon.api.runs import cards_of
from mnemon.db.tx import Tx
from mnemon.runs.agents import get_agent
from mnemon.runs.calibration import Calibration, Reliability, ReliabilityBin, load_track_record
from mnemon.runs.card import CardDefinition, ResolutionRule, SlotType
from mnemon.runs.card_filling import card_schema
from mnemon.runs.decision_outcomes import push_prices
from mnemon.runs.resolution import Price

router = APIRouter(prefix="/api", tags=["results"], route_class=JsonRoute)
ReadDoor = Annotated[Door, needs(Grant.AGENTS_READ)]
WriteDoor = Annotated[Door, needs(Grant.PRICES_WRITE)]
PriceLevel = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]


class PriceIn(ApiModel):
    """A symbol's price at a moment; a bar also has its low and high."""

    symbol: Annotated[Name, Field(max_length=40)]
    price: PriceLevel
    at: Instant | None = None
    low: PriceLevel | None = None
    high: PriceLevel | None = None


class PushedOut(ApiModel):
    """The number of prices stored, the runs they resolved, and the symbols that no trade has."""

    stored: int
    resolved: list[RunOut]
    unknown: list[str]
    """The symbols in which no agent ever had a trade, as they are compared: `BTC-USD`."""


class SlotOut(ApiModel):
    """A field of a card."""

    name: str
    type: SlotType
    help: str
    required: bool
    choices: list[str]
    min: float | None
    max: float | None


class ResolutionOut(ApiModel):
    """How decisions of a card type are resolved."""

    rule: ResolutionRule
    right: list[str]
    wrong: list[str]
    slots: dict[str, str]
    """The name of the slot for each role: symbol, side, entry, take_profit, stop_loss, expires_at."""


class CardOut(ApiModel):
    """A card type."""

    type: str
    title: str
    purpose: str
    slots: list[SlotOut]
    headline: list[str]
    tone_slot: str | None
    subject: str | None
    confidence: str | None
    re_examinable: bool | Literal["until_resolved"]
    re_examine_actions: list[str]
    resolution: ResolutionOut
    answer_schema: dict[str, Any] = Field(alias="schema")
    """The JSON schema, titled `Card`, of an answer that fills the card."""

    @classmethod
    def from_card(cls, card: CardDefinition) -> Self:
        """Return the response for a card type, with its fields and how it is resolved."""
        return cls(
            type=card.type,
            title=card.title,
            purpose=card.purpose,
            slots=[
                SlotOut(
                    name=slot.name,
                    type=slot.type,
                    help=slot.help,
                    required=slot.required,
                    choices=list(slot.choices),
                    min=slot.min,
                    max=slot.max,
                )
                for slot in card.slots
            ],
            headline=list(card.headline),
            tone_slot=card.tone.slot,
            subject=card.subject,
            confidence=card.confidence,
            re_examinable=card.re_examinable,
            re_examine_actions=list(card.re_examine_actions),
            resolution=_resolution_out(card),
            answer_schema=card_schema(card),
        )


class BinOut(ApiModel):
    """A range of stated confidence with the share that was right."""

    start: float = Field(alias="from")
    end: float = Field(alias="to")
    count: int
    mean_stated: float | None
    share_right: float | None

    @classmethod
    def from_bin(cls, part: ReliabilityBin) -> Self:
        """Return the response for one range of stated confidence and the share that was right."""
        return cls(
            start=part.start,
            end=part.end,
            count=part.count,
            mean_stated=part.mean_stated,
            share_right=part.share_right,
        )


class ReliabilityOut(ApiModel):
    """Stated confidence against outcomes; `enough` says whether there are enough of them to judge."""

    count: int
    right: int
    hit_rate: float | None
    brier: float | None
    bins: list[BinOut]
    enough: bool
    note: str | None

    @classmethod
    def from_reliability(cls, found: Reliability) -> Self:
        """Return the response for computed reliability: stated confidence against outcomes."""
        return cls(
            count=found.count,
            right=found.right,
            hit_rate=found.hit_rate,
            brier=found.brier,
            bins=[BinOut.from_bin(part) for part in found.bins],
            enough=found.enough,
            note=found.note,
        )


class CalibrationOut(ReliabilityOut):
    """Reliability of an agent's decisions with a card type; `convictions` is the same for re-examinations."""

    agent_id: str | None
    card_type: str | None
    resolved: int
    judged: int
    convictions: ReliabilityOut

    @classmethod
    def from_calibration(cls, found: Calibration) -> Self:
        """Return the response for the computed calibration of an agent's decisions."""
        stated = ReliabilityOut.from_reliability(found.stated)
        return cls(
            **dict(stated),
            agent_id=found.agent_id,
            card_type=found.card_type,
            resolved=found.resolved,
            judged=found.judged,
            convictions=ReliabilityOut.from_reliability(found.convictions),
        )


class TrackRecordOut(CalibrationOut):
    """The calibration of all decisions, and `groups` by agent and card type."""

    groups: list[CalibrationOut] = Field(default_factory=list)


@router.post("/prices", responses=write_responses(PushedOut))
async def push(body: Annotated[list[PriceIn], Body(max_length=5000)], door: WriteDoor) -> Response:
    """Store prices and resolve the open trades that they decide."""
    cards = cards_of(door)

    async def store_prices(tx: Tx) -> PushedOut:
        """Store the prices, resolve the trades they decide, and return both as the response."""
        prices = [Price(symbol=p.symbol, price=p.price, at=p.at or tx.now, low=p.low, high=p.high) for p in body]
        done = await push_prices(tx, door.org, prices, cards)
        return PushedOut(
            stored=done.stored,
            resolved=[RunOut.from_run(run, cards) for run in done.resolved],
            unknown=list(done.unknown),
        )

    return await door.write(store_prices)


@router.get("/cards", responses=responses_for(CardOut, page=True))
async def list_cards(door: ReadDoor) -> Response:
    """List every card type."""
    cards = [CardOut.from_card(card) for card in cards_of(door).values()]
    # All of them on one page, so there is never a cursor.
    return door.page(cards, limit=len(cards), position=lambda card: card.type)


@router.get("/calibration", responses=responses_for(TrackRecordOut, also=(404,)))
async def calibration(
    door: ReadDoor, agent_id: Annotated[str | None, Query(alias="agentId", max_length=100)] = None
) -> Response:
    """Return how agents' stated confidence compares with outcomes, for all agents or for one."""
    async with door.tx() as tx:
        if agent_id is not None:
            await get_agent(tx, door.org, agent_id)
        found = await load_track_record(tx, door.org, cards_of(door), agent_id)
    overall = TrackRecordOut.from_calibration(found.overall)
    groups = [CalibrationOut.from_calibration(group) for group in found.groups]
    return door.reply(overall.model_copy(update={"groups": groups}))


def _resolution_out(card: CardDefinition) -> ResolutionOut:
    """Return how decisions of a card type are resolved: its rule, its right and wrong outcomes, its fields."""
    rule = card.resolution
    parts = ("symbol", "side", "entry", "take_profit", "stop_loss", "expires_at")
    named = {part: getattr(rule, part) for part in parts if getattr(rule, part)}
    return ResolutionOut(rule=rule.rule, right=list(rule.right), wrong=list(rule.wrong), slots=named)
