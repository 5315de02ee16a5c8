"""Card types: the fields that a run's answer has to fill.

Each type is a TOML file, shipped in `cards/` or in the operator's MNEMON_CARDS_DIR.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from mnemon.errors import Misconfigured

SHIPPED_CARDS_DIR = Path(__file__).parent / "cards"
RE_EXAMINATION = "re-examination"
"""The card type of re-examinations, which no agent can have as its own."""
HEADLINE_SEPARATOR = " · "

SlotValue = str | int | float | bool | list[str] | None
SlotValues = Mapping[str, SlotValue]
Tone = Literal["positive", "neutral", "negative"]


class SlotType(StrEnum):
    """The types of value that a slot can hold."""

    TEXT = "text"
    """Any text."""
    SENTENCE = "sentence"
    """Text on one line."""
    WORD = "word"
    """One short uppercase word: HOLD."""
    CHOICE = "choice"
    """One of the slot's choices."""
    SYMBOL = "symbol"
    """A market's name without spaces: BTC-USD."""
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    TIME = "time"
    """An ISO-8601 time."""
    LIST = "list"
    """Texts, one line each."""


class ResolutionRule(StrEnum):
    """How decisions of a card type are resolved."""

    NONE = "none"
    MANUAL = "manual"
    PRICE_LEVELS = "price_levels"


@dataclass(frozen=True, kw_only=True)
class CardSlot:
    """One field of a card."""

    name: str
    type: SlotType
    help: str = ""
    """What it means, as the model reads it."""
    required: bool = True
    choices: tuple[str, ...] = ()
    min: float | None = None
    """Smallest number."""
    max: float | None = None
    """Largest number; for text the largest number of characters, for a list of items."""
    above: float | None = None
    """A number the value must exceed."""
    single: bool = False
    """Whether a text is cut to its first sentence."""


