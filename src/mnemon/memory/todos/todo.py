"""A todo: something promised, repeated, left open or in the way, kept with the persona it was told to.

add ──► open ──the person says so──► done
         │ ▲                           │
         │ └────────── reopened ◄──────┤
         └──────────────────────────► dropped
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from rapidfuzz import fuzz

from mnemon.memory.fact import FactType
from mnemon.memory.keys import content_hash, normalize_content
from mnemon.memory.todos.deeds import is_same_deed
from mnemon.memory.trust import Trust, outranks, source_mark, speaks_for_person, trust_of
from mnemon.memory.words import terms
from mnemon.untrusted_text import reads_outside_text

_CLEARLY_THE_SAME = 85.0
"""The similarity, 0 to 100, from which two texts mean the same todo."""
_CLEARLY_APART = 10.0
"""How much better than the second the best match must be."""


class TodoKind(StrEnum):
    COMMITMENT = "commitment"
    """Something the person said they would do."""
    HABIT = "habit"
    """Something they do, or want to do, again and again."""
    THREAD = "thread"
    """A question or topic left open."""
    FRICTION = "friction"
    """Something that keeps getting in the way."""


class TodoStatus(StrEnum):
    OPEN = "open"
    DONE = "done"
    DROPPED = "dropped"


@dataclass(frozen=True, kw_only=True)
class Todo:
    """One todo of a person with one persona, or with none."""

    id: str
    persona_id: str | None
    kind: TodoKind
    content: str
    status: TodoStatus
    source: str
    turn_id: str | None
    message_id: str | None
    quote: str | None
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None
    """When it was done or dropped."""

    @property
    def trust(self) -> Trust:
        """Return how far the todo's source is trusted."""
        return trust_of(self.source)

    def outranks_source(self, source: str) -> bool:
        """Say whether the todo's source is trusted more than this one, which may then not change it."""
        return outranks(self.trust, trust_of(source))

    @property
    def line(self) -> str:
        """Return the todo as a prompt shows it, marked with its source if that is not the person."""
        own = speaks_for_person(self.trust)
        return self.content if own else f"{self.content} (external: {source_mark(self.trust, self.source)})"


_PROMISE = re.compile(
    r"\b(i'll|i will|i'm going to|i am going to|i promise|i need to|i have to|i must|remind me|follow up|finish|send|"
    r"call|book|buy|pay|write|submit|schedule|reply)\b",
    re.IGNORECASE,
)
_HABIT = re.compile(
    r"\b(every (day|morning|evening|night|week|month)|daily|weekly|each (day|week|morning))\b", re.IGNORECASE
)
_FRICTION = re.compile(
    r"\b(struggl\w*|keeps? (getting|failing|breaking)|can't seem|stuck|annoying|frustrat\w*)\b", re.IGNORECASE
)


@reads_outside_text
def infer_todo_kind(content: str, fact_type: FactType | None = None) -> TodoKind:
    """Return the kind of a todo that does not name one: by its fact type, else by its words."""
    if fact_type is FactType.HABIT or _HABIT.search(content):
        return TodoKind.HABIT
    if fact_type is FactType.FRICTION or _FRICTION.search(content):
        return TodoKind.FRICTION
    return TodoKind.COMMITMENT if _PROMISE.search(content) else TodoKind.THREAD


def find_same_todo(kind: TodoKind, content: str, todos: Sequence[Todo]) -> Todo | None:
    """Return the todo of this kind that names the same deed in whatever words; None if there is none."""
    # The latest one of which it is the very wording comes before one that is only worded otherwise.
    key = todo_key(kind, content)
    alike = [todo for todo in todos if todo.kind is kind and is_same_deed(todo.content, content)]
    return next((todo for todo in alike if todo_key(kind, todo.content) == key), alike[0] if alike else None)


def todo_key(kind: TodoKind, content: str) -> str:
    """Return the key that is equal for two todos of one persona that say the same."""
    return f"{kind}|{content_hash(content)}"


def find_matching_todo(content: str, todos: Sequence[Todo]) -> Todo | None:
    """Return the one todo that a text like "walk tomorrow" means; None if none or several could be meant."""
    for todo in todos:
        # The brief shows ids, and the model may answer with one.
        if content == todo.id or normalize_content(content) == normalize_content(todo.content):
            return todo
    wanted = " ".join(terms(content))
    scored = sorted(
        ((fuzz.token_set_ratio(wanted, " ".join(terms(todo.content))), todo) for todo in todos),
        key=lambda pair: (-pair[0], pair[1].id),
    )
    if not scored or scored[0][0] < _CLEARLY_THE_SAME:
        return None
    # Closing the wrong todo is worse than closing none.
    if len(scored) > 1 and scored[0][0] - scored[1][0] < _CLEARLY_APART:
        return None
    return scored[0][1]
