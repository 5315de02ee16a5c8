"""Extraction by rules: the memories and todos that a message states explicitly."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from mnemon.evidence.privacy import is_confidential_text
from mnemon.memory.answer import EntityAnswer, MemoryAnswer, TodoAnswer
from mnemon.memory.fact import EntityType, MemoryType
from mnemon.memory.offline.clauses import LONGEST_CLAUSE, LONGEST_MESSAGE, Clause, own_sentences, split_clauses
from mnemon.memory.offline.doing import DOING
from mnemon.memory.offline.guards import is_promise, is_statement, is_temporary
from mnemon.memory.offline.living import LIVING
from mnemon.memory.offline.others import OTHERS
from mnemon.memory.offline.people import PEOPLE
from mnemon.memory.offline.profile import PROFILE
from mnemon.memory.offline.projects import PROJECTS
from mnemon.memory.offline.promises import PROMISES, STRUGGLES
from mnemon.memory.offline.readings import ClauseReading, MentionedPerson, mentioned_people, read_sentence
from mnemon.memory.offline.reports import closed_todos
from mnemon.memory.offline.rule import ExtractionRule, fill_attribute, shorten_object
from mnemon.memory.todos.todo import TodoKind
from mnemon.untrusted_text import reads_outside_text_up_to

MOST_PER_MESSAGE = 20
"""The most memories of one message; more is a pasted list."""
_LONGEST_LABEL = 120
RULE_TABLES: tuple[tuple[ExtractionRule, ...], ...] = (PROFILE, PEOPLE, PROJECTS, LIVING, DOING, OTHERS)
"""The tables of rules, in the order in which they are tried."""


@reads_outside_text_up_to(LONGEST_MESSAGE)
def extract_memories(text: str, known: Sequence[str] = ()) -> list[MemoryAnswer]:
    """Return what to remember from the person's message by rules, each with its quote; at most 20.

    `known` are the labels of entities on record: their names are names, also at the start of a sentence.
    """
    names = frozenset(label.split()[0].lower() for label in known if label.strip())
    private = True if is_confidential_text(text) else None
    found: dict[tuple[object, ...], MemoryAnswer] = {}
    people: list[MentionedPerson] = []
    for sentence in own_sentences(text):
        for readings in read_sentence(sentence, people, names):
            usable = [one for one in readings if _is_usable(one)]
            for memory in _apply_rules(usable, text, private):
                if not any(_says_less(memory, one) for one in found.values()):
                    found.setdefault((memory.type, memory.factType, _entity_label(memory), memory.attribute), memory)
        people = mentioned_people(sentence.text, sentence.start) or people
    return list(found.values())[:MOST_PER_MESSAGE]


def _says_less(memory: MemoryAnswer, known: MemoryAnswer) -> bool:
    """Say whether an extracted memory repeats another one, from the same words, with less detail."""
    own, other = set((memory.attribute or "").split("_")), set((known.attribute or "").split("_"))
    same = (memory.type, memory.factType, _entity_label(memory)) == (known.type, known.factType, _entity_label(known))
    return same and own < other and (memory.content in known.content or known.content in memory.content)


def _is_usable(reading: ClauseReading) -> bool:
    """Say whether a clause is a statement that the rest of its sentence neither corrects nor doubts."""
    return 0 < len(reading.clause.text) <= LONGEST_CLAUSE and reading.is_intact and is_statement(reading.clause)


def _apply_rules(readings: Sequence[ClauseReading], message: str, private: bool | None) -> Iterator[MemoryAnswer]:
    """Yield a memory for each rule that matches a clause, from its longest reading that passes the rule's checks."""
    temporary = [is_temporary(one.clause) for one in readings]
    for rule in chain.from_iterable(RULE_TABLES) if readings else ():
        for reading, passing in zip(readings, temporary, strict=True):
            # What is true for today only says nothing lasting about the person.
            if passing and not rule.passing and rule.type is MemoryType.PROFILE:
                continue
            match = rule.pattern.match(reading.clause.text)
            if match is None or not _passes_checks(rule, match, reading.clause):
                continue
            memory = _build_memory(rule, match, reading, message, private)
            if memory is not None:
                yield memory
                break


def _passes_checks(rule: ExtractionRule, match: re.Match[str], clause: Clause) -> bool:
    """Say whether every group that the rule's pattern caught passes its check."""
    caught = match.groupdict()
    return all(check(caught[group], clause) for group, check in rule.checks.items() if caught.get(group))


def _build_memory(
    rule: ExtractionRule, match: re.Match[str], reading: ClauseReading, message: str, private: bool | None
) -> MemoryAnswer | None:
    """Return the memory that a matched rule describes; None if its attribute or entity cannot be filled in."""
    attribute = fill_attribute(rule.attribute, match) if rule.attribute else None
    if rule.attribute and attribute is None:
        return None
    entity = _build_entity(rule.entity, match) if rule.entity else None
    if rule.entity and entity is None and not rule.entity.endswith("?"):
        return None
    start, end = reading.quote_start, reading.quote_end
    if "quote" in match.groupdict() and reading.verbatim:
        start, end = (reading.clause.start + place for place in match.span("quote"))
    # Quoted from the message itself: the clause's text has straightened quotation marks.
    quote = message[start:end].strip()
    return MemoryAnswer(
        type=rule.type,
        content=quote,
        quote=quote,
        entity=entity,
        factType=rule.fact,
        attribute=attribute,
        private=private,
    )


def _build_entity(template: str, match: re.Match[str]) -> EntityAnswer | None:
    """Return the entity that a rule's template names, with its label from the match; None without a label."""
    kind, _, group = template.rstrip("?").partition(":")
    caught = match.groupdict()
    if group == "{person}":
        kin = caught.get("kin")
        label = caught.get("who") or caught.get("name") or caught.get("bare") or (kin.capitalize() if kin else None)
    elif group == "{what}":
        label = shorten_object(caught["what"] or "")
    else:
        label = caught.get(group.strip("{}"))
    return EntityAnswer(type=EntityType(kind), label=label) if label and len(label) <= _LONGEST_LABEL else None


def _entity_label(memory: MemoryAnswer) -> str | None:
    """Return the label of the memory's entity; None for the person themselves."""
    return memory.entity.label if memory.entity else None


@reads_outside_text_up_to(LONGEST_MESSAGE)
def extract_todos(text: str, open_todos: Sequence[str] = ()) -> list[TodoAnswer]:
    """Return the todos that the person's message opens (promises, habits, struggles) or closes, found by rules."""
    found: dict[tuple[str, str], TodoAnswer] = {}
    for clause in split_clauses(text):
        for todo in (*closed_todos(clause, text, open_todos), *_new_todos(clause, text)):
            if not any(known.content == todo.content for known in found.values()):
                found[todo.op, todo.content] = todo
    return list(found.values())[:MOST_PER_MESSAGE]


def _new_todos(clause: Clause, message: str) -> Iterator[TodoAnswer]:
    """Yield the todo that a clause opens, if any: a promise, else a struggle."""
    quote = message[clause.start : clause.start + len(clause.text)].strip()
    if is_promise(clause):
        for promise in PROMISES:
            if promise.pattern.match(clause.text):
                yield TodoAnswer(op="add", kind=promise.kind, content=quote, quote=quote)
                return
    if is_statement(clause):
        for struggle in STRUGGLES:
            match = struggle.pattern.match(clause.text)
            if match and _passes_checks(struggle, match, clause):
                yield TodoAnswer(op="add", kind=TodoKind.FRICTION, content=quote, quote=quote)
                return
