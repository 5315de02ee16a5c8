"""Compare the words of a statement with their occurrences in its quotes: negation, mood, and whom they are said of."""

import re
from collections.abc import Sequence

from mnemon.evidence.clause import ReadWord
from mnemon.evidence.moods import Mood, reported_by
from mnemon.evidence.phrases import find_phrases
from mnemon.evidence.statement import QuotedSentence, StatementKind, StatementSubject
from mnemon.evidence.subject import Speaker
from mnemon.evidence.vocabulary import (
    FREE,
    FUNCTION_WORDS,
    PRONOUNS,
    is_past_form,
    is_supported_by,
    stem_list,
    word_stem,
)
from mnemon.turn import Role

_MAY_STAND_IN: dict[StatementKind, frozenset[Mood]] = {
    StatementKind.FACT: frozenset(),
    StatementKind.TASK: frozenset({Mood.WISH, Mood.FUTURE}),
    StatementKind.QUESTION: frozenset(Mood),
    StatementKind.LINE: frozenset(),
    StatementKind.CLAIM: frozenset({Mood.WISH}),
}
_ADDS_MOODS = frozenset({StatementKind.TASK, StatementKind.QUESTION, StatementKind.CLAIM})
"""Kinds of statements that may be worded as a plan or a wish though the quote is not."""
_SATISFIED_BY = {
    Mood.QUESTION: frozenset({Mood.QUESTION}),
    Mood.WISH: frozenset({Mood.WISH}),
    Mood.FUTURE: frozenset({Mood.FUTURE, Mood.WISH, Mood.HYPOTHETICAL}),
    Mood.HYPOTHETICAL: frozenset({Mood.HYPOTHETICAL}),
    Mood.REPORT: frozenset({Mood.REPORT}),
    Mood.PAST: frozenset({Mood.PAST}),
}
"""The moods of a statement that keep the mood of its quote."""
MOOD_NAMES = {
    Mood.QUESTION: "is a question",
    Mood.WISH: "is a wish",
    Mood.HYPOTHETICAL: "is a supposition",
    Mood.REPORT: "reports somebody else's words",
    Mood.PAST: "speaks of the past",
    Mood.FUTURE: "speaks of the future",
}
_RELATIONS = stem_list("relation")
_ACTIONS = stem_list("action_verb")
_OTHERS = stem_list("other_party")
_REPEATING = frozenset({"since", "still"})
"""Words by which a quote says that something goes on."""
_NEGATED_POINT = 2
"""Words after a negation that are what it negates."""
_VAGUE = re.compile(
    r"\b(?:some ?day|one day|eventually|at some point|in another life|would be (?:nice|cool|lovely)|wish"
    r"|dream(?:s|ing)?|if only|bucket list)\b",
    re.IGNORECASE,
)
"""What makes a wish too vague to be a task."""
_OF_SPEAKER = frozenset({"me", "us", "my", "our"})
_PASSIVE = frozenset({"was", "were", "been", "being", "gets", "got", "is", "are"})
_REPORTING = frozenset(
    map(word_stem, ("say", "tell", "hear", "claim", "think", "believe", "report", "mention", "accord"))
)
_MOST_FOUND = 50
"""Occurrences of one word in its quotes that are looked at."""
_OWN_AIMS = stem_list("aim")
"""Stems of a subject that stands for what the speaker means to do: "my goal is to run"."""
NEGATION_WORDS = stem_list("negating") | stem_list("avoiding")


