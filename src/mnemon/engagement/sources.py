"""Whose words a quote holds: the speaker's, those of a person whom the speaker cites, or a tool's. Pure.

A model names a source; the turn decides. A name counts only if the message says that this person told something:
anything else is recorded as the words of whoever spoke. So one speaker under three names stays one source.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date

from mnemon.engagement.document import Engagement
from mnemon.evidence.quote_gate import Passage, Quotation
from mnemon.evidence.said_dates import past_day_said
from mnemon.turn import Role
from mnemon.untrusted_text import reads_outside_text, reads_outside_text_up_to

MAX_SOURCE_CHARS = 120
"""The most characters of a source's name that are read."""
_NAME_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SENTENCE_END = re.compile(r"[.!?…](?=\s|$|[\"')”’])|\n")
_NO_NAMES = re.compile(
    r"the|an?|user|speaker|person|client|customer|dr|mrs?|ms|prof|from|of|and|or|in|at|as|told|by|said|via|interview|memo"
    r"|report|log|email|call|meeting|i|me|we|my|our|he|she|they|him|her|them|his|their|its?",
    re.IGNORECASE,
)
"""Words that do not tell one person from another."""
_TELLING = re.compile(
    r"\b(?:say|says|said|saying|tell|tells|told|telling|wrote|writes|written|email(?:s|ed)?|mail(?:s|ed)?|memo|letter"
    r"|report(?:s|ed)?|according|spoke|speaks|talk(?:s|ed|ing)?|interview(?:s|ed)?|call(?:s|ed)?|phoned|chat(?:s|ted)?"
    r"|meeting|met|mention(?:s|ed)?|think(?:s)?|thought|believe(?:s|d)?|claim(?:s|ed)?|explain(?:s|ed)?"
    r"|confirm(?:s|ed)?|den(?:y|ies|ied)|admit(?:s|ted)?|add(?:s|ed)|argue(?:s|d)?|warn(?:s|ed)?|show(?:s|ed|n)?"
    r"|announce(?:s|d)?|estimate(?:s|d)?|ask(?:s|ed)?|answer(?:s|ed)?|repl(?:y|ies|ied)|share(?:s|d)?|note(?:s|d)?"
    r"|point(?:s|ed)? out|meant|means|insist(?:s|ed)?|complain(?:s|ed)?|describe(?:s|d)?|state(?:s|d)?|feel(?:s)?|felt"
    r"|heard|hear|cite(?:s|d)?|quote(?:s|d)?|worked it out|brought up|let me know|put it)\b|:\s",
    re.IGNORECASE,
)
"""Signs that somebody's words are given."""


@dataclass(frozen=True, kw_only=True)
class ResolvedSource:
    """Whose words a quote holds, and through whom they came."""

    text: str
    """As it is shown: `dana`, `Diane, as told by dana`, `search`."""
    key: str
    """To compare sources: `speaker:dana`, `person:diane`, `tool:search`."""
    teller: str
    """To compare who told it: `speaker:dana`, `tool:search`."""
    name: str | None = None
    """The name of a cited person."""
    event_date: date | None = None
    """The one past day that the words give."""


@reads_outside_text
def resolve_source(proposed: str, quotation: Quotation, on_record: Collection[str] = ()) -> ResolvedSource:
    """Return whose words a quote holds: the source a model names if the message bears it out, else the speaker."""
    passage = quotation.passage
    sentence = sentence_around(passage.text, quotation.start, quotation.end)
    if passage.role is Role.TOOL:
        key = f"tool:{passage.who.casefold()}"
        return ResolvedSource(text=passage.who, key=key, teller=key)
    teller = f"speaker:{passage.who.casefold()}"
    cited = None if _is_speaker(proposed, passage.who) else _cited_sentence(proposed, passage, quotation, sentence)
    if cited is None:
        day = past_day_said(sentence, passage.at)
        return ResolvedSource(text=passage.who, key=teller, teller=teller, event_date=day)
    name = _name_as_said(proposed, passage.text, on_record)
    return ResolvedSource(
        text=f"{name}, as told by {passage.who}",
        key=_person_key(name, on_record),
        teller=teller,
        name=name,
        event_date=past_day_said(sentence, passage.at) or past_day_said(cited, passage.at),
    )


