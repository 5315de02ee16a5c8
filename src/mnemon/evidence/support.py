"""The support gate: does a quote say what a statement claims?

That a quote occurs in the turn is not enough: "I live in Austin" occurs and supports nothing about money. A statement
is supported when
- every figure, date, time and code in it is given by the sentences that its quotes stand in;
- every word of its own that claims something stands in the quotes, as itself, in another form or as a synonym
  (`vocabulary`), and every name there too, unless it is the person's or the entity's that the statement is about;
- at least one such word is negated, asked, wished, reported or past in the quote only if it is so in the statement;
- the quote speaks of the same person: "my sister is allergic" supports nothing about who says it.

Pure. A refusal says what is missing in words from which a model can mend its proposal.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from mnemon.evidence.clause import ReadWord, Speaker, read_words
from mnemon.evidence.figure import find_figures
from mnemon.evidence.moods import Mood
from mnemon.evidence.number_gate import code_fault, number_fault
from mnemon.evidence.quote_gate import Quotation
from mnemon.evidence.said_dates import date_fault, date_spans
from mnemon.evidence.stems import stem
from mnemon.evidence.vocabulary import FREE, QUANTIFIERS, is_supported_by, stem_list
from mnemon.turn import Role
from mnemon.untrusted_text import reads_outside_text

LONGEST_STATEMENT = 2_000
"""The most characters of a statement that can be supported."""
_LONGEST_SEARCHED = 20_000
"""Characters of a quoted message in which the entity's name is sought."""
_SENTENCE_REACH = 600
"""Characters that are searched on either side of a quote for the ends of its sentence."""


class StatementKind(StrEnum):
    """What a statement is, which decides in which moods its quote may stand."""

    FACT = "fact"
    """True now, of the person or an entity."""
    TODO = "todo"
    """Something the person means to do: wishes and plans support it."""
    QUESTION = "question"
    """Something the person left open: a question supports it."""
    LINE = "line"
    """A line of evidence, which names its source: a report supports it."""
    CLAIM = "claim"
    """What an agent takes to be true for now: wishes, plans, reports and suppositions support it."""


@dataclass(frozen=True, kw_only=True)
class StatementSubject:
    """Who a statement is about, and who is speaking in its quote."""

    speaker: Collection[str] = ()
    """Names of the person who speaks; "I" in a quote means them."""
    entity: str | None = None
    """The label of the entity that the statement is about; None for the person."""
    entity_is_person: bool = True
    known: Collection[str] = ()
    """Further names that the statement may use: people and things already on record."""


_MAY_STAND_IN: dict[StatementKind, frozenset[Mood]] = {
    StatementKind.FACT: frozenset(),
    StatementKind.TODO: frozenset({Mood.WISH, Mood.FUTURE}),
    StatementKind.QUESTION: frozenset(Mood),
    StatementKind.LINE: frozenset({Mood.REPORT}),
    StatementKind.CLAIM: frozenset({Mood.WISH, Mood.FUTURE, Mood.REPORT, Mood.HYPOTHETICAL}),
}
_SATISFIED_BY = {
    Mood.QUESTION: frozenset({Mood.QUESTION}),
    Mood.WISH: frozenset({Mood.WISH}),
    Mood.FUTURE: frozenset({Mood.FUTURE, Mood.WISH}),
    Mood.HYPOTHETICAL: frozenset({Mood.HYPOTHETICAL}),
    Mood.REPORT: frozenset({Mood.REPORT}),
    Mood.PAST: frozenset({Mood.PAST}),
}
"""The moods of a statement that keep the mood of its quote."""
_CHANGES_MEANING = frozenset({Mood.WISH, Mood.FUTURE, Mood.PAST})
"""Moods that a statement must not add; an added "might" only weakens it."""
_MOOD_NAMES = {
    Mood.QUESTION: "is a question",
    Mood.WISH: "is a wish",
    Mood.HYPOTHETICAL: "is a supposition",
    Mood.REPORT: "reports somebody else's words",
    Mood.PAST: "speaks of the past",
    Mood.FUTURE: "speaks of the future",
}
_NOT_OVER = frozenset({Mood.QUESTION, Mood.HYPOTHETICAL, Mood.FUTURE, Mood.WISH, Mood.REPORT})
"""Moods in which nothing is said to be done."""
_MOOD_WORDS = stem_list("mood")
"""Stems that carry a mood, which is compared as a whole, or a relative date, which is checked as a date."""
_NEGATION_WORDS = stem_list("negating") | stem_list("avoiding")
_LINE_WORDS = stem_list("line")
"""Stems by which a line of evidence says how it came about."""
_OWN_AIMS = stem_list("aim")
"""Stems of a subject that stands for what the speaker means to do: "my goal is to run"."""
_OLD = re.compile(r"[\s-]*(?:years?[\s-]*)?old\b|\s*of age\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?…](?=\s|$|[\"')”’])|\n")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


