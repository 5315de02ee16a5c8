"""The fold gate: a text that replaces others must keep every figure, name, date and negation of each of them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mnemon.evidence.binding import crossed_fault
from mnemon.evidence.clause import ReadWord, read_words
from mnemon.evidence.contrast import frequency_fault
from mnemon.evidence.figure import find_figures
from mnemon.evidence.moods import Mood
from mnemon.evidence.number_gate import code_fault, is_same_figure, number_fault
from mnemon.evidence.said_dates import find_dates, find_times
from mnemon.evidence.vocabulary import FREE, is_past_form, stem_list
from mnemon.untrusted_text import reads_outside_text

_NEGATING = stem_list("negating")

TokenClasses = tuple[frozenset[object], frozenset[str], frozenset[object], frozenset[str], frozenset[tuple[str, str]]]
"""What may not be lost from a text: figures, numbers that are none, dates and times, names, and negated words."""


@reads_outside_text
def distinguishing_tokens(text: str) -> TokenClasses:
    """Return the figures, names, dates and negations of a text, by which it differs from similar texts."""
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
    left, right = distinguishing_tokens(one), distinguishing_tokens(other)
    if left[:3] != right[:3] or left[4] != right[4]:
        return True
    words = {word.stem for word in read_words(one)}, {word.stem for word in read_words(other)}
    return not left[3] <= words[1] or not right[3] <= words[0]


@reads_outside_text
def fold_fault(folded: str, fragments: Sequence[str]) -> str | None:
    """Return what a folded text loses or changes of one of its fragments; None if it keeps everything."""
    for fragment in fragments:
        fault = number_fault(fragment, [folded]) or code_fault(fragment, [folded])
        if fault or not _keeps_figures(folded, fragment):
            return f"it loses a figure of “{fragment[:80]}”"
        if not _dates_in(fragment) <= _dates_in(folded):
            return f"it loses a date of “{fragment[:80]}”"
        if lost := _lost_word(folded, fragment):
            return f"it loses or changes “{lost}” of “{fragment[:80]}”"
        if fault := frequency_fault(folded, fragment):
            return fault
    return crossed_fault(folded, fragments) or _roles_fault(folded, fragments)


def _keeps_figures(folded: str, fragment: str) -> bool:
    """Say whether every figure of the fragment occurs in the folded text, unrounded."""
    kept = find_figures(folded)
    return all(any(is_same_figure(one, other) for other in kept) for one in find_figures(fragment))


def _dates_in(text: str) -> frozenset[object]:
    """Return the dates of the text."""
    return distinguishing_tokens(text)[2]


def _mode_of(word: ReadWord) -> str:
    """Return how a word is meant where it is not simply true: negated, over, or its moods; empty where it is."""
    kept = sorted(word.moods - {Mood.PAST, Mood.FUTURE})
    return " ".join([*(["not"] if word.negated else []), *(["over"] if word.ceased else []), *kept])


def _content_words(words: Iterable[ReadWord]) -> list[ReadWord]:
    """Return the words with content of their own: no function words, fillers or negations."""
    return [
        word for word in words if not word.is_function_word and word.stem not in FREE and word.stem not in _NEGATING
    ]


def _lost_word(folded: str, fragment: str) -> str | None:
    """Return a word of the fragment that the folded text lacks, negates, doubts or ends otherwise; None without."""
    kept: dict[str, set[str]] = {}
    done: set[str] = set()
    for word in read_words(folded):
        kept.setdefault(word.stem, set()).add(_mode_of(word))
        if word.shared:
            kept[word.stem] |= {"", "not"}
        if is_past_form(word.text) and Mood.FUTURE not in word.moods:
            done.add(word.stem)
    told = _content_words(read_words(fragment))
    # "Does not eat natto" is kept by "eats meat but not natto": what is denied is still denied.
    denied = {word.clause for word in told if word.negated and "not" in kept.get(word.stem, ())}
    for word in told:
        modes = kept.get(word.stem)
        if modes is None:
            if word.is_name or (word.negated and word.clause not in denied):
                return word.text
        elif (Mood.FUTURE in word.moods and word.stem in done and not is_past_form(word.text)) or not _keeps_mode(
            word, modes, denied
        ):
            return word.text
    return None


def _keeps_mode(word: ReadWord, modes: set[str], denied: set[int]) -> bool:
    """Say whether a word is asserted, negated or doubted in the folded text as it is in its fragment."""
    if _mode_of(word) in modes:
        return True
    if word.is_name and not word.negated:
        return any("not" not in mode for mode in modes)
    # A figure has no other words to be known by: "not 5 mg" is kept by "not … 5 mg" only, never by another denied dose.
    if any(sign.isdigit() for sign in word.text):
        return False
    return word.negated and word.clause in denied and _mode_of(replace(word, negated=False)) in modes


def _roles_fault(folded: str, fragments: Sequence[str]) -> str | None:
    """Return the fault where two names swap their roles, "Ann manages Bo" for "Bo manages Ann"; None without."""
    claimed = read_words(folded)
    if any(word.text == "by" for word in claimed):
        return None
    for fragment in fragments:
        words = read_words(fragment)
        names = [word for word in words if word.is_name]
        if len(names) != 2 or names[0].stem == names[1].stem:
            continue
        between = _stems_between(words, names[0].stem, names[1].stem)
        if between & _stems_between(claimed, names[1].stem, names[0].stem) - _stems_between(
            claimed, names[0].stem, names[1].stem
        ):
            return f"it changes the roles of “{names[0].text}” and “{names[1].text}”"
    return None


def _stems_between(words: Sequence[ReadWord], first: str, second: str) -> set[str]:
    """Return the stems between two names that stand in this order in one sentence; empty if they do not."""
    found: set[str] = set()
    started, sentence = False, -1
    for word in words:
        if word.stem == first:
            found, started, sentence = set(), True, word.sentence
        elif started and word.stem == second and word.sentence == sentence:
            return found
        elif started and not word.is_function_word:
            found.add(word.stem)
    return set()
