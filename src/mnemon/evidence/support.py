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
from itertools import pairwise

from mnemon.evidence.added_words import REFERRING, AddedWords
from mnemon.evidence.binding import binding_fault
from mnemon.evidence.clause import ReadWord, read_words
from mnemon.evidence.contrast import contrast_fault
from mnemon.evidence.disowned import CALLED_OFF, disowned_fault
from mnemon.evidence.figure import SHARE, Figure, find_figures
from mnemon.evidence.limits import limit_fault, qualifier_fault
from mnemon.evidence.moods import Mood
from mnemon.evidence.number_gate import code_fault, is_rounded, is_same_figure, number_fault
from mnemon.evidence.quote_gate import Quotation
from mnemon.evidence.records import record_fault
from mnemon.evidence.said_dates import covered_places, date_fault, date_spans
from mnemon.evidence.spoken import spell_dates, spell_figures
from mnemon.evidence.statement import QuotedSentence, StatementKind, StatementSubject, quoted_sentence
from mnemon.evidence.vocabulary import (
    FREE,
    FUNCTION_WORDS,
    QUANTIFIERS,
    is_supported_by,
    stem_list,
    word_list,
    word_stem,
)
from mnemon.evidence.word_support import MOOD_NAMES, NEGATION_WORDS, WordSupport
from mnemon.untrusted_text import reads_outside_text

LONGEST_STATEMENT = 2_000
"""The most characters of a statement that can be supported."""
_LONGEST_SEARCHED = 20_000
"""Characters of a quoted message in which the entity's name is sought."""
_NOT_OVER = frozenset({Mood.QUESTION, Mood.HYPOTHETICAL, Mood.FUTURE, Mood.WISH, Mood.REPORT})
"""Moods in which nothing is said to be done."""
_MOOD_WORDS = word_list("mood")
"""Words that carry a mood, which is compared as a whole, or a relative date, which is checked as a date."""
_LINE_WORDS = stem_list("line")
"""Stems by which a line of evidence says how it came about."""
_UNITS = stem_list("unit")
_GRAMMAR = stem_list("function")
_OLD = re.compile(r"[\s-]*(?:years?[\s-]*)?old\b|\s*of age\b", re.IGNORECASE)
_PART_OF = re.compile(
    r"\b(?:one|some|half|few|couple|most|part|third|quarter|majority)(?: of)? (?:my|our|the|us|them|his|her|their)"
    r" (?!time|day|week|month|year|morning|night|way|other)\w+",
    re.IGNORECASE,
)
_PART_DONE = re.compile(
    r"\b(?:started|starting|began|half ?way|half (?:of|done)|about half|partly|partially|(?:most|some|part|first|one|two|three|four"
    r"|five|\d+) of|in progress|working on|still on|so on to|now for|to be continued|next up)\b",
    re.IGNORECASE,
)
"""What says that something is begun, or done in part."""
_PAUSE = re.compile(
    r"\b(?:this (?:week|month|time|once)|today|tonight|tomorrow|for now|for a (?:bit|while|week)|until|till|paus\w+|postpon\w+"
    r"|next week|later)\b",
    re.IGNORECASE,
)
"""What says that something only waits."""
_ENDS = re.compile(
    r"\b(?:done|sorted|finished|settled|handled|solved|fixed|off|forget|scrap|drop|never ?mind|cancel\w*)\b",
    re.IGNORECASE,
)
_PARTS = frozenset({"of", "half", "some", "most", "part", "third", "quarter", "majority", "few", "mostly", "partly"})
_INSTEAD = re.compile(
    r"\b(?:instead|after all|no more|any ?more|scratch|shel\w+|giv\w+ up|gave up|sold|let go)\b", re.IGNORECASE
)
_RESULTS = frozenset(
    map(word_stem, "sign approve lay install finish complete submit publish fix repair paint review".split())
)
"""What a todo asks for that no step towards it gives."""
_AND = re.compile(r"\band\b|[,;]", re.IGNORECASE)
_DROPPING = frozenset(map(word_stem, ("drop", "cancel", "skip", "quit", "abandon", "scrap", "forget", "stop", "end")))
_OWNER = re.compile(r"\b(?P<who>[^\W\d_]{2,30})'s (?P<thing>[^\W\d_]{2,30})")
_UNITS_OF_TIME = stem_list("time_unit") | frozenset({"today", "tomorrow", "yesterday"})
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


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
        number_fault(statement, spoken)
        or date_fault(statement, [*dated, *((spell_dates(text, at.date()), at) for text, at in dated)])
        or code_fault(statement, spoken)
        or _figure_noun_fault(statement, texts)
        or _words_fault(statement, sentences, kind, subject)
    )


