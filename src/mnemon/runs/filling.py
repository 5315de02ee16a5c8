"""Filling a card: the schema a model is asked to answer, and the check that its answer fills the card."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mnemon.clock import parse_time
from mnemon.errors import Invalid
from mnemon.runs.card import RE_EXAMINATION, CardDefinition, Rule, Slot, SlotType, Value, Values
from mnemon.storable import storable_json

TITLE = "Card"
MOST_TEXT = 20_000
MOST_LINE = 500
MOST_ITEMS = 50
_WORD = re.compile(r"[A-Z][A-Z0-9_-]{0,23}")
_SYMBOL = re.compile(r"[A-Za-z0-9^][A-Za-z0-9.:/_=-]{0,31}")


class NotFilled(Invalid):
    """The answer does not fill its card; the detail says which slots and why."""

    code = "card_not_filled"


def schema_of(card: CardDefinition) -> dict[str, Any]:
    """The JSON schema, titled `Card`, of an answer that fills this card."""
    return {
        "title": TITLE,
        "description": f"{card.title}. {card.purpose}".strip(),
        "type": "object",
        "properties": {slot.name: _property(slot) for slot in card.slots},
        "required": [slot.name for slot in card.slots if slot.required],
        "additionalProperties": False,
    }


def fill(card: CardDefinition, answer: dict[str, Any]) -> dict[str, Value]:
    """The card's values as they will be kept. Raises NotFilled with every reason at once."""
    answer = storable_json(answer)
    values: dict[str, Value] = {}
    reasons = [f"`{name}` is no slot of it" for name in answer if name not in {slot.name for slot in card.slots}]
    for slot in card.slots:
        given = answer.get(slot.name)
        if given is None or given == "":
            if slot.required:
                reasons.append(f"`{slot.name}` is missing")
            continue
        try:
            values[slot.name] = _READ[slot.type](slot, given)
        except ValueError as error:
            reasons.append(f"`{slot.name}` {error}")
    if not reasons:
        reasons = level_faults(card, values)
    if reasons:
        raise NotFilled(f"The answer does not fill the card {card.type}: {'; '.join(reasons)}.")
    return values


def with_actions(card: CardDefinition, actions: tuple[str, ...]) -> CardDefinition:
    """The re-examination card with `suggested_action` bound to a vocabulary; unchanged where there is none."""
    if card.type != RE_EXAMINATION or not actions:
        return card
    slots = tuple(
        replace(slot, type=SlotType.CHOICE, choices=actions) if slot.name == "suggested_action" else slot
        for slot in card.slots
    )
    return replace(card, slots=slots)


def level_faults(card: CardDefinition, values: Values) -> list[str]:
    """What is wrong with the levels of a position; nothing for a card without one."""
    rule = card.resolution
    if rule.rule is not Rule.PRICE_LEVELS or values.get(rule.side or "") not in (rule.long, rule.short):
        return []
    needed = [name for name in (rule.entry, rule.take_profit, rule.stop_loss) if name]
    missing = [f"`{name}` is missing for a position" for name in needed if values.get(name) is None]
    if missing:
        return missing
    entry, gain, loss = (_number(values[name]) for name in needed)
    if values.get(rule.side or "") == rule.short:
        gain, entry, loss = -gain, -entry, -loss
    if not loss < entry < gain:
        side = values.get(rule.side or "")
        return [f"for {side} the stop must lie on the losing side of the entry and the target on the gaining one"]
    return []


def _property(slot: Slot) -> dict[str, Any]:
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
            made |= {"type": "string", "pattern": f"^{_WORD.pattern}$"}
        case _:
            made["type"] = "string"
    if not slot.required:
        made["type"] = [made["type"], "null"]
    return made


def _text(slot: Slot, given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise ValueError("must be text")
    most = int(slot.max or MOST_TEXT)
    if len(given) > most:
        raise ValueError(f"has {len(given)} characters, more than {most}")
    return given.strip()


def _sentence(slot: Slot, given: Any) -> str:
    text = _text(replace(slot, max=slot.max or MOST_LINE), given)
    if len(text.splitlines()) > 1:
        raise ValueError("must be one line")
    return text


def _word(slot: Slot, given: Any) -> str:
    text = _text(slot, given)
    if not _WORD.fullmatch(text):
        raise ValueError("must be one short uppercase word")
    return text


def _choice(slot: Slot, given: Any) -> str:
    if given not in slot.choices:
        raise ValueError(f"must be one of {', '.join(slot.choices)}")
    return str(given)


def _symbol(slot: Slot, given: Any) -> str:
    text = _text(slot, given)
    if not _SYMBOL.fullmatch(text):
        raise ValueError("must be a market's name without spaces, like BTC-USD")
    return text


def _bounded(slot: Slot, given: Any) -> int | float:
    number = _number(given)
    if slot.min is not None and number < slot.min:
        raise ValueError(f"must be at least {slot.min:g}")
    if slot.max is not None and number > slot.max:
        raise ValueError(f"must be at most {slot.max:g}")
    if slot.above is not None and number <= slot.above:
        raise ValueError(f"must be above {slot.above:g}")
    return int(given) if isinstance(given, int) else number


def _integer(slot: Slot, given: Any) -> int:
    number = _bounded(slot, given)
    if number != int(number):
        raise ValueError("must be a whole number")
    return int(number)


def _boolean(slot: Slot, given: Any) -> bool:
    if not isinstance(given, bool):
        raise ValueError("must be true or false")
    return given


def _time(slot: Slot, given: Any) -> str:
    try:
        parse_time(_text(slot, given))
    except (ValueError, OverflowError):
        raise ValueError("must be an ISO-8601 time, like 2026-03-01T00:00:00Z") from None
    return str(given).strip()


def _list(slot: Slot, given: Any) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise ValueError("must be a list of texts")
    most = int(slot.max or MOST_ITEMS)
    if len(given) > most:
        raise ValueError(f"has {len(given)} items, more than {most}")
    return [item.strip() for item in given if item.strip()]


def _number(given: Any) -> float:
    finite = isinstance(given, int | float) and not isinstance(given, bool) and abs(given) < 1e15
    if not finite:
        raise ValueError("must be a number")
    return float(given)


_READ: dict[SlotType, Callable[[Slot, Any], Value]] = {
    SlotType.TEXT: _text,
    SlotType.SENTENCE: _sentence,
    SlotType.WORD: _word,
    SlotType.CHOICE: _choice,
    SlotType.SYMBOL: _symbol,
    SlotType.NUMBER: _bounded,
    SlotType.INTEGER: _integer,
    SlotType.BOOLEAN: _boolean,
    SlotType.TIME: _time,
    SlotType.LIST: _list,
}
