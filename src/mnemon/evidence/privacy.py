"""What is said in confidence, by the words people use for it."""

import re

from mnemon.turn import Turn

_PHRASES = (
    r"\b(?:just|strictly|only)\s+between\s+(?:us|you\s+and\s+(?:me|i)|the\s+two\s+of\s+us|ourselves)\b",
    (
        r"\b(?:keep|keeping|kept|stays?|staying|remains?)\s+(?:(?:this|that|it|these|those|all\s+this|what\s+i\s+(?:say|said))\s+)?"
        r"(?:strictly\s+|just\s+)?between\s+(?:us|you\s+and\s+(?:me|i)|the\s+two\s+of\s+us|ourselves)\b"
    ),
    r"(?:^|[.!?;:,(—–-]\s*)(?:this\s+is\s+)?between\s+(?:us|you\s+and\s+(?:me|i)|the\s+two\s+of\s+us|ourselves)\s*(?:[,.:;!)—–-]|$)",
    r"\bkeep\s+(?:this|that|it|these|those)\s+(?:to\s+yourself|private|confidential|secret|off\s+the\s+record)\b",
    (
        r"\b(?:please\s+)?(?:don['’]?t|do\s+not|never)\s+(?:tell|share|repeat|mention)\s+(?:(?:this|that|it)\s+)?"
        r"(?:to\s+|with\s+)?(?:anyone|anybody|a\s+soul|(?:the\s+)?others)\b"
    ),
    r"\b(?:this|that|it)(?:\s+is|['’]s)\s+(?:strictly\s+)?(?:confidential|off\s+the\s+record|a\s+secret|our\s+secret)\b",
    r"(?:^|[.!?;:,(—–-]\s*)(?:strictly\s+)?(?:off\s+the\s+record|in\s+(?:strict\s+)?confidence|confidentially)\s*[,.:;!)—–-]",
)
_PRIVATE = re.compile("|".join(f"(?:{phrase})" for phrase in _PHRASES), re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|n['’]t|no\s+longer|isn['’]t|never\s+was)\s+(?:\w+\s+)?$", re.IGNORECASE)


def said_in_confidence(text: str) -> bool:
    """Whether the text asks to stay between the two who speak ("just between us"); "not just between us" does not."""
    return any(not _NOT.search(text[max(0, found.start() - 24) : found.start()]) for found in _PRIVATE.finditer(text))


def in_confidence(turn: Turn) -> bool:
    """Whether anything the person said in the turn was said in confidence; then all of the turn was."""
    return said_in_confidence(turn.user_text)
