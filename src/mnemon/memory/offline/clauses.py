"""Split a message into clauses, each an exact piece of its text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from mnemon.memory.entities.lexicon import KNOWN_NAMES
from mnemon.memory.offline.vocabulary import NAMES_ALSO_WORDS, phrase_alternatives
from mnemon.untrusted_text import reads_outside_text, reads_outside_text_up_to

LONGEST_MESSAGE = 6_000
"""A longer message is a pasted text and not the person's own words."""
LONGEST_SENTENCE = 600
LONGEST_CLAUSE = 300
MOST_SENTENCES = 60
MOST_CLAUSES = 8
"""A sentence with more clauses is a list."""

# Every replacement is one character for one, so that an offset in the plain text is the same offset in the message.
_STRAIGHT_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " "})
# Possessive quantifiers (`++`, `*+`) and a lookbehind: each run of characters is read once, whatever its length.
_END = re.compile(r"(?P<stop>(?<![.!?…])[.!?…]++[\"')\]]*+)(?=\s|$)|\n+")
_ABBREVIATION = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|Inc|Ltd|Co|Jr|Sr|vs|e\.g|i\.e|etc|[A-Z])\.$")
_PASTED = re.compile(
    r"^(?:From|To|Subject|Dear|Sent|Cc): |^Dear \w+|^-{3,}|forwarded message", re.MULTILINE | re.IGNORECASE
)
_FENCE = re.compile(r"```.*?(?:```|$)|`[^`\n]*`", re.DOTALL)
_QUOTED = re.compile(r"\"[^\"\n]*\"?|(?<![\w'])'(?=\w)[^'\n]*+(?:'(?=\w)[^'\n]*+){0,50}+'(?!\w)")
_NAMED = re.compile(r"\b(?:called|named)\s+$")
_WORD = re.compile(r"[^\W\d_]+")
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)

_UNAMBIGUOUS_NAMES = KNOWN_NAMES - NAMES_ALSO_WORDS
_OPENERS = phrase_alternatives(
    r"""
    hi there / hi / hey there / hey / hello there / hello / good (?:morning|afternoon|evening) / nice to meet you
    thanks(?: so much| a lot)? / thank you / ok / okay / so / well / also / and / but / oh
    yes / yeah / yep / no / nope
    no wait / wait / oh wait / hmm+ / ugh / yo / lol / haha / well actually / anyways / so yeah / ha / yay / omg / whoa
    actually / basically / honestly / to be honest / personally / currently / lately / these days / anyway / right
    btw / by the way / fyi / for context / for the record / for reference / just so you know / just to let you know
    in case you(?:'re| are) wondering / quick intro / quick note / a bit about me / about me / background / context
    first of all / first / sure thing / great / cool / perfect / one more thing / another thing / fun fact
    update / correction / please
    (?:please |pls )?(?:remember|note|keep in mind|don't forget|make a note|be aware)(?: that)?
    you should know(?: that)? / i should (?:mention|add)(?: that)? / i forgot to (?:mention|say)(?: that)?
    (?:just |strictly )?between (?:us|you and me) / (?:please )?don't tell anyone / off the record / confidentially
    """
)
_OPENER = re.compile(rf"(?:{_OPENERS})(?:\s*[,:!;.–—-]+\s*|\s+)(?:(?:but|and|so|that)\s+)?", re.IGNORECASE)
_SUBJECT = r"(?=(?:I|I'm|I've|I'd|i|i'm|im|i've|my|My|we|We|we're|We're|our|Our)\b)"
_APPOSITION = r"(?!(?:my|our) (?:\w+ ){0,2}[\w-]+, )"
_JOINT = re.compile(
    rf"(?<!\s)(?:\s*[,;:–—]\s*(?:(?:and|but|so|also|plus|because)\s+)?(?:also\s+)?{_APPOSITION}{_SUBJECT}"
    rf"|\s+(?:and|but|plus)\s+(?:also\s+)?{_SUBJECT}|\s*;\s+(?=[A-Z])|\s+[–—]\s+)"
)


@dataclass(frozen=True, kw_only=True)
class Clause:
    """One statement of a message."""

    start: int
    """The offset of its first character in the message."""
    text: str
    """Its text without opening words and closing punctuation, with straight quotation marks."""
    sentence: str
    """The sentence that contains it, without opening words."""
    opens: bool
    """Whether it begins its sentence, so that its first letter is a capital in any case."""
    careless: bool
    """Whether the whole message has no capitals, so that their absence means nothing."""
    known: frozenset[str] = frozenset()
    """First names of people on record, in lower case."""


