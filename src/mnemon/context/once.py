"""Say each thing once: what a higher layer holds is left out of the lower ones, as is what has been replaced since.

A memory, the card of its entity, the summary of the session in which it was said, and the message itself may all hold
the same sentence. And what was written or said earlier may hold a value that memory has replaced: the spine still says
"Austin" after the person has moved. Whatever memory holds now stands; sentences that say something else of the same
attribute are left out. Of a quoted message the rest stays, with … in their place.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from mnemon.context.pack import OmittedItem
from mnemon.layer import Layer, LayerItem, LayerLine, LayerPart, StatedValue
from mnemon.memory.attributes import Holds
from mnemon.memory.keys import normalize_content
from mnemon.memory.slots import has_same_value, read_slot
from mnemon.sessions.sentences import split_sentences
from mnemon.tokens import estimate_tokens
from mnemon.untrusted_text import reads_outside_text

REPEATED = "repeated"
OUTDATED = "outdated"
_GAP = "…"
_FEWEST_WORDS = 2
"""Words of a sentence that can repeat another: a name alone does not."""
_LONGEST_LABEL = 20
_LONGEST_STATEMENT = 300


@dataclass(frozen=True, kw_only=True)
class SaidOnce:
    """The layers without repetitions, and what was left out of them."""

    layers: tuple[Layer, ...]
    left_out: tuple[OmittedItem, ...]


@dataclass(kw_only=True)
class _Said:
    """What the prompt holds so far."""

    sentences: set[str] = field(default_factory=set)
    sources: set[str] = field(default_factory=set)
    """Ids of the memories that it shows."""
    values: dict[str, StatedValue] = field(default_factory=dict)
    """The value of each attribute with one value, by slot."""


def say_once(layers: Sequence[Layer], values: Iterable[StatedValue]) -> SaidOnce:
    """Return the layers, highest first, without what stands in them already; `values` are the person's present ones."""
    said = _Said(values={one.slot: one for one in values})
    own = frozenset(said.values)
    left_out: list[OmittedItem] = []
    # What memory holds decides about what is said elsewhere, also in a layer above.
    for item in (item for layer in layers for item in layer.items if item.is_current):
        for value in (part.value for part in _parts_of(item) if part.value is not None and part.value.slot not in own):
            known = said.values.get(value.slot)
            said.values[value.slot] = value if known is None or value.since > known.since else known
    made = [_without_repeats(layer, said, left_out) if layer.recalled else layer for layer in layers]
    return SaidOnce(layers=tuple(made), left_out=tuple(left_out))


def _without_repeats(layer: Layer, said: _Said, left_out: list[OmittedItem]) -> Layer:
    """Return a layer without the statements that the prompt holds already or that are no longer so."""
    kept: list[LayerItem] = []
    for item in layer.items:
        shown, why = _shown_item(item, said)
        if shown is not None:
            kept.append(shown)
        else:
            tokens = estimate_tokens(item.text)
            left_out.append(OmittedItem(layer=layer.name, sources=item.sources, tokens=tokens, why=why))
    return replace(layer, items=tuple(kept))


def _shown_item(item: LayerItem, said: _Said) -> tuple[LayerItem | None, str]:
    """Return an item with what is left of it; None, with the reason, if nothing is."""
    if item.needs is not None or not item.lines:
        return item, ""
    whys = [_fault_of(part, item, said) for part in _parts_of(item)]
    if not any(whys):
        return item, ""
    faults = iter(whys)
    lines = tuple(one for line in item.lines if (one := _shown_line(line, faults)).parts)
    if not any(part.text != _GAP for line in lines for part in line.parts):
        return None, OUTDATED if OUTDATED in whys else REPEATED
    sources = dict.fromkeys(source for line in lines for part in line.parts for source in part.sources)
    text = "\n".join(line.text for line in lines)
    return replace(item, text=text, lines=lines, sources=tuple(sources) or item.sources), ""


def _shown_line(line: LayerLine, faults: Iterator[str | None]) -> LayerLine:
    """Return a line without the parts that have a fault; in a quotation a gap shows that something is missing."""
    parts: list[LayerPart] = []
    quotes = line.joiner == " "
    for part in line.parts:
        if next(faults) is None:
            parts.append(part)
        elif quotes and (not parts or parts[-1].text != _GAP):
            parts.append(LayerPart(text=_GAP))
    return replace(line, parts=tuple(parts))


def _parts_of(item: LayerItem) -> Iterator[LayerPart]:
    """Yield the statements of an item."""
    for line in item.lines:
        yield from line.parts


def _fault_of(part: LayerPart, item: LayerItem, said: _Said) -> str | None:
    """Return why a statement is left out; if it stays, None, and it is noted as said."""
    forms = sentence_forms(part.text)
    if said.sentences & forms or (part.sources and said.sources.issuperset(part.sources)):
        return REPEATED
    fault = _is_replaced(part, said) if item.is_current else _is_outdated(part.text, item.said_at, said)
    if fault:
        return OUTDATED
    said.sentences |= forms
    # A memory of several sentences, which a message is shown by; what is external must not hide the person's own words.
    if not part.source_mark:
        said.sentences = said.sentences.union(*map(sentence_forms, split_sentences(part.text)))
    said.sources |= frozenset(part.sources)
    return None


def _is_replaced(part: LayerPart, said: _Said) -> bool:
    """Say whether a memory holds another value than the one in force, as one of all personas beside a persona's own."""
    if part.value is None:
        return False
    now = said.values.get(part.value.slot, part.value)
    return (now.values, now.since) != (part.value.values, part.value.since)


def _is_outdated(sentence: str, said_at: datetime | None, said: _Said) -> bool:
    """Say whether a sentence states a value that memory has replaced, or taken back."""
    reading = read_slot(sentence[:_LONGEST_STATEMENT], None, None)
    if reading.attribute is None or reading.attribute.holds is not Holds.ONE or not reading.values:
        return False
    now = said.values.get(reading.slot)
    # What was said after memory learned it stands: memory has not learned that yet.
    if now is None or (said_at is not None and said_at > now.since):
        return False
    return has_same_value(reading, replace(reading, values=now.values)) == now.ended


@reads_outside_text
def sentence_forms(text: str) -> frozenset[str]:
    """Return a sentence in the forms by which it is compared: as it stands, and without a label before it."""
    whole = normalize_content(text)
    label, _, rest = whole.partition(": ")
    forms = {whole, rest.strip()} if rest and len(label) <= _LONGEST_LABEL else {whole}
    return frozenset(one for one in forms if len(one.split()) >= _FEWEST_WORDS)
