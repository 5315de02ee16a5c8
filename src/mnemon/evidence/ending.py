"""When a todo is over: does a quote say that it is done, or that it is dropped?

A step towards it, a part of it, a pause and somebody else's doing are neither.
"""

import re
from collections.abc import Sequence

from mnemon.evidence.clause import ReadWord, read_words
from mnemon.evidence.disowned import CALLED_OFF
from mnemon.evidence.moods import Mood
from mnemon.evidence.quote_gate import Quotation
from mnemon.evidence.statement import LONGEST_STATEMENT, QuotedSentence, quoted_sentence
from mnemon.evidence.vocabulary import is_supported_by, word_stem
from mnemon.evidence.whose import LONGEST_SEARCHED, stems_of
from mnemon.evidence.word_support import MOOD_NAMES
from mnemon.untrusted_text import reads_outside_text

_PART_DONE = re.compile(
    r"\b(?:started|starting|began|half ?way|half (?:of|done)|about half|partly|partially"
    r"|(?:most|some|part|first|one|two|three|four|five|\d+) of|in progress|working on|still on|so on to"
    r"|now for|to be continued|next up)\b",
    re.IGNORECASE,
)
"""What says that something is begun, or done in part."""
_PAUSE = re.compile(
    r"\b(?:this (?:week|month|time|once)|today|tonight|tomorrow|for now|for a (?:bit|while|week)|until|till"
    r"|paus\w+|postpon\w+|next week|later)\b",
    re.IGNORECASE,
)
"""What says that something only waits."""
_ENDS = re.compile(
    r"\b(?:done|sorted|finished|settled|handled|solved|fixed|off|forget|scrap|drop|never ?mind|cancel\w*)\b",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    r"\b(?:instead|after all|no more|any ?more|scratch|shel\w+|giv\w+ up|gave up|sold|let go|chang\w+ my mind)\b",
    re.IGNORECASE,
)
_RESULTS = frozenset(
    map(
        word_stem,
        [
            "sign",
            "approve",
            "lay",
            "install",
            "finish",
            "complete",
            "submit",
            "publish",
            "fix",
            "repair",
            "paint",
            "review",
        ],
    )
)
"""What a todo asks for that no step towards it gives."""
_AND = re.compile(r"\band\b|[,;]", re.IGNORECASE)
_DROPPING = frozenset(map(word_stem, ("drop", "cancel", "skip", "quit", "abandon", "scrap", "forget", "stop", "end")))
_LATELY = frozenset(("finally", "just", "already", "actually", "luckily", "eventually", "yesterday", "today"))
"""Words that begin a report with a capital and name nobody: "Finally fixed the bike"."""
_NOT_OVER = frozenset({Mood.QUESTION, Mood.HYPOTHETICAL, Mood.FUTURE, Mood.WISH, Mood.REPORT})
"""Moods in which nothing is said to be done."""


@reads_outside_text
def ending_fault(quotation: Quotation, topic: str, *, done: bool) -> str | None:
    """Return why a quote does not say that a todo is over (done, or else dropped); None if it does.

    "I'll call her" and "I haven't called her" do not say that it is done; a negation may well say that it is dropped.
    """
    sentence = quoted_sentence(quotation)
    wanted = [word.stem for word in read_words(topic[:LONGEST_STATEMENT]) if not word.is_function_word]
    within = [word for word in sentence.words if sentence.is_quoted(word) and not word.is_function_word]
    about = [word for word in within if any(is_supported_by(one, word.stem) for one in wanted)] or within
    if not done and any(word.stem in _DROPPING and word.negated for word in sentence.words):
        return "the quote says that it is not dropped"
    if done and about is not within and (left := _uncovered_part(topic, sentence)):
        return f"the quote does not say that “{left}” is done"
    if fault := _unfinished_fault(topic, sentence, about, done=done):
        return fault
    for word in about:
        if done and word.negated:
            return f"the quote says “{word.text}” with a negation"
        for mood in _NOT_OVER if done else _NOT_OVER - {Mood.FUTURE, Mood.WISH}:
            if mood in word.moods:
                return f"the quote {MOOD_NAMES[mood]}, it does not say that it is {'done' if done else 'dropped'}"
    return None


def _unfinished_fault(topic: str, sentence: QuotedSentence, about: Sequence[ReadWord], *, done: bool) -> str | None:
    """Return why a quote ends nothing: it is about something else, somebody else, a part or a pause; else None."""
    stems = {word.stem for word in read_words(topic[:LONGEST_STATEMENT]) if not word.is_function_word}
    told = {word.stem for word in sentence.words}
    if not any(is_supported_by(own, other) for own in stems for other in told) and not _is_answer(sentence, stems):
        return "the quote does not speak of it"
    if not done and not _says_dropped(sentence):
        return "the quote does not say that it is dropped"
    if not done:
        pause = _PAUSE.search(sentence.read)
        return f"the quote says “{pause[0]}”, it does not say that it is dropped" if pause else None
    if CALLED_OFF.search(sentence.read) or any(word.stem in _DROPPING and not word.negated for word in about):
        return "the quote says that it is dropped, not that it is done"
    asked = read_words(topic[:LONGEST_STATEMENT])
    own = {word.stem for word in (*asked[:1], *asked[-1:])} & _RESULTS
    if (
        not _ENDS.search(sentence.read)
        and not any(is_supported_by(one, other) for one in own for other in told)
        and own
    ):
        return f"the quote does not say “{min(own)}”"
    if part := _PART_DONE.search(sentence.read):
        return f"the quote says “{part[0]}”, it does not say that it is done"
    names = {word.stem for word in sentence.words if word.is_name and word.text not in _LATELY}
    for word in about:
        doer = word.subject if isinstance(word.subject, frozenset) else frozenset()
        if doer & names and not doer & stems and not word.in_subject:
            return f"the quote says that “{' '.join(sorted(doer))}” did it"
    return None


def _says_dropped(sentence: QuotedSentence) -> bool:
    """Say whether a quote contains a sign that something was dropped."""
    if CALLED_OFF.search(sentence.read) or _ENDS.search(sentence.read) or _INSTEAD.search(sentence.read):
        return True
    return any(word.negated or word.ceased or word.stem in _DROPPING for word in sentence.words)


def _is_answer(sentence: QuotedSentence, stems: set[str]) -> bool:
    """Say whether a quote that has no word of the todo refers back to it and ends it: "That's done"."""
    before = sentence.quotation.passage.text[:LONGEST_SEARCHED]
    return bool(_ENDS.search(sentence.read)) and bool(stems & stems_of((before,)))


def _uncovered_part(topic: str, sentence: QuotedSentence) -> str | None:
    """Return a part of a todo "a and b" that the quote does not mention; None if it mentions both."""
    parts = _AND.split(topic)
    if len(parts) < 2:
        return None
    for part in parts:
        words = [word for word in read_words(part) if not word.is_function_word]
        if words and not any(is_supported_by(word.stem, said.stem) for word in words for said in sentence.words):
            return part.strip()
    return None
