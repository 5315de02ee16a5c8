"""What is to be done: the deed that a todo names, however it is worded, and whether a report tells of it.

"I'll call mom tomorrow", "I need to call mom" and "Phone my mother" name one deed: to call, and whom. When, how surely
and in which mood it was said is no part of it. A report tells of a deed by its verb ("called", "is paid") or by a word
that ends any deed ("finished", "is done"), and by its objects; how well it fits is a share of the words they have in
common.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from mnemon.evidence.stems import stem
from mnemon.memory.words import terms
from mnemon.untrusted_text import reads_outside_text, reads_outside_text_up_to

LONGEST_DEED = 2_000
"""A longer text names no deed."""
_LEAST_FIT = 0.5
"""How well a report must fit a todo to tell of it, 0 to 1."""
_MARGIN = 0.15
"""How much better than the next the best fit must be."""
_OPENING = re.compile(
    r"^\W*(?:(?:(?:please|also|ok|okay|and|so|then|but|oh|well|yes|todo|to-do|to do|reminder|note to self|first"
    r"|next)\b[\s,:]*)*"
    r"(?:(?:i|we|the person|the user|user|she|he|they)\b[\s]*)?"
    r"(?:(?:'ll|will|'m|am|are|is|'re|still|really|also|definitely|just|should|shall|must|need to|needs to|have to"
    r"|has to"
    r"|'ve got to|have got to|got to|gotta|ought to|want to|wants to|would like to|plan to|plans to|going to|gonna"
    r"|trying to|promised to|promised \w+ to|promises to|agreed to|committed to|intend to|remember to|supposed to"
    r"|remind me to|remind me about|don't let me forget to|don't forget to|do not forget to|make sure to|to)\b[\s]*)*)",
    re.IGNORECASE,
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_TIME = re.compile(
    rf"\b(?:(?:by|on|before|until|till|this|next|every|the|of|in|at|around|from|after|for)\s+)*"
    rf"(?:today|tonight|tomorrow|yesterday|{_DAY}s?|week(?:end|s)?|month|afternoon|evening|morning|night|noon"
    rf"|midnight|lunch"
    r"|january|february|march|april|june|july|august|september|october|november|december"
    r"|(?:the )?\d{1,2}(?:st|nd|rd|th)|\d{1,2}(?::\d\d)?\s?(?:am|pm|o'clock)|soon|later|asap|eventually|end of (?:the"
    r" )?\w+"
    r"|(?:a|an|\d+|two|three|few) (?:minutes?|hours?|days?|weeks?))\b",
    re.IGNORECASE,
)
_SAME_WORDS = (
    "call phone ring telephone", "buy purchase", "mother mom mum mama", "father dad papa", "email mail", "mail post",
    "fix repair mend", "finish complete", "return bring", "clean tidy", "text message", "book reserve", "meet see",
    "photo picture", "car automobile", "doctor gp", "grandmother grandma", "grandfather grandpa", "rubbish trash",
    "ticket tickets", "invoice invoices", "buy get", "buy pick", "sort organize", "write draft", "send submit",
    "arrange organize", "talk speak",
)  # fmt: skip
"""Words that name the same deed or thing, the first for all."""


def _canonical_stems() -> dict[str, str]:
    """Return a map from the stem of each synonym in `_SAME_WORDS` to the stem that represents it."""
    found: dict[str, str] = {}
    for line in _SAME_WORDS:
        first, *others = (stem(word) for word in line.split())
        for other in others:
            found.setdefault(other, found.get(first, first))
    return found


_CANONICAL = _canonical_stems()
_PAST = {
    "sent": "send", "went": "go", "bought": "buy", "paid": "pay", "wrote": "write", "written": "write",
    "made": "make", "took": "take", "taken": "take", "met": "meet", "ran": "run", "spoke": "speak",
    "spoken": "speak", "got": "get", "did": "do", "done": "do", "gave": "give", "given": "give", "told": "tell",
    "read": "read", "rang": "ring", "found": "find", "brought": "bring", "drove": "drive", "saw": "see",
    "seen": "see", "sold": "sell", "built": "build", "chose": "choose", "chosen": "choose", "drew": "draw",
    "flew": "fly", "swam": "swim", "left": "leave", "lent": "lend", "put": "put", "cut": "cut", "set": "set",
    "sewn": "sew", "hung": "hang", "dug": "dig", "fed": "feed", "held": "hold", "taught": "teach",
    "threw": "throw", "woke": "wake", "swept": "sweep", "hid": "hide", "won": "win", "spent": "spend",
}  # fmt: skip
"""Irregular past forms, which the stemmer does not know."""
_ENDING_STEMS = frozenset(map(stem, ("do", "done", "sort", "handle", "settle", "organize")))
"""Verbs that end any deed."""
_FINISHING_STEMS = frozenset(map(stem, ("finish", "complete", "wrap")))
"""Verbs that end what is made or worked on, but say of nothing that it was sent, paid or said."""
_HANDING_OVER = frozenset(
    map(
        stem,
        ("send", "submit", "call", "pay", "buy", "return", "deliver", "email", "mail", "tell", "ask", "give", "publish",
         "post", "share", "ship", "order", "book", "cancel", "text", "file", "hand", "upload", "sign"),
    )
)  # fmt: skip
"""Deeds that a finished thing is not yet."""
_NO_OBJECT = frozenset(
    terms(
        "up out off back down it that this one all again finally just now already today myself some really over anymore"
        " after longer need decided going instead least also time thing any more"
    )
)


@dataclass(frozen=True, kw_only=True)
class Deed:
    """What is to be done, or was."""

    verb: str
    """The stem of its verb; empty if it names none."""
    objects: frozenset[str]
    """The stems of what it is done with or for."""


@lru_cache(maxsize=4096)
def _canonical_stem(word: str) -> str:
    """Return the stem that represents a word and its synonyms."""
    root = stem(_PAST.get(word, word))
    return _CANONICAL.get(root, root)


@reads_outside_text_up_to(LONGEST_DEED)
def deed_of(content: str) -> Deed:
    """Return the deed that a todo names, its verb and objects, without time and modality ("tomorrow", "I need to")."""
    text = content[:LONGEST_DEED].replace("’", "'")
    opening = _OPENING.match(text)
    bare = _TIME.sub(" ", text[opening.end() if opening else 0 :])
    words = [_canonical_stem(word) for word in terms(bare, bare=True) or terms(text, bare=True)]
    return Deed(verb=words[0] if words else "", objects=frozenset(words[1:]) - _NO_OBJECT)


@reads_outside_text_up_to(LONGEST_DEED)
def is_same_deed(one: str, other: str) -> bool:
    """Say whether two todos name the same deed."""
    first, second = deed_of(one), deed_of(other)
    return bool(first.verb) and first == second


@dataclass(frozen=True, kw_only=True)
class Report:
    """What somebody says is over."""

    verbs: frozenset[str]
    """The stems of what was done; empty for something that is only called off."""
    objects: frozenset[str]


@reads_outside_text
def make_report(verb: str, rest: str) -> Report:
    """Return what somebody reports as done, from a verb in the past and the words after it."""
    bare = _TIME.sub(" ", rest[:LONGEST_DEED])
    objects = frozenset(_canonical_stem(word) for word in terms(bare, bare=True)) - _NO_OBJECT
    return Report(verbs=frozenset(_canonical_stem(word) for word in verb.lower().split()), objects=objects)


@reads_outside_text
def closing_fit(report: Report, content: str) -> float:
    """Return how well a report closes a todo: from 0, another deed, to 1, exactly this one."""
    deed = deed_of(content)
    if report.verbs:
        same = deed.verb in report.verbs
        finished = bool(report.verbs & _FINISHING_STEMS) and deed.verb not in _HANDING_OVER
        if not same and not finished and not report.verbs & _ENDING_STEMS:
            return 0.0
        if not deed.objects:
            return 1.0 if same and not report.objects else 0.0
    named = deed.objects or frozenset({deed.verb})
    told = report.objects - ({deed.verb} - named)
    shared = named & told
    return 2 * len(shared) / (len(named) + len(told)) if shared else 0.0


@reads_outside_text
def fitting_todos(report: Report, contents: Sequence[str]) -> list[str]:
    """Return the todos that a report may close: only the best if it is clearly better, else all nearly as good."""
    fits = sorted(((closing_fit(report, content), content) for content in contents), key=lambda one: -one[0])
    best = fits[0][0] if fits else 0.0
    if best < _LEAST_FIT:
        return []
    return [content for fit, content in fits if fit > best - _MARGIN and fit >= _LEAST_FIT]
