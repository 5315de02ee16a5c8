"""Readings of a sentence: the statements that can be read in it, the longest form of each first.

People seldom say a thing in a sentence of its own. "I live in Austin because of my job, and John, who's a chef, hates
it" holds three statements. Each begins where a clause begins, and ends at its end or, if nothing is recognized up to
there, before what is added to it. Words that a clause leaves out are taken from the clause before it: "lives in London
and works for Lloyd's" says both of the same person, and "my son Alfie, he's eight" says of Alfie that he is eight. Such
a reading is quoted from the words it takes over, so that the quote says whom it is about.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from mnemon.memory.offline.clauses import LONGEST_CLAUSE, LONGEST_SENTENCE, Clause, Sentence
from mnemon.memory.offline.vocabulary import BARE_KINSHIP_WORDS, FEMALE_KIN, KINSHIP_WORDS, MALE_KIN
from mnemon.untrusted_text import reads_outside_text_up_to

MOST_STARTS = 8
"""A sentence with more clauses is a list."""
MOST_ENDS = 4
"""Shorter forms of one clause that are tried."""
_CLOSING = " .!?…,;:-–—)"
_LEAD = (
    r"and|but|plus|so|because|cause|cuz|since|although|though|even though|while|whereas|when|where|until|till|before"
    r"|after|as|if|unless|except|or|not|like|also|then|especially|mostly|mainly|which|who|whose|that"
)
_BREAK = re.compile(
    rf"(?<!\s)(?:\s*[,;:(](?:\s+|(?<=\())|\s*[–—]\s*|\s+-+\s+|\s*\.\.\.+\s*|\s+(?=(?:{_LEAD})\b))"
    rf"(?P<lead>(?:(?:and|but|plus|so|because|also|then|yes|actually|now|well|btw|by the way"
    rf"|honestly)\b[\s,]*){{0,3}})",
    re.IGNORECASE,
)
_OWN = re.compile(r"(?:i|i'm|im|i've|i'd|i'll|my|we|we're|we've|our|we'll)\b(?!')", re.IGNORECASE)
_KIN = "|".join(sorted(KINSHIP_WORDS, key=len, reverse=True))
_NAME = (
    r"(?-i:(?!I\b|My\b|We\b|Our\b|The\b|It\b|He\b|She\b|They\b|This\b|That\b|There\b)(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?"
    r"[A-ZÀ-Þ][\w-]*\w(?: [A-ZÀ-Þ][\w-]*\w)?)"
)
_PERSON = re.compile(
    rf"\b(?:(?:my|our) (?:(?:new|best|older|younger|little|big|eldest|oldest|youngest|twin) )?(?P<kin>{_KIN})\b(?!'s)"
    rf"(?:(?:'s name is|,? is called|,? is named|,? called|,? named|,)? (?P<called>{_NAME}))?"
    rf"|\b(?P<bare>(?-i:{'|'.join(BARE_KINSHIP_WORDS)}))\b(?!'s \w)|(?:name is|name's|called|named) (?P<named>{_NAME})"
    rf"|^(?P<first>{_NAME})(?='s (?:an?|my|in|from|allergic)\b| (?:is|was|has|lives|works|got|handles|runs|just)\b))",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"(?P<who>he|she|they|who)(?P<is>'s|'re)? (?=\w)", re.IGNORECASE)
_PREDICATE = re.compile(
    r"(?!(?:an?|the|his|her|my|our|their|its|no|not|one|same|with|in|at|on|for|to|of|from|this|that|these|those|it"
    r"|there"
    r"|maybe|just|so|then|very|too|if|when|while|because|or|as|like)\b)[a-z]+(?:'t)? \w"
)
_CONTRACTED = re.compile(
    rf"(?P<who>(?:my|our) (?:\w+ )?(?:{_KIN})(?:,? {_NAME})?|{_NAME})'s (?=(?:an?|the|in|from|allergic|obsessed|got"
    rf"|not|my|our"
    r"|now|\d+|vegan|vegetarian|asthmatic|diabetic|retired|married|pregnant|into|been)\b)",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    rf"(?:i|we|(?:my|our) (?:\w+ )?(?:{_KIN})(?:,? {_NAME},?)?|{_NAME})(?=(?:'m|'re|'s)? [a-z])", re.IGNORECASE
)
_SPOILED = re.compile(
    r"^\W*(?:not\b|or\b|wish|i wish|said\b|says\b|they say|he said|she said|according|right\b\W*$|just kidding"
    r"|kidding|jk"
    r"|if\b|unless|until|till\b|i guess|i think|i suppose|i believe|apparently|supposedly|allegedly|maybe|perhaps"
    r"|probably|hopefully|i mean|sorry|or rather|make that|scratch that|correction|no\b(?=[,.!]| wait|\W*$)|in my"
    r" (?:dreams?|head|mind)"
    r"|as if|but not|when i (?:was|were)|back (?:when|then|in)|once upon|for now|at least)",
    re.IGNORECASE,
)
"""What follows a statement and takes it back or leaves it open."""
_ASKED = re.compile(
    r"^\W*(?:(?:so|and|but|anyway) )*(?:do|does|did|is|are|can|could|would|will|should|what|where|how|why|when|who|any"
    r"|which|got)\b(?: \S+){2,}\?",
    re.IGNORECASE,
)
"""A question of its own after a statement; "right?" and "do I?" ask for the statement itself."""
_MENDED = re.compile(
    r"\s*(?:[,;–—-]+|\.\.+)\s*(?:(?:no|oh|well|er|um),? )?(?:(?:wait|sorry),? )?(?:i mean|i meant|sorry|or rather"
    r"|rather"
    r"|make that|scratch that|correction)\b[,:]? (?P<new>\w.*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class ClauseReading:
    """One statement that can be read in a sentence, in one of its forms."""

    clause: Clause
    """Its text is what rules are matched with; its sentence what stands before its end, for the guards."""
    quote_start: int
    """Where in the message its quote begins; before the clause if it takes words over from there."""
    quote_end: int
    verbatim: bool
    """Whether the clause's text stands in the message, so that a part of it can be quoted."""
    rest: str
    """What follows it in its sentence."""

    @property
    def is_intact(self) -> bool:
        """Say whether the rest of the sentence leaves the statement intact: no correction, no doubt, no "right?"."""
        if _SPOILED.search(self.rest):
            return False
        return "?" not in self.rest or _ASKED.search(self.rest) is not None


