"""Read a text as clauses: for each word whether it is negated, in which mood it stands, and of whom it is said.

No grammar is parsed. A negation reaches from its word to the end of its clause; a mood (a question, a wish, a report)
from its sign to the end of the clause, a question and an "if" through their sentence; the subject of a word is the last
noun phrase or pronoun before it that can be one. Where this misjudges, the gate refuses, and the model may quote more
or say it in the quoted words.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mnemon.evidence.moods import (
    ANY_MORE,
    CEASING_PHRASES,
    IDIOMS,
    WHOLE_CLAUSE,
    Mood,
    clause_moods,
    mood_signs,
)
from mnemon.evidence.subject import (
    DETERMINERS,
    JOINING,
    PREPOSITIONS,
    SUBJECT_PRONOUNS,
    VERBS,
    Subject,
    Token,
    apposed_places,
    find_subjects,
    looks_like_verb,
    owned_places,
)
from mnemon.evidence.vocabulary import FUNCTION_WORDS, stem_list, word_list, word_stem
from mnemon.untrusted_text import reads_outside_text_up_to

LONGEST_READ = 4_000
"""The most characters that are read; a statement and the sentences around its quote are shorter."""


@dataclass(frozen=True, kw_only=True)
class ReadWord:
    """A word of a text, with what its clause says of it."""

    text: str
    stem: str
    start: int
    clause: int
    """The number of its clause in the text."""
    sentence: int
    negated: bool = False
    clause_negated: bool = False
    """Whether its clause has a negation anywhere, as in "hours are not tracked"."""
    shared: bool = False
    """Whether a contrast repeats it unsaid: "allergic" in "allergic to nuts, not to milk"."""
    ceased: bool = False
    """Whether it is said to be over: "no longer", "used to", "quit"."""
    moods: frozenset[Mood] = frozenset()
    subject: Subject = None
    in_subject: bool = False
    """Whether it is part of the noun phrase that is the subject."""
    is_name: bool = False
    opens: bool = False
    """Whether it begins its sentence, where any word has a capital."""
    is_acronym: bool = False
    """Whether it is written in capitals: "IT" is no "it"."""
    owned: bool = False
    """Whether it names somebody or something of the speaker ("my sister Ana"), true however its sentence is meant."""
    apposed: bool = False
    """Whether it stands beside a name that it explains: "my dog Rex", "Ann, a nurse"."""

    @property
    def is_function_word(self) -> bool:
        """Say whether the word is a function word ("the", "of"), which needs no support."""
        return self.text in FUNCTION_WORDS and not self.is_acronym


_TOKEN = re.compile(r"[^\W_]+(?:['’&-][^\W_]+)*|[.!?…]+|[,;:()\n\"“”—–]|(?<=\s)-(?=\s)")
_COMMA = re.compile(",")
_SENTENCE_ENDS = re.compile(r"[.!?…]+|\n")
_ABBREVIATION = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|Inc|Ltd|Co|Jr|Sr|vs|e\.g|i\.e|etc|approx|No|[A-Z])$")
_BREAKS = word_list("clause_end")
"""Words and signs that end a clause by themselves."""
_ASKING = word_list("asking")
_AUXILIARIES = word_list("auxiliary")
_DOUBTING = word_list("doubting")
"""Verbs through which a negation reaches: "I don't think I like it"."""
_NEGATORS = word_list("negating")
_AVOIDING = word_list("avoiding")
_NEGATIVE_VERBS = word_list("disliking") | _AVOIDING
_CEASING = word_list("ceasing")
_ACTIONS = stem_list("action_verb") | stem_list("light_verb")
_CONTRASTS = frozenset({"not", "never", "only", "just", "but"})
_EXCEPTING = frozenset(
    {("from", "apart"), ("from", "aside"), ("than", "other")}
    | {("but", every) for every in ("everything", "everyone", "everybody", "all", "anything", "anyone")}
)
"""Two words that except what follows, the second first."""
_LOCAL_REACH = 4
"""Words that a "without" reaches."""


@reads_outside_text_up_to(LONGEST_READ)
def read_words(text: str) -> tuple[ReadWord, ...]:
    """Return the words of the text with their negation, moods and subject; a text that is too long is cut."""
    text = text[:LONGEST_READ].replace("’", "'")
    plain = IDIOMS.sub(lambda found: " " * len(found[0]), text)
    words: list[ReadWord] = []
    for sentence, (start, end) in enumerate(sentence_spans(text)):
        clauses = words[-1].clause + 1 if words else 0
        words += _read_sentence(text, plain, start, end, sentence, clauses)
    return tuple(words)


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence; full stops in numbers and abbreviations end none."""
    start = 0
    for found in _SENTENCE_ENDS.finditer(text):
        end = found.end()
        if found[0] == "." and not _is_full_stop(text, found.start()):
            continue
        if text[start:end].strip():
            yield start, end
        start = end
    if text[start:].strip():
        yield start, len(text)