class WordSupport:
    """Finds, for each word of a statement, an occurrence in the quotes that says the same of the same subject."""

    def __init__(
        self,
        claimed: Sequence[ReadWord],
        sentences: Sequence[QuotedSentence],
        kind: StatementKind,
        subject: StatementSubject,
        names: frozenset[str],
        label: frozenset[str],
        *,
        dated: bool,
        has_figures: bool = False,
    ) -> None:
        """Keep the statement and its quotes, with their moods, negations, names and reporters."""
        self.kind, self.subject, self.names, self.label = kind, subject, names, label
        self.sentences = sentences
        self.moods = frozenset(mood for word in claimed for mood in word.moods)
        self.ceased = any(word.ceased for word in claimed)
        self.contrasts = any(word.shared for word in claimed)
        self.reflected = frozenset(word.stem for word in claimed) | label
        self.begins_with_label = any(word.stem in label for word in claimed[:3] if word.in_subject or word.opens)
        self.has_label = bool(label & {word.stem for word in claimed})
        self.around = [(one, word) for one in sentences for word in one.words]
        self.quoted = [(one, word) for one, word in self.around if one.is_quoted(word)]
        self.phrases = [(one, said, stems) for one in sentences for said, stems in find_phrases(one.words)]
        self.reporters = [reporter for one in sentences for reporter in reported_by(one.read)]
        self.entity_person = bool(subject.entity) and subject.entity_is_person
        self.is_passive = any(word.text == "by" for word in claimed) or any(word.text in _PASSIVE for word in claimed)
        self.named = frozenset(word.stem for word in claimed if word.is_name)
        self.dated, self.has_figures = dated, has_figures
        self.tells_past, self.is_acted = _past_forms(claimed)
        self.objects = frozenset((one.start, word.start) for one, word in self.around if word.text in {"me", "us"})
        self.keeps_object = any(word.text in {"me", "us"} for word in claimed)
        self.quote_contrasts = any(word.shared for _, word in self.around)
        self.quote_negates = any(word.negated for _, word in self.around)
        self.negated_points = _negated_points(claimed)
        self.quote_repeats = any(word.text in _REPEATING for _, word in self.around)
        self._found: dict[tuple[str, str, bool], list[tuple[QuotedSentence, ReadWord]]] = {}

    def occurrences(self, word: ReadWord) -> list[tuple[QuotedSentence, ReadWord]]:
        """Return the quoted words that support a word of the statement, with their sentences."""
        everywhere = word.is_name or word.opens
        known = self._found.get((word.text, word.stem, everywhere))
        if known is not None:
            return known
        within = self.around if everywhere else self.quoted
        found = [(one, said) for one, said in within if is_supported_by(word.stem, said.stem)]
        found += [(one, said) for one, said, stems in self.phrases if word.stem in stems and one.is_quoted(said)]
        # A statement may repeat one word many times, and so may its quote.
        kept = self._found[word.text, word.stem, everywhere] = (found or self._part_occurrences(word, within))[
            :_MOST_FOUND
        ]
        return kept

    def _part_occurrences(
        self, word: ReadWord, within: Sequence[tuple[QuotedSentence, ReadWord]]
    ) -> list[tuple[QuotedSentence, ReadWord]]:
        """Return the quoted words that support the parts of a compound word, or of which the word is a part."""
        parts = [word_stem(part) for part in word.text.split("-") if part not in FUNCTION_WORDS]
        if len(parts) > 1:
            held = [[(one, said) for one, said in within if is_supported_by(part, said.stem)] for part in parts]
            return held[-1] if all(held) else []
        return [
            (one, said)
            for one, said in within
            if "-" in said.text and any(is_supported_by(word.stem, word_stem(part)) for part in said.text.split("-"))
        ]

    def fault(self, words: Sequence[ReadWord]) -> str | None:
        """Return why even the best occurrences of the words in the quotes differ from the statement, or None."""
        chosen: list[tuple[str | None, ReadWord, ReadWord]] = []
        for word in words:
            found = self.occurrences(word)
            # The word itself says how it is meant; a synonym elsewhere does not excuse it.
            exact = [(one, said) for one, said in found if said.stem == word.stem] or found
            chosen.append((*self._best_occurrence(word, exact), word))
        sound = [said for fault, said, _ in chosen if not fault]
        if self.kind is StatementKind.TASK and any(_VAGUE.search(one.read) for one in self.sentences):
            return "the quote is a vague wish, not something that is to be done"
        left = [(fault, said) for fault, said, word in chosen if not _is_only_named(word, said, sound)]
        for fault, said in left:
            if fault and not said.owned:
                return fault
        # "Is my sister Ana coming?" tells, though it asks, that there is a sister Ana.
        if any(fault for fault, _ in left) and (self.has_figures or not all(said.owned for _, said in left)):
            return next(fault for fault, _ in left if fault)
        return None if self.kind in _ADDS_MOODS else self._added_mood([said for _, said, _ in chosen])

    def _best_occurrence(
        self, word: ReadWord, found: Sequence[tuple[QuotedSentence, ReadWord]]
    ) -> tuple[str | None, ReadWord]:
        """Return the fault (None without) and the quoted word of the occurrence that supports the word best."""
        judged = ((self._occurrence_fault(word, one, said), said) for one, said in found)
        first = next(judged)
        return first if first[0] is None else next((one for one in judged if one[0] is None), first)

    def figure_fault(
        self, claimed: Sequence[ReadWord], places: Sequence[tuple[int, list[tuple[int, int]]]]
    ) -> str | None:
        """Return why a figure or date is about somebody else or not asserted in its quote; None without.

        `places` gives, for each of them, where it begins in the statement and where it stands in each quote.
        """
        if self.kind in (StatementKind.QUESTION, StatementKind.LINE):
            return None
        own = {word.start: word for word in claimed}
        said_at = [{word.start: word for word in one.words} for one in self.sentences]
        for start, stands in places:
            word = own.get(start)
            held = [(self.sentences[at], said_at[at][place]) for at, place in stands if place in said_at[at]]
            faults = [
                self._mood_fault(said, over=self.ceased) or self._subject_fault(word, one, said)
                for one, said in held
                if word is not None
            ]
            if faults and all(faults):
                return faults[0]
        return None

    def _added_mood(self, chosen: Sequence[ReadWord]) -> str | None:
        """Return a mood (wish, future, …) of the statement that its supporting words lack; None without."""
        found = frozenset(mood for said in chosen for mood in said.moods)
        around = frozenset(mood for _, word in self.around for mood in word.moods)
        # "Please keep it short" is a wish in all but its words; "I live here" is none.
        asserted = any(said.subject in (Speaker.FIRST, Speaker.WE) for said in chosen)
        if Mood.WISH in self.moods and Mood.WISH not in around and Mood.FUTURE not in around and asserted:
            return f"the statement {MOOD_NAMES[Mood.WISH]}, the quote does not"
        over = self.ceased and not any(said.ceased for said in chosen) and Mood.PAST not in found
        if over and self.kind is StatementKind.FACT:
            return f"the statement {MOOD_NAMES[Mood.PAST]}, the quote does not"
        return None

    def _occurrence_fault(self, word: ReadWord, one: QuotedSentence, said: ReadWord) -> str | None:
        """Return how a quoted word differs from the statement's in negation, mood or subject; None if it does not."""
        if self.kind is StatementKind.QUESTION:
            return None
        over = said.ceased and (self.ceased or word.negated)
        if not over and not self._agrees_in_negation(word, said):
            return f"the quote says “{said.text}” {'with' if said.negated else 'without'} a negation"
        if said.ceased and not over and Mood.PAST not in self.moods:
            return f"the quote says that “{said.text}” is over"
        acts = not self.keeps_object and (is_past_form(word.text) or word.text.endswith("s") or word.opens)
        if acts and self._acts_on_speaker(one, said) and not self.is_acted and not self._is_about_other(word):
            return f"in the quote “{said.text}” is done to the speaker"
        if self._makes_habit(word, said):
            return f"the quote tells once of “{said.text}”, the statement says that it is so"
        return self._mood_fault(said, over=over) or self._subject_fault(word, one, said)

    def _acts_on_speaker(self, one: QuotedSentence, said: ReadWord) -> bool:
        """Say whether the quote says what somebody else does to the speaker: "they fined us"."""
        if said.stem not in _ACTIONS or said.subject in (Speaker.FIRST, Speaker.WE):
            return False
        # "Please answer me" asks for something; it tells nothing that somebody does.
        if not (is_past_form(said.text) or said.text.endswith("s") or isinstance(said.subject, frozenset)):
            return False
        return (one.start, said.start + len(said.text) + 1) in self.objects

    def _makes_habit(self, word: ReadWord, said: ReadWord) -> bool:
        """Say whether the statement turns a single event into a habit: "goes to yoga" for "went to yoga"."""
        if self.kind is not StatementKind.FACT or self.quote_repeats or word.stem != said.stem or word.in_subject:
            return False
        is_told = said.opens or said.subject in (Speaker.FIRST, Speaker.WE)
        return is_told and word.text.endswith("s") and is_past_form(said.text)

    def _agrees_in_negation(self, word: ReadWord, said: ReadWord) -> bool:
        """Say whether a word is negated as it is in the quote."""
        if word.negated == said.negated or said.shared or (word.shared and self.contrasts):
            return True
        # Of a negated clause only the first words are its point: "doesn't eat pork, for religious reasons".
        if word.negated and word not in self.negated_points and self.quote_negates and not self.quote_contrasts:
            return True
        if said.ceased and Mood.PAST in self.moods:
            return True
        # "We don't track hours" and "hours are not tracked": the negation stands elsewhere in the same clause.
        return said.negated and word.clause_negated and not self.contrasts and not self.quote_contrasts

    def _mood_fault(self, said: ReadWord, *, over: bool) -> str | None:
        """Return a mood (question, wish, …) of the quote that the statement drops; None without."""
        for mood in Mood:
            if mood not in said.moods or mood in _MAY_STAND_IN[self.kind] or (mood is Mood.PAST and over):
                continue
            if mood is Mood.REPORT and self._names_reporter() and self._tells_report():
                continue
            if mood is Mood.FUTURE and self.dated and not self.tells_past:
                continue
            if mood is Mood.PAST and self.tells_past:
                continue
            if not _SATISFIED_BY[mood] & self.moods:
                return f"the quote {MOOD_NAMES[mood]}, the statement does not say so"
            if mood is Mood.REPORT and self.reporters:
                return "the statement does not say whose words the quote reports"
        return None

    def _names_reporter(self) -> bool:
        """Say whether the statement names the person whom the quote reports."""
        return any(
            word_stem(reporter) in self.reflected
            or (reporter in PRONOUNS["other"] and bool(self.label or self.reflected))
            for reporter in self.reporters
        )

    def _tells_report(self) -> bool:
        """Say whether the statement is marked as a report, as evidence is by its source."""
        return self.kind is StatementKind.LINE or Mood.REPORT in self.moods or bool(self.reflected & _REPORTING)

    def _subject_fault(self, word: ReadWord, one: QuotedSentence, said: ReadWord) -> str | None:
        """Return the fault where quote and statement are about different people; None without."""
        spoken = said.subject
        if spoken is None or spoken == word.subject or said.in_subject or word.in_subject:
            return None
        if self.kind is StatementKind.LINE and (word.is_name or self._names_reporter()):
            return None
        if one.quotation.passage.role is not Role.USER:
            return None
        about_other = self._is_about_other(word)
        if spoken in (Speaker.FIRST, Speaker.WE):
            is_group = spoken is Speaker.WE and isinstance(word.subject, frozenset) and not word.subject & _RELATIONS
            is_agent = self.is_acted and not any(other.text in _PASSIVE for other in one.words)
            fits = not about_other or said.owned or said.apposed or word.is_name or is_agent
            fits = fits or (is_group and not self.entity_person)
            return None if fits else f"in the quote “{said.text}” is said of the speaker"
        if spoken is Speaker.SECOND:
            return None if self.kind is StatementKind.LINE else f"in the quote “{said.text}” is said of “you”"
        if spoken is Speaker.OTHER:
            of_speaker = any(other.clause == said.clause and other.text in _OF_SPEAKER for other in one.words)
            fits = about_other or self.kind is StatementKind.LINE or isinstance(word.subject, frozenset) or of_speaker
            return None if fits else f"in the quote “{said.text}” is said of somebody else"
        if fault := self._roles_fault(word, spoken):
            return fault
        if self._names_subject(spoken, one) or not self._is_person(spoken, one):
            return None
        return f"in the quote “{said.text}” is said of “{' '.join(sorted(spoken))}”"

    def _is_person(self, spoken: frozenset[str], one: QuotedSentence) -> bool:
        """Say whether a noun phrase of the quote means a person: by a relation, a rival or a name."""
        return bool(spoken & (_RELATIONS | _OTHERS)) or any(word.is_name and word.stem in spoken for word in one.words)

    def _roles_fault(self, word: ReadWord, spoken: frozenset[str]) -> str | None:
        """Return the fault where subject and object are swapped, "Bob sued Ann" for "Ann sued Bob"; None without."""
        if not isinstance(word.subject, frozenset) or word.subject & spoken or self.is_passive:
            return None
        told = {said.stem for _, said in self.around}
        if word.subject <= told and spoken <= self.reflected and word.subject & (self.named | _RELATIONS):
            return "subject and object of the quote changed places"
        return None

    def _names_subject(self, spoken: frozenset[str], one: QuotedSentence) -> bool:
        """Say whether the statement names the subject of the quote, or that subject is the speaker."""
        named = {word.stem for word in one.words if word.is_name and word.stem in spoken}
        if named and self.kind is not StatementKind.TASK and not named & (self.reflected | self.names):
            return False
        if self.kind is StatementKind.TASK:
            # "Ivy will book the venue" is Ivy's task, unless she wants it of the speaker.
            asked = any(word.text in _OF_SPEAKER | {"i"} for word in one.words) or Mood.WISH in spoken_moods(
                one, spoken
            )
            if named and not named & (self.names | self.reflected) and not asked:
                return False
            return bool(spoken & (self.names | _OWN_AIMS)) or not spoken & _RELATIONS
        if spoken & (self.names | FREE):
            return True
        return any(is_supported_by(own, other) for other in spoken for own in self.reflected)

    def _is_about_other(self, word: ReadWord) -> bool:
        """Say whether the statement is about a person other than the speaker."""
        if isinstance(word.subject, frozenset) and word.subject:
            if word.subject & (self.names | FREE):
                return False
            # A thing that belongs to the speaker may be spoken of as their own: "her knee", "his company".
            if self.subject.entity and not self.subject.entity_is_person and word.subject & self.label:
                return False
            named = any(one in self.label or one in self.named for one in word.subject)
            return named or bool(word.subject & _RELATIONS)
        if self.subject.entity and self.subject.entity_is_person and not self.label & self.names:
            # "Owes Benny 200": the entity is spoken of, and the speaker is the subject.
            return self.begins_with_label or not self.has_label
        return False