@reads_outside_text
def ending_fault(quotation: Quotation, topic: str, *, done: bool) -> str | None:
    """Return why a quote does not say that something is over; None when it does.

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
    """Return why what the quote tells ends nothing: it speaks of something else, somebody else, a part or a pause."""
    stems = {word.stem for word in read_words(topic[:LONGEST_STATEMENT]) if not word.is_function_word}
    told = {word.stem for word in sentence.words}
    if not any(is_supported_by(own, other) for own in stems for other in told) and not _is_answer(sentence, stems):
        return "the quote does not speak of it"
    if not done and not _says_dropped(sentence):
        return "the quote does not say that it is dropped"
    if not done:
        pause = _PAUSE.search(sentence.text)
        return f"the quote says “{pause[0]}”, it does not say that it is dropped" if pause else None
    if CALLED_OFF.search(sentence.text) or any(word.stem in _DROPPING and not word.negated for word in about):
        return "the quote says that it is dropped, not that it is done"
    asked = read_words(topic[:LONGEST_STATEMENT])
    own = {word.stem for word in (*asked[:1], *asked[-1:])} & _RESULTS
    if (
        not _ENDS.search(sentence.text)
        and not any(is_supported_by(one, other) for one in own for other in told)
        and own
    ):
        return f"the quote does not say “{min(own)}”"
    if part := _PART_DONE.search(sentence.text):
        return f"the quote says “{part[0]}”, it does not say that it is done"
    names = {word.stem for word in sentence.words if word.is_name}
    for word in about:
        doer = word.subject if isinstance(word.subject, frozenset) else frozenset()
        if doer & names and not doer & stems and not word.in_subject:
            return f"the quote says that “{' '.join(sorted(doer))}” did it"
    return None


def _says_dropped(sentence: QuotedSentence) -> bool:
    """Say whether a quote has any sign that something is dropped."""
    if CALLED_OFF.search(sentence.text) or _ENDS.search(sentence.text) or _INSTEAD.search(sentence.text):
        return True
    return any(word.negated or word.ceased or word.stem in _DROPPING for word in sentence.words)


def _is_answer(sentence: QuotedSentence, stems: set[str]) -> bool:
    """Say whether a quote without a word of the todo ends it by what was said before: "That's done"."""
    before = sentence.quotation.passage.text[:_LONGEST_SEARCHED]
    return bool(_ENDS.search(sentence.text)) and bool(stems & _stems_of((before,)))


def _uncovered_part(topic: str, sentence: QuotedSentence) -> str | None:
    """Return a part of a todo, joined by "and", of which the quote says nothing; None without."""
    parts = _AND.split(topic)
    if len(parts) < 2:
        return None
    for part in parts:
        words = [word for word in read_words(part) if not word.is_function_word]
        if words and not any(is_supported_by(word.stem, said.stem) for word in words for said in sentence.words):
            return part.strip()
    return None


def _figure_noun_fault(statement: str, texts: Sequence[str]) -> str | None:
    """Return which counted noun has another figure in the quote: "5 cats and 2 dogs" do not make "5 dogs"."""
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
    """Return where each figure of the statement begins, and where a quote has it that has others besides."""
    given = [(at, figure) for at, one in enumerate(sentences) for figure in find_figures(one.text) if not one.fields]
    if len(given) < 2:
        return []
    return [
        (own.start, [(at, figure.start) for at, figure in given if (figure.low, figure.high) == (own.low, own.high)])
        for own in find_figures(statement)
    ]


def _counted_nouns(text: str) -> Iterable[tuple[Figure, str]]:
    """Yield each bare figure of the text with the noun directly after it."""
    for figure in find_figures(text):
        after = _WORD.match(text, figure.end + 1) if figure.unit is None else None
        if after and after[0].lower() not in FUNCTION_WORDS:
            yield figure, word_stem(after[0].lower())


def _words_fault(
    statement: str, sentences: Sequence[QuotedSentence], kind: StatementKind, subject: StatementSubject
) -> str | None:
    """Return which word of the statement is not supported, or supports something else."""
    claimed = read_words(statement)
    names = _stems_of((*subject.speaker, *subject.known))
    label = _stems_of((subject.entity,)) if subject.entity else frozenset()
    if fault := _label_fault(subject, label, names, sentences):
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
    if missing := added.unexcused(missing, present):
        return "the quote does not say: " + ", ".join(dict.fromkeys(word.text for word in missing))
    if fault := checker.fault(present) or _order_fault(claimed, sentences):
        return fault
    if fault := checker.figure_fault(claimed, _figure_places(statement, sentences)):
        return fault
    if kind is StatementKind.QUESTION:
        return None
    about_other = bool(subject.entity) and subject.entity_is_person
    if fault := disowned_fault(claimed, sentences, kind, about_other=about_other, speaker=names):
        return fault
    if kind is StatementKind.FACT and (fault := _owner_fault(claimed, names | label, sentences)):
        return fault
    if fault := _stranger_fault(claimed, label, names, sentences):
        return fault
    if kind is StatementKind.FACT and (fault := qualifier_fault(claimed, sentences)):
        return fault
    if fault := limit_fault(statement, claimed, sentences, kind):
        return fault
    if fault := contrast_fault(statement, claimed, sentences):
        return fault
    if fault := next(filter(None, (record_fault(statement, claimed, one.fields) for one in sentences)), None):
        return fault
    bound = (binding_fault(statement, one.text, is_record=bool(one.fields), known=names) for one in sentences)
    return next(filter(None, bound), None)


def _label_fault(
    subject: StatementSubject, label: frozenset[str], names: frozenset[str], sentences: Sequence[QuotedSentence]
) -> str | None:
    """Return which word of the entity's label is mentioned nowhere: neither in the quoted messages nor on record."""
    if not subject.entity:
        return None
    told = names | FREE | _stems_of(one.quotation.passage.text[:_LONGEST_SEARCHED] for one in sentences)
    for one in sorted(label - _GRAMMAR):
        if one not in told and not any(is_supported_by(one, other) for other in told):
            return f"“{subject.entity}” is mentioned nowhere in the quoted message"
    return None