@reads_outside_text
def straighten_quotes(message: str) -> str:
    """Return the message with plain quotation marks and spaces, every character at its old offset."""
    return message.translate(_STRAIGHT_QUOTES)


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence of a message in the person's own words."""

    start: int
    """The offset of its first character in the message."""
    text: str
    """Its text without opening words, with straight quotation marks and NUL characters for what is quoted."""
    careless: bool
    """Whether the whole message has no capitals, so that their absence means nothing."""
    opened: bool = False
    """Whether opening words such as "by the way" were taken off."""


@reads_outside_text_up_to(LONGEST_MESSAGE)
def own_sentences(message: str) -> Iterator[Sentence]:
    """Yield the sentences of a person's message in order, without their opening words; none for a pasted text."""
    if len(message) > LONGEST_MESSAGE:
        return
    text = straighten_quotes(message)
    if _PASTED.search(text):
        return
    # Names are recognized by their capital; in a message without any, known names get one.
    careless = not any(letter.isupper() for letter in text)
    if careless:
        text = _WORD.sub(_capitalize_name, text)
    # Blanked, not removed, so that offsets stay those of the message.
    own = _blank_quotations(text)
    for start, end in islice(_sentence_spans(own), MOST_SENTENCES):
        opening = _opening_words(text[start:end])
        begin = start + len(opening)
        if end - begin <= LONGEST_SENTENCE:
            yield Sentence(start=begin, text=own[begin:end], careless=careless, opened=bool(opening))


@reads_outside_text_up_to(LONGEST_MESSAGE)
def split_clauses(message: str) -> Iterator[Clause]:
    """Yield the clauses of a person's message in order; none for a pasted text."""
    for sentence in own_sentences(message):
        for place, piece in islice(clause_pieces(sentence.text), MOST_CLAUSES):
            if piece and len(piece) <= LONGEST_CLAUSE:
                yield Clause(
                    start=sentence.start + place,
                    text=piece,
                    sentence=sentence.text.strip(),
                    opens=place == 0,
                    careless=sentence.careless,
                )


def _capitalize_name(word: re.Match[str]) -> str:
    """Return a matched word with a capital if it is a known name, else unchanged."""
    return word[0].capitalize() if word[0] in _UNAMBIGUOUS_NAMES else word[0]


def _blank_quotations(text: str) -> str:
    """Return the text with quotations replaced by NUL characters, except a name after "called" or "named"."""

    def blank_match(found: re.Match[str]) -> str:
        """Return NUL characters in place of a quotation; a name after "called" stays."""
        inside = found[0].strip("\"'")
        if _NAMED.search(text[max(0, found.start() - 12) : found.start()]) and len(inside.split()) <= 3:
            return found[0]
        return "\x00" * len(found[0])

    for pattern in (_FENCE, _QUOTED_LINE):
        text = pattern.sub(lambda found: "\x00" * len(found[0]), text)
    return _QUOTED.sub(blank_match, text)


def _sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence of a message; a full stop after an abbreviation ends none."""
    start = 0
    for found in _END.finditer(text):
        if found["stop"] == "." and _ABBREVIATION.search(text[max(start, found.end() - 8) : found.end()]):
            continue
        yield from _trimmed_span(text, start, found.end())
        start = found.end()
    yield from _trimmed_span(text, start, len(text))


def _trimmed_span(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of a sentence without white space and list marks; nothing if it is blank."""
    piece = text[start:end]
    if piece.strip():
        yield start + len(piece) - len(piece.lstrip(" \t\n-*•")), start + len(piece.rstrip())


def _opening_words(sentence: str) -> str:
    """Return the words that open a sentence and carry no content, such as "well, by the way"."""
    at = 0
    while found := _OPENER.match(sentence, at):
        at = found.end()
    return sentence[:at]


def clause_pieces(sentence: str) -> Iterator[tuple[int, str]]:
    """Yield the offset and text of each clause of a sentence."""
    start = 0
    for joint in _JOINT.finditer(sentence):
        yield start, sentence[start : joint.start()].rstrip(" .!?…,;:")
        start = joint.end()
    yield start, sentence[start:].rstrip(" .!?…,;:)")
