"""Assemble the context of a chat turn: the system prompt made of layers, and the session's recent messages."""

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
    """Everything the model is given before the new message."""

    pack: ContextPack
    recent: tuple[TurnMessage, ...]
    """The session's last messages, sent verbatim after the system prompt."""
    layers: tuple[Layer, ...]
    """The layers as the rooms returned them, before the budget was applied."""
    session_id: str | None
    """The running session; None when the message would begin one."""


async def assemble_context(
    tx: Tx,
    request: LayerRequest,
    settings: Settings,
    *,
    budget: int | None = None,
    turn_id: str | None = None,
) -> AssembledContext:
    """Return system prompt and recent messages for a request; a turn already stored is left out of them."""
    read = await read_layers(tx, request, boundary_from_settings(settings), turn_id)
    pack = pack_layers(read.layers, budget or settings.context_budget_tokens)
    return AssembledContext(pack=pack, recent=read.recent, layers=read.layers, session_id=read.session_id)


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
    """Return the context that a chat turn with this message would be given now; store nothing."""
    request = LayerRequest(
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
    # The same function that a chat turn calls, so that a preview shows exactly what the model is given (decision 7).
    return await assemble_context(tx, request, services.settings, budget=budget)
