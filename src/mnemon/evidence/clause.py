"""Read a text as clauses: for each word whether it is negated, in which mood it stands, and of whom it is said.

No grammar is parsed. A negation reaches from its word to the end of its clause; a mood (a question, a wish, a report)
from its sign to the end of the clause, a question and an "if" through their sentence; the subject of a word is the last
noun phrase or pronoun before it that can be one. Where this misjudges, the gate refuses, and the model may quote more
or say it in the quoted words.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from mnemon.evidence.moods import (
    ANY_MORE,
    CEASING_PHRASES,
    IDIOMS,
    WHOLE_CLAUSE,
    Mood,
    clause_moods,
    mood_signs,
)
from mnemon.evidence.stems import stem
from mnemon.evidence.vocabulary import FUNCTION_WORDS, PRONOUNS, word_list
from mnemon.untrusted_text import reads_outside_text_up_to

LONGEST_READ = 4_000
"""The most characters that are read; a statement and the sentences around its quote are shorter."""


class Speaker(StrEnum):
    """The subject of a clause where it is a pronoun."""

    FIRST = "first"
    """I, we: whoever speaks."""
    SECOND = "second"
    """You."""
    OTHER = "other"
    """He, she, they, it, who: somebody named elsewhere."""


Subject = Speaker | frozenset[str] | None
"""A pronoun, the stems of a noun phrase, or None where the clause names none."""


@dataclass(frozen=True, kw_only=True)
class ReadWord:
    """A word of a text, with what its clause says of it."""

    text: str
    stem: str
    start: int
    clause: int
    """The number of its clause in the text."""
    sentence: int
    negated: bool = False
    ceased: bool = False
    """Whether it is said to be over: "no longer", "used to", "quit"."""
    moods: frozenset[Mood] = frozenset()
    subject: Subject = None
    in_subject: bool = False
    """Whether it is part of the noun phrase that is the subject."""
    is_name: bool = False
    opens: bool = False
    """Whether it begins its sentence, where any word has a capital."""
    owned: bool = False
    """Whether it belongs to a noun phrase with "my" or "our", which is true however its sentence is meant."""
    apposed: bool = False
    """Whether it stands beside a name that it explains: "my dog Rex", "Ann, a nurse"."""

    @property
    def is_function_word(self) -> bool:
        """Say whether it is a word of grammar, which needs no support."""
        return self.text in FUNCTION_WORDS


_TOKEN = re.compile(r"[^\W_]+(?:['’&-][^\W_]+)*|[.!?…]+|[,;:()\n\"“”—–]|(?<=\s)-(?=\s)")
_SENTENCE_ENDS = re.compile(r"[.!?…]+|\n")
_BREAKS = word_list("clause_end")
"""Words and signs that end a clause by themselves."""
_SUBJECT_PRONOUNS = {word: Speaker(person) for person, words in PRONOUNS.items() for word in words}
_DETERMINERS = word_list("determiner")
_OWN = frozenset({"my", "our"})
_VERBS = word_list("verb")
"""Words that end a noun phrase which began with a determiner."""
_NEGATORS = word_list("negating")
_NEGATIVE_VERBS = word_list("disliking") | word_list("avoiding")
_CEASING = word_list("ceasing")
_CAPITALIZED_WORDS = word_list("capitalized")


@dataclass(kw_only=True)
class _Token:
    text: str
    start: int
    end: int
    sentence: int = 0
    clause: int = 0
    opens: bool = False
    named: bool = False
    """Whether it opens the sentence and yet is a name, by what follows."""


@reads_outside_text_up_to(LONGEST_READ)
def read_words(text: str) -> tuple[ReadWord, ...]:
    """Return the words of the text with their negation, moods and subject; of an overlong text its beginning."""
    text = text[:LONGEST_READ].replace("’", "'")
    plain = IDIOMS.sub(lambda found: " " * len(found[0]), text)
    words: list[ReadWord] = []
    for sentence, (start, end) in enumerate(_sentences(text)):
        words += _read_sentence(text, plain, start, end, sentence, len({word.clause for word in words}))
    return tuple(words)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence; a full stop within a number or after an abbreviation ends none."""
    start = 0
    for found in _SENTENCE_ENDS.finditer(text):
        end = found.end()
        if found[0] == "." and not _is_full_stop(text, found.start()):
            continue
        if text[start:end].strip():
            yield start, end
        start = end
    if text[start:].strip():
        yield start, len(text)


_ABBREVIATION = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|Inc|Ltd|Co|Jr|Sr|vs|e\.g|i\.e|etc|approx|No|[A-Z])$")


def _is_full_stop(text: str, at: int) -> bool:
    after = text[at + 1 : at + 2]
    if after and not after.isspace() and after not in "\"')”’":
        return False
    return _ABBREVIATION.search(text[max(0, at - 8) : at]) is None or not text[at + 1 :].strip()