def _stranger_fault(
    claimed: Sequence[ReadWord], label: frozenset[str], names: frozenset[str], sentences: Sequence[QuotedSentence]
) -> str | None:
    """Return another name that the quote has where the statement names its entity: "I work for Acme", not for Globex."""
    own = {word.stem for word in claimed}
    if not label & own:
        return None
    for one in sentences:
        quoted = [word for word in one.words if one.is_quoted(word)]
        if any(is_supported_by(word, said.stem) for said in one.words for word in label):
            return None
        if any(said.text in REFERRING for said in quoted):
            return None
        if other := next((said for said in quoted if said.is_name and said.stem not in own | names | label), None):
            return f"the quote names “{other.text}”"
    return None


def _owner_fault(claimed: Sequence[ReadWord], names: frozenset[str], sentences: Sequence[QuotedSentence]) -> str | None:
    """Return whose thing the quote speaks of, where the statement leaves out the owner: "Jo's Volvo" is not the speaker's."""
    own = {word.stem for word in claimed if not word.is_function_word}
    for one in sentences:
        for match in _OWNER.finditer(one.text.replace("’", "'")):
            who, thing = word_stem(match["who"].lower()), word_stem(match["thing"].lower())
            if FUNCTION_WORDS & {match["who"].lower(), match["thing"].lower()} or thing not in own:
                continue
            if who in names | FREE | _UNITS_OF_TIME:
                continue
            if not any(is_supported_by(word, who) for word in own):
                return f"the quote speaks of “{match[0]}”"
    return None


def _stems_of(names: Iterable[str | None]) -> frozenset[str]:
    """Return the stems of all words in the names."""
    words = (word.lower().replace("’", "'") for name in names if name for word in _WORD.findall(name))
    return frozenset(word_stem(word.removesuffix("'s").replace("-", "")) for word in words)


def _dated_spans(statement: str) -> list[tuple[int, int]]:
    """Return where dates, times and figures stand, whose words are checked by their own gates."""
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


def _order_fault(claimed: Sequence[ReadWord], sentences: Sequence[QuotedSentence]) -> str | None:
    """Return that two names changed places around the same verb: "Ann owes Bob" does not say "Bob owes Ann"."""
    names = [word for word in claimed if word.is_name]
    words = {word.text for word in claimed}
    if len(names) < 2 or words & {"by", "with", "or", "both"} or not names[0].in_subject:
        return None
    for one in sentences:
        places = {word.stem: word.start for word in reversed(one.words)}
        for left, right in pairwise(names):
            if left.stem in places and right.stem in places and places[left.stem] > places[right.stem]:
                between = {w.stem for w in claimed if left.start < w.start < right.start and not w.is_function_word}
                if between & set(places) and not {"by", "with"} & {w.text for w in one.words}:
                    return f"the quote names “{right.text}” before “{left.text}”: they may have changed places"
    return None
