"""What a chat turn is given: the system prompt made of layers, and the session's recent messages."""

from dataclasses import dataclass

import numpy as np

from mnemon.basement import Basement
from mnemon.context.layers import read
from mnemon.context.pack import Pack, pack
from mnemon.db.tx import Tx
from mnemon.layer import Ask, Layer
from mnemon.scope import Scope
from mnemon.sessions.close import boundary_of
from mnemon.settings import Settings
from mnemon.turn import Said


@dataclass(frozen=True, kw_only=True)
class Context:
    """Everything before the new message."""

    pack: Pack
    recent: tuple[Said, ...]
    """The session's last messages, given verbatim after the system prompt."""
    layers: tuple[Layer, ...]
    """As the rooms gave them, before the budget."""
    session_id: str | None
    """The session that runs; None when the message would begin one."""


async def assembled(
    tx: Tx,
    ask: Ask,
    settings: Settings,
    *,
    budget: int | None = None,
    turn_id: str | None = None,
) -> Context:
    """The context for this question; where the turn is stored already, its own messages stay apart."""
    found = await read(tx, ask, boundary_of(settings), turn_id)
    packed = pack(found.layers, budget or settings.context_budget_tokens)
    return Context(pack=packed, recent=found.recent, layers=found.layers, session_id=found.session_id)


async def given(
    tx: Tx,
    basement: Basement,
    scope: Scope,
    query: str,
    vector: np.ndarray | None,
    *,
    sees_agent_state: bool,
    sees_engagement: bool,
    session_id: str | None = None,
    budget: int | None = None,
) -> Context:
    """What a chat turn would be given if this message came now."""
    ask = Ask(
        scope=scope,
        query=query,
        vector=vector,
        now=tx.now,
        session_id=session_id,
        sees_agent_state=sees_agent_state,
        sees_engagement=sees_engagement,
        model=basement.embedder.model,
        ranking=basement.settings.chat_ranking,
    )
    return await assembled(tx, ask, basement.settings, budget=budget)
