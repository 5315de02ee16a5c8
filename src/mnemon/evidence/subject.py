"""Tokens of a sentence, and of whom its words are said: pronouns, noun phrases, names and what explains them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from mnemon.evidence.vocabulary import PRONOUNS, word_list, word_stem


class Speaker(StrEnum):
    """The subject of a clause where it is a pronoun."""

    FIRST = "first"
    """I: whoever speaks."""
    WE = "we"
    """We: the speaker and those around them, a family, a team, a company."""
    SECOND = "second"
    """You."""
    OTHER = "other"
    """He, she, they, it, who: somebody named elsewhere."""


Subject = Speaker | frozenset[str] | None
"""A pronoun, the stems of a noun phrase, or None where the clause names none."""


SUBJECT_PRONOUNS = {word: Speaker(person) for person, words in PRONOUNS.items() for word in words}
DETERMINERS = word_list("determiner")
OWN = frozenset({"my", "our"})
RELATIONS = word_list("relation")
"""People and animals of somebody: "sister", "boss", "dog"."""
VERBS = word_list("verb")
"""Words that end a noun phrase which began with a determiner."""
JOINING = word_list("joining")
BEFORE_SUBJECT = word_list("before_subject")
PREPOSITIONS = word_list("preposition")
CAPITALIZED_WORDS = word_list("capitalized")
QUANTITIES = frozenset({"half", "third", "quarter", "few", "lot", "couple", "bit", "dozen"})
LONGEST_PHRASE = 6


@dataclass(kw_only=True)
class Token:
    """A word or sign of a sentence."""

    text: str
    low: str
    start: int
    end: int
    clause: int = 0
    opens: bool = False
    named: bool = False
    """Whether it opens the sentence and yet is a name, by what follows."""

    @property
    def is_word(self) -> bool:
        """Say whether the token is a word, not punctuation."""
        return self.text[0].isalnum()

    @property
    def is_name(self) -> bool:
        """Say whether the token is written as a name; at the start of a sentence only if a verb follows."""
        if not self.text[0].isupper() or self.low in CAPITALIZED_WORDS:
            return False
        if self.low in SUBJECT_PRONOUNS or self.low in DETERMINERS or self.text.rstrip("s").isupper():
            return False
        return not self.opens or self.named


def owned_places(tokens: Sequence[Token]) -> frozenset[int]:
    """Return the positions of words in noun phrases like "my sister" that name a person or an animal."""
    found: set[int] = set()
    for at, token in enumerate(tokens):
        if token.low not in OWN:
            continue
        phrase: list[int] = []
        for place in range(at + 1, min(len(tokens), at + 5)):
            if _ends_phrase(tokens[place].low):
                break
            if phrase and tokens[phrase[-1]].low in RELATIONS and not tokens[place].is_name:
                break
            phrase.append(place)
        if any(tokens[place].low.removesuffix("'s") in RELATIONS or tokens[place].is_name for place in phrase):
            found.update(phrase)
    return frozenset(found)


def apposed_places(tokens: Sequence[Token]) -> frozenset[int]:
    """Return the positions of words in apposition to a name: "my dog" of "my dog Rex"."""
    found: set[int] = set()
    for at, token in enumerate(tokens):
        if not token.is_name:
            continue
        # Before the name, back to its determiner.
        for back in range(1, 5):
            low = tokens[at - back].low if at - back >= 0 else "i"
            if low in VERBS or low in SUBJECT_PRONOUNS:
                break
            if low in DETERMINERS:
                found.update(range(at - back, at))
                break
        # After the name and a comma: the tokens are words only, so a gap in the text shows the comma.
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if after is not None and after.low in DETERMINERS and after.start > token.end + 1:
            found.update(range(at + 1, min(len(tokens), at + 7)))
    return frozenset(found)


def find_subjects(tokens: Sequence[Token], before: Subject) -> list[tuple[Subject, bool]]:
    """Return for each word of a clause its subject, and whether it is part of the noun phrase that is the subject."""
    found: list[tuple[Subject, bool]] = []
    current: Subject = None
    at = 0
    while at < len(tokens):
        if _is_subject_pronoun(tokens, at):
            current = _pronoun_subject(tokens[at].low, current)
            found.append((current, True))
            at += 1
            continue
        phrase = _noun_phrase(tokens, at) if _may_be_subject(tokens, at, current) else 0
        if phrase:
            joined = [token.low for token in tokens[at + phrase : at + phrase + 2]]
            is_first = joined in (["and", "i"], ["and", "me"])
            current = Speaker.WE if is_first else _phrase_stems(tokens[at : at + phrase])
            found += [(current, True)] * phrase
            at += phrase
            continue
        found.append((current, False))
        at += 1
    first = next((one for one, _ in found if one is not None), before)
    return [(one if one is not None else first, inside) for one, inside in found]


def _phrase_stems(phrase: Sequence[Token]) -> frozenset[str]:
    """Return the stems of a noun phrase without determiner and possessor."""
    return frozenset(
        word_stem(token.low.replace("-", ""))
        for token in phrase
        if token.low not in DETERMINERS and not token.low.endswith("'s")
    ) or frozenset(word_stem(token.low.removesuffix("'s")) for token in phrase[-1:])


def _is_subject_pronoun(tokens: Sequence[Token], at: int) -> bool:
    """Say whether a pronoun here is a subject; "it" and "you" are only at the beginning of a clause."""
    low = tokens[at].low
    # "It" mostly means no person: "it's a boy", "it is hard".
    if low in {"it", "it's", "it'll"}:
        return False
    if low == "you":
        return at == 0 or tokens[at - 1].low in BEFORE_SUBJECT
    return low in SUBJECT_PRONOUNS


def _pronoun_subject(low: str, current: Subject) -> Subject:
    """Return whom the pronoun means; a relative "who" continues the noun phrase before it."""
    if low in {"who", "who's"} and current is not None and not isinstance(current, Speaker):
        return current
    return SUBJECT_PRONOUNS[low]


def _may_be_subject(tokens: Sequence[Token], at: int, current: Subject) -> bool:
    """Say whether a noun phrase here can be the clause's subject: none came before, or a reporting verb did."""
    before = tokens[at - 1].low if at else ""
    if before in PREPOSITIONS:
        return False
    return current is None or before in BEFORE_SUBJECT


