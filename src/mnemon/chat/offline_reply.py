"""The reply without a model: what recall found for the message, best first, word for word.

It says that it is memory alone, and says that nothing is remembered only if nothing at all was found.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from mnemon.layer import Layer, LayerItem
from mnemon.memory.layer import ASK_WHICH
from mnemon.memory.words import query_terms, terms
from mnemon.turn import OFFLINE_OPENING
from mnemon.untrusted_text import reads_outside_text

_MAX_LINES = 5
_MAX_NEAR = 3
"""Lines that share no word with the question, where none does."""
_LONGEST_SAID = 300
_FOUND_LAYERS = ("L5", "L4")
"""What recall found for the message, best first, then what is always kept in mind."""
_CONVERSATION_LAYER = "L6"
_EMPTY_TERMS = frozenset(terms("know remember tell say said please thing ask me you hi hello ok okay thanks"))
"""Words of a question that say nothing about what it asks for."""
_QUESTION = re.compile(
    r"\?\s*$|^\W*(?:what|when|where|who|whom|whose|which|why|how|do|does|did|is|are|am|was|were|can|could|have|has"
    r"|remind me|tell me|show me|list)\b",
    re.IGNORECASE,
)


@reads_outside_text
def reply_by_rule(question: str, layers: Sequence[Layer], said: Sequence[str] = ()) -> str:
    """Return a reply made by rules: lines of the context that share a word with the question, verbatim, best first.

    `said` is what the person said before in the session. A question that shares no word with anything gets the lines
    that recall ranks first; a statement that does not is only acknowledged.
    """
    wanted = frozenset(query_terms(question)) - _EMPTY_TERMS
    found = _distinct_items(layers, _FOUND_LAYERS)
    lines = _chosen_lines([item for item in found if wanted & frozenset(terms(item.text))])
    lines += _relevant_utterances(wanted, said, lines)[: _MAX_LINES - len(lines)]
    if not lines:
        shared = _distinct_items(layers, (_CONVERSATION_LAYER,))
        lines = _chosen_lines([item for item in shared if wanted & frozenset(terms(item.text))])
    unclear = [item.text for item in _distinct_items(layers, (_CONVERSATION_LAYER,)) if item.text.startswith(ASK_WHICH)]
    if unclear:
        listed = [text.removeprefix(ASK_WHICH).lstrip(": ") for text in unclear]
        return _as_list(f"{OFFLINE_OPENING}. Which of these is over? Say it in the words of the todo:", listed)
    if lines:
        return _as_list(f"{OFFLINE_OPENING}. What is remembered about that:", lines)
    if _QUESTION.search(question) is None:
        return f"{OFFLINE_OPENING}. Your message is kept."
    nearest = _chosen_lines(found)[:_MAX_NEAR]
    if nearest:
        return _as_list(
            f"{OFFLINE_OPENING}. Nothing has the words of your question; what comes closest to it:", nearest
        )
    return f"{OFFLINE_OPENING}: nothing is remembered about that. Your message is kept."


def _as_list(opening: str, lines: Sequence[str]) -> str:
    """Return an opening followed by the lines as a bulleted list."""
    return "\n".join((opening, *(f"- {line}" for line in lines)))


def _distinct_items(layers: Sequence[Layer], names: Sequence[str]) -> list[LayerItem]:
    """Return the items of the named layers, in the order of the names, without repeated texts."""
    distinct: dict[str, LayerItem] = {}
    for layer in (layer for name in names for layer in layers if layer.name == name):
        for item in chain.from_iterable(map(_facts_of, layer.items)):
            distinct.setdefault(item.text, item)
    return list(distinct.values())


def _facts_of(item: LayerItem) -> Iterator[LayerItem]:
    """Yield each fact of an entity's card by itself; any other item as it is."""
    if not item.is_current or not any(line.lead.startswith("[") for line in item.lines):
        yield item
        return
    for line in item.lines:
        for part in line.parts:
            yield replace(item, text=f"{part.text}{part.mark}", sources=part.sources, lines=())


def _chosen_lines(about: Sequence[LayerItem]) -> list[str]:
    """Return the texts of the first items up to the limit; an item that depends on another comes only with it."""
    first = [item for item in about if item.needs is None][:_MAX_LINES]
    sources = {source for item in first for source in item.sources}
    beside = [item for item in about if item.needs in sources][: _MAX_LINES - len(first)]
    return [item.text for item in about if item in first or item in beside]


def _relevant_utterances(wanted: frozenset[str], said: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return what the person said about the question, latest first, unless one of the lines says the same."""
    told = [frozenset(terms(line)) for line in lines]
    answers = []
    for text in reversed(said):
        words = frozenset(terms(text))
        about = words & wanted
        # A message that a line was taken from, or that asks the same again, answers nothing more.
        if about and not any(about <= line for line in told) and _QUESTION.search(text) is None:
            answers.append(f"Earlier in this conversation you said: {text[:_LONGEST_SAID]}")
    return answers