def _read_sentence(text: str, plain: str, start: int, end: int, number: int, clauses: int) -> list[ReadWord]:
    """Return the words of one sentence."""
    sentence = text[start:end]
    tokens = _tokens(sentence, start)
    _number_clauses(tokens)
    spans = _clause_spans(tokens, end)
    moods = clause_moods(sentence, plain[start:end], start, spans)
    words: list[ReadWord] = []
    for clause, (begin, until) in enumerate(spans):
        inside = [token for token in tokens if token.clause == clause and token.text[0].isalnum()]
        words += _read_clause(plain, inside, begin, until, moods[clause], clauses + clause, number)
    return words


def _tokens(sentence: str, offset: int) -> list[_Token]:
    """Return the words and signs of the sentence."""
    found = [
        _Token(text=match[0], start=offset + match.start(), end=offset + match.end())
        for match in _TOKEN.finditer(sentence)
    ]
    if found:
        first = found[0]
        first.opens = True
        after = found[1].text if len(found) > 1 else ""
        first.named = first.text.lower() not in _VERBS and (
            after.lower() in _VERBS - _JOINING or after[:1].isupper() or first.text.endswith("'s")
        )
    return found


def _number_clauses(tokens: Sequence[_Token]) -> None:
    """Give every token the number of its clause within the sentence."""
    clause = 0
    for at, token in enumerate(tokens):
        low = token.text.lower()
        if at and (low in _BREAKS or _begins_clause(tokens, at)):
            clause += 1
        token.clause = clause


def _begins_clause(tokens: Sequence[_Token], at: int) -> bool:
    """Say whether a new subject follows a comma or an "and" here: "…, and I live", "…, my sister lives"."""
    low = tokens[at].text.lower()
    after = [token.text.lower() for token in tokens[at + 1 : at + 3]]
    if low in {",", "and", "or"} and after:
        first = after[1] if after[0] in {"and", "or", "also"} and len(after) > 1 else after[0]
        if first in _SUBJECT_PRONOUNS or first in _ASKING:
            return True
        return first in _DETERMINERS and _has_verb_after(tokens, at + 1)
    return False


_ASKING = word_list("asking")


def _has_verb_after(tokens: Sequence[_Token], at: int) -> bool:
    """Say whether a verb follows within the next words, before any sign: then a clause begins here."""
    for token in tokens[at + 1 : at + 6]:
        low = token.text.lower()
        if not low[0].isalnum():
            return False
        if low in _VERBS and low not in {"and", "or", "that", "which", "who"}:
            return True
    return False


def _clause_spans(tokens: Sequence[_Token], end: int) -> list[tuple[int, int]]:
    """Return start and end of every clause in the text."""
    starts: dict[int, int] = {}
    for token in tokens:
        starts.setdefault(token.clause, token.start)
    numbers = sorted(starts)
    return [
        (starts[one], starts[numbers[place + 1]] if place + 1 < len(numbers) else end)
        for place, one in enumerate(numbers)
    ]


def _read_clause(
    plain: str, tokens: Sequence[_Token], begin: int, until: int, moods: frozenset[Mood], clause: int, sentence: int
) -> list[ReadWord]:
    """Return the words of one clause."""
    signs = list(mood_signs(plain, begin, until))
    ceasing = min((match.start() for match in CEASING_PHRASES.finditer(plain, begin, until)), default=until)
    subjects = _subjects(tokens)
    owned, apposed = _owned_places(tokens), _apposed_places(tokens)
    words: list[ReadWord] = []
    negations = 0
    ceased = False
    for place, token in enumerate(tokens):
        low = token.text.lower()
        is_meant = not plain[token.start].isspace()
        ceased = ceased or token.start >= ceasing or (is_meant and low in _CEASING)
        # A negating word is itself part of what it negates: "dislikes" compares with "don't like".
        if is_meant and (low in _NEGATORS or low.endswith("n't") or low in _NEGATIVE_VERBS):
            negations += 1
        words.append(
            ReadWord(
                text=low.removesuffix("'s"),
                stem=_word_stem(low),
                start=token.start,
                clause=clause,
                sentence=sentence,
                negated=negations % 2 == 1,
                ceased=ceased,
                moods=moods | {mood for mood, at in signs if at <= token.start or mood in WHOLE_CLAUSE},
                subject=subjects[place][0],
                in_subject=subjects[place][1],
                is_name=_is_name(token, low),
                opens=token.opens,
                owned=place in owned,
                apposed=place in apposed,
            )
        )
    # "…any more" comes after what it ends.
    return [replace(word, ceased=True) for word in words] if ANY_MORE.search(plain, begin, until) else words


def _word_stem(low: str) -> str:
    """Return the stem by which a word is compared; "dislike" and "hate" are a negated "like"."""
    if low in _NEGATIVE_VERBS and low not in _AVOIDING:
        return "like"
    return stem(low.removesuffix("'s").replace("-", ""))


_AVOIDING = word_list("avoiding")


