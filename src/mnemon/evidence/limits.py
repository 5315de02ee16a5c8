"""What limits a sentence: only, except, until, at least, each, by Friday. A statement that drops it claims more.

Each limit is looked for in the clauses of the quote that the statement draws on, beyond the quoted words too, since a
quote may be cut off before its "except".
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from mnemon.evidence.clause import ReadWord
from mnemon.evidence.figure import Figure, find_figures
from mnemon.evidence.said_dates import date_spans
from mnemon.evidence.statement import QuotedSentence, StatementKind
from mnemon.evidence.vocabulary import ClaimedStems, word_list, word_stem


def _whole_words(pattern: str) -> re.Pattern[str]:
    """Return a compiled pattern that matches the given one as whole words, in any case."""
    return re.compile(rf"(?<![\w'])(?:{pattern})(?![\w'])", re.IGNORECASE)


_LIMITS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (
        _whole_words(r"except(?: for| when| if)?|apart from|aside from|other than|excluding|with the exception|unless"),
        _whole_words(
            r"except\w*|apart|aside|other than|exclud\w*|unless|but|not|no|without|never|\w+n't|only|besides|cannot|if"
        ),
    ),
    (
        _whole_words(r"until|till"),
        _whole_words(
            r"until|till|through|to|ends|ended|ending|expires?|expired|up to|by|before|lasts?|back|return\w*|over|runs?"
            r"|stays?|deadline|due|no longer|was|were|used|will|then|later"
        ),
    ),
    (
        _whole_words(r"(?<!not )(?<!the )(?<!an )only(?! (?:child|son|daughter|one))"),
        _whole_words(
            r"only|just|sole\w*|exclusive\w*|nothing|no|not|never|limit\w*|max\w*|except|single|one|alone|without"
        ),
    ),
)
"""What limits a clause, with what keeps the limit in a statement."""
_BOUND = re.compile(
    r"(?<!\w)(?<!gone )(?<!going )(?<!went )(?<!go )(?<!goes )"
    r"(?P<bound>under|below|less than|fewer than|over|above|more than|at least|at most|up to|no more than|nearly"
    r"|almost|max|maximum|minimum|past|not quite|just under|just over)\s+(?:[$€£]\s?)?$",
    re.IGNORECASE,
)
_BOUND_KEPT = _whole_words(
    r"under|below|less|fewer|over|above|more|least|most|up to|nearly|almost|max\w*|min\w*|past|exceed\w*|beyond|within"
    r"|limit\w*|budget|upwards|plus|about|around|roughly|approximately|close"
)
_RATE = re.compile(
    r"\s*(?:\w+\s+){0,2}?(?:each\b|apiece\b|per\s+\w+|(?:a|an|every|each)"
    r"\s+(?:head|month|week|day|year|night|hour|person|piece|time)\b"
    r"|/\s?(?:month|week|day|year|hour|h|mo|wk))",
    re.IGNORECASE,
)
_RATE_KEPT = re.compile(
    r"\b(?:each|apiece|per|every|hourly|daily|nightly|weekly|monthly|yearly|annual\w*"
    r"|(?:a|an)\s+(?:head|month|week|day|year|night|hour|person|piece|time|tub|unit))\b|/|\baverag\w+",
    re.IGNORECASE,
)
_BY_DATE = re.compile(r"\b(?:by|before|no later than)\s+(?:the\s+|end\s+of\s+|next\s+|this\s+)*$", re.IGNORECASE)
_BY_KEPT = _whole_words(
    r"by|before|due|deadline|until|till|latest|later|within|no later|in time|end|expires?|needs?|has to|must|wants?"
)

_QUALIFIERS = word_list("qualifier")
_HEADS = word_list("unfulfilled")
_AIMING = re.compile(
    r"\b(?P<aim>training|studying|learning|preparing|saving|auditioning|qualifying|shopping|applying|campaigning"
    r"|competing|waiting|retraining)(?: up)? (?:to (?:be|become)|for)(?: an?| the)?\b",
    re.IGNORECASE,
)


def limit_fault(
    statement: str, claimed: Sequence[ReadWord], sentences: Sequence[QuotedSentence], kind: StatementKind
) -> str | None:
    """Return the fault where the statement drops a limit of its quote ("only", "except", "by Friday"); None without."""
    for one in sentences:
        if one.fields:
            continue
        fault = _figure_limit(statement, one) if kind is not StatementKind.LINE else None
        if fault is None and kind is StatementKind.FACT:
            fault = _clause_limit(statement, claimed, one) or _date_limit(statement, one)
        if fault is not None:
            return fault
    return None


def _clause_limit(statement: str, claimed: Sequence[ReadWord], one: QuotedSentence) -> str | None:
    """Return the fault where the statement drops a limit beside words that it keeps; None without."""
    own = ClaimedStems(word.stem for word in claimed if not word.is_function_word)
    told = [word for word in one.words if not word.is_function_word]
    for limit, kept in _LIMITS:
        if kept.search(statement):
            continue
        for match in limit.finditer(one.read):
            at = bisect_left(told, match.start(), key=lambda word: word.start)
            beside = told[at : at + 1] if match[0].lower() == "only" else told[max(0, at - 1) : at]
            if beside and one.is_quoted(beside[0]) and _is_claimed_word(beside[0], own):
                return f"the quote says “{match[0]}”, the statement drops it"
    return None


def _is_claimed_word(said: ReadWord, kept: ClaimedStems) -> bool:
    """Say whether a content word of the quote is among the statement's stems or a synonym of one."""
    return not said.is_function_word and kept.are_supported_by(said.stem)


