"""The context pack: layers cut to their budgets and joined to the system prompt."""

from collections.abc import Sequence
from dataclasses import dataclass

from mnemon.context.tokens import estimate_tokens
from mnemon.fence import fenced, item_line
from mnemon.layer import Item, Layer

_FRAME_TOKENS = 12
"""What a layer's heading and fence take besides its opening and items."""


@dataclass(frozen=True, kw_only=True)
class PackedLayer:
    """A layer as it stands in the prompt."""

    name: str
    title: str
    text: str
    tokens: int
    sources: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """An item that did not fit."""

    layer: str
    sources: tuple[str, ...]
    tokens: int
    why: str
    """`layer_budget` or `budget`."""


@dataclass(frozen=True, kw_only=True)
class Pack:
    """What the model is given before the conversation."""

    system: str
    tokens: int
    layers: tuple[PackedLayer, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, kw_only=True)
class _Kept:
    layer: int
    place: int
    item: Item
    tokens: int


def pack(layers: Sequence[Layer], budget: int) -> Pack:
    """The layers within the budget: items of the lowest value go first, and the pack says which went."""
    left_out: list[LeftOut] = []
    kept: list[_Kept] = []
    for index, layer in enumerate(layers):
        kept += _within_layer(index, layer, left_out)
    kept = _within_budget(layers, kept, budget, left_out)
    packed = [_render(layer, [one.item for one in kept if one.layer == index]) for index, layer in enumerate(layers)]
    shown = tuple(layer for layer in packed if layer.text)
    system = "\n\n".join(layer.text for layer in shown)
    return Pack(system=system, tokens=sum(layer.tokens for layer in shown), layers=shown, left_out=tuple(left_out))


def _within_layer(index: int, layer: Layer, left_out: list[LeftOut]) -> list[_Kept]:
    """The layer's items of the highest value that fit its own budget, in the order they came."""
    room = layer.budget - estimate_tokens(layer.opening) - _FRAME_TOKENS
    entries = [
        _Kept(layer=index, place=place, item=item, tokens=_cost(layer, item)) for place, item in enumerate(layer.items)
    ]
    kept: list[_Kept] = []
    there: set[str] = set()
    # What needs another item comes after all others, so that it is there only beside it.
    for one in sorted(entries, key=lambda one: (one.item.needs is not None, -one.item.value, one.place)):
        if one.tokens <= room and (one.item.needs is None or one.item.needs in there):
            room -= one.tokens
            there.update(one.item.sources)
            kept.append(one)
        else:
            left_out.append(_left(layer, one, "layer_budget"))
    return sorted(kept, key=lambda one: one.place)


def _within_budget(layers: Sequence[Layer], kept: list[_Kept], budget: int, left_out: list[LeftOut]) -> list[_Kept]:
    """What remains when the cheapest in value have gone, as far as needed to fit the whole budget."""
    staying = list(kept)
    while staying and _total(layers, staying) > budget:
        going = min(staying, key=lambda one: (one.item.value, -one.layer, -one.place))
        for one in (going, *_needing(going, staying)):
            staying.remove(one)
            left_out.append(_left(layers[one.layer], one, "budget"))
    return staying


def _needing(gone: _Kept, kept: Sequence[_Kept]) -> list[_Kept]:
    """What stands in the same layer only beside the one that goes."""
    return [one for one in kept if one.layer == gone.layer and one.item.needs in gone.item.sources]


def _total(layers: Sequence[Layer], kept: Sequence[_Kept]) -> int:
    """What the layers take with these items."""
    total = sum(one.tokens for one in kept)
    with_items = {one.layer for one in kept}
    for index, layer in enumerate(layers):
        if index in with_items or not layer.items:
            total += estimate_tokens(layer.opening) + _FRAME_TOKENS
    return total


def _cost(layer: Layer, item: Item) -> int:
    return estimate_tokens(_entry(layer, item)) + 1


def _entry(layer: Layer, item: Item) -> str:
    return item_line(item.text) if layer.recalled else item.text


def _left(layer: Layer, one: _Kept, why: str) -> LeftOut:
    return LeftOut(layer=layer.name, sources=one.item.sources, tokens=one.tokens, why=why)


def _render(layer: Layer, items: Sequence[Item]) -> PackedLayer:
    """The layer's text; empty when its items were all cut, or when it has nothing to say at all."""
    parts = [layer.opening] if layer.opening else []
    lines = [_entry(layer, item) for item in items]
    if lines:
        parts.append(fenced(layer.name, lines) if layer.recalled else "\n".join(lines))
    elif layer.items:
        parts = []
    text = "\n".join([f"## {layer.title}", *parts]) if parts else ""
    sources = tuple(dict.fromkeys(source for item in items for source in item.sources))
    return PackedLayer(
        name=layer.name,
        title=layer.title,
        text=text,
        tokens=estimate_tokens(f"{text}\n\n") if text else 0,
        sources=sources,
    )
