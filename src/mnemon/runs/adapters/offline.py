"""What rules alone can say for an agent: that no model looked, and a card that claims nothing."""

import re
from typing import Any

from mnemon.runs.card import CardDefinition, Slot, SlotType

_NOT_LOOKED = "Offline: no model looked at this."
_SYMBOL = re.compile(r"\b[A-Z]{2,6}(?:[-/][A-Z]{2,6})?\b")


def offline_reply(name: str) -> str:
    """A reply that says what is missing."""
    return f"{name} is offline: no model is set. MNEMON_MODEL names one."


def offline_card(card: CardDefinition, prompt: str) -> dict[str, Any]:
    """A card that decides nothing: neutral choices, the middle of every range, texts that say so."""
    return {slot.name: _value(card, slot, prompt) for slot in card.slots if slot.required}


def _value(card: CardDefinition, slot: Slot, prompt: str) -> Any:
    match slot.type:
        case SlotType.NUMBER | SlotType.INTEGER:
            middle = ((slot.min or 0) + (slot.max if slot.max is not None else (slot.above or 0) + 1)) / 2
            return int(middle) if slot.type is SlotType.INTEGER else middle
        case SlotType.CHOICE:
            neutral = [value for value, tone in card.tone.by_value if tone == "neutral" and value in slot.choices]
            return (neutral or list(slot.choices))[0]
        case SlotType.WORD:
            return "WAIT"
        case SlotType.SYMBOL:
            found = _SYMBOL.search(prompt)
            return found[0] if found else None
        case SlotType.BOOLEAN:
            return False
        case SlotType.LIST:
            return [_NOT_LOOKED]
        case SlotType.TIME:
            return None
        case _:
            return _NOT_LOOKED if slot.name != "decision" else "WAIT"
