"""Offline extraction: the memories and todos that stand in a message in so many words."""

import re
from collections.abc import Iterator, Sequence

from mnemon.evidence.privacy import said_in_confidence
from mnemon.memory.answer import EntityAnswer, MemoryAnswer, TodoAnswer
from mnemon.memory.fact import EntityType, MemoryType
from mnemon.memory.offline.guards import is_passing, is_promise, is_statement, is_told
from mnemon.memory.offline.people import PEOPLE
from mnemon.memory.offline.profile import PROFILE
from mnemon.memory.offline.projects import PROJECTS
from mnemon.memory.offline.promises import DONE, DROPPED, PAST, PROMISES, SMALL, STRUGGLES
from mnemon.memory.offline.reading import LONGEST_MESSAGE, Clause, clauses
from mnemon.memory.offline.rule import Rule, filled, shortened
from mnemon.memory.todos.todo import TodoKind
from mnemon.memory.words import terms
from mnemon.outside import reads_outside_text_up_to

MOST = 20
"""Memories of one message: more is a list that was pasted."""
TABLES: tuple[tuple[Rule, ...], ...] = (PROFILE, PEOPLE, PROJECTS)


@reads_outside_text_up_to(LONGEST_MESSAGE)
def extract_memories(text: str) -> list[MemoryAnswer]:
    """What is to be remembered of the person's message; each with the words it rests on."""
    private = True if said_in_confidence(text) else None
    found: dict[tuple[object, ...], MemoryAnswer] = {}
    for clause in clauses(text):
        if not is_statement(clause):
            continue
        for table in TABLES:
            for memory in _by(table, clause, text, private):
                found.setdefault((memory.type, memory.factType, _label(memory), memory.attribute), memory)
    return list(found.values())[:MOST]


def _by(table: tuple[Rule, ...], clause: Clause, message: str, private: bool | None) -> Iterator[MemoryAnswer]:
    for rule in table:
        if is_passing(clause) and not rule.passing and rule.type is MemoryType.PROFILE:
            continue
        match = rule.pattern.match(clause.text)
        if match is None or not _holds(rule, match, clause):
            continue
        memory = _memory(rule, match, clause, message, private)
        if memory is not None:
            yield memory


def _holds(rule: Rule, match: re.Match[str], clause: Clause) -> bool:
    caught = match.groupdict()
    return all(check(caught[group], clause) for group, check in rule.checks.items() if caught.get(group))


def _memory(
    rule: Rule, match: re.Match[str], clause: Clause, message: str, private: bool | None
) -> MemoryAnswer | None:
    attribute = filled(rule.attribute, match) if rule.attribute else None
    if rule.attribute and attribute is None:
        return None
    entity = _entity(rule.entity, match) if rule.entity else None
    if rule.entity and entity is None:
        return None
    start, end = match.span("quote") if "quote" in match.groupdict() else (0, len(clause.text))
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


def _entity(template: str, match: re.Match[str]) -> EntityAnswer | None:
    kind, _, group = template.partition(":")
    caught = match.groupdict()
    if group == "{person}":
        kin = caught.get("kin")
        label = caught.get("who") or caught.get("name") or caught.get("bare") or (kin.capitalize() if kin else None)
    elif group == "{what}":
        label = shortened(caught["what"])
    else:
        label = caught.get(group.strip("{}"))
    return EntityAnswer(type=EntityType(kind), label=label) if label else None


def _label(memory: MemoryAnswer) -> str | None:
    return memory.entity.label if memory.entity else None


@reads_outside_text_up_to(LONGEST_MESSAGE)
def extract_todos(text: str, open_todos: Sequence[str] = ()) -> list[TodoAnswer]:
    """What the person promises, repeats, leaves open or struggles with; and which of the open todos they close."""
    found: dict[tuple[str, str], TodoAnswer] = {}
    for clause in clauses(text):
        for todo in (*_closed(clause, text, open_todos), *_opened(clause, text)):
            if not any(known.content == todo.content for known in found.values()):
                found[todo.op, todo.content] = todo
    return list(found.values())[:MOST]


def _opened(clause: Clause, message: str) -> Iterator[TodoAnswer]:
    quote = message[clause.start : clause.start + len(clause.text)].strip()
    if is_promise(clause):
        for promise in PROMISES:
            if promise.pattern.match(clause.text):
                yield TodoAnswer(op="add", kind=promise.kind, content=quote, quote=quote)
                return
    if is_statement(clause):
        for struggle in STRUGGLES:
            match = struggle.pattern.match(clause.text)
            if match and _holds(struggle, match, clause):
                yield TodoAnswer(op="add", kind=TodoKind.FRICTION, content=quote, quote=quote)
                return


def _closed(clause: Clause, message: str, open_todos: Sequence[str]) -> Iterator[TodoAnswer]:
    """Whether the clause says that something on the list is over: a word of ending, and what the todo is about."""
    dropped = DROPPED.search(clause.text)
    ended = None if dropped else DONE.match(clause.text)
    if not (dropped and is_told(clause)) and not (ended and is_statement(clause)):
        return
    verb = ended["verb"].lower() if ended else ""
    rest = set(terms(clause.text[ended.end() if ended else 0 :]))
    said = rest | set(terms(PAST.get(verb, verb)))
    about = {content: set(terms(content)) - SMALL for content in open_todos}
    meant = [content for content, words in about.items() if words & rest and len(words & said) >= len(words) / 2]
    if len(meant) == 1:
        quote = message[clause.start : clause.start + len(clause.text)].strip()
        yield TodoAnswer(op="drop" if dropped else "done", content=meant[0], quote=quote)
