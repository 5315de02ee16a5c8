"""Filling a card: the JSON schema that a model must answer, and the check of its answer."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from mnemon.clock import parse_time
from mnemon.errors import Invalid
from mnemon.evidence.clause import sentence_spans
from mnemon.input_checks import storable_json
from mnemon.llm.answer_schema import BOOLEAN, INTEGER, NUMBER, TEXT, closed_object, list_of, one_of, optional, titled
from mnemon.runs.card import RE_EXAMINATION, CardDefinition, CardSlot, ResolutionRule, SlotType, SlotValue, SlotValues
from mnemon.runs.card_coercion import coerce_answer
from mnemon.runs.resolution import normalize_symbol

CARD_SCHEMA_TITLE = "Card"
"""The schema's title, by which scripted models recognise the request."""
MAX_TEXT_CHARS = 20_000
MAX_LINE_CHARS = 500
MAX_LIST_ITEMS = 50
_WORD_PATTERN = re.compile(r"[A-Z][A-Z0-9_-]{0,23}")
_SYMBOL_PATTERN = re.compile(r"[A-Za-z0-9^][A-Za-z0-9.:/_=-]{0,31}")


class CardNotFilled(Invalid):
    """The answer does not fill its card; the detail names each slot and why."""

    code = "card_not_filled"


def card_schema(card: CardDefinition) -> dict[str, Any]:
    """Return the JSON schema of this card's values, as the API describes them."""
    return {
        "title": CARD_SCHEMA_TITLE,
        "description": f"{card.title}. {card.purpose}".strip(),
        "type": "object",
        "properties": {slot.name: _slot_schema(slot) for slot in card.slots},
        "required": [slot.name for slot in card.slots if slot.required],
        "additionalProperties": False,
    }


@lru_cache(maxsize=64)
def asked_card_schema(card: CardDefinition) -> dict[str, Any]:
    """Return the JSON schema, titled `Card`, that a model is sent: bounds and forms are checked when it is filled."""
    slots = {slot.name: _asked_slot(slot) for slot in card.slots}
    return titled(CARD_SCHEMA_TITLE, closed_object(**slots))


def _asked_slot(slot: CardSlot) -> dict[str, Any]:
    """Return the schema of one slot as it is sent; null is allowed where the slot may stay empty."""
    kinds = {
        SlotType.NUMBER: NUMBER,
        SlotType.INTEGER: INTEGER,
        SlotType.BOOLEAN: BOOLEAN,
        SlotType.LIST: list_of(TEXT),
    }
    kind = one_of(slot.choices) if slot.type is SlotType.CHOICE else kinds.get(slot.type, TEXT)
    return kind if slot.required else optional(kind)


def fill_card(card: CardDefinition, answer: dict[str, Any]) -> dict[str, SlotValue]:
    """Return a model's answer as the card's values to store; raise CardNotFilled with every reason at once."""
    answer = storable_json(answer)
    values: dict[str, SlotValue] = {}
    reasons = [f"`{name}` is not a slot of it" for name in answer if name not in {slot.name for slot in card.slots}]
    for slot in card.slots:
        given = answer.get(slot.name)
        if given is None or given == "":
            if slot.required:
                reasons.append(f"`{slot.name}` is missing")
            continue
        try:
            values[slot.name] = _SLOT_PARSERS[slot.type](slot, given)
        except ValueError as error:
            reasons.append(f"`{slot.name}` {error}")
    # Levels are compared only when every slot is valid: a missing one would be reported twice.
    if not reasons:
        reasons = price_level_faults(card, values)
    if reasons:
        raise CardNotFilled(f"The answer does not fill the card {card.type}: {'; '.join(reasons)}.")
    return values


def card_fault(card: CardDefinition, answer: dict[str, Any]) -> str | None:
    """Return why a model's answer does not fill its card, in words that help to mend it; None when it does."""
    try:
        fill_card(card, coerce_answer(card, answer))
    except CardNotFilled as error:
        return error.detail
    return None


def with_actions(card: CardDefinition, actions: tuple[str, ...]) -> CardDefinition:
    """Return the re-examination card with `suggested_action` limited to these values; other cards unchanged."""
    if card.type != RE_EXAMINATION or not actions:
        return card
    slots = tuple(
        replace(slot, type=SlotType.CHOICE, choices=actions) if slot.name == "suggested_action" else slot
        for slot in card.slots
    )
    return replace(card, slots=slots)


def price_level_faults(card: CardDefinition, values: SlotValues) -> list[str]:
    """Return what is wrong with the price levels of a card's position; nothing when the card has none."""
    rule = card.resolution
    if rule.rule is not ResolutionRule.PRICE_LEVELS or values.get(rule.side or "") not in (rule.long, rule.short):
        return []
    needed = [name for name in (rule.entry, rule.take_profit, rule.stop_loss) if name]
    missing = [f"`{name}` is missing for a position" for name in needed if values.get(name) is None]
    if missing:
        return missing
    entry, gain, loss = (_parse_number(values[name]) for name in needed)
    # Negated, a short position has its levels in the order of a long one.
    if values.get(rule.side or "") == rule.short:
        gain, entry, loss = -gain, -entry, -loss
    if not loss < entry < gain:
        side = values.get(rule.side or "")
        return [f"for {side} the stop must lie on the losing side of the entry and the target on the gaining one"]
    return []


