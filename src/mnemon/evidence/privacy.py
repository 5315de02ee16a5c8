"""Recognize what was said in confidence, by the phrases people use for it."""

import re
from functools import lru_cache

from mnemon.turn import Turn
from mnemon.untrusted_text import reads_outside_text, text_blocks

_US = r"between\s+(?:us|you\s+and\s+(?:me|i)|the\s+two\s+of\s+us|ourselves)\b"
_IT = r"(?:this|that|it|these|those|all\s+this|what\s+i\s+(?:say|said|told\s+you))"
_BEGIN = r"(?:^|[.!?;:,(—–-]\s*)"
_END = r"\s*(?:[,.:;!)—–-]|$)"
_PHRASES = (
    rf"\b(?:just|strictly|only)\s+{_US}",
    rf"\b(?:keep|keeping|kept|stays?|staying|remains?)\s+(?:{_IT}\s+)?(?:strictly\s+|just\s+)?{_US}",
    rf"{_BEGIN}(?:this\s+is\s+)?{_US}{_END}",
    rf"\bkeep\s+{_IT}\s+(?:to\s+yourself|private|confidential|secret|quiet|off\s+the\s+record)\b",
    (
        rf"\b(?:don['’]?t|do\s+not|never)\s+(?:tell|share|repeat|mention)\s+(?:{_IT}\s+)?(?:to\s+|with\s+)?"
        r"(?:anyone|anybody|a\s+soul|(?:the\s+)?others)\b"
    ),
    rf"\b(?:don['’]?t|do\s+not)\s+(?:share|repeat|spread)\s+{_IT}{_END}",
    rf"\b{_IT}(?:\s+is|['’]s)\s+(?:strictly\s+)?(?:confidential|off\s+the\s+record|(?:a|our)\s+secret){_END}",
    rf"\b{_IT}\s+(?:stays|must\s+stay|should\s+stay)\s+(?:here|in\s+this\s+room|private|confidential)\b",
    rf"{_BEGIN}(?:strictly\s+)?(?:off\s+the\s+record|in\s+(?:strict\s+)?confidence|confidentially)\s*[,.:;!)—–-]",
    r"\bfor\s+your\s+(?:ears|eyes)\s+only\b",
)
_ONE_OF = (
    "between", "yourself", "private", "confiden", "secret", "quiet", "record", "tell", "share", "repeat", "mention",
    "spread", "stay", "only",
)  # fmt: skip
"""Every phrase contains one of these. Most texts contain none, and this check is a hundred times faster."""
_PRIVATE = re.compile("|".join(f"(?:{phrase})" for phrase in _PHRASES), re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|n['’]t|no\s+longer|isn['’]t|never\s+was)\s+(?:\w+\s+)?$", re.IGNORECASE)


@reads_outside_text
@lru_cache(maxsize=8)
def is_confidential_text(text: str) -> bool:
    """Say whether the text asks for confidence ("just between us"); "not just between us" does not."""
    return any(map(_asks_for_confidence, text_blocks(text)))


def _asks_for_confidence(text: str) -> bool:
    """Say whether one block of text contains a phrase of confidence without a negation before it."""
    lowered = text.lower()
    if not any(word in lowered for word in _ONE_OF):
        return False
    # A negation shortly before reverses the meaning: "this is not just between us".
    return any(not _NOT.search(text[max(0, found.start() - 24) : found.start()]) for found in _PRIVATE.finditer(text))


def is_confidential_turn(turn: Turn) -> bool:
    """Say whether the person said anything in the turn in confidence; if so, the whole turn is confidential."""
    return is_confidential_text(turn.user_text)
