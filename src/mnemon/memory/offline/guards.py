"""Guards: phrases that make a sentence no statement of fact, so that nothing is extracted from it.

The tables hold phrases, several a line and separated by `/`; a line in slashes `/…/` is a regular expression.
"""

import re

from mnemon.memory.offline.clauses import Clause
from mnemon.memory.offline.vocabulary import phrase_alternatives


def compile_phrases(entries: str) -> re.Pattern[str]:
    """Return a compiled pattern that finds any of the phrases or regular expressions, as whole words."""
    parts = []
    for line in filter(None, map(str.strip, entries.splitlines())):
        if line.startswith("/") and line.endswith("/") and len(line) > 2:
            parts.append(line[1:-1])
        else:
            parts.append(rf"\b(?:{phrase_alternatives(line)})\b")
    return re.compile("|".join(parts), re.IGNORECASE)


HARMLESS = compile_phrases(
    r"""
    can't stand / can't bear / say no / dream job / don't let me forget
    i (?:don't|do not) (?:eat|drink) / (?:can't|cannot) (?:eat|have|tolerate|digest|hear|see)
    /\b(?:almost|nearly|about) (?=(?:\w+ )?(?:years|months|weeks)\b|\d)/
    you can (?:reach|email|call|text|write) me
    """
)
"""Phrases that look like a negation, a request or a report but are not."""

QUESTION = compile_phrases(
    r"""
    /\?["')\s]*$/
    /^(?:who|whom|whose|what|what's|where|where's|when|when's|why|how|how's|which)\b/
    /^(?:do|does|did|am|are|was|were|can|could|would|should|shall|may|has|had) /
    /^(?:is|will|have) (?!a |an |my |is |works |lives |loves |likes |two |three )/
    /^(?:don't|doesn't|didn't|isn't|aren't|won't|can't|couldn't|wouldn't|haven't|hasn't) /
    /, (?:right|correct|no|yes|yeah|huh|eh|or not)\s*$/
    do you know / do you think / do you remember
    guess who / guess what / guess where / guess how
    """
)
"""Questions."""

_IMPERATIVES = """
    write draft translate say pretend let's let tell help act imagine find suppose supposing complete give show
    make create explain list rewrite summarize summarise check fix add send search look play roleplay role-play
    answer respond reply ask describe generate compose assume assuming consider think repeat read finish fill
    spell sing use try set book order schedule suggest recommend compare calculate convert correct proofread
    edit change replace delete remove forget ignore teach guess remind continue format paraphrase improve review
    design plan prepare outline brainstorm quote cite define name pick choose start stop open close save store
    update turn put keep bring take get go come buy hold wait listen watch be do don't never always email text
    message
    """
REQUEST = compile_phrases(
    rf"""
    /^(?:please |kindly |now |then |just )*(?:{"|".join(_IMPERATIVES.split())})\b/
    can you / could you / would you / will you
    /\b(?:saying|says|say|stating|states|stated|phrase|sentence|line|caption) ?:? (?:that )?(?=i\b|i'm|my )/
    /(?<!\bi )(?<!really )\blike ?:? (?:that )?(?=i\b|i'm|my )/
    /\b(?:slogan|title|template|example) ?:? (?:that )?(?=i\b|i'm|my )/
    call me (?:a|an|back|later|when|if|at|on|in|tomorrow|tonight|today)
    i (?:need|want|would like|'d like) you to
    """
)
"""Requests to the assistant."""

HYPOTHETICAL = compile_phrases(
    r"""
    if / unless / imagine / suppose / supposing / assuming / pretend / pretending / wish / hypothetically
    as though / as if / in case / let's say / what if / even if / were i / had i / in theory
    for example / for instance
    /^(?:when|once|until|before|after|as soon as) /
    in (?:my|the|a) (?:dreams?|game|past life|next life|previous life|novel|story|movie|film|play|book|song)
    """
)
"""For the whole sentence: what follows is not true, or not yet."""

