"""The reflection's sections on memories and todos: the instructions for the model and the schema of its answer."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from mnemon.memory.fact import EntityType, FactType, MemoryType
from mnemon.memory.todos.todo import TodoKind

_Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
_Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


# Docstrings of these models and of the enums they use end up in the JSON schema that the model is given: to change one
# is to change a prompt.
class _Shape(BaseModel):
    model_config = ConfigDict(extra="ignore")


class EntityAnswer(_Shape):
    type: EntityType
    label: _Name


class MemoryAnswer(_Shape):
    op: Literal["state", "retract"] | None = None
    type: MemoryType
    content: _Words
    quote: _Words
    entity: EntityAnswer | None = None
    factType: FactType = FactType.FACT  # noqa: N815 (the wire's spelling)
    attribute: _Name | None = None
    private: bool | None = None


class MemoriesAnswer(_Shape):
    """The section `memories`."""

    memories: list[MemoryAnswer] = Field(default_factory=list, max_length=50)


class TodoAnswer(_Shape):
    op: Literal["add", "done", "drop"]
    kind: TodoKind | None = None
    content: _Words
    quote: _Words


class TodosAnswer(_Shape):
    """The section `todos`."""

    todos: list[TodoAnswer] = Field(default_factory=list, max_length=50)


MEMORIES = """\
`memories`: durable facts that the person stated in this turn, or that a tool result holds. Nothing that the
assistant said, nothing from the state shown to you, no guesses. For each:
- type: PROFILE (the person themselves), PEOPLE (someone in their life), PROJECT (something they work on).
- content: the fact as one short sentence that is understood on its own, in the words of the quote. It says no more
  than the quote says: the same people, figures and dates, the same "not", "maybe" or "used to".
- quote: all the words it rests on, copied character by character from the person's message or the tool result.
  No quote, no entry.
- op: state; retract when the person says that something is no longer so ("I no longer live in Austin", "Rex died"):
  content is then the fact as it was ("Lives in Austin"), quote the words that end it. A new value ("I moved to
  Boston") is stated, nothing is retracted for it.
- entity: who or what it is about, {type: person|place|org|project, label}; left out for the person themselves.
- factType: fact, preference, relationship, friction or habit.
- attribute: what the fact is a value of, in one or two words ("city", "employer", "favourite drink"), the same
  words every time. A new value of the same attribute replaces the old one; facts that may stand side by side need
  different attributes.
- private: true only when the person asks to keep it between themselves and this persona ("just between us").
An empty list when nothing durable was said."""

TODOS = """\
`todos`: what the person promised, does regularly, left open or struggles with, as stated in this turn. For each:
- op: add (new), done (the person says it is done) or drop (the person says it will not be done).
- kind: commitment (they will do it), habit (they do or want to do it regularly), thread (an open question or
  topic), friction (something that keeps getting in the way).
- content: one short sentence; for done and drop the content of the open todo as listed below.
- quote: the words it rests on, copied character by character from the person's message.
An empty list when there is nothing."""
