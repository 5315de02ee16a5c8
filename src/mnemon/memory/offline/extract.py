"""Extraction by rules: the memories and todos that a message states explicitly."""

import re
from collections.abc import Iterator, Sequence

from mnemon.evidence.privacy import is_confidential_text
from mnemon.memory.answer import EntityAnswer, MemoryAnswer, TodoAnswer
from mnemon.memory.fact import EntityType, MemoryType
from mnemon.memory.offline.clauses import LONGEST_MESSAGE, Clause, split_clauses
from mnemon.memory.offline.guards import is_own_telling, is_promise, is_statement, is_temporary
from mnemon.memory.offline.people import PEOPLE
from mnemon.memory.offline.profile import PROFILE
from mnemon.memory.offline.projects import PROJECTS
from mnemon.memory.offline.promises import DONE_PATTERN, DROPPED_PATTERN, FILLER_TERMS, PAST_FORMS, PROMISES, STRUGGLES
from mnemon.memory.offline.rule import ExtractionRule, fill_attribute, shorten_object
from mnemon.memory.todos.todo import TodoKind
from mnemon.memory.words import terms
from mnemon.untrusted_text import reads_outside_text_up_to

MOST_PER_MESSAGE = 20
"""The most memories of one message; more is a pasted list."""
RULE_TABLES: tuple[tuple[ExtractionRule, ...], ...] = (PROFILE, PEOPLE, PROJECTS)
"""The tables of rules, in the order in which they are tried."""


@reads_outside_text_up_to(LONGEST_MESSAGE)
def extract_memories(text: str) -> list[MemoryAnswer]:
    """Return what to remember from the person's message by rules, each with its quote; at most 20."""
    private = True if is_confidential_text(text) else None
    found: dict[tuple[object, ...], MemoryAnswer] = {}
    for clause in split_clauses(text):
        if not is_statement(clause):
            continue
        for table in RULE_TABLES:
            for memory in _apply_rules(table, clause, text, private):
                found.setdefault((memory.type, memory.factType, _entity_label(memory), memory.attribute), memory)
    return list(found.values())[:MOST_PER_MESSAGE]


def _apply_rules(
    table: tuple[ExtractionRule, ...], clause: Clause, message: str, private: bool | None
) -> Iterator[MemoryAnswer]:
    """Yield a memory for each rule that matches the clause and whose checks pass."""
    for rule in table:
        # What is true for today only says nothing lasting about the person.
        if is_temporary(clause) and not rule.passing and rule.type is MemoryType.PROFILE:
            continue
        match = rule.pattern.match(clause.text)
        if match is None or not _passes_checks(rule, match, clause):
            continue
        memory = _build_memory(rule, match, clause, message, private)
        if memory is not None:
            yield memory


def _passes_checks(rule: ExtractionRule, match: re.Match[str], clause: Clause) -> bool:
    """Say whether every group that the rule's pattern caught passes its check."""
    caught = match.groupdict()
    return all(check(caught[group], clause) for group, check in rule.checks.items() if caught.get(group))


def _build_memory(
    rule: ExtractionRule, match: re.Match[str], clause: Clause, message: str, private: bool | None
) -> MemoryAnswer | None:
    """Return the memory that a rule found in a clause; None if its attribute or entity cannot be filled."""
    attribute = fill_attribute(rule.attribute, match) if rule.attribute else None
    if rule.attribute and attribute is None:
        return None
    entity = _build_entity(rule.entity, match) if rule.entity else None
    if rule.entity and entity is None:
        return None
    start, end = match.span("quote") if "quote" in match.groupdict() else (0, len(clause.text))
    # Quoted from the message itself: the clause's text has straightened quotation marks.
    quote = message[clause.start + start : clause.start + end].strip()
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
    """Return the entity that the rule's template names, with its label from the match; None without a label."""
    kind, _, group = template.partition(":")
    caught = match.groupdict()
    if group == "{person}":
        kin = caught.get("kin")
        label = caught.get("who") or caught.get("name") or caught.get("bare") or (kin.capitalize() if kin else None)
    elif group == "{what}":
        label = shorten_object(caught["what"])
    else:
        label = caught.get(group.strip("{}"))
    return EntityAnswer(type=EntityType(kind), label=label) if label else None


def _entity_label(memory: MemoryAnswer) -> str | None:
    """Return the label of the memory's entity; None for the person themselves."""
    return memory.entity.label if memory.entity else None


@reads_outside_text_up_to(LONGEST_MESSAGE)
def extract_todos(text: str, open_todos: Sequence[str] = ()) -> list[TodoAnswer]:
    """Return what the person promises, repeats, leaves open or struggles with, and which open todos they close."""
    found: dict[tuple[str, str], TodoAnswer] = {}
    for clause in split_clauses(text):
        for todo in (*_closed_todos(clause, text, open_todos), *_new_todos(clause, text)):
            if not any(known.content == todo.content for known in found.values()):
                found[todo.op, todo.content] = todo
    return list(found.values())[:MOST_PER_MESSAGE]


def _new_todos(clause: Clause, message: str) -> Iterator[TodoAnswer]:
    """Yield the todo that a clause of the message opens, if any: a promise first, else a struggle."""
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


def _closed_todos(clause: Clause, message: str, open_todos: Sequence[str]) -> Iterator[TodoAnswer]:
    """Yield the closing of the one open todo that a clause says is over, by a verb of ending and its topic."""
    dropped = DROPPED_PATTERN.search(clause.text)
    ended = None if dropped else DONE_PATTERN.match(clause.text)
    if not (dropped and is_own_telling(clause)) and not (ended and is_statement(clause)):
        return
    verb = ended["verb"].lower() if ended else ""
    rest = set(terms(clause.text[ended.end() if ended else 0 :]))
    mentioned = rest | set(terms(PAST_FORMS.get(verb, verb)))
    topics = {content: set(terms(content)) - FILLER_TERMS for content in open_todos}
    matching = [
        content for content, words in topics.items() if words & rest and len(words & mentioned) >= len(words) / 2
    ]
    # With several candidates it is not clear which todo is meant.
    if len(matching) == 1:
        quote = message[clause.start : clause.start + len(clause.text)].strip()
        yield TodoAnswer(op="drop" if dropped else "done", content=matching[0], quote=quote)