@dataclass(frozen=True, kw_only=True)
class ToneRules:
    """How a slot's value colours the card: by choice, or for a number by the first step it does not exceed."""

    slot: str | None = None
    by_value: tuple[tuple[str, Tone], ...] = ()
    steps: tuple[tuple[float, Tone], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """How a decision is resolved, and which outcomes prove it right or wrong. Most fields name a slot."""

    rule: ResolutionRule = ResolutionRule.NONE
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    expires_at: str | None = None
    """The slot with the time of expiry."""
    symbol: str | None = None
    side: str | None = None
    """The slot that holds `long` or `short`; with any other value there is no position."""
    long: str | None = None
    """The value of `side` that means a long position."""
    short: str | None = None
    """The value of `side` that means a short position."""
    entry: str | None = None
    take_profit: str | None = None
    stop_loss: str | None = None


@dataclass(frozen=True, kw_only=True)
class CardDefinition:
    """A card type as its file describes it."""

    type: str
    """The file's name without `.toml`."""
    title: str
    purpose: str
    slots: tuple[CardSlot, ...]
    headline: tuple[str, ...]
    """Slots whose values, joined, make the headline: `WAIT · range unresolved`."""
    tone: ToneRules
    subject: str | None
    """The slot that tells what the decision is about, but not what was decided."""
    confidence: str | None
    """The slot with the stated probability."""
    re_examinable: bool | Literal["until_resolved"]
    re_examine_actions: tuple[str, ...]
    """Allowed values of `suggested_action`; empty allows any short uppercase word."""
    resolution: Resolution

    def format_headline(self, values: SlotValues) -> str:
        """Return a card in one line: the values of its type's headline slots (fields), without empty ones."""
        parts = (_format_value(values.get(name)) for name in self.headline)
        return HEADLINE_SEPARATOR.join(part for part in parts if part)

    def order_values(self, values: SlotValues) -> dict[str, SlotValue]:
        """Return a card's values in the order of its type's slots (fields), which stored JSON does not keep."""
        known = {slot.name: values[slot.name] for slot in self.slots if slot.name in values}
        return {**known, **values}

    def tone_of(self, values: SlotValues) -> Tone:
        """Return a card's tone (colour) for these values: positive, negative, or neutral where no rule applies."""
        value = values.get(self.tone.slot) if self.tone.slot else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            return next((tone for step, tone in self.tone.steps if value <= step), "neutral")
        return dict(self.tone.by_value).get(str(value), "neutral")


CardTypes = Mapping[str, CardDefinition]


@cache
def load_cards(directory: Path | None = None) -> CardTypes:
    """Return the shipped card types and the directory's, which may replace shipped ones; cached in the process.

    Raises Misconfigured when the directory does not exist or a file cannot be used.
    """
    files = sorted(SHIPPED_CARDS_DIR.glob("*.toml"))
    if directory is not None:
        if not directory.is_dir():
            raise Misconfigured(f"MNEMON_CARDS_DIR names {directory}, which is not a directory. Create it or unset it.")
        # Last, so that a file of the same name replaces a shipped one.
        files += sorted(directory.glob("*.toml"))
    cards = {path.stem: parse_card(path.stem, path.read_text(encoding="utf-8")) for path in files}
    # Read-only, since the cache gives every caller the same mapping.
    return MappingProxyType(cards)


def parse_card(card_type: str, text: str) -> CardDefinition:
    """Return the card type that the TOML describes; raise Misconfigured naming the file and what is wrong."""
    try:
        card = _parse_definition(card_type, tomllib.loads(text))
        _check_definition(card)
    except (KeyError, TypeError, ValueError) as error:
        raise Misconfigured(
            f"The card type {card_type}.toml is not usable: {error}. docs/agents.md shows the form."
        ) from None
    return card


def _parse_definition(card_type: str, raw: dict[str, Any]) -> CardDefinition:
    """Return the card type that the parsed TOML describes; raise KeyError, TypeError or ValueError."""
    examinable = raw.get("reExaminable", False)
    # Compared by identity, because 1 == True and 0 == False.
    if examinable is not True and examinable is not False and examinable != "until_resolved":
        raise ValueError('reExaminable is true, false or "until_resolved"')
    return CardDefinition(
        type=card_type,
        title=str(raw["title"]),
        purpose=str(raw.get("purpose", "")),
        slots=tuple(_parse_slot(slot) for slot in raw["slots"]),
        headline=tuple(raw["headline"]),
        tone=_parse_tones(raw.get("tone", {})),
        subject=raw.get("subject"),
        confidence=raw.get("confidence"),
        re_examinable=examinable,
        re_examine_actions=tuple(raw.get("reExamineActions", ())),
        resolution=_parse_resolution(raw.get("resolution", {})),
    )


def _parse_slot(raw: dict[str, Any]) -> CardSlot:
    """Return a slot (field) of a card type from its TOML; raise TypeError, ValueError for an unknown key, type."""
    given = {**raw, "type": SlotType(raw["type"]), "choices": tuple(raw.get("choices", ()))}
    return CardSlot(**given)


def _parse_tones(raw: dict[str, Any]) -> ToneRules:
    """Return the rules that colour a card by a slot's value; raise ValueError for an unknown tone."""
    named = {key: value for key, value in raw.items() if key not in {"slot", "steps"}}
    steps = tuple((float(step), tone) for step, tone in raw.get("steps", ()))
    for tone in [*named.values(), *(tone for _, tone in steps)]:
        if tone not in {"positive", "neutral", "negative"}:
            raise ValueError(f"tone {tone!r} is not positive, neutral or negative")
    return ToneRules(slot=raw.get("slot"), by_value=tuple(named.items()), steps=steps)


def _parse_resolution(raw: dict[str, Any]) -> Resolution:
    """Return how decisions of a card type are resolved; raise ValueError for an unknown rule."""
    lists = {"right": tuple(raw.get("right", ())), "wrong": tuple(raw.get("wrong", ()))}
    return Resolution(**{**raw, **lists, "rule": ResolutionRule(raw.get("rule", "none"))})


def _check_definition(card: CardDefinition) -> None:
    """Raise ValueError unless a card type's names are unique and refer to slots, and its rules are complete."""
    names = [slot.name for slot in card.slots]
    if len(set(names)) != len(names):
        raise ValueError("two slots have the same name")
    rule = card.resolution
    levels = (rule.symbol, rule.side, rule.entry, rule.take_profit, rule.stop_loss)
    if rule.rule is ResolutionRule.PRICE_LEVELS and None in (*levels, rule.long, rule.short):
        raise ValueError("price_levels needs symbol, side, long, short, entry, take_profit and stop_loss")
    named = (*card.headline, card.subject, card.confidence, card.tone.slot, rule.expires_at, *levels)
    for name in named:
        if name is not None and name not in names:
            raise ValueError(f"{name!r} is named but is not a slot")
    for slot in card.slots:
        if (slot.type is SlotType.CHOICE) != bool(slot.choices):
            raise ValueError(f"slot {slot.name!r}: a slot has `choices` if and only if its type is choice")


def _format_value(value: SlotValue) -> str:
    """Return a card field's value as one line of text for the headline; empty for None."""
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(value)
    return " ".join(str(value).split())
