"""Recognize sentences that leave something open, make a promise, or introduce a person.

The word tables are meant to be extended. They serve the summaries made without a model, and the rule that nothing open
is dropped from a summary. Precision matters more than recall, since a wrong line would be carried from version to
version.
"""

import re
from collections.abc import Iterable
from enum import StrEnum

from mnemon.untrusted_text import reads_outside_text, text_blocks


class OpenKind(StrEnum):
    """Why a sentence is still open, most pressing first."""

    COMMITMENT = "commitment"
    QUESTION = "question"
    PERSON = "person"


_COMMITMENT = re.compile(
    r"\b(?:i|we|you|he|she|they|user|assistant|[A-Z]\w+)(?:['’]ll| will| promised?(?: to)?| agreed to| committed to"
    r"| (?:need|needs|have|has) to| plans? to| owes?| must| intends? to)\b|\bto[- ]do\b|\bdeadline\b|\bdue (?:on|by)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"\?\s*[\"'”’)]*$|\b(?:asked|asks|wonders?|wondering|unsure|undecided|unclear|open question|not (?:yet )?decided"
    r"|still deciding|to be decided|does not know|doesn['’]t know)\b",
    re.IGNORECASE,
)
# Without IGNORECASE: a capital letter is what tells a name.
_PERSON = re.compile(
    r"\b(?:met|introduced|this is|meet)\s+(?:\w+\s+){0,3}?[A-Z]\w+"
    r"|\b[A-Z]\w+,? (?:is|was|became) (?:(?:my|our|his|her|their|the|a|an|[A-Z]\w+['’]s)\s)(?:\w+\s){0,3}?"
    r"(?:cofounder|co-founder|boss|manager|colleague|friend|partner|wife|husband|brother|sister|mother|father|mom|dad|"
    r"son|daughter|neighbou?r|doctor|coach|client|teacher|cousin|aunt|uncle|roommate|fianc[ée]e?|ceo|cto|lawyer)\b"
    r"|\b(?:my|our|his|her|their) (?:new )?(?:cofounder|co-founder|boss|manager|colleague|friend|partner|wife|husband|"
    r"brother|sister|mother|father|mom|dad|son|daughter|neighbou?r|doctor|coach|client|teacher|cousin)"
    r"(?:,| is)? [A-Z]\w+"
)
_DONE = re.compile(
    r"\b(?:done|finished|completed|sent|paid|called|booked|shipped|handed in|submitted|cancell?ed|dropped|no longer|"
    r"resolved|decided|solved|settled|answered|sorted|delivered|bought|fixed|forget about|never ?mind)\b",
    re.IGNORECASE,
)
_PLACE_WORDS = r"(?:Inc|Ltd|GmbH|Corp|Bank|Street|Airport|Station|Hotel|University|Hospital|School)\b"
_NAME = rf"([A-ZÀ-Þ][a-zà-ÿ]+\b(?:\s(?!{_PLACE_WORDS})[A-ZÀ-Þ][a-zà-ÿ]+\b)?)(?!\s{_PLACE_WORDS})"
_KIN = (
    r"(?:cofounder|co-founder|boss|manager|colleague|coworker|friend|partner|wife|husband|brother|sister|mother|father"
    r"|mom|mum|dad|son|daughter|neighbou?r|doctor|dentist|coach|client|teacher|cousin|aunt|uncle|niece|nephew|roommate"
    r"|fianc[ée]e?|girlfriend|boyfriend|grandmother|grandfather|grandma|grandpa|therapist|lawyer|landlord|kid|baby)"
)
_PERSON_NAMED = re.compile(
    rf"\b(?:met|meet|meeting|called|call|calling|told|tell|asked|ask|thanked|thank|emailed|texted|text|visited|visit"
    rf"|married|marry|hired|hire|paid|pay|invited|invite|miss|helped|help|remind|saw|introduced me to|talked to|talk to"
    rf"|spoke to|speak to"
    r"|(?!integrat|account|pay|bank|api\b|contract|subscri|sign|deal|log|api\b|flew|fly|insur|stor|host)\w+ with)"
    rf"\s{_NAME}"
    rf"|\b(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir)\s(?:\w+\s)?{_KIN},?\s(?:is\s|called\s)?{_NAME}"
    rf"|\b{_NAME}(?:,| is| was| and I| said| says| told| thinks| wants| called| asked| asks| loves| lives| works)"
    rf"\s(?:my|our|his|her)\s(?:\w+\s)?{_KIN}\b"
    rf"|\b{_NAME}\s(?:said|says|told|thinks|asked|asks|called me|and I|lives|works (?:at|for|as)|promised"
    r"|agreed|will)\b"
)
# `(?<!\s)` lets a match begin only at the start of a run of white space: otherwise a long run takes quadratic time.
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+(?=[\"'“‘(]*[A-Z0-9ÄÖÜÀ-Þ])|(?<!\s)\s*\n\s*|(?<=;)\s+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_FILLER_WORDS = (
    "a an the and or but so if then than that this these those of in on at to for from by with about into over after "
    "before is are was were be been being am do does did have has had will would can could should may might must i "
    "you he she it we they me him her us them my your his its our their mine yours user assistant as not no yes just "
    "also very really still now i'll i'm it's we'll they'll he'll she'll i've there here what when where who how why "
    "which asked said says wants want need needs plan plans promised agreed going go get got ask tell told"
)
_FILLER = frozenset(_FILLER_WORDS.split())
_NOT_NAMES = (
    "I I'm I'll The A An My We He She They It You Monday Tuesday Wednesday Thursday Friday Saturday Sunday January "
    "February March April May June July August September October November December Yes No Ok Okay Thanks Hi Hello "
    "English French German Spanish Talked Asked Christmas Easter God Internet"
)
NOT_NAMES = frozenset(_NOT_NAMES.split())
"""Capitalized words that are not names."""


@reads_outside_text
def split_sentences(text: str) -> list[str]:
    """Return the text's sentences, white space collapsed."""
    parts = (" ".join(part.split()) for block in text_blocks(text) for part in _SENTENCE_END.split(block))
    return [part.rstrip(";") for part in parts if part]


@reads_outside_text
def content_words(text: str) -> frozenset[str]:
    """Return the text's words that carry meaning, in lower case, without a plural s."""
    words = (word.lower().replace("’", "'").removesuffix("'s") for word in _WORD.findall(text))
    kept = (word for word in words if word not in _FILLER and (len(word) > 2 or word.isdigit()))
    return frozenset(word[:-1] if len(word) > 4 and word.endswith("s") else word for word in kept)


@reads_outside_text
def has_content_of(text: str, sentence: str, share: float = 0.6) -> bool:
    """Say whether the text contains at least this share of the sentence's content words."""
    wanted = content_words(sentence)
    return not wanted or len(wanted & content_words(text)) >= share * len(wanted)


@reads_outside_text
def open_kind(sentence: str) -> OpenKind | None:
    """Return what a sentence leaves open (promise, question, new person); None for a plain statement."""
    # Before the words of ending: "Has it been paid?" is open.
    if _QUESTION.search(sentence):
        return OpenKind.QUESTION
    if _DONE.search(sentence):
        return None
    if _COMMITMENT.search(sentence):
        return OpenKind.COMMITMENT
    return OpenKind.PERSON if _PERSON.search(sentence) else None


@reads_outside_text
def ended_topics(said: str) -> list[frozenset[str]]:
    """Return, for each sentence that reports something as over, the set of its content words."""
    return [content_words(line) for line in split_sentences(said) if _DONE.search(line)]


def has_ended_topic(ended: Iterable[frozenset[str]], sentence: str) -> bool:
    """Say whether the sentence's topic was reported as over; `ended` comes from `ended_topics`."""
    wanted = content_words(sentence)
    # A single shared word would end unrelated topics, unless the sentence has only one.
    return any(len(about & wanted) >= min(2, len(wanted)) for about in ended)


@reads_outside_text
def find_people(texts: Iterable[str]) -> list[str]:
    """Return the people whom the texts' sentences name, in order of appearance, each once.

    A capital alone tells no person from a town or a company: what is said of them, or done with them, has to.
    """
    found: dict[str, None] = {}
    for text in texts:
        for sentence in split_sentences(text):
            for match in _PERSON_NAMED.finditer(sentence):
                name = next(filter(None, match.groups()))
                if name.split()[0] not in NOT_NAMES:
                    found.setdefault(name)
    return list(found)


@reads_outside_text
def truncate_text(text: str, limit: int) -> str:
    """Return at most `limit` characters of the text, ending with a whole word; a single longer word is cut."""
    # PostgreSQL rejects NUL and lone surrogates, and a model's text may contain them.
    flat = " ".join(text.replace("\0", " ").encode("utf-8", "replace").decode().split())
    if len(flat) <= limit:
        return flat
    head = flat[: limit + 1]
    at = head.rfind(" ")
    return (head[:at] if at > 0 else flat[:limit]).rstrip(" ,;:–-")