def spoken_moods(one: QuotedSentence, spoken: frozenset[str]) -> frozenset[Mood]:
    """Return the moods (wish, report, …) of what a quote says about a noun phrase."""
    return frozenset(mood for word in one.words if word.subject == spoken for mood in word.moods)


def _is_only_named(word: ReadWord, said: ReadWord, sound: Sequence[ReadWord]) -> bool:
    """Say whether the quote only mentions the word, while its other words assert the statement.

    "My son isn't at Crestview any longer, he's been homeschooled" speaks of a son, whatever it denies.
    """
    is_subject = word.in_subject or word.opens
    if not is_subject or not (said.in_subject or said.is_name or said.opens) or said.stem in _ACTIONS:
        return False
    return any(not (other.in_subject or other.is_name or other.owned) for other in sound)


def _past_forms(claimed: Sequence[ReadWord]) -> tuple[bool, bool]:
    """Return whether a verb of the statement is in the past ("decided"), and whether one is passive ("are handed")."""
    past = passive = False
    before = ""
    for word in claimed:
        if is_past_form(word.text) and not word.is_function_word:
            passive = passive or before in _PASSIVE | {"am", "be"}
            past = past or before not in _PASSIVE | {"am", "be"}
        past = past or word.text in {"was", "were"}
        before = word.text
    return past, passive


def _negated_points(claimed: Sequence[ReadWord]) -> list[ReadWord]:
    """Return the first two content words after each negation."""
    found: list[ReadWord] = []
    run = 0
    for word in claimed:
        run = run if word.negated else 0
        if (
            word.negated
            and not word.is_function_word
            and word.stem not in NEGATION_WORDS
            and not word.text.endswith("n't")
        ):
            run += 1
            if run <= _NEGATED_POINT:
                found.append(word)
    return found
