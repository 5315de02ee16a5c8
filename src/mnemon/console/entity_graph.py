"""Force-directed layout of the entity graph: related entities attract each other, all entities repel each other.

The same entities always give the same picture: they start on a spiral in their order, and nothing is random.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WIDTH, HEIGHT, LOW_HEIGHT = 960.0, 600.0, 420.0
FEW_NODES = 16
"""Up to this many entities the drawing has LOW_HEIGHT."""
MAX_NODES = 60
MAX_EDGES = 150
_LAYOUT_STEPS = 160
_MARGIN = 64.0
_SPOKE_PULL = 0.3
"""Attraction between the hub and each entity; two related entities attract each other by 1 to 2."""


@dataclass(frozen=True, kw_only=True)
class DrawnNode:
    """An entity in the drawing."""

    key: str
    label: str
    type: str
    mentions: int
    x: float
    y: float
    radius: float


@dataclass(frozen=True, kw_only=True)
class DrawnEdge:
    """A line between two entities that are mentioned together."""

    x1: float
    y1: float
    x2: float
    y2: float
    weight: int
    width: float


@dataclass(frozen=True, kw_only=True)
class GraphDrawing:
    """Everything the page draws."""

    height: float
    hub: DrawnNode | None
    """The person whose entities these are, near the center."""
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    spokes: tuple[DrawnEdge, ...]
    """Lines from the hub to each entity."""
    left_out: int
    """How many of the less mentioned entities are not drawn."""


def draw_graph(
    entities: Sequence[tuple[str, str, str, int]], ties: Sequence[tuple[str, str, int]], hub: str = ""
) -> GraphDrawing:
    """Return the drawing of the most mentioned entities (key, label, type, mentions) and their ties around the hub."""
    shown = sorted(entities, key=lambda one: (-one[3], one[0]))[:MAX_NODES]
    index = {one[0]: place for place, one in enumerate(shown)}
    kept = [(index[a], index[b], weight) for a, b, weight in ties if a in index and b in index][:MAX_EDGES]
    height = HEIGHT if len(shown) > FEW_NODES else LOW_HEIGHT
    at = _layout_positions(len(shown), kept, height, hub=bool(hub))
    most = max((one[3] for one in shown), default=0) or 1
    nodes = tuple(
        _draw_node(at[place], key, label, kind, mentions, 5 + 9 * (mentions / most) ** 0.5)
        for place, (key, label, kind, mentions) in enumerate(shown)
    )
    center = _draw_node(at[-1], "", hub, "self", 0, 16) if hub and shown else None
    return GraphDrawing(
        height=height,
        hub=center,
        nodes=nodes,
        edges=tuple(_draw_edge(nodes[a], nodes[b], weight, min(1 + weight / 3, 4)) for a, b, weight in kept),
        spokes=tuple(_draw_edge(center, node, node.mentions, 1) for node in nodes) if center else (),
        left_out=len(entities) - len(shown),
    )


def _draw_node(at: np.ndarray, key: str, label: str, kind: str, mentions: int, radius: float) -> DrawnNode:
    """Return an entity's circle at this position, coordinates rounded."""
    x, y = round(float(at[0]), 1), round(float(at[1]), 1)
    return DrawnNode(key=key, label=label, type=kind, mentions=mentions, x=x, y=y, radius=round(radius, 1))


def _draw_edge(one: DrawnNode, two: DrawnNode, weight: int, width: float) -> DrawnEdge:
    """Return the line between two drawn entities."""
    return DrawnEdge(x1=one.x, y1=one.y, x2=two.x, y2=two.y, weight=weight, width=round(width, 1))


def _layout_positions(entities: int, ties: Sequence[tuple[int, int, int]], height: float, *, hub: bool) -> np.ndarray:
    """Return positions for the entities, the hub's last: repulsion, springs, and ever smaller steps."""
    count = entities + hub
    if count == 0:
        return np.zeros((0, 2))
    # The golden angle: entities next to each other in order start far apart.
    turn = np.arange(count) * 2.399963
    at = np.stack([np.cos(turn), np.sin(turn)], axis=1) * (0.2 + 0.8 * np.sqrt(np.arange(count)[:, None] / count))
    distance = 1.4 / max(count, 4) ** 0.5
    pulls = np.zeros((count, count))
    if hub:
        at[-1] = 0.0
        pulls[-1, :-1] = pulls[:-1, -1] = _SPOKE_PULL
    for a, b, weight in ties:
        pulls[a, b] = pulls[b, a] = min(1.0 + 0.2 * weight, 2.0)
    for step in range(_LAYOUT_STEPS):
        apart = at[:, None, :] - at[None, :, :]
        # The identity matrix keeps an entity's distance to itself from being 0.
        length = np.sqrt((apart**2).sum(axis=2)) + np.eye(count) + 1e-6
        push = distance**2 / length
        pull = pulls * length**2 / distance
        # The last term pulls everything gently to the middle, so that unrelated groups do not drift away.
        force = (apart / length[:, :, None] * (push - pull)[:, :, None]).sum(axis=1) - 0.35 * at
        size = np.sqrt((force**2).sum(axis=1, keepdims=True)) + 1e-9
        # A step is at most 0.12 long and shrinks to nothing, so that the layout comes to rest.
        at = at + force / size * np.minimum(size, 0.12 * (1 - step / _LAYOUT_STEPS))
    return _fit_positions(at, height)


def _fit_positions(at: np.ndarray, height: float) -> np.ndarray:
    """Return the entities' positions scaled to fill the drawing; a single one goes to the center."""
    low, high = at.min(axis=0), at.max(axis=0)
    span = np.where(high - low > 1e-6, high - low, 1.0)
    room = np.array([WIDTH - 2 * _MARGIN, height - 2 * _MARGIN])
    places: np.ndarray = _MARGIN + (at - low) / span * room
    return np.full_like(places, 1.0) * [WIDTH / 2, height / 2] if len(at) == 1 else places
