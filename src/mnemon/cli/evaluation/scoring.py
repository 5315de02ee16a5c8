"""The score of `mnemon eval`: what was kept of labelled turns, held against their labels. Pure.

A memory is right if it tells something that is labelled, about the right one, and neither denies what is said nor says
what is denied. One that tells nothing labelled is junk. Words decide, so a paraphrase that uses none of them is missed.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

from mnemon.cli.evaluation.labels import Label, LabelKind, LabelledTurn
from mnemon.evidence.number_gate import unsourced_figures

_DENIAL = re.compile(
    r"\b(?:not|never|no|nor|without|cannot|avoids?|dislikes?|hates?|allerg\w+|intoleran\w+|stopped|quit|former(?:ly)?"
    r"|used\s+to|any\s*more)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Words by which a clause denies. Allergies and dislikes count, where a denial is what is labelled."""
_PLAIN_DENIAL = re.compile(
    r"\b(?:not|never|no\s+longer|cannot|stopped|former(?:ly)?|used\s+to|any\s*more)\b|n['’]t\b", re.IGNORECASE
)
"""Words by which a clause denies what a labelled fact says."""
_CLAUSE_END = re.compile(r"[,;.!?]\s|\b(?:and|but|so|because|now)\b", re.IGNORECASE)
_SELF = "self"
_PERSON = "person"


@dataclass(frozen=True, kw_only=True)
class KeptFact:
    """A memory as it is held after a turn."""

    id: str
    content: str
    entity: str | None
    """The label of whom or what it is about; None for the person themselves."""
    entity_type: str
    private: bool


@dataclass(frozen=True, kw_only=True)
class KeptTodo:
    """A todo as it is held after a turn."""

    id: str
    kind: str
    content: str
    open: bool


@dataclass(frozen=True, kw_only=True)
class KeptEvidence:
    """A line of evidence as it is held after a turn."""

    id: str
    stance: str
    line: str


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """Everything that is held of a scene's person and organization at one moment."""

    facts: tuple[KeptFact, ...] = ()
    todos: tuple[KeptTodo, ...] = ()
    evidence: tuple[KeptEvidence, ...] = ()
    unknowns: tuple[str, ...] = ()
    expectations: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TurnCost:
    """What the reflection of one turn took, and how it ended."""

    done: bool
    parked: bool
    rejected: int
    """Proposals that the gates refused."""
    repaired: int
    """Proposals that were refused, offered back and let in."""
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Score:
    """Counts over turns; two of them add up."""

    turns: int = 0
    told: int = 0
    """Facts that are labelled, retractions aside."""
    found: int = 0
    """Those of them that a memory tells."""
    followed: int = 0
    """Labelled facts of turns that need the turn before them."""
    followed_found: int = 0
    kept: int = 0
    """Memories that were stored or changed, those aside that may be kept or not."""
    right: int = 0
    """Those of them that tell something labelled."""
    junk: int = 0
    """Memories and todos that tell nothing labelled."""
    traps: int = 0
    """Turns of which nothing is worth keeping."""
    traps_clean: int = 0
    """Those of them of which nothing was kept."""
    ended: int = 0
    """Memories of facts that ceased to hold."""
    standing: int = 0
    """Those of them that are still current."""
    private: int = 0
    """Confidences that a memory tells."""
    leaked: int = 0
    """Those of them that are not kept for the persona alone."""
    todos_told: int = 0
    todos_found: int = 0
    todos_kept: int = 0
    todos_right: int = 0
    closings: int = 0
    """Open todos of which the person says that they are over."""
    closed: int = 0
    evidence_told: int = 0
    evidence_found: int = 0
    unknowns_told: int = 0
    unknowns_found: int = 0
    expectations_told: int = 0
    expectations_found: int = 0
    unsourced: int = 0
    """Figures in what was stored that nobody said and no tool returned."""
    rejected: int = 0
    repaired: int = 0
    failed: int = 0
    """Turns whose reflection did not end well within its tries."""
    parked: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    """The longest that one turn took, in seconds."""

    def plus(self, other: "Score") -> "Score":
        """Return the sum of both scores; of the slowest turns the slower one."""
        sums = {one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)}
        return Score(**{**sums, "slowest": max(self.slowest, other.slowest)})

    @property
    def precision(self) -> float | None:
        """Return the share of the memories kept that are right; None where none was kept."""
        return share(self.right, self.kept)

    @property
    def recall(self) -> float | None:
        """Return the share of the labelled facts that a memory tells; None where none is labelled."""
        return share(self.found, self.told)


