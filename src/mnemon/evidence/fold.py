"""The fold gate: a text that replaces others must keep every figure, name, date and negation of each of them."""

from collections.abc import Iterable, Sequence

from mnemon.evidence.binding import crossed_fault
from mnemon.evidence.clause import ReadWord, read_words
from mnemon.evidence.figure import find_figures
from mnemon.evidence.moods import Mood
from mnemon.evidence.number_gate import code_fault, is_same_figure, number_fault
from mnemon.evidence.said_dates import find_dates, find_times
from mnemon.evidence.vocabulary import FREE, stem_list
from mnemon.untrusted_text import reads_outside_text

_NEGATING = stem_list("negating")

TokenClasses = tuple[frozenset[object], frozenset[str], frozenset[object], frozenset[str], frozenset[tuple[str, str]]]
"""What may not be lost from a text: figures, numbers that are none, dates and times, names, and negated words."""


@reads_outside_text
def token_classes(text: str) -> TokenClasses:
    """Return what distinguishes the text from one that says something else in nearly the same words."""
    figures = frozenset((figure.low, figure.high, figure.unit) for figure in find_figures(text))
    words = read_words(text)
    codes = frozenset(word.text for word in words if any(sign.isdigit() for sign in word.text))
    dates = frozenset((one.year, one.month, one.day, one.weekday) for one in find_dates(text)) | frozenset(
        one.minutes for one in find_times(text)
    )
    names = frozenset(word.stem for word in words if word.is_name)
    modes = frozenset((word.stem, _mode_of(word)) for word in _content_words(words) if _mode_of(word))
    return figures, codes, dates, names, modes


@reads_outside_text
def differ_in_substance(one: str, other: str) -> bool:
    """Say whether two similar texts differ in a figure, a name, a date or a negation; capitals alone make no name."""
    left, right = token_classes(one), token_classes(other)
    if left[:3] != right[:3] or left[4] != right[4]:
        return True
    words = {word.stem for word in read_words(one)}, {word.stem for word in read_words(other)}
    return not left[3] <= words[1] or not right[3] <= words[0]


@reads_outside_text
def fold_fault(folded: str, fragments: Sequence[str]) -> str | None:
    """Return what the folded text loses or changes of one of its fragments; None when it keeps everything."""
    for fragment in fragments:
        fault = number_fault(fragment, [folded]) or code_fault(fragment, [folded])
        if fault or not _keeps_figures(folded, fragment):
            return f"it loses a figure of “{fragment[:80]}”"
        if not _dates(fragment) <= _dates(folded):
            return f"it loses a date of “{fragment[:80]}”"
        if lost := _lost_word(folded, fragment):
            return f"it loses or changes “{lost}” of “{fragment[:80]}”"
    return crossed_fault(folded, fragments)


def _keeps_figures(folded: str, fragment: str) -> bool:
    """Say whether every figure of the fragment is in the folded text, unrounded."""
    kept = find_figures(folded)
    return all(any(is_same_figure(one, other) for other in kept) for one in find_figures(fragment))


def _dates(text: str) -> frozenset[object]:
    return token_classes(text)[2]


def _mode_of(word: ReadWord) -> str:
    """Return how a word is meant where it is not plainly true: negated, over, or in a mood."""
    kept = sorted(word.moods - {Mood.PAST, Mood.FUTURE})
    return " ".join([*(["not"] if word.negated else []), *(["over"] if word.ceased else []), *kept])


def _content_words(words: Iterable[ReadWord]) -> list[ReadWord]:
    return [
        word for word in words if not word.is_function_word and word.stem not in FREE and word.stem not in _NEGATING
    ]


def _lost_word(folded: str, fragment: str) -> str | None:
    """Return a name that the folded text lacks, or a word that it negates, doubts or ends otherwise; None without."""
    kept: dict[str, set[str]] = {}
    for word in read_words(folded):
        kept.setdefault(word.stem, set()).add(_mode_of(word))
        if word.shared:
            kept[word.stem] |= {"", "not"}
    for word in _content_words(read_words(fragment)):
        modes = kept.get(word.stem)
        if modes is None:
            if word.is_name or word.negated:
                return word.text
        elif _mode_of(word) not in modes:
            return word.text
    return None