def _owned_places(tokens: Sequence[_Token]) -> frozenset[int]:
    """Return the places of words in noun phrases that begin with "my" or "our"."""
    found: set[int] = set()
    lows = [token.text.lower() for token in tokens]
    for at, low in enumerate(lows):
        if low in _OWN:
            place = at + 1
            while place < len(lows) and place < at + 5 and not _ends_phrase(lows[place]):
                found.add(place)
                place += 1
    return frozenset(found)


def _apposed_places(tokens: Sequence[_Token]) -> frozenset[int]:
    """Return the places of words that explain a name: in "my dog Rex" and in "Ann, a nurse from Bonn"."""
    lows = [token.text.lower() for token in tokens]
    found: set[int] = set()
    for at, token in enumerate(tokens):
        if not _is_name(token, lows[at]):
            continue
        # Before the name, back to its determiner.
        for back in range(1, 5):
            if at - back < 0 or lows[at - back] in _VERBS or lows[at - back] in _SUBJECT_PRONOUNS:
                break
            if lows[at - back] in _DETERMINERS:
                found.update(range(at - back, at))
                break
        # After the name and a comma, or "is": the tokens are words only, so a gap in the text shows the comma.
        if at + 1 < len(tokens) and lows[at + 1] in _DETERMINERS and tokens[at + 1].start > token.end + 1:
            found.update(range(at + 1, min(len(tokens), at + 7)))
    return frozenset(found)


def _subjects(tokens: Sequence[_Token]) -> list[tuple[Subject, bool]]:
    """Return for each word of a clause its subject, and whether it is part of the noun phrase that is the subject."""
    lows = [token.text.lower() for token in tokens]
    found: list[tuple[Subject, bool]] = []
    current: Subject = None
    at = 0
    while at < len(tokens):
        low = lows[at]
        if low in _SUBJECT_PRONOUNS and not (low in {"it", "you"} and current is not None):
            current = _pronoun_subject(low, current)
            found.append((current, True))
            at += 1
            continue
        phrase = _noun_phrase(tokens, lows, at) if _may_be_subject(tokens, lows, at, current) else 0
        if phrase:
            stems = frozenset(
                stem(word.removesuffix("'s").replace("-", ""))
                for word in lows[at : at + phrase]
                if word not in _DETERMINERS and not word.endswith("'s")
            )
            joined = lows[at + phrase : at + phrase + 2]
            current = Speaker.FIRST if joined in (["and", "i"], ["and", "me"]) else stems
            found += [(current, True)] * phrase
            at += phrase
            continue
        found.append((current, False))
        at += 1
    first = next((one for one, _ in found if one is not None), None)
    return [(one if one is not None else first, inside) for one, inside in found]


def _pronoun_subject(low: str, current: Subject) -> Subject:
    # A relative "who" continues the noun phrase before it.
    if low in {"who", "who's"} and current is not None and not isinstance(current, Speaker):
        return current
    return _SUBJECT_PRONOUNS[low]


def _may_be_subject(tokens: Sequence[_Token], lows: Sequence[str], at: int, current: Subject) -> bool:
    """Say whether a noun phrase here can be the subject: none came before, or a reporting verb did."""
    if at and lows[at - 1] in _PREPOSITIONS:
        return False
    return current is None or (at > 0 and lows[at - 1] in _BEFORE_SUBJECT)


_JOINING = word_list("joining")
_BEFORE_SUBJECT = word_list("before_subject")
_PREPOSITIONS = word_list("preposition")


def _noun_phrase(tokens: Sequence[_Token], lows: Sequence[str], at: int) -> int:
    """Return how many words of a noun phrase begin here: a determiner with what follows, or a name; 0 without."""
    if lows[at] in _DETERMINERS:
        length = 1
        while at + length < len(lows) and length < 6 and not _ends_phrase(lows[at + length]):
            length += 1
        # Without a verb after it, it is an object or a fragment.
        return length if length > 1 and at + length < len(lows) and lows[at + length] not in _PREPOSITIONS else 0
    length = 0
    while at + length < len(tokens) and _is_name(tokens[at + length], lows[at + length]):
        length += 1
    if length and lows[at + length - 1].endswith("'s"):
        while at + length < len(lows) and length < 6 and not _ends_phrase(lows[at + length]):
            length += 1
    return length if length and at + length < len(lows) and lows[at + length] not in _PREPOSITIONS else 0


def _ends_phrase(low: str) -> bool:
    return low in _VERBS or low in _PREPOSITIONS or low.endswith("n't") or low in _SUBJECT_PRONOUNS


def _is_name(token: _Token, low: str) -> bool:
    """Say whether the word is written as a name; at the start of a sentence it is one only if a verb follows."""
    if not token.text[0].isupper() or low in _CAPITALIZED_WORDS or low in _SUBJECT_PRONOUNS or low in _DETERMINERS:
        return False
    return not token.opens or token.named