@dataclass(frozen=True, kw_only=True)
class MentionedPerson:
    """Somebody whom a message has mentioned."""

    text: str
    start: int
    kin: str | None


@reads_outside_text_up_to(LONGEST_SENTENCE)
def mentioned_people(text: str, offset: int = 0) -> list[MentionedPerson]:
    """Return the people whom a sentence mentions, in order; `offset` is where it begins in its message."""
    found = []
    for match in _PERSON.finditer(text):
        kin, name = match["kin"], match["called"] or match["named"] or match["first"]
        shown = f"my {kin} {name}" if kin and name else name or match["bare"] or f"my {kin}"
        found.append(MentionedPerson(text=shown, start=offset + match.start(), kin=kin or match["bare"]))
    return found


def read_sentence(
    sentence: Sentence, before: list[MentionedPerson], known: frozenset[str] = frozenset()
) -> Iterator[list[ClauseReading]]:
    """Yield, for each clause of a sentence, the ways to read it as a statement, the longest first.

    `before` are people mentioned earlier in the message, `known` first names of people on record, in lower case.
    """
    for readings in _read_clauses(sentence, before):
        yield [replace(one, clause=replace(one.clause, known=known)) for one in readings] if known else readings


def _read_clauses(sentence: Sentence, before: list[MentionedPerson]) -> Iterator[list[ClauseReading]]:
    """Yield, for each clause of a sentence, the ways to read it as a statement, the longest first."""
    breaks = list(islice(_BREAK.finditer(sentence.text), 4 * MOST_STARTS))
    starts = [0, *(one.end() for one in breaks)]
    people = [*before, *mentioned_people(sentence.text, sentence.start)]
    subject: tuple[int, str] | None = None
    for start in starts[: MOST_STARTS + 1]:
        text = sentence.text[start:]
        ends = _clause_ends(sentence, breaks, start)
        if found := _SUBJECT.match(text):
            subject = (start, found[0])
        if short := _CONTRACTED.match(text):
            rest, at = start + short.end(), sentence.start + start
            yield [
                _reading_with_subject(sentence, start, rest, end, at, f"{short['who']} is")
                for end in ends
                if end > rest
            ]
        pronoun = _PRONOUN.match(text)
        if pronoun and pronoun["who"].lower() != "they":
            who = _antecedent(pronoun["who"].lower(), people, sentence.start + start)
            if who is not None:
                rest, verb = start + pronoun.end(), " is" if pronoun["is"] else ""
                yield [
                    _reading_with_subject(sentence, start, rest, end, who.start, who.text + verb)
                    for end in ends
                    if end > rest
                ]
        elif start == 0 or found is not None or _OWN.match(text) or text[:1].isupper() or text[:4].lower() == "the ":
            yield [_reading_as_written(sentence, start, end) for end in ends]
            yield from _self_corrections(sentence, start)
        elif subject is not None and _PREDICATE.match(text) and _joins_predicates(sentence.text[:start]):
            at = sentence.start + subject[0]
            yield [_reading_with_subject(sentence, start, start, end, at, subject[1]) for end in ends]


