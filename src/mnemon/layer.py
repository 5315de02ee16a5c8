"""A layer: what a room adds to the prompt."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np

from mnemon.db.tx import Tx
from mnemon.scope import Scope


@dataclass(frozen=True, kw_only=True)
class LayerRequest:
    """The request that a context is built for."""

    scope: Scope
    query: str
    """The message to be answered."""
    vector: np.ndarray | None
    """The query's embedding, made before the transaction began; None while the embedder is down."""
    now: datetime
    session_id: str | None = None
    state_of: str | None = None
    """The session whose agent state the message is answered with: the running one, or the one whose state a new one
    takes over.
    """
    sees_agent_state: bool = False
    """Whether the caller's key has `agent-state:read`."""
    sees_engagement: bool = False
    """Whether the caller's key has `engagement:read`."""
    model: str = ""
    """Name of the embedder that made the vector; without it recall uses words only."""
    ranking: str = "hybrid"
    """How memories are ranked: the setting `chat_ranking`."""


@dataclass(frozen=True, kw_only=True)
class StatedValue:
    """The value of an attribute that holds one at a time, as memory has it."""

    slot: str
    """The entity's key and the attribute: `person:self|lives_in`."""
    values: tuple[str, ...]
    since: datetime
    """When it was stated last; if it has ended, when."""
    ended: bool = False
    """Whether it was taken back, and nothing has taken its place."""


@dataclass(frozen=True, kw_only=True)
class LayerPart:
    """One statement of an item, which is left out where the prompt holds it already, or holds what replaced it."""

    text: str
    sources: tuple[str, ...] = ()
    """Ids of what it was made from; empty if those of the item are meant."""
    value: StatedValue | None = None
    """What it states of an attribute with one value."""
    mark: str = ""
    """What is shown behind it and is no part of the statement: the days that its dates mean."""
    source_mark: str = ""
    """The end of the text that names its source; the source stands last, behind the days."""

    @property
    def shown(self) -> str:
        """Return the statement as it stands in the prompt."""
        return f"{self.text.removesuffix(self.source_mark)}{self.mark}{self.source_mark}" if self.mark else self.text


@dataclass(frozen=True, kw_only=True)
class LayerLine:
    """A line of an item, made of statements."""

    lead: str = ""
    """What stands before them: `What mattered: `."""
    parts: tuple[LayerPart, ...] = ()
    joiner: str = "; "
    """What stands between them."""

    @property
    def text(self) -> str:
        """Return the line as it stands in the prompt."""
        return f"{self.lead}{self.joiner.join(part.shown for part in self.parts)}"


@dataclass(frozen=True, kw_only=True)
class LayerItem:
    """One line or block of a layer, included or left out as a whole."""

    text: str
    sources: tuple[str, ...] = ()
    """Ids of what it was made from."""
    value: float = 1.0
    """Over budget, items of the lowest value are left out first."""
    needs: str | None = None
    """An id: if the layer includes no item made from it, this item is left out too."""
    lines: tuple[LayerLine, ...] = ()
    """The statements that the text is made of, where single ones can be left out."""
    is_current: bool = False
    """Whether it shows what memory holds now; what was written or said earlier is held against that."""
    said_at: datetime | None = None
    """When it was said; None for what was written about it later."""
    urgent: bool = False
    """Whether it is left out only after everything that is not: a failure, a contradiction that is outstanding."""


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A named part of the prompt: an opening written by Mnemon, then items."""

    name: str
    """`L1` to `L8`."""
    title: str
    opening: str = ""
    """An instruction to the model, written by Mnemon."""
    items: tuple[LayerItem, ...] = ()
    recalled: bool = True
    """Whether items are stored text: fenced and escaped, so that they read as data and cannot pose as instructions."""
    budget: int = 500
    """Most tokens it may take."""
    reserve: float = 0.0
    """The share of the whole budget that its items keep however much the items of other layers are worth."""
    ask: str = ""
    """The tool that gives the whole: named at the end of the layer with how many items were left out."""


class LayerSource(Protocol):
    """A function that reads a room and returns its layer; it writes nothing."""

    async def __call__(self, tx: Tx, ask: LayerRequest) -> Layer:
        """Return the room's layer of the prompt for this request."""
        ...
