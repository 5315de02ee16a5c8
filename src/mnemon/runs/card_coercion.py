"""Bringing a model's answer into the form that its card asks for, where that changes nothing of what it says.

A card is the end of a long run, for which a whole council may have been asked. So a name in another case, a number
written as text, or a lower-case word is no reason to fail it. What is missing, out of bounds or not among the choices
stays as it is, for `fill_card` to refuse.
"""

import re
from collections.abc import Callable
from typing import Any

from mnemon.runs.card import CardDefinition, CardSlot, SlotType

_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?")
_LONGEST_WORD = 100
"""Characters of a text that may be a number, a word, a choice or a truth value."""


def coerce_answer(card: CardDefinition, answer: dict[str, Any]) -> dict[str, Any]:
    """Return a model's answer with names and values in the card's own form; what does not fit stays as it is."""
    slots = {slot.name: slot for slot in card.slots}
    by_plain_name = {_plain_name(name): name for name in slots}
    coerced: dict[str, Any] = {}
    for given_name, value in answer.items():
        name = given_name if given_name in slots else by_plain_name.get(_plain_name(given_name), given_name)
        # Of two names for one slot the exact one counts; the other stays under its own and is refused.
        if (name != given_name and name in answer) or name in coerced:
            name = given_name
        coerced[name] = _coerce_value(slots[name], value) if name in slots else value
    return coerced


def _plain_name(name: str) -> str:
    """Return a slot's name without case and separators: `Stop Loss` and `stopLoss` as `stoploss`."""
    return "".join(character for character in name[:_LONGEST_WORD].casefold() if character.isalnum())


def _coerce_value(slot: CardSlot, given: Any) -> Any:
    """Return a value in the form of its slot, if it is a text that can only mean that; else as it is."""
    if not isinstance(given, str):
        return given
    text = given.strip()
    coerce = _COERCIONS.get(slot.type)
    return given if coerce is None or len(text) > _LONGEST_WORD else coerce(slot, text, given)


def _coerce_number(slot: CardSlot, text: str, given: str) -> Any:
    """Return the number that a text is: `"0.6"` as 0.6; a text with anything else stays."""
    if not _NUMBER.fullmatch(text):
        return given
    return float(text) if "." in text else int(text)


def _coerce_boolean(slot: CardSlot, text: str, given: str) -> Any:
    """Return the truth value that a text names; any other text stays."""
    return {"true": True, "false": False}.get(text.casefold(), given)


def _coerce_word(slot: CardSlot, text: str, given: str) -> Any:
    """Return a word in upper case: `hold` as `HOLD`."""
    return text.upper()


def _coerce_choice(slot: CardSlot, text: str, given: str) -> Any:
    """Return the choice that a text is but for its case; any other text stays."""
    return next((choice for choice in slot.choices if choice.casefold() == text.casefold()), given)


_COERCIONS: dict[SlotType, Callable[[CardSlot, str, str], Any]] = {
    SlotType.NUMBER: _coerce_number,
    SlotType.INTEGER: _coerce_number,
    SlotType.BOOLEAN: _coerce_boolean,
    SlotType.WORD: _coerce_word,
    SlotType.CHOICE: _coerce_choice,
}
"""By slot type: returns the value for a short text, stripped and as given."""
