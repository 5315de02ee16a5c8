"""A form on its page. One that was refused comes back as it was filled in, with what is wrong beside the field."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from mnemon.errors import Fault, Invalid, MnemonError

_NO_WORDS = Markup("")


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A form that was not taken: what was typed, and why not."""

    to: str
    """The path it was sent to."""
    typed: Mapping[str, str]
    says: str
    """Why, in words."""
    faults: Mapping[str, str]
    """By field, what is wrong with it."""


def refusal(to: str, typed: Mapping[str, str], error: MnemonError, field: str = "") -> Refusal:
    """The refusal that the error means; what names no field of its own is said beside `field`, where there is one."""
    faults: dict[str, str] = {}
    for one in error.faults:
        name = field_of(one.pointer)
        faults[name] = f"{faults[name]} {one.detail}" if name in faults else one.detail
    if not faults and field:
        faults[field] = error.detail
    return Refusal(to=to, typed=typed, says=error.detail, faults=faults)


def field_of(pointer: str) -> str:
    """The form's field that a pointer into an API's body means: `/cardType` is `card_type`, `/team/0` is `team`."""
    words = [word for word in re.split(r"[/?]", pointer) if word and not word.isdigit()]
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", words[-1]).lower() if words else ""


def check(**wrong: str) -> None:
    """Raises Invalid unless every field's words about what is wrong with it are empty."""
    faults = tuple(Fault(pointer=f"/{name}", detail=words) for name, words in wrong.items() if words)
    if faults:
        raise Invalid(" ".join(fault.detail for fault in faults), faults=faults)


class Sheet:
    """One form of a page, fresh or refused."""

    def __init__(self, to: str, refused: Refusal | None) -> None:
        self._refused = refused if refused is not None and refused.to == to else None
        self._faults = self._refused.faults if self._refused is not None else {}

    def value(self, name: str, otherwise: object = "") -> str:
        """What stands in the field: what was typed, or what the page would show."""
        if self._refused is not None and name in self._refused.typed:
            return self._refused.typed[name]
        return "" if otherwise is None else str(otherwise)

    def ticked(self, name: str, otherwise: bool = False) -> bool:
        """Whether the box is ticked; one that was left empty is not among what a form sends."""
        return otherwise if self._refused is None else name in self._refused.typed

    def marks(self, name: str) -> Markup:
        """The field's attributes if something is wrong with it: the first such field of the page has the focus."""
        return Markup(' aria-invalid="true" autofocus') if name in self._faults else _NO_WORDS

    def fault(self, name: str) -> Markup:
        """What is wrong with the field, in words."""
        wrong = self._faults.get(name)
        return Markup('<span class="fault">{}</span>').format(wrong) if wrong else _NO_WORDS
