"""Words that whoever wrote them does not stand by: pasted, invented, meant in jest, taken back, called off.

The sign for it often stands outside the quote: before a story or a text to be translated, in the heading over a list,
or in the next sentence ("wait no, seven"). A statement that says so itself ("is writing a novel") is supported.
"""

import re
from collections.abc import Sequence

from mnemon.evidence.clause import ReadWord
from mnemon.evidence.moods import pattern_of
from mnemon.evidence.quote_gate import Quotation
from mnemon.evidence.statement import QuotedSentence, StatementKind
from mnemon.evidence.vocabulary import ClaimedStems, stem_list, word_list

_FOLLOWS = 80
"""Characters after the quoted sentence in which it may be taken back."""
_INVENTED = pattern_of(
    r"""
    (?:my|the|a|our|this) (?:\w+ )?(?:novel|story|screenplay|short story|fan ?fic\w*|poem|song|lyrics|sketch|play|comic)
    role-?play\w* / (?:my|the|main) (?:\w+ )?character / persona / npc / let's pretend / pretend (?:that|to be|you)
    (?:dummy|test|sample|fake|mock|example|filler) (?:data|user|name|text|entry|form|profile|record)
    (?:dummy|test|sample|fake|mock|example|filler) (?:account|message)
    testing the \w+ / please ignore / lorem ipsum / for example / for instance / e\.g / example sentence
    (?:translate|proofread|paraphrase|rephrase|rewrite|shorten|summari[sz]e|correct)\b[^.!?\n]{0,60}:
    in the style of
    """
)
"""What says that the words after it are made up, or somebody's text to work on."""
_INVENTED_STEMS = stem_list("fiction")
_TAKEN_BACK = re.compile(
    r"^[\s\"”’')\]….!,;—–-]*(?:(?:oh|ah|oops|hm+|er+|um|ugh|well|ok|okay|but|and)\b[\s,.…—–-]*)?"
    r"(?:wait\b(?:[\s,.…—–-]*(?:no|actually|sorry|scratch))?|no[\s,.—–-]+(?:wait|sorry|actually|scratch)"
    r"|scratch that|strike that"
    r"|correction\b|actually[\s,]+no\b|sorry[\s,.—–-]+(?:no|i mean|i meant|wrong|make that)|i meant?\b"
    r"|make that\b|edit:"
    r"|(?:just |only )?(?:kidding|joking)\b|jk\b|not\s*!|nah\b|never ?mind\b|forget (?:it|that)\b|said no one|as if\b"
    r"|yeah,? right|\(?/s\b|not my (?:thing|cup|style|jam)|not for me\b|no thank|no thanks|(?:didn't|did not) work"
    r"|(?:that|it) (?:was|is) a joke|that's (?:a lie|not true|wrong)|not true\b|exactly what i (?:needed|wanted)"
    r"|just what i (?:needed|wanted)|lol no\b|haha no\b)",
    re.IGNORECASE,
)
"""What takes back the sentence before it."""
_JEST = pattern_of(
    r"""
    (?:oh|well),? (?:great|sure|joy|perfect|brilliant|wonderful|fantastic|lovely)
    (?:just|simply|absolutely) (?:love|adore) (?:it )?(?:when|how|spending|being|getting|having|waiting|sitting)
    yeah,? (?:right|sure) / which,? sure,? and / and i(?:'m| am) the (?:queen|king|pope) / when pigs fly / eat my hat
    i want a pony
    over my dead body / in my dreams / thanks a lot for / sarcasm
    """
)
CALLED_OFF = pattern_of(
    r"""
    (?:is|are|was|were|been|'s) (?:now )?off(?! (?:my|our|the) (?:plate|list|hands|desk))
    (?:is|are|was|were|been|'s) (?:now )?(?:cancelled|canceled|scrapped|shelved|on ice|on hold)
    off for (?:me|us|now)
    call(?:ed|ing)? (?:it |that |the \w+ )?off / scrap(?:ped|ping)? / ditch(?:ed|ing)? / cancel(?:led|ed|ling|ing)?
    axed
    fell through / falls through / back(?:ed|ing) out / chickened out / pulled out / bailed on / decided against
    not happening / isn't happening / didn't happen / won't happen / turned (?:it |that |them |him |her )?down
    gave up on / forget the
    voted down / (?:motion|proposal|vote|bid|offer) (?:\w+ ){0,8}(?:fell|failed|lost|was rejected|was defeated)
    no luck with
    """
)
"""What says that something planned will not be."""
_CORRECTION = re.compile(
    r"(?:,|—|–|-|\.\.\.|…|\()\s*(?:no|wait|sorry|oops|i meant?|or rather|rather|make that|actually"
    r"|correction|er|um)\b[\s,:—–-]*",
    re.IGNORECASE,
)
_CORRECTABLE = word_list("correctable")
_CALLED_OFF_STEMS = stem_list("calling_off")
_OWN_KINDS = frozenset({StatementKind.FACT, StatementKind.TASK, StatementKind.LINE})
"""Kinds of statements that tell what the speaker says for themselves."""
_BULLET = re.compile(r"[^\S\n]*(?:[-*•·–]|\d{1,2}[.)])\s")
_HEADING = re.compile(r"^[^\S\n]*(?![-*•·–])([^\n]{3,120}):[^\S\n]*$", re.MULTILINE)
_NEGATES = re.compile(
    r"\b(?:not|no|never|don't|dont|won't|can't|cannot|isn't|aren't|skip|avoid|without|against)\b", re.IGNORECASE
)


