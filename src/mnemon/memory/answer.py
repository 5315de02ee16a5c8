"""The shapes in which a model's answer on memories and todos is read; what it is asked is in `prompt.py`."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from mnemon.memory.fact import EntityType, FactType, MemoryType
from mnemon.memory.todos.todo import TodoKind

_Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
_Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


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
