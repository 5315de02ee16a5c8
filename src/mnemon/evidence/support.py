"""The support gate: does a quote say what a statement claims?

That a quote occurs in the turn is not enough: "I live in Austin" occurs and supports nothing about money. A statement
is supported when
- every figure, date, time and code in it is given by the sentences that its quotes stand in;
- every word of its own that claims something stands in the quotes, as itself, in another form or as a synonym
  (`vocabulary`), and every name there too, unless it is the person's or the entity's that the statement is about;
- every such word is negated, asked, wished, reported or past in the quote only if it is so in the statement;
- figures, dates and names keep the company they have in the quote (`binding`);
- the quote speaks of the same person: "my sister is allergic" supports nothing about who says it.

Pure. A refusal says what is missing in words from which a model can mend its proposal.
"""

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from mnemon.evidence.added_words import AddedWords
from mnemon.evidence.binding import binding_fault
from mnemon.evidence.clause import ReadWord, read_words
from mnemon.evidence.contrast import contrast_fault
from mnemon.evidence.disowned import disowned_fault
from mnemon.evidence.ending import ending_fault
from mnemon.evidence.figure import SHARE, Figure, find_figures
from mnemon.evidence.limits import limit_fault, qualifier_fault
from mnemon.evidence.number_gate import code_fault, is_rounded, is_same_figure, number_fault
from mnemon.evidence.quote_gate import Quotation
from mnemon.evidence.records import record_fault
from mnemon.evidence.said_dates import covered_places, date_fault, date_spans
from mnemon.evidence.spoken import spell_dates, spell_figures
from mnemon.evidence.statement import (
    LONGEST_STATEMENT,
    QuotedSentence,
    StatementKind,
    StatementSubject,
    quoted_sentence,
)
from mnemon.evidence.vocabulary import (
    FREE,
    FUNCTION_WORDS,
    QUANTIFIERS,
    is_supported_by,
    stem_list,
    word_list,
    word_stem,
)
from mnemon.evidence.whose import label_fault, order_fault, owner_fault, stems_of, stranger_fault
from mnemon.evidence.word_support import NEGATION_WORDS, WordSupport
from mnemon.untrusted_text import reads_outside_text

__all__ = ["ending_fault", "support_fault"]

_MOOD_WORDS = word_list("mood")
"""Words that carry a mood, which is compared as a whole, or a relative date, which is checked as a date."""
_LINE_WORDS = stem_list("line")
"""Stems by which a line of evidence says how it came about."""
_UNITS = stem_list("unit")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_OLD = re.compile(r"[\s-]*(?:years?[\s-]*)?old\b|\s*of age\b", re.IGNORECASE)
_PART_OF = re.compile(
    r"\b(?:one|some|half|few|couple|most|part|third|quarter|majority)(?: of)? (?:my|our|the|us|them|his|her|their)"
    r" (?!time|day|week|month|year|morning|night|way|other)\w+",
    re.IGNORECASE,
)
_MOST_PLACES = 8
"""Places of one figure in the quotes that are looked at."""
_PARTS = frozenset({"of", "half", "some", "most", "part", "third", "quarter", "majority", "few", "mostly", "partly"})


@reads_outside_text
def support_fault(
    statement: str, quotations: Sequence[Quotation], kind: StatementKind, subject: StatementSubject
) -> str | None:
    """Return why the quotes do not support the statement, in words that help to mend it; None when they do."""
    if len(statement) > LONGEST_STATEMENT:
        return f"it has {len(statement)} characters; at most {LONGEST_STATEMENT} can be supported by quotes"
    sentences = [quoted_sentence(one) for one in quotations]
    texts = [text for one in sentences for text in one.sources]
    spoken = [*texts, *map(spell_figures, texts)]
    dated = [(text, one.quotation.passage.at) for one in sentences for text in one.sources]
    return (
        # A name on record may be a number word of another language: Otto is one in Italian.
        number_fault(statement, [*spoken, *(name for name in subject.known if not find_figures(name))])
        or date_fault(statement, [*dated, *((spell_dates(text, at), at) for text, at in dated)])
        or code_fault(statement, spoken)
        or _figure_noun_fault(statement, texts)
        or _words_fault(statement, sentences, kind, subject)
    )


def _figure_noun_fault(statement: str, texts: Sequence[str]) -> str | None:
    """Return the fault where a counted noun has another figure: "5 dogs" for "5 cats and 2 dogs"; None without."""
    said: dict[str, list[Figure]] = {}
    bare: list[Figure] = []
    for text in texts:
        counted = list(_counted_nouns(text))
        for figure, noun in counted:
            said.setdefault(noun, []).append(figure)
        bare += [one for one in find_figures(text) if all(one.start != figure.start for figure, _ in counted)]
    for figure, noun in _counted_nouns(statement):
        # "From 20 to 10 mg" gives both in mg.
        others = [*said.get(noun, ()), *bare] if noun in said else []
        measured = [
            other for other, ones in said.items() if other in _UNITS and any(is_same_figure(figure, x) for x in ones)
        ]
        if noun in _UNITS and measured and not any(is_supported_by(noun, other) for other in measured):
            return f"the quote gives the figure in “{measured[0]}”"
        if others and not any(is_same_figure(figure, one) or is_rounded(figure, one) for one in others):
            return f"the quote gives another figure for “{noun}”"
    return None


