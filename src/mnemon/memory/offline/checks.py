"""Checks of a rule's groups: whether the text that a group caught is the kind of thing that the rule means."""

import re

from mnemon.memory.entities.lexicon import KNOWN_NAMES
from mnemon.memory.offline.clauses import Clause
from mnemon.memory.offline.vocabulary import (
    FOODS,
    LOOSE_KINSHIP_WORDS,
    NOT_ALLERGENS,
    NOT_NAMES,
    NOT_OWN_NAMES,
    NOT_PLACES,
    OCCUPATIONS,
    SHORT_PLACES,
)


def _words_of(text: str) -> list[str]:
    """Return the words of a text, in order."""
    return text.split()


_TITLE = re.compile(r"^(?:Dr|Mr|Mrs|Ms|Prof)\.? ")
_NO_OBJECT = re.compile(
    r"^(?:to$|it|its|it's|this|that|these|those|you|your|yours|him|his|her|them|their|me|us|how|when|where|what|why"
    r"|who|if|one"
    r"|to (?:see|know|hear|be|think|say|have|get|go|do|talk|ask)|being|seeing|having|the (?!sea\b|ocean"
    r"|mountains?|outdoors|"
    r"beach|countryside|theat|cold\b|heat\b|rain|city\b|(?-i:[A-Z]))|both|either|all of|some of|such|so|as"
    r"|waiting|nothing"
    r"|everything|something|someone|anything|myself|yourself|doing|making it|my (?:new|old)|option|number)\b"
    r"|^[^a-zA-ZÀ-ÿ]",
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
    """Say whether a matched text is a place's name: with a capital, or any plain word in a careless message."""
    first = caught.split(maxsplit=1)[0].rstrip(",.")
    if first.lower() in NOT_NAMES or first.lower() in NOT_PLACES:
        return False
    # "I live in HR": short words in capitals are departments more often than places.
    if first.isupper() and len(first) < 4 and first not in SHORT_PLACES:
        return False
    return first[0].isupper() or (clause.careless and len(caught.split()) < 4)


def is_organization(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is an organization: with a capital or an article, as in "a bank"."""
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
    """Say whether a matched text is a person's name: known, or with a capital that its position cannot explain."""
    if _TITLE.match(caught):
        return True
    words = caught.split()
    if words[0].lower() in _MACHINES:
        return False
    if any(word.lower().removesuffix("'s") in NOT_NAMES for word in words):
        return False
    known = words[0].lower() in KNOWN_NAMES or words[0].lower() in clause.known
    # At the start of a sentence any word has a capital.
    inside = not (clause.opens and clause.text.startswith(caught))
    return known or ((inside or len(words) > 1) and words[0][0].isupper())


def is_own_name(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is the person's own name, after "my name is" or "call me"."""
    words = caught.split()
    if any(word.lower() in NOT_NAMES | NOT_OWN_NAMES for word in words):
        return False
    return words[0][0].isupper() or (clause.careless and words[0] in KNOWN_NAMES)


def is_known_name(caught: str, clause: Clause) -> bool:
    """Say whether a matched text after "I'm" is certainly the person's own name."""
    return is_own_name(caught, clause) and caught.split(maxsplit=1)[0].lower() in KNOWN_NAMES


def is_kin_name(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is a name in "X is my sister"; an unknown one only after a strict kinship word."""
    if is_person_name(caught, clause):
        return True
    kin = clause.text.split()[-1].lower()
    plain = all(word.lower() not in NOT_NAMES and word[0].isupper() for word in caught.split())
    return plain and kin not in LOOSE_KINSHIP_WORDS


def is_occupation(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is an occupation, by its last word before any "at", "in" or "for"."""
    if re.search(r"\bin my (?:free|spare) time\b|\bstudent of\b", clause.text):
        return False
    head = re.split(r"\s+(?:at|in|for|with|from|by|of|who|on|and|working|specializ\w+|based)\b|,", caught)[0].split()
    if not head or len(head) > 5:
        return False
    last = head[-1].lower().removesuffix("s")
    return last in OCCUPATIONS or last.endswith(("ologist", "ographer", "atrician", "economist"))


def is_thing(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is a thing one can like: no pronoun, not this conversation, at most 12 words."""
    return _NO_OBJECT.search(caught) is None and _CONVERSATION_WORD.search(caught) is None and len(caught.split()) <= 12


def is_allergen(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is something to be allergic to, not said in jest."""
    return is_thing(caught, clause) and not NOT_ALLERGENS & set(caught.lower().split())


def is_employer(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is an organization's name after "I joined": with a capital, not a person's."""
    first = caught.split(maxsplit=1)[0]
    return first[0].isupper() and first.lower() not in KNOWN_NAMES and first.lower() not in NOT_NAMES


def has_figure(caught: str, clause: Clause) -> bool:
    """Say whether a matched text contains a digit."""
    return any(letter.isdigit() for letter in caught)


def is_date(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is a date."""
    return _DATE.match(caught) is not None


def is_time(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is a point in time, such as "next Monday" or "in March"."""
    return _WHEN.match(caught) is not None


def is_age(caught: str, clause: Clause) -> bool:
    """Say whether a matched figure is an age from 1 to 119."""
    return 0 < int(caught) < 120


_LANGUAGES = frozenset(
    _words_of(
        "afrikaans albanian amharic arabic armenian basque bengali bulgarian cantonese catalan chinese croatian czech"
        " danish"
        " dutch english estonian farsi finnish french georgian german greek gujarati hausa hebrew hindi hungarian"
        " icelandic"
        " igbo indonesian irish italian japanese korean latin latvian lithuanian malay mandarin maori marathi mongolian"
        " nepali norwegian persian polish portuguese punjabi romanian russian serbian sinhala slovak slovenian somali"
        " spanish"
        " swahili swedish tagalog tamil telugu thai tibetan turkish ukrainian urdu vietnamese welsh xhosa yiddish"
        " yoruba zulu"
    )
)
_CRAFTS = frozenset(
    _words_of(
        "guitar piano violin cello drums flute bass saxophone sax trumpet clarinet ukulele harp chess pottery knitting"
        " programming coding woodworking welding language accordion banjo"
    )
)
_MACHINES = frozenset(_words_of("siri alexa cortana chatgpt claude gemini copilot google bixby hal"))
"""Names that people give as somebody's who is nobody."""
_NOT_HERE = frozenset(
    _words_of(
        "over right up down out back still come not look same get stay anyone somebody someone nothing everything"
        " sitting"
        " waiting being living new only also are am was were in from lunch dinner snow rain raining sunny hot cold"
        " old yes"
        " student teacher mom dad long short first born raised user customer fan"
    )
)
"""Words before "here" that are no names."""
_CHILD_FIGURES = frozenset(_words_of("a an one two three four five six seven eight nine ten twin"))
_AGE_WORDS = frozenset(
    _words_of(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
        " eighteen"
        " nineteen twenty"
    )
)
_PLACES_OF_WORK = frozenset(
    _words_of(
        "bank hospital school university college restaurant cafe café bakery shop store startup company firm agency"
        " clinic"
        " library museum nonprofit charity factory warehouse gym hotel bar pub studio salon garage farm pharmacy"
        " brewery"
        " bookstore supermarket call-centre kindergarten daycare nursery place fintech newspaper theatre theater"
        " studio lab"
    )
)
_TECHNOLOGIES = frozenset(
    _words_of(
        "django rails flutter react vue angular svelte rust python go java kotlin swift typescript javascript laravel"
        " php"
        " flask fastapi node elixir phoenix spring dotnet postgres mysql mongodb"
    )
)
_SUBJECTS_OF_STUDY = re.compile(
    r"\b(?:law|medicine|nursing|biology|chemistry|physics|math(?:s|ematics)?|history|engineering|economics|art|music"
    r"|design"
    r"|architecture|computer science|compsci|psychology|philosophy|business|journalism|education|dentistry|pharmacy"
    r"|literature"
    r"|linguistics|politics|geography|\w+ology|\w+ics)\b",
    re.IGNORECASE,
)
_NOT_AVOIDED = re.compile(
    r"\b(?:out|enough|well|much|another|anything|properly|there|here|right|until|now|lunch yet|that|this|it|today"
    r"|tonight)\b",
    re.IGNORECASE,
)
_TEMPORARY_ILLNESS = re.compile(r"\b(?:cold|flu|headache|fever)\b", re.IGNORECASE)


def is_food(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is something to eat or drink that people avoid."""
    words = caught.lower().split()
    return 0 < len(words) <= 4 and words[-1] in FOODS and not _NOT_AVOIDED.search(caught)


def is_avoided(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is something that a person may avoid eating: a thing of few words."""
    return len(caught.split()) <= 3 and is_thing(caught, clause) and not _NOT_AVOIDED.search(caught)


def is_lasting_condition(caught: str, clause: Clause) -> bool:
    """Say whether a matched illness is chronic rather than passing."""
    return not _TEMPORARY_ILLNESS.search(caught)


def is_language_list(caught: str, clause: Clause) -> bool:
    """Say whether a matched text names languages only."""
    names = [word for word in re.findall(r"[^\W\d_]+", caught) if word[0].isupper()]
    return bool(names) and all(name.lower() in _LANGUAGES for name in names)


def is_language_or_craft(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is a language, an instrument or a craft to learn."""
    return caught.lower().split()[-1] in _LANGUAGES | _CRAFTS


def counts_children(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is an exact number of children: "two kids", not "some kids"."""
    first = caught.split(maxsplit=1)[0].lower()
    return first in _CHILD_FIGURES or (first.isdigit() and int(first) < 20)


def is_spoken_age(caught: str, clause: Clause) -> bool:
    """Say whether a matched figure or number word is an age from 1 to 119."""
    return caught.lower() in _AGE_WORDS or (caught.isdigit() and 0 < int(caught) < 120)


def is_given_name(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is the name with which a message introduces its author: "Greg here"."""
    return is_known_name(caught, clause) or (
        clause.opens and caught[0].isupper() and caught.lower() not in NOT_NAMES | _NOT_HERE
    )


def is_introduced(caught: str, clause: Clause) -> bool:
    """Say whether a matched text may be the author's name because an occupation follows it."""
    return clause.opens and len(caught) > 2 and caught.lower() not in NOT_NAMES | _NOT_HERE


def introduces_oneself(caught: str, clause: Clause) -> bool:
    """Say whether a matched text, after a name, introduces its author: an age, occupation, pronouns or studies."""
    if caught.strip().isdigit():
        return True
    return is_occupation(caught, clause) or re.match(r"(?:he|she|they)/|\w+[- ]year ", caught) is not None


def is_workplace(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is a kind of place where people work."""
    words = caught.lower().split()
    return len(words) <= 5 and words[-1].removesuffix("s") in _PLACES_OF_WORK


def is_named(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is a proper name: capitalized, or any word in a message without capitals."""
    return any(word[0].isupper() for word in caught.split()) or (clause.careless and len(caught.split()) < 4)


def has_capital(caught: str, clause: Clause) -> bool:
    """Say whether a matched text has a capitalized word or a figure, as names of makes and models have."""
    return any(word[0].isupper() or word[0].isdigit() for word in caught.split())


def is_technology(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is a language or framework that programs are written in."""
    return caught.lower() in _TECHNOLOGIES


def is_study(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is a subject of study."""
    return _SUBJECTS_OF_STUDY.search(caught) is not None


def is_taste(caught: str, clause: Clause) -> bool:
    """Say whether a matched text is a thing to like or dislike, and not the person themselves."""
    return is_thing(caught, clause) and caught.split(maxsplit=1)[0].lower() not in ("myself", "to", "my", "not")
