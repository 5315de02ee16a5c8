"""The entity graph as a drawing: springs pull together what belongs together, everything else keeps its distance.

The same entities always give the same picture: they start on a circle in their order, and nothing is left to chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WIDTH, HEIGHT = 960.0, 600.0
MOST_NODES = 60
MOST_TIES = 150
_STEPS = 160
_MARGIN = 64.0


@dataclass(frozen=True, kw_only=True)
class Node:
    """An entity on the drawing."""

    key: str
    label: str
    type: str
    mentions: int
    x: float
    y: float
    radius: float


@dataclass(frozen=True, kw_only=True)
class Edge:
    """Two entities that belong together."""

    x1: float
    y1: float
    x2: float
    y2: float
    weight: int
    width: float


@dataclass(frozen=True, kw_only=True)
class Graph:
    """What the page draws."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    left_out: int
    """Entities that are mentioned less and do not stand on it."""


def drawn(entities: Sequence[tuple[str, str, str, int]], ties: Sequence[tuple[str, str, int]]) -> Graph:
    """The most mentioned entities (key, label, type, mentions) and what ties them, laid out."""
    shown = sorted(entities, key=lambda one: (-one[3], one[0]))[:MOST_NODES]
    index = {one[0]: place for place, one in enumerate(shown)}
    kept = [(index[a], index[b], weight) for a, b, weight in ties if a in index and b in index][:MOST_TIES]
    at = _laid_out(len(shown), kept)
    most = max((one[3] for one in shown), default=0) or 1
    nodes = tuple(
        Node(
            key=key,
            label=label,
            type=kind,
            mentions=mentions,
            x=round(float(at[place][0]), 1),
            y=round(float(at[place][1]), 1),
            radius=round(5 + 9 * (mentions / most) ** 0.5, 1),
        )
        for place, (key, label, kind, mentions) in enumerate(shown)
    )
    edges = tuple(
        Edge(
            x1=nodes[a].x,
            y1=nodes[a].y,
            x2=nodes[b].x,
            y2=nodes[b].y,
            weight=weight,
            width=round(min(1 + weight / 3, 4), 1),
        )
        for a, b, weight in kept
    )
    return Graph(nodes=nodes, edges=edges, left_out=len(entities) - len(shown))


def _laid_out(count: int, ties: Sequence[tuple[int, int, int]]) -> np.ndarray:
    """Places within the drawing, by repulsion, springs and a slow cooling."""
    if count == 0:
        return np.zeros((0, 2))
    turn = np.arange(count) * 2.399963  # the golden angle: neighbours in the order do not start as neighbours
    at = np.stack([np.cos(turn), np.sin(turn)], axis=1) * (0.2 + 0.8 * np.sqrt(np.arange(count)[:, None] / count))
    distance = 1.4 / max(count, 4) ** 0.5
    pulls = np.zeros((count, count))
    for a, b, weight in ties:
        pulls[a, b] = pulls[b, a] = min(1.0 + 0.2 * weight, 2.0)
    for step in range(_STEPS):
        apart = at[:, None, :] - at[None, :, :]
        length = np.sqrt((apart**2).sum(axis=2)) + np.eye(count) + 1e-6
        push = distance**2 / length
        pull = pulls * length**2 / distance
        force = (apart / length[:, :, None] * (push - pull)[:, :, None]).sum(axis=1) - 0.35 * at
        size = np.sqrt((force**2).sum(axis=1, keepdims=True)) + 1e-9
        at = at + force / size * np.minimum(size, 0.12 * (1 - step / _STEPS))
    return _fitted(at)


def _fitted(at: np.ndarray) -> np.ndarray:
    """The places stretched over the drawing."""
    low, high = at.min(axis=0), at.max(axis=0)
    span = np.where(high - low > 1e-6, high - low, 1.0)
    room = np.array([WIDTH - 2 * _MARGIN, HEIGHT - 2 * _MARGIN])
    places: np.ndarray = _MARGIN + (at - low) / span * room
    return np.full_like(places, 1.0) * [WIDTH / 2, HEIGHT / 2] if len(at) == 1 else places