def _noun_phrase(tokens: Sequence[Token], at: int) -> int:
    """Return how many words of a noun phrase begin here that a verb follows: "my old boss", "Ann Lee"; 0 without."""
    length = 0
    if tokens[at].low in DETERMINERS and at + 1 < len(tokens) and tokens[at + 1].low in QUANTITIES:
        return 0
    if tokens[at].low in DETERMINERS:
        length = 1
        while at + length < len(tokens) and length < LONGEST_PHRASE and not _ends_phrase(tokens[at + length].low):
            length += 1
            if tokens[at + length - 1].low in RELATIONS:
                break
            if length > 1 and at + length < len(tokens) and looks_like_verb(tokens, at + length):
                break
    while at + length < len(tokens) and tokens[at + length].is_name and length < LONGEST_PHRASE:
        length += 1
    if length and tokens[at + length - 1].low.endswith("'s"):
        follows = tokens[at + length].low if at + length < len(tokens) else ""
        # "The team's in Berlin": a contracted "is".
        if follows in PREPOSITIONS or follows in DETERMINERS or follows in {"not", "been", "very", "so", "really"}:
            return length
        while at + length < len(tokens) and length < LONGEST_PHRASE and not _ends_phrase(tokens[at + length].low):
            length += 1
            if looks_like_verb(tokens, at + length):
                break
    after = at + length
    if length < 1 or after >= len(tokens) or (tokens[at].low in DETERMINERS and length < 2):
        return 0
    goes_on = tokens[after].low
    is_verb = goes_on in VERBS - JOINING or goes_on.endswith("n't") or looks_like_verb(tokens, after)
    return length if is_verb or goes_on in SUBJECT_PRONOUNS else 0


def looks_like_verb(tokens: Sequence[Token], at: int) -> bool:
    """Say whether a word that no list knows is a verb by its ending and by what follows it."""
    if at >= len(tokens) or not tokens[at].is_word or tokens[at].is_name:
        return False
    low = tokens[at].low
    if low in VERBS or not low.endswith(("s", "ed")) or low.endswith(("ss", "'s")):
        return False
    if at + 1 >= len(tokens):
        return low.endswith("ed")
    follows = tokens[at + 1]
    return follows.low in PREPOSITIONS or follows.low in DETERMINERS or follows.is_name or follows.text[0].isdigit()


def _ends_phrase(low: str) -> bool:
    """Say whether a lower-case word ends the noun phrase before it."""
    return low in VERBS or low in PREPOSITIONS or low.endswith("n't") or low in SUBJECT_PRONOUNS
