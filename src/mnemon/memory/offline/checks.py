"""Checks of a rule's groups: whether the text that a group caught is the kind of thing that the rule means."""

import re

from mnemon.memory.entities.lexicon import KNOWN_NAMES
from mnemon.memory.offline.clauses import Clause
from mnemon.memory.offline.vocabulary import (
    LOOSE_KINSHIP_WORDS,
    NOT_ALLERGENS,
    NOT_NAMES,
    NOT_OWN_NAMES,
    NOT_PLACES,
    OCCUPATIONS,
    SHORT_PLACES,
)

_TITLE = re.compile(r"^(?:Dr|Mr|Mrs|Ms|Prof)\.? ")
_NO_OBJECT = re.compile(
    r"^(?:to$|it|its|it's|this|that|these|those|you|your|yours|him|his|her|them|their|me|us|how|when|where|what|why"
    r"|who|if|one"
    r"|to (?:see|know|hear|be|think|say|have|get|go|do|talk|ask)|being|seeing|having|the (?!sea\b|ocean"
    r"|mountains?|outdoors|"
    r"beach|countryside|theat|cold\b|heat\b|rain|city\b|(?-i:[A-Z]))|both|either|all of|some of|such|so|as"
    r"|waiting|nothing"
    r"|everything|something|someone|anything|doing|making it|my (?:new|old)|option|number)\b|^[^a-zA-ZÀ-ÿ]",
    re.IGNORECASE,
)
_CONVERSATION_WORD = re.compile(r"\b(?:you|your|yours|it|there|here|them|that|this|those|these|him)\b", re.IGNORECASE)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = re.compile(
    rf"^(?:on |in |the )*(?:{_MONTH}\.?(?: (?:the )?\d{{1,2}}(?:st|nd|rd|th)?)?(?:,? \d{{4}})?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\.?(?:,? \d{{4}})?|\d{{1,4}}[./-]\d{{1,2}}(?:[./-]\d{{2,4}})?"
    rf"|\d{{4}})\Z",
    re.IGNORECASE,
)
_WHEN = re.compile(
    rf"^(?:(?:on|in|by|at|this|next|the|end of|early|mid|late|around|coming)[ -])*(?:{_MONTH}\b.*|\d.*|(?:mon"
    rf"|tues|wednes|thurs"
    r"|fri|satur|sun)day.*|(?:week|month|year|quarter|spring|summer|fall|autumn|winter|q[1-4])\b.*|tomorrow"
    r"|tonight)\Z",
    re.IGNORECASE,
)


def is_place(caught: str, clause: Clause) -> bool:
    """Say whether a caught text is a place's name: with a capital, or any plain word in a careless message."""
    first = caught.split(maxsplit=1)[0].rstrip(",.")
    if first.lower() in NOT_NAMES or first.lower() in NOT_PLACES:
        return False
    # "I live in HR": short words in capitals are departments more often than places.
    if first.isupper() and len(first) < 4 and first not in SHORT_PLACES:
        return False
    return first[0].isupper() or (clause.careless and len(caught.split()) < 4)


def is_organization(caught: str, clause: Clause) -> bool:
    """Say whether a caught text is an organization: with a capital or an article, as in "a bank"."""
    bare = re.sub(r"^(?:the|a|an) ", "", caught)
    if bare.split()[0].lower() in (
        "night",
        "home",
        "nights",
        "myself",
        "me",
        "them",
        "us",
        "it",
        "least",
        "all",
        "you",
    ):
        return False
    if any(word[0].isupper() for word in bare.split()[:3]):
        return True
    return clause.careless or caught != bare


def is_person_name(caught: str, clause: Clause) -> bool:
    """Say whether a caught text is a person's name: known, or with a capital that its position cannot explain."""
    if _TITLE.match(caught):
        return True
    words = caught.split()
    if any(word.lower().removesuffix("'s") in NOT_NAMES for word in words):
        return False
    known = words[0].lower() in KNOWN_NAMES
    # At the start of a sentence any word has a capital.
    inside = not (clause.opens and clause.text.startswith(caught))
    return known or ((inside or len(words) > 1) and words[0][0].isupper())


def is_own_name(caught: str, clause: Clause) -> bool:
    """Say whether a caught text is the person's own name, after "my name is" or "call me"."""
    words = caught.split()
    if any(word.lower() in NOT_NAMES | NOT_OWN_NAMES for word in words):
        return False
    return words[0][0].isupper() or (clause.careless and words[0] in KNOWN_NAMES)


def is_known_name(caught: str, clause: Clause) -> bool:
    """Say whether a caught text is certainly the person's own name, after "I'm"."""
    return is_own_name(caught, clause) and caught.split(maxsplit=1)[0].lower() in KNOWN_NAMES


def is_kin_name(caught: str, clause: Clause) -> bool:
    """Say whether a caught text is a name in "X is my sister"; an unknown one only after a strict kinship word."""
    if is_person_name(caught, clause):
        return True
    kin = clause.text.split()[-1].lower()
    plain = all(word.lower() not in NOT_NAMES and word[0].isupper() for word in caught.split())
    return plain and kin not in LOOSE_KINSHIP_WORDS


def is_occupation(caught: str, clause: Clause) -> bool:
    """Say whether a caught text is an occupation, by its last word before any "at", "in" or "for"."""
    if re.search(r"\bin my (?:free|spare) time\b|\bstudent of\b", caught):
        return False
    head = re.split(r"\s+(?:at|in|for|with|from|by|of|who|on|and|working|specializ\w+|based)\b|,", caught)[0].split()
    return bool(head) and head[-1].lower().removesuffix("s") in OCCUPATIONS and len(head) <= 5


def is_thing(caught: str, clause: Clause) -> bool:
    """Say whether a caught text is something to like: no pronoun, not this conversation, at most 12 words."""
    return _NO_OBJECT.search(caught) is None and _CONVERSATION_WORD.search(caught) is None and len(caught.split()) <= 12


def is_allergen(caught: str, clause: Clause) -> bool:
    """Say whether a caught text is something to be allergic to, not said in jest."""
    return is_thing(caught, clause) and not NOT_ALLERGENS & set(caught.lower().split())


def is_employer(caught: str, clause: Clause) -> bool:
    """Say whether a caught text is an organization's name after "I joined": with a capital, not a person's."""
    first = caught.split(maxsplit=1)[0]
    return first[0].isupper() and first.lower() not in KNOWN_NAMES and first.lower() not in NOT_NAMES


def has_figure(caught: str, clause: Clause) -> bool:
    """Say whether a caught text contains a digit."""
    return any(letter.isdigit() for letter in caught)


def is_date(caught: str, clause: Clause) -> bool:
    """Say whether a caught text is a date."""
    return _DATE.match(caught) is not None


def is_time(caught: str, clause: Clause) -> bool:
    """Say whether a caught text is a point in time, such as "next Monday" or "in March"."""
    return _WHEN.match(caught) is not None


def is_age(caught: str, clause: Clause) -> bool:
    """Say whether a caught number is an age from 1 to 119."""
    return 0 < int(caught) < 120