@reads_outside_text_up_to(MAX_SOURCE_CHARS)
def name_words(name: str) -> tuple[str, ...]:
    """Return the words that identify a person's name, case-folded; of an email address those before the @."""
    words = _NAME_WORD.findall(name[:MAX_SOURCE_CHARS].partition("@")[0])
    return tuple(word.casefold() for word in words if not _NO_NAMES.fullmatch(word))


def are_one_person(one: str, other: str) -> bool:
    """Say whether two names may be one person's, one more complete than the other: "diane" and "diane ortiz"."""
    left, right = set(name_words(one)), set(name_words(other))
    return one == other or bool(left and right and (left <= right or right <= left))


def sources_on_record(document: Engagement) -> frozenset[str]:
    """Return the identity keys of everyone whose words are stored in the engagement, and of who reported them."""
    lines = [line for each in document.hypotheses for line in each.evidence]
    tellers = (line.told_by.removeprefix("speaker:") for line in lines)
    found = {*(line.identity for line in lines), *tellers}
    return frozenset(one for one in found if not one.startswith("tool:"))


@reads_outside_text
def sentence_around(text: str, start: int, end: int) -> str:
    """Return the sentences that contain a span of the text, at most 600 characters beyond it on either side."""
    begin = low = max(0, start - 600)
    for found in _SENTENCE_END.finditer(text, low, start):
        begin = found.end()
    stop = _SENTENCE_END.search(text, max(start, end - 1), min(len(text), end + 600))
    return text[begin : stop.end() if stop else min(len(text), end + 600)]


def _is_speaker(proposed: str, who: str) -> bool:
    """Say whether the proposed source means the speaker, however written: `Dana (user)`, `the user`, empty."""
    words = set(name_words(proposed))
    return not words or bool(words & set(name_words(who)))


def _cited_sentence(proposed: str, passage: Passage, quotation: Quotation, sentence: str) -> str | None:
    """Return the sentence that attributes a quote to the named person; None if the message does not do so.

    That is the quoted sentence, or another one of the message that names the person, with a word of telling in either.
    """
    words = set(name_words(proposed))
    if _names_person(words, sentence):
        return sentence if _TELLING.search(sentence) else None
    for other in _iterate_sentences(passage.text[: quotation.end + 2_000]):
        if _names_person(words, other) and (_TELLING.search(other) or _TELLING.search(sentence)):
            return other
    return None


def _names_person(words: Collection[str], sentence: str) -> bool:
    """Say whether one of the words occurs in the sentence as a name, with a capital."""
    return any(found[0].isupper() and found.casefold() in words for found in _names_in(sentence))


def _names_in(text: str) -> Iterable[str]:
    """Yield the words of the text; a possessive name without its 's."""
    return (word.removesuffix("'s").removesuffix("’s") for word in _NAME_WORD.findall(text))


def _iterate_sentences(text: str) -> Iterable[str]:
    """Yield the sentences of the text."""
    start = 0
    for found in _SENTENCE_END.finditer(text):
        yield text[start : found.end()]
        start = found.end()
    yield text[start:]


def _name_as_said(proposed: str, message: str, on_record: Collection[str]) -> str:
    """Return a proposed name without the words that neither the message nor the record has."""
    said = {word.casefold() for word in _names_in(message) if word[0].isupper()}
    recorded = {word for one in on_record for word in name_words(one)}
    words = _names_in(proposed[:MAX_SOURCE_CHARS])
    return " ".join(word for word in words if word.casefold() in said | recorded and not _NO_NAMES.fullmatch(word))


def _person_key(name: str, on_record: Collection[str]) -> str:
    """Return the key of a quoted person: that of a person on record with the same or a longer name, else a new one."""
    own = " ".join(name_words(name))
    alike = sorted(one for one in on_record if are_one_person(own, one))
    return f"person:{alike[0] if alike else own}"