@dataclass(frozen=True, kw_only=True)
class _QuotedSentence:
    """The sentences a quote stands in, and where in them it begins and ends."""

    quotation: Quotation
    text: str
    start: int
    end: int
    words: tuple[ReadWord, ...]

    def is_quoted(self, word: ReadWord) -> bool:
        """Say whether the word is inside the quote itself."""
        return self.start <= word.start < self.end


@reads_outside_text
def support_fault(
    statement: str, quotations: Sequence[Quotation], kind: StatementKind, subject: StatementSubject
) -> str | None:
    """Return why the quotes do not support the statement, in words that help to mend it; None when they do."""
    if len(statement) > LONGEST_STATEMENT:
        return f"it has {len(statement)} characters; at most {LONGEST_STATEMENT} can be supported by quotes"
    sentences = [_quoted_sentence(one) for one in quotations]
    texts = [one.text for one in sentences]
    return (
        number_fault(statement, texts)
        or date_fault(statement, [(one.text, one.quotation.passage.at) for one in sentences])
        or code_fault(statement, texts)
        or _figure_noun_fault(statement, texts)
        or _words_fault(statement, sentences, kind, subject)
    )


@reads_outside_text
def ending_fault(quotation: Quotation, topic: str, *, done: bool) -> str | None:
    """Return why a quote does not say that something is over; None when it does.

    "I'll call her" and "I haven't called her" do not say that it is done; a negation may well say that it is dropped.
    """
    sentence = _quoted_sentence(quotation)
    wanted = [word.stem for word in read_words(topic[:LONGEST_STATEMENT]) if not word.is_function_word]
    within = [word for word in sentence.words if sentence.is_quoted(word) and not word.is_function_word]
    about = [word for word in within if any(is_supported_by(one, word.stem) for one in wanted)] or within
    for word in about:
        if done and word.negated:
            return f"the quote says “{word.text}” with a negation"
        for mood in _NOT_OVER if done else _NOT_OVER - {Mood.FUTURE, Mood.WISH}:
            if mood in word.moods:
                return f"the quote {_MOOD_NAMES[mood]}, it does not say that it is {'done' if done else 'dropped'}"
    return None


def _quoted_sentence(quotation: Quotation) -> _QuotedSentence:
    """Return the whole sentences around a quote."""
    text = quotation.passage.text
    low = max(0, quotation.start - _SENTENCE_REACH)
    begin = low
    for found in _SENTENCE_END.finditer(text, low, quotation.start):
        begin = found.end()
    high = min(len(text), quotation.end + _SENTENCE_REACH)
    # The quote may end with its sentence's own full stop.
    stop = _SENTENCE_END.search(text, max(quotation.start, quotation.end - 1), high)
    until = stop.end() if stop else high
    around = text[begin:until]
    return _QuotedSentence(
        quotation=quotation,
        text=around,
        start=quotation.start - begin,
        end=quotation.end - begin,
        words=read_words(around),
    )


def _figure_noun_fault(statement: str, texts: Sequence[str]) -> str | None:
    """Return which counted noun has another figure in the quote: "5 cats and 2 dogs" do not make "5 dogs"."""
    said: dict[str, set[object]] = {}
    for text in texts:
        for value, noun in _counted_nouns(text):
            said.setdefault(noun, set()).add(value)
    for value, noun in _counted_nouns(statement):
        if noun in said and value not in said[noun]:
            return f"the quote gives another figure for “{noun}”"
    return None


def _counted_nouns(text: str) -> Iterable[tuple[object, str]]:
    """Yield each bare figure of the text with the noun directly after it."""
    for figure in find_figures(text):
        after = _WORD.match(text, figure.end + 1) if figure.unit is None else None
        if after:
            yield (figure.low, figure.high), stem(after[0].lower())