def _joins_predicates(before: str) -> bool:
    """Say whether a conjunction or comma before a clause lets it share the previous clause's subject."""
    return re.search(r"(?:\band|\bbut|,)\s*(?:also |then |now )?$", before, re.IGNORECASE) is not None


def _clause_ends(sentence: Sentence, breaks: list[re.Match[str]], start: int) -> list[int]:
    """Return the possible ends of a clause, longest first: breaks up to the next clause with a subject of its own."""
    ends: list[int] = []
    for one in breaks:
        if one.start() <= start:
            continue
        ends.append(one.start())
        if _OWN.match(sentence.text, one.end()) or _PRONOUN.match(sentence.text, one.end()):
            break
    else:
        ends.append(len(sentence.text))
    return [*ends[:-1][: MOST_ENDS - 1], ends[-1]][::-1]


def _reading_as_written(sentence: Sentence, start: int, end: int) -> ClauseReading:
    """Return the words from start to end of a sentence as a statement, unchanged."""
    text = sentence.text[start:end].rstrip(_CLOSING)[: LONGEST_CLAUSE + 1]
    return _make_reading(sentence, start, start + len(text), text, sentence.start + start, verbatim=True)


def _reading_with_subject(
    sentence: Sentence, start: int, rest: int, end: int, quoted_from: int, words: str
) -> ClauseReading:
    """Return a clause as a statement with the subject `words` taken from an earlier clause."""
    piece = sentence.text[rest:end].rstrip(_CLOSING)
    return _make_reading(sentence, start, rest + len(piece), f"{words} {piece}", quoted_from, verbatim=False)


def _make_reading(
    sentence: Sentence, start: int, end: int, text: str, quoted_from: int, *, verbatim: bool
) -> ClauseReading:
    """Return a clause as a statement that rules can match, with where to quote it and the rest of its sentence."""
    clause = Clause(
        start=sentence.start + start,
        text=text,
        sentence=sentence.text[:end].strip(),
        opens=start == 0,
        careless=sentence.careless,
    )
    return ClauseReading(
        clause=clause,
        quote_start=quoted_from,
        quote_end=sentence.start + end,
        verbatim=verbatim,
        rest=sentence.text[end:],
    )


def _self_corrections(sentence: Sentence, start: int) -> Iterator[list[ClauseReading]]:
    """Yield the corrected readings of a statement that corrects itself: "I live in Austin, I mean Boston"."""
    found = _MENDED.search(sentence.text, start)
    if found is None or found["new"].startswith("\x00"):
        return
    said, new = sentence.text[start : found.start()].split(" "), found["new"].rstrip(_CLOSING)
    new = _BREAK.split(new, maxsplit=1)[0].rstrip(_CLOSING)
    end = found.start("new") + len(new)
    for kept in range(len(said) - 1, max(0, len(said) - 4), -1):
        text = f"{' '.join(said[:kept])} {new}"
        yield [_make_reading(sentence, start, end, text, sentence.start + start, verbatim=False)]


def _antecedent(pronoun: str, people: list[MentionedPerson], at: int) -> MentionedPerson | None:
    """Return the one person mentioned earlier whom a pronoun can stand for; None if none or several can."""
    before = [one for one in people if one.start < at]
    if not before or pronoun == "they":
        return None
    if pronoun == "who":
        # Only the person right before it.
        return before[-1] if at - before[-1].start - len(before[-1].text) <= 6 else None
    unfit = FEMALE_KIN if pronoun == "he" else MALE_KIN
    fitting = [one for one in before if (one.kin or "").lower() not in unfit]
    names = {one.text.split()[-1] for one in fitting}
    return fitting[-1] if len(names) == 1 else None
