"""What a chat turn is given: the system prompt made of layers, and the session's recent messages."""

from dataclasses import dataclass

import numpy as np

from mnemon.context.layers import read_layers
from mnemon.context.pack import ContextPack, pack_layers
from mnemon.db.tx import Tx
from mnemon.layer import Layer, LayerRequest
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.sessions.close import boundary_from_settings
from mnemon.settings import Settings
from mnemon.turn import TurnMessage


@dataclass(frozen=True, kw_only=True)
class AssembledContext:
    """Everything before the new message."""

    pack: ContextPack
    recent: tuple[TurnMessage, ...]
    """The session's last messages, given verbatim after the system prompt."""
    layers: tuple[Layer, ...]
    """As the rooms gave them, before the budget."""
    session_id: str | None
    """The session that runs; None when the message would begin one."""


async def assemble_context(
    tx: Tx,
    ask: LayerRequest,
    settings: Settings,
    *,
    budget: int | None = None,
    turn_id: str | None = None,
) -> AssembledContext:
    """The context for this question; where the turn is stored already, its own messages stay apart."""
    found = await read_layers(tx, ask, boundary_from_settings(settings), turn_id)
    packed = pack_layers(found.layers, budget or settings.context_budget_tokens)
    return AssembledContext(pack=packed, recent=found.recent, layers=found.layers, session_id=found.session_id)


async def preview_context(
    tx: Tx,
    services: Services,
    scope: Scope,
    query: str,
    vector: np.ndarray | None,
    *,
    sees_agent_state: bool,
    sees_engagement: bool,
    session_id: str | None = None,
    budget: int | None = None,
) -> AssembledContext:
    """What a chat turn would be given if this message came now."""
    ask = LayerRequest(
        scope=scope,
        query=query,
        vector=vector,
        now=tx.now,
        session_id=session_id,
        sees_agent_state=sees_agent_state,
        sees_engagement=sees_engagement,
        model=services.embedder.model,
        ranking=services.settings.chat_ranking,
    )
    return await assemble_context(tx, ask, services.settings, budget=budget)