def share(part: int, whole: int) -> float | None:
    """Return a part of a whole as a number from 0 to 1; None where there is nothing to share."""
    return part / whole if whole else None


def score_turn(turn: LabelledTurn, before: Holdings, after: Holdings, cost: TurnCost, sources: Sequence[str]) -> Score:
    """Return the score of a turn by what was held before and after it; `sources` are the texts of the scene so far."""
    new = [one for one in after.facts if one not in before.facts]
    told = turn.labels_of(LabelKind.FACT, LabelKind.DENIED, LabelKind.PRIVATE)
    found = [label for label in told if any(tells(one, label) for one in after.facts)]
    right = [one for one in new if any(tells(one, label) for label in told)]
    spare = [one for one in new if one not in right and _is_allowed(one, turn)]
    confidences = [one for label in turn.labels_of(LabelKind.PRIVATE) for one in after.facts if tells(one, label)]
    ended = [label for label in turn.labels_of(LabelKind.ENDED) if any(tells(one, label) for one in before.facts)]
    todos = _score_todos(turn, before, after)
    junk = len(new) - len(right) - len(spare) + todos.junk
    new_texts = [one.content for one in new]
    new_texts += [one.content for one in after.todos if one not in before.todos]
    new_texts += [one.line for one in after.evidence if one not in before.evidence]
    return (
        todos.plus(_score_engagement(turn, after))
        .plus(_score_cost(cost))
        .plus(
            Score(
                turns=1,
                told=len(told),
                found=len(found),
                followed=len(told) if turn.follows else 0,
                followed_found=len(found) if turn.follows else 0,
                kept=len(new) - len(spare),
                right=len(right),
                junk=junk - todos.junk,
                traps=int(turn.is_trap),
                traps_clean=int(turn.is_trap and junk == 0),
                ended=len(ended),
                standing=sum(any(tells(one, label) for one in after.facts) for label in ended),
                private=len(confidences),
                leaked=sum(not one.private for one in confidences),
                unsourced=sum(len(unsourced_figures(text, sources)) for text in new_texts),
            )
        )
    )


def tells(fact: KeptFact, label: Label) -> bool:
    """Say whether a memory tells what a label says, about the same one and without saying the opposite."""
    text = fold_text(f"{fact.content} {fact.entity or ''}")
    if not holds_words(text, label.words) or not _is_about(fact, label.about):
        return False
    clause = _clause_of(fold_text(fact.content), label.words)
    if label.kind is LabelKind.DENIED:
        return _DENIAL.search(clause) is not None
    return label.kind is LabelKind.OPTIONAL or _PLAIN_DENIAL.search(clause) is None


def holds_words(text: str, words: Iterable[Sequence[str]]) -> bool:
    """Say whether a folded text has all words, each in one of its alternatives, at the beginning of a word."""
    return all(any(_word_pattern(one).search(text) for one in alternatives) for alternatives in words)


def fold_text(text: str) -> str:
    """Return a text in one case and one form of Unicode, so that it can be compared."""
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'")


@lru_cache(maxsize=2048)
def _word_pattern(word: str) -> re.Pattern[str]:
    """Return the pattern of a word at the beginning of a word; a number must stand alone."""
    folded = re.escape(fold_text(word))
    return re.compile(rf"(?<![\w.,:]){folded}(?!\d)" if word[0].isdigit() else rf"(?<!\w){folded}")


def _is_about(fact: KeptFact, about: Sequence[str]) -> bool:
    """Say whether a memory is about one of those named: the person, a kind of thing, or a name in it."""
    name = fold_text(f"{fact.entity or ''} {fact.content}")
    for one in about:
        if one == _SELF:
            if fact.entity is None or fact.entity_type != _PERSON:
                return True
        elif one == fact.entity_type or _word_pattern(one).search(name):
            return True
    return False