def _words_fault(
    statement: str, sentences: Sequence[_QuotedSentence], kind: StatementKind, subject: StatementSubject
) -> str | None:
    """Return which word of the statement is not supported, or supports something else."""
    claimed = read_words(statement)
    names = _stems_of((*subject.speaker, *subject.known))
    label = _stems_of((subject.entity,)) if subject.entity else frozenset()
    if fault := _label_fault(subject, label, names, sentences):
        return fault
    skipped = _dated_spans(statement)
    own = [
        word
        for word in claimed
        if _needs_support(word, kind) and not any(start <= word.start < end for start, end in skipped)
    ]
    anchors = [word for word in own if word.stem not in names | label]
    if not anchors:
        return None if own or skipped else "it says nothing that the quote could support"
    if fault := _quantifier_fault(claimed, sentences):
        return fault
    checker = _Checker(claimed, sentences, kind, subject, names, label)
    missing = [word.text for word in anchors if not checker.occurrences(word)]
    if missing:
        return "the quote does not say: " + ", ".join(dict.fromkeys(missing))
    return checker.fault(anchors) or _order_fault(claimed, sentences)


def _label_fault(
    subject: StatementSubject, label: frozenset[str], names: frozenset[str], sentences: Sequence[_QuotedSentence]
) -> str | None:
    """Return that the entity is mentioned nowhere: neither in the quoted messages nor on record."""
    if not subject.entity or label & names:
        return None
    told = _stems_of(one.quotation.passage.text[:_LONGEST_SEARCHED] for one in sentences)
    if label & told or any(is_supported_by(one, other) for one in label for other in told):
        return None
    return f"“{subject.entity}” is mentioned nowhere in the quoted message"


def _stems_of(names: Iterable[str | None]) -> frozenset[str]:
    """Return the stems of all words in the names."""
    return frozenset(stem(word.lower().removesuffix("'s")) for name in names if name for word in _WORD.findall(name))


def _dated_spans(statement: str) -> list[tuple[int, int]]:
    """Return where dates, times and figures stand, whose words are checked by their own gates."""
    found = [*date_spans(statement), *((one.start, one.end) for one in find_figures(statement))]
    return [(start, after.end() if (after := _OLD.match(statement, end)) else end) for start, end in found]


def _needs_support(word: ReadWord, kind: StatementKind) -> bool:
    """Say whether the word claims something that a quote must say."""
    if word.is_function_word or word.stem in FREE or any(sign.isdigit() for sign in word.text):
        return False
    if kind is StatementKind.LINE and word.stem in _LINE_WORDS:
        return False
    return word.stem not in _MOOD_WORDS and word.stem not in _NEGATION_WORDS and not word.text.endswith("n't")


def _quantifier_fault(claimed: Sequence[ReadWord], sentences: Sequence[_QuotedSentence]) -> str | None:
    """Return which word widens the statement beyond its quote: "all" where "some" was said."""
    said = {word.text for one in sentences for word in one.words}
    for word in claimed:
        wider = QUANTIFIERS.get(word.text)
        if wider and not said & wider:
            return f"the quote does not say “{word.text}”"
    return None


