"""The shapes of agent state on the wire, in its specification's spelling."""

from typing import Self

from pydantic import BaseModel

from mnemon.agentstate.change import Change
from mnemon.agentstate.hit_rate import HitRate
from mnemon.agentstate.state import Assumption, Expectation, Item, TentativeHypothesis, Understanding
from mnemon.agentstate.store import Who
from mnemon.api.wire import Instant, Wire


class AgentStateOut(BaseModel):
    """The agent state of a session, in its specification's spelling."""

    sessionId: str  # noqa: N815
    version: int
    current_understanding: Understanding
    assumptions: list[Assumption]
    expectations: list[Expectation]
    tentative_hypotheses: list[TentativeHypothesis]
    items: list[Item]
    lastSummarizedAt: Instant | None = None  # noqa: N815


class UpdateOut(BaseModel):
    """One change: what `agent_state_update` tells."""

    sessionId: str  # noqa: N815
    version: int
    update: Change


class EntryOut(BaseModel):
    """One entry of the journal."""

    version: int
    turnId: str | None  # noqa: N815
    who: Who
    reason: str
    at: Instant
    recordedAt: Instant  # noqa: N815
    update: Change


class ActionRateOut(Wire):
    """Settled expectations of one action; `rate` is the share that came true, null when there are none."""

    action: str | None
    confirmed: int
    failed: int
    rate: float | None

    @classmethod
    def of(cls, hits: HitRate) -> Self:
        return cls(action=hits.action, confirmed=hits.confirmed, failed=hits.failed, rate=hits.rate)


class HitRateOut(Wire):
    """Settled expectations together, and per action."""

    confirmed: int
    failed: int
    rate: float | None
    actions: list[ActionRateOut]

    @classmethod
    def of(cls, total: HitRate, actions: tuple[HitRate, ...]) -> Self:
        return cls(
            confirmed=total.confirmed,
            failed=total.failed,
            rate=total.rate,
            actions=[ActionRateOut.of(action) for action in actions],
        )