def _is_full_stop(text: str, at: int) -> bool:
    """Say whether the dot ends a sentence: not within a number or a name, nor after an abbreviation."""
    after = text[at + 1 : at + 2]
    if after and not after.isspace() and after not in "\"')”’":
        return False
    return _ABBREVIATION.search(text[max(0, at - 8) : at]) is None or not text[at + 1 :].strip()


def _read_sentence(text: str, plain: str, start: int, end: int, number: int, clauses: int) -> list[ReadWord]:
    """Return the words of one sentence with negation, moods and subject; `clauses` numbers its first clause."""
    sentence = text[start:end]
    tokens = _tokens(sentence, start)
    _number_clauses(tokens)
    spans = _clause_spans(tokens, end)
    moods = clause_moods(sentence, plain[start:end], start, spans)
    words: list[ReadWord] = []
    subject: Subject = None
    reaching: frozenset[Mood] = frozenset()
    inside_of: dict[int, list[Token]] = {}
    for token in tokens:
        if token.is_word:
            inside_of.setdefault(token.clause, []).append(token)
    for clause, (begin, until) in enumerate(spans):
        inside = inside_of.get(clause, [])
        is_told = bool(inside) and inside[0].low == "that"
        # A clause without a subject of its own goes on with that of the clause before it.
        held = moods[clause] | (reaching if is_told else frozenset())
        read = _read_clause(plain, inside, (begin, until), held, subject)
        reaching = frozenset(mood for word in read for mood in word.moods) - {Mood.PAST, Mood.FUTURE}
        subject = read[-1].subject if read else subject
        words += [replace(word, clause=clauses + clause, sentence=number) for word in read]
    return _mark_shared(words)


def _tokens(sentence: str, offset: int) -> list[Token]:
    """Return the words and punctuation marks of the sentence as tokens."""
    found = [
        Token(text=match[0], low=match[0].lower(), start=offset + match.start(), end=offset + match.end())
        for match in _TOKEN.finditer(sentence)
    ]
    if found:
        first = found[0]
        first.opens = True
        follows = next((at for at in range(1, len(found)) if not found[at].text[0].isupper()), len(found))
        first.named = first.low not in VERBS and (
            first.low.endswith("'s")
            or (follows < len(found) and found[follows].low in VERBS - JOINING)
            or looks_like_verb(found, follows)
        )
    return found


def _number_clauses(tokens: Sequence[Token]) -> None:
    """Set on every token the number of its clause within the sentence."""
    clause = 0
    for at, token in enumerate(tokens):
        is_break = token.low in _BREAKS and (token.low, tokens[at - 1].low) not in _EXCEPTING
        if at and (is_break or _begins_clause(tokens, at)):
            clause += 1
        token.clause = clause


def _begins_clause(tokens: Sequence[Token], at: int) -> bool:
    """Say whether a comma or an "and" here begins a clause: "…, and I live", "…, my sister lives", "… and can't"."""
    if at + 1 >= len(tokens):
        return False
    # What is told, wished or supposed reaches into "that I …"; its tense does not.
    if tokens[at].low in {"that", "when"} and tokens[at + 1].low in SUBJECT_PRONOUNS:
        return True
    if tokens[at].low == "that" and tokens[at + 1].low in DETERMINERS and _has_verb_after(tokens, at + 1):
        return True
    if tokens[at].low not in {",", "and", "or"}:
        return False
    if at and tokens[at - 1].low in {",", "and", "or"} and tokens[at - 1].clause != tokens[at - 2].clause:
        return False
    place = at + 2 if tokens[at + 1].low in {"and", "or", "also"} and at + 2 < len(tokens) else at + 1
    first = tokens[place]
    if first.low in SUBJECT_PRONOUNS or first.low in _ASKING or first.low in _AUXILIARIES or first.low.endswith("n't"):
        return True
    # "Doesn't eat pork and eats fish": a verb in the third person says something of its own.
    if tokens[at].low != "or" and not first.is_name and first.low.endswith("s") and word_stem(first.low) in _ACTIONS:
        return first.low in VERBS or looks_like_verb(tokens, place)
    return (first.low in DETERMINERS or first.is_name) and _has_verb_after(tokens, place)


def _has_verb_after(tokens: Sequence[Token], at: int) -> bool:
    """Say whether a verb follows within the next words before any punctuation, so that a clause begins here."""
    for place in range(at + 1, min(len(tokens), at + 6)):
        token = tokens[place]
        if not token.is_word:
            return False
        if token.low in VERBS - JOINING:
            return True
    return False


def _clause_spans(tokens: Sequence[Token], end: int) -> list[tuple[int, int]]:
    """Return start and end of every clause in the text."""
    starts: dict[int, int] = {}
    for token in tokens:
        starts.setdefault(token.clause, token.start)
    numbers = sorted(starts)
    return [
        (starts[one], starts[numbers[place + 1]] if place + 1 < len(numbers) else end)
        for place, one in enumerate(numbers)
    ]