def _figure_limit(statement: str, one: QuotedSentence) -> str | None:
    """Return the fault where the statement drops a figure's bound or rate ("at least 5", "5 a day"); None without."""
    given = {(figure.low, figure.high): figure for figure in find_figures(one.read)}
    for figure in find_figures(statement):
        said = given.get((figure.low, figure.high))
        if said is None:
            continue
        bound = _BOUND.search(one.read[max(0, said.start - 24) : said.start])
        if bound and not _BOUND_KEPT.search(statement):
            return f"the quote says “{bound['bound']} {said.text.strip()}”"
        if _has_rate(one.read, said) and not _RATE_KEPT.search(statement):
            return f"the quote gives {said.text.strip()} for each"
    return None


def _has_rate(text: str, figure: Figure) -> bool:
    """Say whether a rate follows the figure in the text: "5 a day"."""
    return _RATE.match(text, figure.end) is not None


def _date_limit(statement: str, one: QuotedSentence) -> str | None:
    """Return the fault where the quote's deadline becomes a date, "by Friday" to "on Friday"; None without."""
    if _BY_KEPT.search(statement) or not date_spans(statement):
        return None
    for start, end in date_spans(one.read):
        if _BY_DATE.search(one.read[max(0, start - 24) : start]):
            return f"the quote says “by {one.read[start:end]}”"
    return None


def qualifier_fault(claimed: Sequence[ReadWord], sentences: Sequence[QuotedSentence]) -> str | None:
    """Return the fault where the statement drops a word that changes its noun: "acting head" is no head; else None.

    An acting head is no head, a visa application no visa, and whoever trains to be a nurse is none yet.
    """
    own = {word.stem for word in claimed}
    kept = ClaimedStems(word.stem for word in claimed if not word.is_function_word)
    for one in sentences:
        words = [word for word in one.words if not word.is_function_word]
        for left, right in pairwise(words):
            gap = one.read[left.start + len(left.text) : right.start]
            if gap.strip(" -"):
                continue
            if left.text in _QUALIFIERS and left.stem not in own and _is_claimed_word(right, kept):
                return f"the quote says “{left.text} {right.text}”"
            if right.text in _HEADS and right.stem not in own and _is_claimed_word(left, kept):
                return f"the quote says “{left.text} {right.text}”"
        for match in _AIMING.finditer(one.read):
            aim = word_stem(match["aim"].lower())
            follows = next((word for word in words if word.start >= match.end()), None)
            if aim not in own and follows is not None and _is_claimed_word(follows, kept):
                return f"the quote says “{match[0]}”"
    return None