def _figure_places(statement: str, sentences: Sequence[QuotedSentence]) -> list[tuple[int, list[tuple[int, int]]]]:
    """Return, for each figure of the statement, where it begins and where the quotes with several figures have it."""
    given: dict[tuple[Fraction, Fraction], list[tuple[int, int]]] = {}
    for at, one in enumerate(sentences):
        for figure in find_figures(one.read) if not one.fields else ():
            given.setdefault((figure.low, figure.high), []).append((at, figure.start))
    if len(given) < 2:
        return []
    return [(own.start, given.get((own.low, own.high), [])[:_MOST_PLACES]) for own in find_figures(statement)]


def _counted_nouns(text: str) -> Iterable[tuple[Figure, str]]:
    """Yield each bare figure of the text with the noun directly after it."""
    for figure in find_figures(text):
        after = _WORD.match(text, figure.end + 1) if figure.unit is None else None
        if after and after[0].lower() not in FUNCTION_WORDS:
            yield figure, word_stem(after[0].lower())


def _words_fault(
    statement: str, sentences: Sequence[QuotedSentence], kind: StatementKind, subject: StatementSubject
) -> str | None:
    """Return the fault of the first word that the quotes do not support, or support with another meaning; or None."""
    claimed = read_words(statement)
    names = stems_of((*subject.speaker, *subject.known))
    label = stems_of((subject.entity,)) if subject.entity else frozenset()
    if fault := label_fault(subject, label, names, sentences):
        return fault
    skipped = _dated_spans(statement)
    judged = covered_places(len(statement), skipped)
    own = [word for word in claimed if _needs_support(word, kind) and not judged[word.start]]
    if not own and not skipped:
        return "it says nothing that the quote could support"
    if fault := _quantifier_fault(statement, claimed, sentences):
        return fault
    checker = WordSupport(
        claimed,
        sentences,
        kind,
        subject,
        names,
        label,
        dated=bool(date_spans(statement)),
        has_figures=bool(find_figures(statement)),
    )
    missing = [word for word in own if not checker.occurrences(word) and word.stem not in names | label]
    present = [word for word in own if checker.occurrences(word)]
    added = AddedWords(claimed, sentences)
    if kind is StatementKind.FACT and (verb := added.open_verb()):
        return f"the quote says “{verb}”, not what came of it"
    if missing := added.unsupported_additions(missing, present):
        return "the quote does not say: " + ", ".join(dict.fromkeys(word.text for word in missing))
    if fault := checker.fault(present) or order_fault(claimed, sentences):
        return fault
    if fault := checker.figure_fault(claimed, _figure_places(statement, sentences)):
        return fault
    if kind is StatementKind.QUESTION:
        return None
    about_other = bool(subject.entity) and subject.entity_is_person
    return (
        disowned_fault(claimed, sentences, kind, about_other=about_other, speaker=names)
        or stranger_fault(claimed, label, names, sentences)
        or (_fact_fault(claimed, names | label, sentences) if kind is StatementKind.FACT else None)
        or limit_fault(statement, claimed, sentences, kind)
        or contrast_fault(statement, claimed, sentences)
        or _company_fault(statement, claimed, sentences, names)
    )


def _fact_fault(claimed: Sequence[ReadWord], names: frozenset[str], sentences: Sequence[QuotedSentence]) -> str | None:
    """Return the fault where a fact loses its owner or a qualifying word of its quote; None without."""
    return owner_fault(claimed, names, sentences) or qualifier_fault(claimed, sentences)


def _company_fault(
    statement: str, claimed: Sequence[ReadWord], sentences: Sequence[QuotedSentence], names: frozenset[str]
) -> str | None:
    """Return the fault where a value, figure, date or name stands with other words than in the quote; else None."""
    for one in sentences:
        fault = record_fault(statement, claimed, one.fields)
        fault = fault or binding_fault(statement, one.text, is_record=bool(one.fields), known=names)
        if fault:
            return fault
    return None


def _dated_spans(statement: str) -> list[tuple[int, int]]:
    """Return the spans of dates, times and figures, whose words other gates check."""
    found = [*date_spans(statement), *((one.start, one.end) for one in find_figures(statement))]
    return [(start, after.end() if (after := _OLD.match(statement, end)) else end) for start, end in found]


def _needs_support(word: ReadWord, kind: StatementKind) -> bool:
    """Say whether the word claims something that a quote must say."""
    if word.is_function_word or word.stem in FREE or any(sign.isdigit() for sign in word.text):
        return False
    if word.text in QUANTIFIERS:
        return False
    if kind is StatementKind.LINE and word.stem in _LINE_WORDS:
        return False
    return word.text not in _MOOD_WORDS and word.stem not in NEGATION_WORDS and not word.text.endswith("n't")


def _quantifier_fault(statement: str, claimed: Sequence[ReadWord], sentences: Sequence[QuotedSentence]) -> str | None:
    """Return which word widens the statement beyond its quote: "all" where "some" was said."""
    said = {word.text for one in sentences for word in one.words}
    for word in claimed:
        wider = QUANTIFIERS.get(word.text)
        if wider and not said & wider:
            return f"the quote does not say “{word.text}”"
    claims_part = any(word.text in _PARTS for word in claimed) or any(
        one.unit == SHARE for one in find_figures(statement)
    )
    if not claims_part and any(_PART_OF.search(one.text) for one in sentences):
        return "the quote speaks of a part only"
    return None