def disowned_fault(
    claimed: Sequence[ReadWord],
    sentences: Sequence[QuotedSentence],
    kind: StatementKind,
    *,
    about_other: bool,
    speaker: frozenset[str],
) -> str | None:
    """Return why the speaker does not mean a quote (a correction, a joke, another's words); None if they do."""
    stems = {word.stem for word in claimed if not word.is_function_word}
    negated = any(word.negated or word.ceased for word in claimed)
    for one in sentences:
        after = one.quotation.passage.text[one.quotation.end : one.quotation.end + _FOLLOWS]
        is_cited = not about_other and _is_inside_marks(one.quotation)
        is_other = kind is StatementKind.LINE and _names_other(claimed, speaker)
        if is_cited and kind in _OWN_KINDS and not stems & _INVENTED_STEMS and not is_other:
            return "the message only cites these words, in quotation marks"
        if kind is StatementKind.FACT and not stems & _INVENTED_STEMS and _INVENTED.search(one.read):
            return "the message gives these words as a story, an example or a text to work on"
        if not negated and (_TAKEN_BACK.match(after) or _TAKEN_BACK.match(_rest_after(one))):
            return "the message takes these words back"
        if fault := _corrected_fault(claimed, one):
            return fault
        if _JEST.search(one.read) and not negated:
            return "the message says these words in jest"
        if not negated and not stems & _CALLED_OFF_STEMS and _is_called_off(one, ClaimedStems(stems)):
            return "the quote says that something is called off"
        if not negated and (heading := _heading_of(one.quotation)) and _NEGATES.search(heading):
            return f"it stands in a list under “{heading}”"
    return None


def _names_other(claimed: Sequence[ReadWord], speaker: frozenset[str]) -> bool:
    """Say whether the statement names somebody else who may have written the quoted words."""
    return any(word.is_name and word.stem not in speaker for word in claimed)


def _corrected_fault(claimed: Sequence[ReadWord], one: QuotedSentence) -> str | None:
    """Return the fault where the statement repeats what its quoted sentence corrects itself; None without.

    Of "on Tuesday, no, Wednesday" the second is meant: a figure, a day or a name before the correction is taken back.
    """
    match = _CORRECTION.search(one.read)
    own = {word.text for word in claimed}
    if match is None:
        return None
    before = [word for word in one.words if word.start < match.start() and _may_be_corrected(word)]
    after = [word for word in one.words if word.start >= match.end() and _may_be_corrected(word)]
    if not before or not after or {word.text for word in after} & own:
        return None
    wrong = before[-1]
    return f"the quote corrects “{wrong.text}”" if wrong.text in own else None


def _may_be_corrected(word: ReadWord) -> bool:
    """Say whether a word is one that a later word can correct: a name, a day or a number."""
    return word.is_name or word.text in _CORRECTABLE or any(sign.isdigit() for sign in word.text)


def _is_called_off(one: QuotedSentence, stems: ClaimedStems) -> bool:
    """Say whether the quoted sentence calls off what the statement says of it."""
    for match in CALLED_OFF.finditer(one.read):
        at = max((word.clause for word in one.words if word.start <= match.start()), default=0)
        if any(word.clause == at and _is_claimed_word(word, stems) for word in one.words):
            return True
    return False


def _is_claimed_word(word: ReadWord, stems: ClaimedStems) -> bool:
    """Say whether a content word of the quote is among the statement's stems or a synonym of one."""
    return not word.is_function_word and stems.are_supported_by(word.stem)


def _rest_after(one: QuotedSentence) -> str:
    """Return what follows the quoted sentence in its message, up to a limit."""
    end = one.quotation.end + len(one.read) - one.end
    return one.quotation.passage.text[end : end + _FOLLOWS]


def _is_inside_marks(quotation: Quotation) -> bool:
    """Say whether the quote is part of a longer passage in quotation marks."""
    text = quotation.passage.text
    before, after = text[max(0, quotation.start - 2_000) : quotation.start], text[quotation.end : quotation.end + 2_000]
    if '"' in text[quotation.start : quotation.end].strip('"'):
        return False
    if before.count('"') % 2 == 1 and '"' in after:
        return True
    return before.rfind("“") > before.rfind("”") and "”" in after


def _heading_of(quotation: Quotation) -> str | None:
    """Return the heading of the list that has a quote as an item; None if the quote is in no list."""
    text = quotation.passage.text
    line = text.rfind("\n", 0, quotation.start) + 1
    if not _BULLET.match(text, line):
        return None
    above = list(_HEADING.finditer(text[max(0, line - 1_000) : line]))
    return above[-1][1].strip() if above else None