# will, may and can in lower case only: with a capital they can be names.
UNCERTAIN = compile_phrases(
    r"""
    would / could / might / should / shall / maybe / perhaps / probably / possibly / potentially
    supposedly / allegedly / apparently / technically / theoretically
    /\b(?:i|we|he|she|they|it)'(?:d|ll)\b(?! rather)/
    /\b(?-i:will|may|can)\b/
    hope / hopes / hoping / dream / dreams / dreaming / someday / some day / one day
    plan / plans / planning / considering / thinking
    (?:want|wants|wanted|trying|tried|going|about|looking|able|ready|supposed|willing|tempted|hesitant|due) to
    gonna / wanna / almost / nearly / kind of / sort of / feel like / feels like / look like / sound like
    i think / i guess / i believe / i suppose / i assume / i bet / not sure / i doubt / seem / seems / seemed
    """
)
"""For the clause: said with less than certainty, or about the future."""

NEGATED = compile_phrases(
    r"""
    not / never / no / nobody / none / nothing / neither / nor / hardly / barely / scarcely / rarely / without / cannot
    \w+n't
    used to / no longer / anymore / any more / any longer / quit / stopped / gave up / until
    formerly / previously / former / ex / pretended / forgot / failed / refused / instead of
    """
)
"""For the clause: negated, or no longer true."""

REPORTED = compile_phrases(
    r"""
    said / says / say / saying / told / tells / tell / claim / claims / claimed / according to / thinks / thought
    believes? / believed / heard / hear / read that / wrote / writes / rumou?rs? / rumou?red / put it / puts it
    quotes? / quoted / quoting / lyrics? / horoscope / asked / asks / called it / reportedly / mentioned / insists?
    insisted / joked? / jokes / swears? / swore / announced / tweeted / posted / replied / character
    (?:the|this|that) (?:song|movie|film|ad|advert|story|novel|quote|headline|poem|sentence|joke|protagonist|hero|actor)
    /\x00/
    """
)
"""Someone else's words, or words about words. The NUL stands for a quotation that was blanked out."""

IRONIC = compile_phrases(
    r"""
    yeah,? right
    oh,? (?:great|sure|joy|wonderful|perfect|fantastic|how)
    totally / obviously / just love / so much fun / thanks a lot / of course i / clearly / kidding / joking
    jk / lol / lmao / haha+ / rofl
    /^(?:sure|yeah|right|great|wow|wonderful),/
    /(?:^|\s)\/s\b/
    /[🙄😂🤣😅😜😏😆🙃]/
    """
)
"""Ironic or joking sentences."""

HALF_HEARTED = compile_phrases(
    r"""
    maybe / perhaps / probably / possibly / might / someday / some day / one day / eventually / never / would / could
    no longer / won't / i think / i guess / i suppose / i doubt / if
    """
)
"""Promises that are not meant as such."""

TEMPORARY = compile_phrases(
    r"""
    today / tonight / yesterday / tomorrow / right now / at the moment / temporarily / so far / sometimes
    for (?:now|the moment)
    this (?:morning|afternoon|evening|week|weekend|month|time|minute|second)
    for a (?:bit|while|second|minute)
    """
)
"""True for a day only, and not worth remembering."""


def is_statement(clause: Clause) -> bool:
    """Say whether the person states a fact in the clause: no question, request, hypothesis, report or irony."""
    # UNCERTAIN and NEGATED look at the clause only: another clause of the sentence may be a plain statement.
    sentence, text = HARMLESS.sub(" ", clause.sentence), HARMLESS.sub(" ", clause.text)
    whole = (QUESTION, REQUEST, HYPOTHETICAL, REPORTED, IRONIC)
    return not any(guard.search(sentence) for guard in whole) and not any(
        guard.search(text) for guard in (UNCERTAIN, NEGATED)
    )


def is_own_telling(clause: Clause) -> bool:
    """Say whether a clause is the person's own statement or report: no question, hypothesis, hearsay or irony."""
    sentence = HARMLESS.sub(" ", clause.sentence)
    return not any(guard.search(sentence) for guard in (QUESTION, HYPOTHETICAL, REPORTED, IRONIC))


def is_promise(clause: Clause) -> bool:
    """Say whether a clause may be a promise: the person's own words, not withdrawn and not half-hearted."""
    return is_own_telling(clause) and not HALF_HEARTED.search(clause.text)


def is_temporary(clause: Clause) -> bool:
    """Say whether a clause is true for today only ("I'm tired today")."""
    return TEMPORARY.search(clause.text) is not None