def _clause_of(text: str, words: Sequence[Sequence[str]]) -> str:
    """Return the clause of a folded text in which the first of the words stands; the whole text where none does."""
    places = [found.start() for one in words[0] if (found := _word_pattern(one).search(text))]
    if not places:
        return text
    ends = [found.end() for found in _CLAUSE_END.finditer(text)]
    begin = max((end for end in ends if end <= places[0]), default=0)
    return text[begin : min((end for end in ends if end > places[0]), default=len(text))]


def _is_allowed(fact: KeptFact, turn: LabelledTurn) -> bool:
    """Say whether a memory may be kept of the turn or not; that what ended did end is such a memory too."""
    optional = turn.labels_of(LabelKind.OPTIONAL)
    ended = [label for label in turn.labels_of(LabelKind.ENDED) if not tells(fact, label)]
    return any(tells(fact, label) for label in optional) or any(
        holds_words(fold_text(fact.content), label.words) for label in ended
    )


def _score_todos(turn: LabelledTurn, before: Holdings, after: Holdings) -> Score:
    """Return the counts of todos that were opened and closed; junk are those that tell nothing labelled."""
    told = turn.labels_of(LabelKind.OPENED)
    new = [one for one in after.todos if one.id not in {held.id for held in before.todos}]
    right = [one for one in new if any(_is_todo(one, label) for label in told)]
    optional = [*turn.labels_of(LabelKind.OPTIONAL_TODO), *turn.labels_of(LabelKind.CLOSED)]
    spare = [one for one in new if one not in right and any(_is_todo(one, label) for label in optional)]
    closings = [
        label
        for label in turn.labels_of(LabelKind.CLOSED)
        if any(one.open and _is_todo(one, label) for one in before.todos)
    ]
    return Score(
        todos_told=len(told),
        todos_found=sum(any(one.open and _is_todo(one, label) for one in after.todos) for label in told),
        todos_kept=len(new) - len(spare),
        todos_right=len(right),
        closings=len(closings),
        closed=sum(not any(one.open and _is_todo(one, label) for one in after.todos) for label in closings),
        junk=len(new) - len(right) - len(spare),
    )


def _is_todo(todo: KeptTodo, label: Label) -> bool:
    """Say whether a todo says what a label says and is of one of its kinds, where it names some."""
    return (not label.about or todo.kind in label.about) and holds_words(fold_text(todo.content), label.words)


def _score_engagement(turn: LabelledTurn, after: Holdings) -> Score:
    """Return the counts of evidence, open questions and expectations."""
    evidence = turn.labels_of(LabelKind.EVIDENCE)
    unknowns = turn.labels_of(LabelKind.UNKNOWN)
    expectations = turn.labels_of(LabelKind.EXPECTATION)
    return Score(
        evidence_told=len(evidence),
        evidence_found=sum(
            any(one.stance in label.about and holds_words(fold_text(one.line), label.words) for one in after.evidence)
            for label in evidence
        ),
        unknowns_told=len(unknowns),
        unknowns_found=_count_held(unknowns, after.unknowns),
        expectations_told=len(expectations),
        expectations_found=_count_held(expectations, after.expectations),
    )


def _count_held(labels: Sequence[Label], texts: Sequence[str]) -> int:
    """Return how many of the labels one of the texts says."""
    return sum(any(holds_words(fold_text(text), label.words) for text in texts) for label in labels)


def _score_cost(cost: TurnCost) -> Score:
    """Return the counts of what a turn took."""
    return Score(
        rejected=cost.rejected,
        repaired=cost.repaired,
        failed=int(not cost.done),
        parked=int(cost.parked),
        calls=cost.calls,
        input_tokens=cost.input_tokens,
        output_tokens=cost.output_tokens,
        cached_tokens=cost.cached_tokens,
        seconds=cost.seconds,
        slowest=cost.seconds,
    )
