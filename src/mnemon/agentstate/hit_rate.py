"""How often actions did what was expected of them: the calibration of plans."""

from dataclasses import dataclass

from mnemon.agentstate import store
from mnemon.db.tx import Tx
from mnemon.scope import Scope

MOST_ACTIONS = 200


@dataclass(frozen=True, kw_only=True)
class HitRate:
    """Settled expectations of one action, or of all."""

    action: str | None
    """None for all actions together."""
    confirmed: int
    failed: int

    @property
    def rate(self) -> float | None:
        """The share that came true; None when none was settled."""
        settled = self.confirmed + self.failed
        return None if settled == 0 else self.confirmed / settled


async def hit_rates(tx: Tx, scope: Scope) -> tuple[HitRate, tuple[HitRate, ...]]:
    """Over all actions, and per action, the most used first; of the scope's person, or without one of everybody."""
    actions = tuple(
        HitRate(action=action, confirmed=confirmed, failed=failed)
        for action, confirmed, failed in await store.settled(tx, scope, most=MOST_ACTIONS)
    )
    total = HitRate(action=None, confirmed=sum(a.confirmed for a in actions), failed=sum(a.failed for a in actions))
    return total, actions