def _read_clause(
    plain: str, tokens: Sequence[Token], span: tuple[int, int], moods: frozenset[Mood], before: Subject
) -> list[ReadWord]:
    """Return the words of one clause, given its moods and the subject of the clause before it."""
    begin, until = span
    reach = _mood_reach(plain, span, tokens)
    ceasing = min((match.start() for match in CEASING_PHRASES.finditer(plain, begin, until)), default=until)
    over = ANY_MORE.search(plain, begin, until) is not None
    subjects = find_subjects(tokens, before)
    owned, apposed = owned_places(tokens), apposed_places(tokens)
    negated = _negated_places(plain, tokens)
    words: list[ReadWord] = []
    ceased = False
    for place, token in enumerate(tokens):
        is_meant = not plain[token.start].isspace()
        ceased = ceased or over or token.start >= ceasing or (is_meant and token.low in _CEASING)
        words.append(
            ReadWord(
                text=token.low.removesuffix("'s"),
                stem=_word_stem(tokens, place),
                start=token.start,
                clause=0,
                sentence=0,
                negated=place in negated,
                clause_negated=bool(negated),
                ceased=ceased,
                moods=moods | reach[place],
                subject=subjects[place][0],
                in_subject=subjects[place][1],
                is_name=token.is_name,
                is_acronym=len(token.text) > 1 and token.text.isupper(),
                opens=token.opens,
                owned=place in owned,
                apposed=place in apposed,
            )
        )
    return words


def _mood_reach(plain: str, span: tuple[int, int], tokens: Sequence[Token]) -> list[frozenset[Mood]]:
    """Return, for each word of a clause, the moods (question, wish, future, …) that cue words give it.

    A sign reaches to the end of the clause; some also govern the words before them ("I'm in Berlin next week"), but not
    past a comma.
    """
    begin, until = span
    commas = [match.start() for match in _COMMA.finditer(plain, begin, until)]
    first: dict[Mood, int] = {}
    around: set[tuple[Mood, int]] = set()
    for mood, at in mood_signs(plain, begin, until):
        first[mood] = min(at, first.get(mood, at))
        if mood in WHOLE_CLAUSE:
            around.add((mood, bisect_left(commas, at)))
    return [
        frozenset(
            mood
            for mood, at in first.items()
            if at <= token.start or (mood, bisect_left(commas, token.start)) in around
        )
        for token in tokens
    ]


def _negated_places(plain: str, tokens: Sequence[Token]) -> frozenset[int]:
    """Return the positions of the words that a negation covers, the negating verb included.

    It reaches to the end of the clause, or to a new subject; "without" reaches a few words, and "only" ends a "not".
    """
    found: set[int] = set()
    odd, local = False, 0
    for place, token in enumerate(tokens):
        if plain[token.start].isspace():
            continue
        before = tokens[place - 1].low if place else ""
        is_new = token.low in SUBJECT_PRONOUNS and token.low not in {"it", "you"} and before != "nor"
        if place and is_new and before not in _DOUBTING:
            odd, local = False, 0
        if token.low == "without":
            local = _LOCAL_REACH + 1
        elif token.low == "except" or (token.low, before) in _EXCEPTING or token.low == "no":
            local = _LOCAL_REACH
        elif token.low in {"only", "just"} and odd and before not in {"not", "the"} and not before.endswith("n't"):
            odd = False
        elif token.low == "nor":
            odd = True
        elif token.low in _NEGATORS or token.low.endswith("n't") or token.low in _NEGATIVE_VERBS:
            odd = not odd
        if odd != (local > 0):
            found.add(place)
        # "No rain is forecast for Austin" negates the rain, not the place.
        ends = before == "no" and token.low in VERBS | PREPOSITIONS
        local = 0 if ends else max(0, local - 1)
    return frozenset(found)


def _mark_shared(words: list[ReadWord]) -> list[ReadWord]:
    """Return the words, with those marked that a contrast repeats: "to … not to …", "on … never on …"."""
    latest: dict[str, int] = {}
    for at, word in enumerate(words[:-1]):
        follows = words[at + 1].text
        if word.text in _CONTRASTS and follows in PREPOSITIONS and latest.get(follows, 0) > 0:
            before = latest[follows] - 1
            words[before] = replace(words[before], shared=True)
        if word.text in PREPOSITIONS:
            latest[word.text] = at
    return words


def _word_stem(tokens: Sequence[Token], place: int) -> str:
    """Return the stem by which a word is compared; "dislike", "hate" and "can't stand" count as a negated "like"."""
    low = tokens[place].low
    if low in _NEGATIVE_VERBS and low not in _AVOIDING:
        return "like"
    if low == "stand" and place and tokens[place - 1].low in {"can't", "cannot", "cant"}:
        return "like"
    return word_stem(low.removesuffix("'s").replace("-", ""))
