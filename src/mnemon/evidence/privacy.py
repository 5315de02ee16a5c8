"""Recognize what was said in confidence, by the phrases people use for it."""

import re
from collections.abc import Sequence
from functools import lru_cache

from mnemon.turn import Turn
from mnemon.untrusted_text import reads_outside_text, text_blocks

_US = r"between\s+(?:us|you\s+and\s+(?:me|i)|the\s+two\s+of\s+us|ourselves)\b"
_IT = r"(?:this|that|it|these|those|all\s+this|what\s+i\s+(?:say|said|told\s+you))"
_BEGIN = r"(?:^|[.!?;:,(—–-]\s*)"
_END = r"\s*(?:[,.:;!)—–-]|$)"
_WORDS = r"(?:[\w']+ )"
_DONT = r"(?:^|[.!?;:,(—–-] ?|\bplease |\b(?:and|so|but|just) )(?:please )?(?:don't|do not|dont|never)(?: ever)?"
"""A request not to: "I don't tell anyone what to eat" is none."""
_TELL = r"(?:tell|share|repeat|mention|reveal|disclose|say|bring|pass|save|store|discuss|forward|show|give)"
_OTHERS = r"(?:assistants?|personas?|bots?|agents?|ones|people|models?|ais?)"
_ANYONE = (
    r"(?:anyone|anybody|a soul|someone else|everyone|others|the others|people|the rest"
    rf"|(?:any of )?(?:the |my |your )?other {_OTHERS}|any other {_OTHERS}|them)(?: else)?(?:'s)?"
)
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
    # Not to be told: to anyone, to the others, or to someone from whom it is kept ("don't tell my wife, but").
    rf"{_DONT} {_TELL} (?:{_IT} |anything |what i {_WORDS}{{1,6}})?(?:(?:to|with|up with|for|on to) )?{_ANYONE}\b",
    rf"{_DONT} (?:tell|let) {_ANYONE}\b",
    rf"{_DONT} tell (?!me\b|us\b)(?:my )?\w+,? but\b",
    rf"{_DONT} (?:pass|spread) {_IT} (?:on|around)\b",
    rf"{_DONT} let {_IT} (?:slip|out|get out)\b",
    rf"(?:^|[.!?;:,] |please )(?:tell (?:no one|nobody|not a soul)|not a word to {_ANYONE})\b",
    rf"\b(?:will|won't|would) you (?:ever )?(?:tell|share|repeat) (?:{_IT} )?(?:(?:to|with) )?{_ANYONE}\b",
    (
        rf"\b{_IT} (?:is not|isn't|is only|is just|is)(?: meant)? (?:for you(?: (?:only|alone))?{_END}"
        rf"|not for {_ANYONE}"
        rf"|for {_ANYONE})"
    ),
    rf"\b(?:is|just|only|it|that) for you (?:only|alone)\b|\b(?:just|only) for you{_END}",
    # Nobody knows, or nobody is to know.
    (
        rf"\b(?:nobody|no one|not a soul)(?: else)? (?:knows(?: {_IT}| about {_IT})?(?: yet)?{_END}"
        rf"|(?:must|should|may|can|is (?:supposed|allowed) to)(?: ever)? (?:know|hear|find out)\b)"
    ),
    rf"\b(?:nobody|no one) at \w+ knows(?: {_IT}| about {_IT})?(?: yet)?{_END}",
    rf"\bmy \w+ (?:doesn't|does not|don't|mustn't|must not|can't) know(?: {_IT}| about {_IT})?(?: yet)?{_END}",
    r"\b(?:haven't|have not|have never|'ve never|never) told (?:anyone|anybody|a soul|(?:my |the )\w+)\b",
    (
        r"\byou(?:'re| are) the (?:only|first)(?: one| person)?(?: who knows| to know"
        r"|,? (?:that )?i(?:'ve| have)? (?:told|tell)"
        r"|(?: that)? i(?:'m| am) telling)\b"
    ),
    rf"\bonly you (?:should|may|can|must|are to|get to)? ?know(?: {_IT}| about {_IT})?{_END}",
    rf"\b(?:don't|do not|didn't|wouldn't) want {_ANYONE} to (?:know|hear|learn|find out|see)\b",
    r"\b(?:don't|do not) want my \w+ to (?:know|hear|find out)\b",
    (
        rf"\b(?:rather|prefer(?: it)?(?: if)?) (?:that )?{_ANYONE} (?:didn't|don't|did not|do not|never) "
        r"(?:know|hear|find out|see)\b"
    ),
    rf"\bnot ready for {_ANYONE} to know\b|\b{_IT}(?:'s| is) not (?:yet public|public(?: yet)?{_END})",
    # A secret is asked for or announced.
    r"\b(?:can|could|will|would) you keep (?:a secret|something (?:to yourself|private|quiet|secret|between us))",
    (
        r"\bcan i (?:trust you(?: with (?:something|this|a secret))?\s*[?.,]|confide\b|tell you (?:something|a secret)"
        r"(?: (?:private|personal|secret|in (?:confidence|private|secret))|\s*\?))"
    ),
    r"\bconfide (?:in you|something|this|that)\b",
    (
        rf"\b(?:here's|here is|i have|i've got|i'll tell you|let me tell you|tell you) "
        rf"a (?:little )?secret(?: to tell you| for you)?{_END}"
    ),
    (
        r"\b(?:tell|say|share with|telling|saying) "
        r"(?:you )?(?:something|this|that|it)(?: to you)? (?:that is |that's )?"
        r"(?:private|in (?:strict |full |complete )?confidence|confidential|secret|(?:that )?(?:nobody|no one) knows)\b"
    ),
    (
        rf"\b(?:{_IT}|what i say next|the next (?:thing|part)|this next (?:thing|part)|what i'm about to \w+)"
        rf"(?:'s| is| has to be"
        rf"| must be)(?: (?:strictly|very|really|all))? (?:private|confidential|secret|a secret|hush-hush)"
        rf"(?:,? (?:ok|okay|please|right|and|so|but)\b|{_END})"
    ),
    rf"(?:^|[.!?] )(?:strictly |top )?(?:private|confidential|secret){_END}",
    r"\b(?:is|will) (?:this|our) (?:chat|conversation|channel) (?:private|confidential|stay private|between us)",
    rf"\bwill {_IT} (?:stay|remain|be kept) (?:between|private|confidential|secret|here)",
    (
        r"\bkeep (?:this|that|it|what i(?:'m| am) about to \w+|what i \w+(?: you)?)(?: one| all)?(?: strictly)? "
        r"(?:private|confidential|secret|quiet|to yourself|under wraps|under your hat|hush-hush)\b"
    ),
    rf"\b(?:treat|consider|take) {_IT} as (?:strictly )?(?:private|confidential|secret)",
    # It goes no further.
    rf"\b{_IT} (?:goes|should go|must go) no further\b",
    (
        rf"\b{_IT} (?:(?:does not|doesn't|must not|mustn't|should not|shouldn't|can't|cannot|may not|won't) leave"
        rf"|(?:stays|remains) (?:in|with)) (?:this (?:chat|room|conversation)|you|here)\b"
    ),
    (
        rf"\b{_IT} (?:has to|must|should|needs to|ought to|will)? ?(?:stay|stays|remain) "
        rf"(?:secret|private|confidential|with you"
        rf"|between|here{_END})"
    ),
    r"\bsaid here,? stays here\b|\bmum's the word\b|\bhush-hush\b|\bentre nous\b|\bsworn to secrecy\b",
    rf"\byou didn't hear {_IT} from me\b|\bplease be discreet\b|\bbe discreet about {_IT}\b",
    r"\bpromise (?:me )?(?:that )?(?:you won't tell|not to tell|you'll keep|to keep)",
)
_ONE_OF = (
    "between", "yourself", "private", "confid", "secre", "quiet", "record", "tell", "told", "share", "repeat",
    "mention", "spread", "stay", "only", "know", "pass", "for you", "for any", "for the", "let ",
    "want", "trust", "leave", "hear",
    "public", "wraps", "your hat", "hush", "nous", "discreet", "promise", "mum's", "further", "save", "bring", "word",
)  # fmt: skip
"""Every phrase contains one of these. Most texts contain none, and this check is a hundred times faster."""
_PRIVATE = re.compile("|".join(f"(?:{phrase})" for phrase in _PHRASES), re.IGNORECASE)
_TELLS_ITSELF = re.compile(
    r"\b(?:us|me|record|confidence|confidentially|only|anyone|private|secret|confidential)\s?[,:]\s?\w+ \w+",
    re.IGNORECASE,
)
"""The request is followed by what it is about, in the same sentence: "just between us, I hate my job"."""
_NOT = re.compile(r"\b(?:not|n['’]t|no\s+longer|isn['’]t|never\s+was)\s+(?:\w+\s+)?$", re.IGNORECASE)


