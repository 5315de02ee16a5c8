"""Whether words bear on a claim: what a claim and its evidence share, and which turns carry anything at all. Pure.

A quote that supports its line may still have nothing to do with the claim it is given for: "Dana met the team" is no
evidence of fraud. English words are compared by their stems; scripts without spaces by pairs of characters.
"""

import re
from collections.abc import Collection, Iterable, Iterator

from mnemon.evidence.clause import ReadWord, read_words
from mnemon.evidence.confidence import EvidenceLine, Stance
from mnemon.evidence.figure import find_figures
from mnemon.evidence.moods import Mood
from mnemon.evidence.stems import stem, stem_words
from mnemon.evidence.vocabulary import FREE, FUNCTION_WORDS, is_supported_by
from mnemon.untrusted_text import reads_outside_text

LONGEST_READ = 20_000
"""The most characters of a turn that are read for content."""
MIN_CONTENT_STEMS = 2
"""The content words that make a turn count: "We make valves" has two, "hello there" none."""
BORNE_OUT_SHARE = 0.5
"""The share of a claim's content words that its evidence must have before it may become a finding."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff]+")
_UNTELLING = FREE - stem_words("late people customer client claim share concern")
"""Stems that claim nothing by themselves; some that say nothing of a person say much of an organization."""
_NO_CONTENT = _UNTELLING | stem_words(
    "no not never none nobody nothing neither nor without cannot don't doesn't isn't aren't won't can't didn't wasn't "
    "maybe perhaps possibly probably really actually simply only always often sometimes usually all every many few lot "
    "want wish hope think believe know guess mean seem like get got go make made let lets take put come"
)
"""Stems of negations, moods and light verbs, by which no claim is recognized."""
_CONTRASTS = {
    "before",
    "after",
    "above",
    "below",
    "over",
    "under",
    "up",
    "down",
    "off",
    "out",
    "against",
    "more",
    "less",
}
_COPULAS = {"is", "are", "was", "were", "be", "am"}
_ABBREVIATIONS = {
    "ops": "operations",
    "op": "operations",
    "mfg": "manufacturing",
    "eng": "engineering",
    "dev": "development",
    "mktg": "marketing",
    "fin": "finance",
    "acct": "accounting",
    "admin": "administration",
    "mgmt": "management",
}
"""Names of departments as they are shortened."""
_SMALL_TALK = stem_words(
    "hello hi hey hiya howdy greetings good morning afternoon evening night day weekend thanks thank please ok okay "
    "yes yeah yep nope no sure great nice fine bye goodbye cheers welcome sorry cool awesome perfect wonderful lovely "
    "glad happy pleased weather sunny rain coffee friend everyone everybody team folks again back ready start begin "
    "test testing ping help assist question ask talk speak chat meet see later soon tomorrow tonight well doing going "
    "luck right exactly indeed agree course alright hmm um uh oh wow haha lol"
)
"""Stems of greetings, thanks and other words that tell nothing of the matter."""


@reads_outside_text
def content_stems(text: str) -> frozenset[str]:
    """Return the stems of a text's content words: no grammar, no figures, no light verbs."""
    return frozenset(_iterate_stems(text)) - _NO_CONTENT


def _iterate_stems(text: str) -> Iterator[str]:
    """Yield the stem of each content word; of text without spaces, each pair of characters."""
    for found in _WORD.finditer(text):
        word = found[0].casefold().replace("’", "'").removesuffix("'s")
        unspaced = _UNSPACED.search(word)
        if unspaced:
            run = unspaced[0]
            yield from (run[place : place + 2] for place in range(max(1, len(run) - 1)))
        elif word not in FUNCTION_WORDS and len(word) > 1 and not word.isdigit():
            yield stem(word)


@reads_outside_text
def carries_content(text: str) -> bool:
    """Say whether a message has content beyond greetings and small talk."""
    return len(frozenset(_iterate_stems(text[:LONGEST_READ])) - _SMALL_TALK - _UNTELLING) >= MIN_CONTENT_STEMS


def bears_on(statement: str, *texts: str) -> bool:
    """Say whether one of the texts shares a content word with the statement."""
    claimed = content_stems(statement)
    return any(_is_shared(one, content_stems(text)) for text in texts for one in claimed)


