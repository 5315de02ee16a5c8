"""Of whom and of whose things a statement speaks: the entity it names, the owner it leaves out, who acts on whom."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from mnemon.evidence.added_words import REFERRING
from mnemon.evidence.clause import ReadWord
from mnemon.evidence.statement import QuotedSentence, StatementSubject
from mnemon.evidence.vocabulary import FREE, FUNCTION_WORDS, PRONOUNS, is_supported_by, stem_list, word_stem
from mnemon.turn import Role

LONGEST_SEARCHED = 20_000
"""Characters of a quoted message in which the entity's name is sought."""
_OWNER = re.compile(r"\b(?P<who>[^\W\d_]{2,30})'s (?P<thing>[^\W\d_]{2,30})")
_UNITS_OF_TIME = stem_list("time_unit") | frozenset({"today", "tomorrow", "yesterday"})
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_GRAMMAR = stem_list("function")
_RELATIONS = stem_list("relation")
_SPEAKER = PRONOUNS["first"] | PRONOUNS["we"] | frozenset({"my", "our", "me", "us", "mine", "ours"})
_OTHER_PEOPLE = PRONOUNS["other"] | frozenset({"him", "her", "them", "his", "hers", "their", "theirs", "one"})


def label_fault(
    subject: StatementSubject, label: frozenset[str], names: frozenset[str], sentences: Sequence[QuotedSentence]
) -> str | None:
    """Return the fault where the quotes do not speak of the entity: they nowhere name it, or mean the speaker alone."""
    if not subject.entity:
        return None
    told = names | FREE | stems_of(one.quotation.passage.text[:LONGEST_SEARCHED] for one in sentences)
    for one in sorted(label - _GRAMMAR):
        if one not in told and not any(is_supported_by(one, other) for other in told):
            return f"“{subject.entity}” is mentioned nowhere in the quoted message"
    own_name = label & stems_of(subject.speaker)
    if subject.entity_is_person and not own_name and all(_is_about_speaker(one, label) for one in sentences):
        return f"the quote speaks of the speaker and not of “{subject.entity}”"
    return None


def _is_about_speaker(one: QuotedSentence, label: frozenset[str]) -> bool:
    """Say whether a person's sentence has I, we or my, and nobody else: no name of the entity, no he or she, no kin."""
    if one.quotation.passage.role is not Role.USER:
        return False
    others = (word.text in _OTHER_PEOPLE or word.stem in label | _RELATIONS for word in one.words)
    return any(word.text in _SPEAKER for word in one.words) and not any(others)


def stranger_fault(
    claimed: Sequence[ReadWord], label: frozenset[str], names: frozenset[str], sentences: Sequence[QuotedSentence]
) -> str | None:
    """Return the fault where the quote names somebody other than the statement's entity; None without."""
    own = {word.stem for word in claimed}
    if not label & own:
        return None
    for one in sentences:
        quoted = [word for word in one.words if one.is_quoted(word)]
        if any(is_supported_by(word, said.stem) for said in one.words for word in label):
            return None
        if any(said.text in REFERRING for said in quoted):
            return None
        if other := next((said for said in quoted if said.is_name and said.stem not in own | names | label), None):
            return f"the quote names “{other.text}”"
    return None


def owner_fault(claimed: Sequence[ReadWord], names: frozenset[str], sentences: Sequence[QuotedSentence]) -> str | None:
    """Return the fault where the statement omits whose thing the quote speaks of, "Jo's Volvo"; None without."""
    own = {word.stem for word in claimed if not word.is_function_word}
    for one in sentences:
        for match in _OWNER.finditer(one.read.replace("’", "'")):
            who, thing = word_stem(match["who"].lower()), word_stem(match["thing"].lower())
            if FUNCTION_WORDS & {match["who"].lower(), match["thing"].lower()} or thing not in own:
                continue
            if who in names | FREE | _UNITS_OF_TIME:
                continue
            if not any(is_supported_by(word, who) for word in own):
                return f"the quote speaks of “{match[0]}”"
    return None


def stems_of(names: Iterable[str | None]) -> frozenset[str]:
    """Return the stems of all words in the names."""
    words = (word.lower().replace("’", "'") for name in names if name for word in _WORD.findall(name))
    return frozenset(word_stem(word.removesuffix("'s").replace("-", "")) for word in words)


def order_fault(claimed: Sequence[ReadWord], sentences: Sequence[QuotedSentence]) -> str | None:
    """Return the fault where two names swap roles, "Bob owes Ann" for "Ann owes Bob"; None without."""
    names = [word for word in claimed if word.is_name]
    words = {word.text for word in claimed}
    if len(names) < 2 or words & {"by", "with", "or", "both"} or not names[0].in_subject:
        return None
    for one in sentences:
        places = {word.stem: word.start for word in reversed(one.words)}
        for left, right in pairwise(names):
            if left.stem in places and right.stem in places and places[left.stem] > places[right.stem]:
                between = {w.stem for w in claimed if left.start < w.start < right.start and not w.is_function_word}
                if between & set(places) and not {"by", "with"} & {w.text for w in one.words}:
                    return f"the quote names “{right.text}” before “{left.text}”: they may have changed places"
    return None