def _slot_schema(slot: CardSlot) -> dict[str, Any]:
    """Return the JSON schema of the value of one slot (field) of a card."""
    made: dict[str, Any] = {"description": slot.help}
    match slot.type:
        case SlotType.NUMBER | SlotType.INTEGER:
            made["type"] = slot.type.value
            bounds = {"minimum": slot.min, "maximum": slot.max, "exclusiveMinimum": slot.above}
            made |= {key: bound for key, bound in bounds.items() if bound is not None}
        case SlotType.BOOLEAN:
            made["type"] = "boolean"
        case SlotType.LIST:
            made |= {"type": "array", "items": {"type": "string"}}
        case SlotType.CHOICE:
            made |= {"type": "string", "enum": list(slot.choices)}
        case SlotType.TIME:
            made |= {"type": "string", "format": "date-time"}
        case SlotType.WORD:
            made |= {"type": "string", "pattern": f"^{_WORD_PATTERN.pattern}$"}
        case _:
            made["type"] = "string"
    if not slot.required:
        made["type"] = [made["type"], "null"]
    return made


def _parse_text(slot: CardSlot, given: Any) -> str:
    """Return the text given for a card's field, stripped; raise ValueError if it is no text, blank or too long."""
    if not isinstance(given, str) or not given.strip():
        raise ValueError("must be text")
    most = int(slot.max or MAX_TEXT_CHARS)
    if len(given) > most:
        raise ValueError(f"has {len(given)} characters, more than {most}")
    return given.strip()


def _parse_sentence(slot: CardSlot, given: Any) -> str:
    """Return the text given for a card's field; raise ValueError if it has more than one line."""
    text = _parse_text(replace(slot, max=slot.max or MAX_LINE_CHARS), given)
    if len(text.splitlines()) > 1:
        raise ValueError("must be one line")
    return _first_sentence(text) if slot.single else text


def _first_sentence(text: str) -> str:
    """Return the text up to the end of its first sentence."""
    return next((text[start:end].strip() for start, end in sentence_spans(text) if text[start:end].strip()), text)


def _parse_word(slot: CardSlot, given: Any) -> str:
    """Return the word given for a card's field; raise ValueError unless it is one short uppercase word."""
    text = _parse_text(slot, given)
    if not _WORD_PATTERN.fullmatch(text):
        raise ValueError("must be one short uppercase word")
    return text


def _parse_choice(slot: CardSlot, given: Any) -> str:
    """Return the choice given for a card's field; raise ValueError if it is not one of those allowed."""
    if given not in slot.choices:
        raise ValueError(f"must be one of {', '.join(slot.choices)}")
    return str(given)


def _parse_symbol(slot: CardSlot, given: Any) -> str:
    """Return the market symbol given for a card's field, normalized; raise ValueError if it has spaces."""
    text = normalize_symbol(_parse_text(slot, given))
    if not _SYMBOL_PATTERN.fullmatch(text):
        raise ValueError("must be a market's name without spaces, like BTC-USD")
    return text


def _parse_bounded_number(slot: CardSlot, given: Any) -> int | float:
    """Return the number given for a card's field; raise ValueError if it is none or out of bounds."""
    number = _parse_number(given)
    if slot.min is not None and number < slot.min:
        raise ValueError(f"must be at least {slot.min:g}")
    if slot.max is not None and number > slot.max:
        raise ValueError(f"must be at most {slot.max:g}")
    if slot.above is not None and number <= slot.above:
        raise ValueError(f"must be above {slot.above:g}")
    # A whole number stays one, so that 3 is not shown as 3.0.
    return int(given) if isinstance(given, int) else number


def _parse_integer(slot: CardSlot, given: Any) -> int:
    """Return the whole number given for a card's field; raise ValueError if it is none or out of bounds."""
    number = _parse_bounded_number(slot, given)
    if number != int(number):
        raise ValueError("must be a whole number")
    return int(number)


def _parse_boolean(slot: CardSlot, given: Any) -> bool:
    """Return the true or false given for a card's field; raise ValueError for anything else."""
    if not isinstance(given, bool):
        raise ValueError("must be true or false")
    return given


def _parse_timestamp(slot: CardSlot, given: Any) -> str:
    """Return the time given for a card's field as it was written; raise ValueError unless it is ISO 8601."""
    try:
        parse_time(_parse_text(slot, given))
    except (ValueError, OverflowError):
        raise ValueError("must be an ISO-8601 time, like 2026-03-01T00:00:00Z") from None
    return str(given).strip()


def _parse_list(slot: CardSlot, given: Any) -> list[str]:
    """Return the texts given for a card's field, without blank ones; raise ValueError if it is no list or too long."""
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise ValueError("must be a list of texts")
    most = int(slot.max or MAX_LIST_ITEMS)
    if len(given) > most:
        raise ValueError(f"has {len(given)} items, more than {most}")
    return [item.strip() for item in given if item.strip()]


def _parse_number(given: Any) -> float:
    """Return the number as a float; raise ValueError for booleans, NaN, infinity and beyond 1e15."""
    # Every comparison with NaN is false, so this excludes it together with infinity.
    finite = isinstance(given, int | float) and not isinstance(given, bool) and abs(given) < 1e15
    if not finite:
        raise ValueError("must be a number")
    return float(given)


_SLOT_PARSERS: dict[SlotType, Callable[[CardSlot, Any], SlotValue]] = {
    SlotType.TEXT: _parse_text,
    SlotType.SENTENCE: _parse_sentence,
    SlotType.WORD: _parse_word,
    SlotType.CHOICE: _parse_choice,
    SlotType.SYMBOL: _parse_symbol,
    SlotType.NUMBER: _parse_bounded_number,
    SlotType.INTEGER: _parse_integer,
    SlotType.BOOLEAN: _parse_boolean,
    SlotType.TIME: _parse_timestamp,
    SlotType.LIST: _parse_list,
}
"""By slot type: returns the value to store, or raises ValueError with the reason."""