def borne_out_share(statement: str, lines: Iterable[EvidenceLine]) -> float:
    """Return the share of the statement's content words that occur in the evidence lines or their quotes."""
    claimed = content_stems(statement)
    said = frozenset(word for line in lines for word in content_stems(f"{line.line}\n{line.quote}"))
    return sum(_is_shared(one, said) for one in claimed) / len(claimed) if claimed else 0.0


@reads_outside_text
def say_the_same(one: str, other: str) -> bool:
    """Say whether two statements claim the same: equal content words, negation, figures and contrasts.

    Without a form of "to be" their order counts too: "Sales blames Ops" is not "Ops blames Sales".
    """
    left, right = content_stems(one), content_stems(other)
    if not left or left != right or _is_negated(one) != _is_negated(other) or _figures_in(one) != _figures_in(other):
        return False
    words, others = (_WORD.findall(text.casefold()) for text in (one, other))
    if _CONTRASTS & set(words) != _CONTRASTS & set(others):
        return False
    if _COPULAS & set(words):
        return True
    return [word for word in _iterate_stems(one) if word in left] == [
        word for word in _iterate_stems(other) if word in right
    ]


def stance_fault(statement: str, quoted: str, stance: Stance) -> str | None:
    """Return the fault where a quote's words contradict its stance; None if words alone do not show that.

    Words show it only if the quote has every content word of the statement.
    """
    claimed = [word for word in read_words(statement) if _is_content(word)]
    said = [word for word in read_words(quoted) if _is_content(word)]
    pairs = [(word, [other for other in said if is_supported_by(word.stem, other.stem)]) for word in claimed]
    if len(claimed) < 2 or not all(others for _, others in pairs):
        return None
    differing = [all(_is_denied(word) != _is_denied(other) for other in others) for word, others in pairs]
    # With a negation in both and every word on another side of it, only its place differs: "briefed by nobody".
    opposed = any(differing) and (_is_negated(statement) != _is_negated(quoted) or not all(differing))
    if stance is Stance.SUPPORTS:
        return "the quote denies what the statement says: its stance is contradicts" if opposed else None
    plain = not opposed and all(not other.moods - {Mood.REPORT} for _, others in pairs for other in others)
    if plain and content_stems(statement) == content_stems(quoted) and _figures_in(statement) == _figures_in(quoted):
        return "the quote says what the statement says: its stance is supports"
    return None


def unheard_names(statement: str, *heard: Iterable[str]) -> list[str]:
    """Return the names and acronyms in the statement that occur in none of the texts."""
    # At the beginning any word has a capital; a plural there is no name as a rule: "Approvals are slow".
    names = [
        word.text
        for word in read_words(statement)
        if (word.is_name or word.is_acronym)
        and not word.is_function_word
        and not (word.opens and word.text.endswith("s"))
    ]
    for texts in heard:
        if not names:
            return []
        said = _heard_stems(texts)
        names = [name for name in names if not {stem(name), stem(_ABBREVIATIONS.get(name, name))} & said]
    return list(dict.fromkeys(names))


@reads_outside_text
def _heard_stems(texts: Iterable[str]) -> set[str]:
    """Return the stems of all words of the texts."""
    return {stem(word.casefold().removesuffix("'s")) for text in texts for word in _WORD.findall(text)}


def _is_content(word: ReadWord) -> bool:
    """Say whether a word has content: no function word, no filler, no number."""
    return not word.is_function_word and word.stem not in _NO_CONTENT and not word.text.isdigit()


def _is_denied(word: ReadWord) -> bool:
    """Say whether a word is negated or said to be over."""
    return word.negated or word.ceased


def _is_negated(text: str) -> bool:
    """Say whether the text contains a negated word."""
    return any(word.negated for word in read_words(text))


def _figures_in(text: str) -> frozenset[object]:
    """Return the figures in the text, as value range and unit."""
    return frozenset((one.low, one.high, one.unit) for one in find_figures(text))


def _is_shared(claimed: str, said: Collection[str]) -> bool:
    """Say whether one of the said stems supports the claimed stem, or is supported by it."""
    return claimed in said or any(is_supported_by(claimed, one) or is_supported_by(one, claimed) for one in said)
