"""Cut the layers to their budgets and join them into the system prompt.

Tokens are estimated without any provider's tokenizer.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mnemon.layer import Layer, LayerItem
from mnemon.tokens import estimate_tokens
from mnemon.untrusted_text import fence_layer, item_line

_FRAME_TOKENS = 12
"""What a layer's heading and fence take besides its opening and items."""
_ASK_TOKENS = 16
"""What the line takes that says how many items were left out."""


@dataclass(frozen=True, kw_only=True)
class PackedLayer:
    """A layer as it appears in the prompt."""

    name: str
    title: str
    text: str
    tokens: int
    sources: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class OmittedItem:
    """An item that did not fit."""

    layer: str
    sources: tuple[str, ...]
    tokens: int
    why: str
    """`layer_budget` or `budget`; `repeated` or `outdated` where the prompt says it already, or what replaced it."""


@dataclass(frozen=True, kw_only=True)
class ContextPack:
    """The system prompt, with its layers and what was left out."""

    system: str
    tokens: int
    layers: tuple[PackedLayer, ...]
    left_out: tuple[OmittedItem, ...]


@dataclass(frozen=True, kw_only=True)
class _KeptItem:
    """An item that is still in the pack, with its position."""

    layer: int
    place: int
    item: LayerItem
    tokens: int


def pack_layers(layers: Sequence[Layer], budget: int) -> ContextPack:
    """Return the system prompt cut to the budget, items of lowest value first, with a list of what was left out.

    Three steps, each only if the one before it did not save enough: items beyond their layer's reserve, then those
    within it, then the urgent ones.
    """
    left_out: list[OmittedItem] = []
    kept: list[_KeptItem] = []
    for index, layer in enumerate(layers):
        kept += _fit_layer(index, layer, left_out)
    kept = _fit_budget(layers, kept, budget, left_out)
    packed = [
        _render_layer(layer, [one.item for one in kept if one.layer == index]) for index, layer in enumerate(layers)
    ]
    shown = tuple(layer for layer in packed if layer.text)
    system = "\n\n".join(layer.text for layer in shown)
    return ContextPack(
        system=system, tokens=sum(layer.tokens for layer in shown), layers=shown, left_out=tuple(left_out)
    )


def _fit_layer(index: int, layer: Layer, left_out: list[OmittedItem]) -> list[_KeptItem]:
    """Return the layer's most valuable items that fit its own budget, in order; add the others to `left_out`."""
    room = layer.budget - _frame_tokens(layer)
    entries = [
        _KeptItem(layer=index, place=place, item=item, tokens=_item_tokens(layer, item))
        for place, item in enumerate(layer.items)
    ]
    kept: list[_KeptItem] = []
    kept_sources: set[str] = set()
    # Items that need another one come last, when it is known whether that one was kept.
    order = sorted(
        entries, key=lambda one: (one.item.needs is not None, not one.item.urgent, -one.item.value, one.place)
    )
    for one in order:
        if one.tokens <= room and (one.item.needs is None or one.item.needs in kept_sources):
            room -= one.tokens
            kept_sources.update(one.item.sources)
            kept.append(one)
        else:
            left_out.append(_omitted_item(layer, one, "layer_budget"))
    return sorted(kept, key=lambda one: one.place)


def _fit_budget(
    layers: Sequence[Layer], kept: list[_KeptItem], budget: int, left_out: list[OmittedItem]
) -> list[_KeptItem]:
    """Return the items without the least valuable ones, and those that depend on them, so that all layers fit."""
    remaining = list(kept)
    while remaining and _total_tokens(layers, remaining) > budget:
        held: Counter[int] = Counter()
        for one in remaining:
            held[one.layer] += one.tokens
        reserved = {index: layer.reserve * budget for index, layer in enumerate(layers)}
        # Of equal values the later layer loses first, and in it the later item.
        dropped = min(
            remaining,
            key=lambda one: (
                one.item.urgent,
                held[one.layer] - one.tokens < reserved[one.layer],
                one.item.value,
                -one.layer,
                -one.place,
            ),
        )
        for one in (dropped, *_dependent_items(dropped, remaining)):
            remaining.remove(one)
            left_out.append(_omitted_item(layers[one.layer], one, "budget"))
    return remaining


def _dependent_items(dropped: _KeptItem, kept: Sequence[_KeptItem]) -> list[_KeptItem]:
    """Return the items of the same layer that are shown only together with the dropped one."""
    return [one for one in kept if one.layer == dropped.layer and one.item.needs in dropped.item.sources]


def _total_tokens(layers: Sequence[Layer], kept: Sequence[_KeptItem]) -> int:
    """Return the tokens that the layers take with these items, headings included."""
    total = sum(one.tokens for one in kept)
    with_items = {one.layer for one in kept}
    for index, layer in enumerate(layers):
        # A layer that lost all its items is left out whole, its opening included; one that never had any is kept.
        if index in with_items or not layer.items:
            total += _frame_tokens(layer)
    return total


def _frame_tokens(layer: Layer) -> int:
    """Return the tokens that a layer takes besides its items."""
    return estimate_tokens(layer.opening) + _FRAME_TOKENS + (_ASK_TOKENS if layer.ask else 0)


def _item_tokens(layer: Layer, item: LayerItem) -> int:
    """Return the number of tokens that an item takes in its layer."""
    # One for the line break.
    return estimate_tokens(_format_item(layer, item)) + 1


def _format_item(layer: Layer, item: LayerItem) -> str:
    """Return an item's text, as a fenced line where the layer holds recalled text."""
    return item_line(item.text) if layer.recalled else item.text


def _omitted_item(layer: Layer, one: _KeptItem, why: str) -> OmittedItem:
    """Return the record of an item that did not fit, and why."""
    return OmittedItem(layer=layer.name, sources=one.item.sources, tokens=one.tokens, why=why)


def _render_layer(layer: Layer, items: Sequence[LayerItem]) -> PackedLayer:
    """Return the layer as prompt text, empty when all its items were cut or it has none."""
    parts = [layer.opening] if layer.opening else []
    lines = [_format_item(layer, item) for item in items]
    if lines:
        parts.append(fence_layer(layer.name, lines) if layer.recalled else "\n".join(lines))
        if layer.ask and len(items) < len(layer.items):
            parts.append(f"{len(layer.items) - len(items)} more are not shown: ask with {layer.ask}.")
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