class _Checker:
    """Finds, for each word of a statement, an occurrence in the quotes that says the same of the same subject."""

    def __init__(
        self,
        claimed: Sequence[ReadWord],
        sentences: Sequence[_QuotedSentence],
        kind: StatementKind,
        subject: StatementSubject,
        names: frozenset[str],
        label: frozenset[str],
    ) -> None:
        self.kind, self.subject, self.names, self.label = kind, subject, names, label
        self.moods = frozenset(mood for word in claimed for mood in word.moods)
        self.ceased = any(word.ceased for word in claimed)
        self.reflected = frozenset(word.stem for word in claimed) | label
        self.around = [(one, word) for one in sentences for word in one.words]
        self.quoted = [(one, word) for one, word in self.around if one.is_quoted(word)]

    def occurrences(self, word: ReadWord) -> list[tuple[_QuotedSentence, ReadWord]]:
        """Return the quoted words that support this one, whatever is said of them."""
        within = self.around if word.is_name or word.opens else self.quoted
        return [(one, said) for one, said in within if is_supported_by(word.stem, said.stem)]

    def fault(self, anchors: Sequence[ReadWord]) -> str | None:
        """Return why the best occurrences of the words still do not support the statement."""
        chosen = []
        for word in anchors:
            faults = [(self._occurrence_fault(word, one, said), said) for one, said in self.occurrences(word)]
            fault, said = min(faults, key=lambda each: each[0] is not None)
            if fault and not said.owned:
                return fault
            chosen.append((fault, said))
        # "Is my sister Ana coming?" tells, though it asks, that there is a sister Ana.
        if any(fault for fault, _ in chosen) and not all(said.owned for _, said in chosen):
            return next(fault for fault, _ in chosen if fault)
        added = self.moods & _CHANGES_MEANING - frozenset(mood for _, said in chosen for mood in said.moods)
        if any(said.ceased for _, said in chosen) or self.kind not in {StatementKind.FACT, StatementKind.CLAIM}:
            added = added - {Mood.PAST}
        if self.kind is StatementKind.CLAIM:
            added = added & {Mood.PAST}
        if self.kind in {StatementKind.TODO, StatementKind.QUESTION}:
            return None
        for mood in Mood:
            if mood in added and not any(_SATISFIED_BY[other] & {mood} for _, said in chosen for other in said.moods):
                return f"the statement {_MOOD_NAMES[mood]}, the quote does not"
        return None

    def _occurrence_fault(self, word: ReadWord, one: _QuotedSentence, said: ReadWord) -> str | None:
        """Return in what an occurrence differs from the word: negation, mood, or whom it is said of."""
        over = said.ceased and (self.ceased or word.negated)
        if word.negated != said.negated and not over and not (said.ceased and Mood.PAST in self.moods):
            return f"the quote says “{said.text}” {'with' if said.negated else 'without'} a negation"
        if said.ceased and not over and not self.ceased and Mood.PAST not in self.moods:
            return f"the quote says that “{said.text}” is over"
        for mood in Mood:
            if mood not in said.moods or mood in _MAY_STAND_IN[self.kind]:
                continue
            if mood is Mood.PAST and over:
                continue
            if not _SATISFIED_BY[mood] & self.moods:
                return f"the quote {_MOOD_NAMES[mood]}, the statement does not say so"
        return self._subject_fault(word, one, said)

    def _subject_fault(self, word: ReadWord, one: _QuotedSentence, said: ReadWord) -> str | None:
        """Return whom the quote speaks of, where the statement is about somebody else."""
        spoken = said.subject
        about_other = self._is_about_other(word)
        if spoken is None or spoken == word.subject or said.in_subject or one.quotation.passage.role is not Role.USER:
            return None
        if spoken is Speaker.FIRST:
            fits = not about_other or said.owned or said.apposed
            return None if fits else f"in the quote “{said.text}” is said of the speaker"
        if spoken is Speaker.SECOND:
            return None if self.kind is StatementKind.LINE else f"in the quote “{said.text}” is said of “you”"
        if spoken is Speaker.OTHER:
            return (
                None
                if about_other or self.kind is StatementKind.LINE
                else f"in the quote “{said.text}” is said of somebody else"
            )
        if self._names_subject(spoken):
            return None
        return f"in the quote “{said.text}” is said of “{' '.join(sorted(spoken))}”"

    def _names_subject(self, spoken: frozenset[str]) -> bool:
        """Say whether the statement names the subject of the quote, or the speaker is meant."""
        if self.kind is StatementKind.TODO:
            return bool(spoken & (self.names | _OWN_AIMS))
        if spoken & (self.names | FREE):
            return True
        return any(is_supported_by(own, other) for other in spoken for own in self.reflected)

    def _is_about_other(self, word: ReadWord) -> bool:
        """Say whether the statement speaks of somebody who is not the speaker."""
        if isinstance(word.subject, frozenset):
            return not word.subject & (self.names | FREE) and bool(word.subject)
        if self.subject.entity and self.subject.entity_is_person:
            return not self.label & self.names
        return word.subject is Speaker.OTHER


def _order_fault(claimed: Sequence[ReadWord], sentences: Sequence[_QuotedSentence]) -> str | None:
    """Return that two names changed places around the same verb: "Ann owes Bob" does not say "Bob owes Ann"."""
    names = [word for word in claimed if word.is_name or word.opens]
    words = {word.text for word in claimed}
    if len(names) < 2 or words & {"by", "with", "and", "or", "both"}:
        return None
    for one in sentences:
        places = {word.stem: word.start for word in reversed(one.words)}
        for left, right in pairwise(names):
            if left.stem in places and right.stem in places and places[left.stem] > places[right.stem]:
                between = {w.stem for w in claimed if left.start < w.start < right.start and not w.is_function_word}
                if between & set(places) and not {"by", "with", "and"} & {w.text for w in one.words}:
                    return f"the quote names “{right.text}” before “{left.text}”: they may have changed places"
    return None
