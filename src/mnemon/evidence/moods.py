"""Moods: the signs by which a sentence says that something is not simply true now.

Each table is a list of patterns, separated by " / " or a line break, and is extended by adding one.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum


class Mood(StrEnum):
    """How something is said, where it is not simply asserted as true now."""

    QUESTION = "question"
    WISH = "wish"
    HYPOTHETICAL = "hypothetical"
    REPORT = "report"
    PAST = "past"
    FUTURE = "future"


def pattern_of(table: str) -> re.Pattern[str]:
    """Return a compiled pattern that matches any phrase of the table as whole words, in any case."""
    parts = (part.strip() for line in table.splitlines() for part in line.split(" / "))
    return re.compile(rf"(?<!\w)(?:{'|'.join(filter(None, parts))})(?!\w)", re.IGNORECASE)


IDIOMS = pattern_of(
    r"""
    not only / not just / not to mention / no doubt / no wonder / no problem / no worries / can(?:no|')t wait
    why not / couldn't agree more / nothing but / not bad
    if you(?:'re| are)? (?:wonder|curious|ask|must know|didn't know)\w* / as if / if not / no matter
    if possible / if (?:i|we|you|they) can / if i can avoid it / as far as / will do
    would be (?:great|nice|fine|good)
    want(?:ed)? you to know / like i said / as i said / i(?:'d| would) say / i must say
    """
)
"""Phrases whose words do not mean what they mean alone."""
CEASING_PHRASES = pattern_of(
    r"""
    no longer / any longer / not any ?more / any ?more / used to / gave up / given up / in the past / back when
    when i was / once (?:was|had)
    """
)
"""Phrases that say that something is over."""
ANY_MORE = pattern_of("any ?more / any longer")
"""What ends something that was named before it."""
_SIGNS: tuple[tuple[Mood, re.Pattern[str]], ...] = (
    (
        Mood.WISH,
        pattern_of(
            r"""
            wish(?:es|ed|ing)? / want(?:s|ed|ing)? / wanna / hop(?:e|es|ed|ing) / dream(?:s|ed|t|ing)? / aspir\w+
            desires? / (?:would|should) (?:love|like|prefer|rather) / (?<=')d (?:love|like|prefer|rather) / if only
            should(?! (?:have|love|like|prefer|rather)) / ought to / (?:need|needs|have|has|'ve got|got) to / gotta
            must(?! have)
            mean(?:ing|t) to / interested in / look(?:s|ing)? (?:to|for|forward) / someday / some day / goal
            """
        ),
    ),
    (
        Mood.FUTURE,
        pattern_of(
            r"""
            will / won't / (?<=')ll / going to / gonna / about to / plan(?:s|ning|ned)? / intend(?:s|ed|ing)?
            tomorrow / soon / upcoming / next (?:week|month|year|quarter|spring|summer|fall|autumn|winter|time|\w+day)
            promise[sd]?
            (?:start|begin|join|leave|move|retire)s?(?= .{0,60}(?:in|on|next) (?:jan|feb|mar|apr|may|jun|jul|aug))
            (?:start|begin|join|leave|move|retire)s?(?= .{0,60}(?:in|on|next) (?:sep|oct|nov|dec|mon|tue|wed|20\d\d))
            (?:am|are|is|(?<=')m|(?<=')re|(?<=')s) (?:moving|relocating|joining|leaving|starting|switching|retiring)
            (?:am|are|is|(?<=')m|(?<=')re|(?<=')s) (?:getting|becoming|transferring|expecting)
            """
        ),
    ),
    (
        Mood.REPORT,
        pattern_of(
            r"""
            (?:was|were|been|am|being) told / keeps? saying / kept saying
            (?:is|are|was|were|'s|'re) (?:saying|claiming|telling \w+) / according to / apparently / supposedly
            allegedly / reportedly / rumou?rs? / rumou?red
            i(?:'ve)? (?:heard|read) / telling (?:people|everyone|everybody|me|us) / it is said / calls? me / called me
            (?:they|people) say / (?<!\w )word is / (?:but|and|so|the) word is(?= that)
            \w+ (?:(?:also|just|always|once|now|often|really|still) )?(?:says|said|told|tells|thinks|thought)
            \w+ (?:(?:also|just|always|once|now|often|really|still) )?(?:claims|claimed|believes|believed|insists)
            \w+ (?:(?:also|just|always|once|now|often|really|still) )?(?:insisted|swears|swore)
            \w+ (?:(?:also|just) )?(?:mentioned|mentions|reckons|suggested|suggests|assumes|suspects|argues|argued)
            \w+ (?:(?:also|just) )?(?:wrote|announced|joked|guesses|guessed|accused|accuses)
            """
        ),
    ),
    (
        Mood.PAST,
        pattern_of(
            r"""
            used to / formerly / previously / former / no longer / any longer / any ?more / ex / in the past
            back then / back when / at the time / back in / as a (?:kid|child|teen|teenager|student|boy|girl)
            growing up / in (?:high )?school / in college
            (?:in|through|during) my (?:teens|twenties|thirties|forties|youth|childhood)
            until (?:last|recently|then|\d{4}|january|february|march|april|may|june|july|august|september)
            until (?:october|november|december) / years ago / was / were / wasn't / weren't / had / hadn't
            """
        ),
    ),
    (
        Mood.HYPOTHETICAL,
        pattern_of(
            r"""
            might / maybe / perhaps / possibly / could / suppose[ds]? / imagine / pretend(?:ing)? / hypothetically
            doubts? / doubted / pretend(?:s|ed|ing)? / it's possible / possible that / no way / myth that / a myth
            rumou?r that / probably / likely / not true / isn't true / untrue / false that / guess(?:es|ed)?
            suspects? / suspected / tried to / trying to / attempted to / almost / nearly / forgot to / failed to
            meant to / should've / should have / supposed to / was going to / what if / let's say / say that i
            considering / considers / thinking (?:of|about) / thought about / not sure / unsure / unclear
            would(?! (?:love|like|prefer|rather)) / wouldn't
            (?<=')d (?:have|be)
            (?<=')d (?:never |probably |also |just )?(?:hire|go|take|buy|say|choose|do|call|use|move|quit)
            had (?:i|we|he|she|they|it|you)
            (?:i|we) thought (?:it|that|they|he|she|this|the \w+|my \w+) (?:was|were|had|would)
            i (?:think|believe|guess|reckon|assume|suppose) / (?:thinks|believes|reckons|assumes) / not so sure
            dunno
            may (?:(?:already|also|well|still) )?(?:be|have|not|become|get|need) / doubtful / unconfirmed
            unverified assum(?:e|ing) / joking / kidding / jk / my character
            in (?:the|this|my) (?:novel|story|game|dream|movie|book) / role-?play
            """
        ),
    ),
)
_SUPPOSING = pattern_of("if / unless / in case / whether / suppose / imagine / pretend / hypothetically / what if")
"""What makes a supposition of its whole sentence."""
_EVENT_IN_PAST = pattern_of(
    r"""
    (?:was|were|had)\s+(?:(?:just|also|recently|never|not|first)\s+)?(?:born|told|given|made|built|sent|\w{3,}ed)
    had (?:to|twins|surgery|lunch|dinner) / had (?:a|another|our|my) (?:\w+ )?(?:baby|son|daughter|girl|boy|child|kid)
    """
)
"""A passive, or something that happened once: it may well be true now."""
_OWN_WORDS = pattern_of(
    "(?:i|we)(?: (?:just|also|already|once))? (?:said|told|thought|mentioned|wrote|suggested|claimed)"
)
_MEANT_AS_FACT = re.compile(
    r"^\W*(?:(?:please|hey|also)\s+)?(?:can|could|would|will) you (?:please )?"
    r"(?:remember|note|keep in mind|save|store|remind me|make a note|write down|know)\b",
    re.IGNORECASE,
)
"""A question that asks to remember something tells it."""
_ASKS = re.compile(
    r"^(?:and|but|so|or|well|ok|okay|hey|hi|also|then|now)?\s*"
    r"(?:do|does|did|is|are|am|was|were|can|could|should|would|will|shall|have|has|had|may|might|what|what's|which|who"
    r"|who's|whose|when|where|why|how|how's|isn't|aren't|don't|doesn't|any|ever)\b",
    re.IGNORECASE,
)
_NO_REPORTER = frozenset({"have", "has", "had", "t", "ve", "been", "was", "were", "be", "being", "not", "to", "never"})
"""Words before a reporting verb that are no reporter: "haven't told", "was told"."""
_HEARERS = frozenset({"was", "were", "been", "being"})
"""Of these, those that make whoever is named a hearer: "I was told"."""
_ASKS_WITHOUT_MARK = re.compile(
    r"^\W*(?:is|are|am|was|were|do|does|did|should|can|could|would|will|have|has)"
    r" (?:i|my|he|she|they|we|you|it|there)\b",
    re.IGNORECASE,
)
WHOLE_CLAUSE = frozenset({Mood.PAST, Mood.FUTURE, Mood.HYPOTHETICAL})
"""Moods whose sign may come after what it governs: "I'm in Berlin next week"."""


def reported_by(text: str) -> list[str]:
    """Return whose words a text reports: each word before a reporting verb or after "according to"."""
    found = [match["who"] for match in _REPORTER.finditer(text)] + [match[1] for match in _ACCORDING.finditer(text)]
    lows = (who.lower().removesuffix("'s") for who in found if who)
    return [who for who in lows if who not in {"i", "we"} and who not in _NO_REPORTER]


_REPORTER = re.compile(
    r"\b(?P<who>[\w'-]+) (?:(?:also|just|always|once|now|often|really|still) )?"
    r"(?:says|said|told|tells|thinks|thought|claims|claimed|believes|believed|insists|insisted|swears|swore|mentioned"
    r"|mentions|reckons|suggested|suggests|assumes|suspects|argues|argued|wrote|announced|joked|guesses|guessed)\b",
    re.IGNORECASE,
)
_ACCORDING = re.compile(r"\baccording to (?:my |our |the )?([\w'-]+)", re.IGNORECASE)


def clause_moods(sentence: str, plain: str, start: int, spans: Sequence[tuple[int, int]]) -> list[frozenset[Mood]]:
    """Return, for each clause, the moods that cover all of it: a question, and what an "if" governs.

    `plain` is the sentence without idioms, `start` its place in the text, in which `spans` are the clauses.
    """
    asks = sentence.rstrip("\"')”’ \n").endswith("?") or _ASKS_WITHOUT_MARK.match(sentence) is not None
    asks = asks and not _MEANT_AS_FACT.match(sentence)
    supposed = bool(_SUPPOSING.search(plain))
    found = []
    for place, (begin, until) in enumerate(spans):
        moods = {Mood.HYPOTHETICAL} if supposed else set()
        clause = plain[begin - start : until - start].lstrip(" ,;:—–-")
        if asks and (place == len(spans) - 1 or _ASKS.match(clause)):
            moods.add(Mood.QUESTION)
        found.append(frozenset(moods))
    return found


def mood_signs(plain: str, begin: int, until: int) -> Iterator[tuple[Mood, int]]:
    """Yield each mood that a cue between two positions of the text gives, with the cue's position."""
    for mood, pattern in _SIGNS:
        for match in pattern.finditer(plain, begin, until):
            if mood is Mood.REPORT and _OWN_WORDS.search(plain, max(begin, match.start() - 4), match.end()):
                continue
            if mood is Mood.REPORT and match[0].split()[0].lower() in _NO_REPORTER - _HEARERS:
                continue
            if mood is Mood.PAST and _EVENT_IN_PAST.match(plain, match.start(), until):
                continue
            yield mood, match.start()
