"""Whether a text says only what its sources say: the gate for text that is made from memories."""

from collections.abc import Sequence

from mnemon.evidence.number import number_fault
from mnemon.memory.keys import normalized
from mnemon.memory.words import STOP_WORDS, terms

_JOINING = frozenset(terms("also both while too likewise including such as whereas plus"))


def ungrounded(text: str, sources: Sequence[str]) -> tuple[str, ...]:
    """The stems of the text that stand in none of the sources; none when it adds nothing."""
    said = {term for source in sources for term in terms(source)}
    return tuple(dict.fromkeys(t for t in terms(text) if t not in said and t not in _JOINING and t not in STOP_WORDS))


def grounding_fault(text: str, sources: Sequence[str], *, share: float = 1.0) -> str | None:
    """Why the text may not stand for its sources; None when it may. `share` of its words must be theirs."""
    if normalized(text) in {normalized(source) for source in sources}:
        return None
    fault = number_fault(text, sources)
    if fault:
        return fault
    words = [term for term in dict.fromkeys(terms(text)) if term not in STOP_WORDS]
    if not words:
        return "it says nothing"
    new = ungrounded(text, sources)
    if len(new) > (1.0 - share) * len(words):
        return "its sources do not say: " + ", ".join(new[:5])
    return None