_SENTENCE_END = re.compile(r"[.!?\n]+")
_LOOK_BACK = 3
"""How many of the person's earlier messages are read for an announcement."""
_FILLER_WORDS = 4
"""A message of at most so many words ("OK, here goes") does not end what was announced before it."""
_LONGEST_ANNOUNCEMENT = 300


@reads_outside_text
@lru_cache(maxsize=16)
def is_confidential_text(text: str) -> bool:
    """Say whether the text asks for confidence ("just between us"); "not just between us" does not."""
    return any(map(_asks_for_confidence, text_blocks(text)))


def _asks_for_confidence(text: str) -> bool:
    """Say whether a block of text asks for confidence, without a negation before the request."""
    lowered = " ".join(text.lower().replace("’", "'").split())
    if not any(word in lowered for word in _ONE_OF):
        return False
    # A negation shortly before reverses the meaning: "this is not just between us".
    return any(
        not _NOT.search(lowered[max(0, found.start() - 24) : found.start()]) for found in _PRIVATE.finditer(lowered)
    )


@reads_outside_text
def announces_confidence(text: str) -> bool:
    """Say whether a message only announces a confidence, so that it applies to what comes next."""
    if len(text) > _LONGEST_ANNOUNCEMENT:
        return False
    sentences = [one.strip() for one in _SENTENCE_END.split(text) if one.strip()]
    # "Hey. Can you keep a secret?": short sentences beside the request say nothing that it could be about.
    told = [one for one in sentences if len(one.split()) > _FILLER_WORDS and not _is_request(one)]
    return not told and is_confidential_text(text) and not _TELLS_ITSELF.search(text)


def _is_request(sentence: str) -> bool:
    """Say whether a sentence asks to keep something confidential, as a statement or a question."""
    return is_confidential_text(sentence) or is_confidential_text(f"{sentence}?")


def is_confidential_turn(turn: Turn) -> bool:
    """Say whether the turn is confidential: by a request of the person in it, or one announced before it."""
    return is_confidential_text(turn.user_text) or _was_announced(turn.said_before)


def _was_announced(said_before: Sequence[str]) -> bool:
    """Say whether the latest of the earlier messages that has content announces a confidence."""
    for text in reversed(said_before[-_LOOK_BACK:]):
        if announces_confidence(text):
            return True
        if len(text.split()) > _FILLER_WORDS:
            return False
    return False
