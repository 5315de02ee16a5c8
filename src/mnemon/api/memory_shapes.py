"""The JSON shapes of memories and todos."""

from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag

from mnemon.api.models import ApiModel, Instant, Label, Name, NonEmptyText, Text
from mnemon.memory.fact import API, EntityType, Fact, FactEntity, FactType, MemoryType
from mnemon.memory.lifecycle import ArchiveReason, ArchiveStatus
from mnemon.memory.memory import MemoryVersion, Provenance, StoredMemory
from mnemon.memory.mentioned import ABOUT
from mnemon.memory.plan import MemoryOutcome
from mnemon.memory.statements import MemoryStatement, StatementResult
from mnemon.memory.todos.store import NewTodo
from mnemon.memory.todos.todo import Todo, TodoKind, TodoStatus, infer_todo_kind
from mnemon.memory.trust import CoarseTrust, Trust, coarse_trust
from mnemon.memory.upkeep.curator_job import UnfoldedMemory
from mnemon.scope import Scope

OPEN_LOOP = "OPEN_LOOP"


class EntityIn(ApiModel):
    """The person or thing that a memory is about."""

    type: EntityType
    label: Label


class MemoryIn(ApiModel):
    """A fact to store; type `OPEN_LOOP` makes a todo of it."""

    user_id: Name
    persona_id: Name | None = None
    type: MemoryType | Literal["OPEN_LOOP"]
    content: NonEmptyText
    entity: EntityIn | None = None
    fact_type: FactType | None = None
    attribute: Label | None = None
    importance: Annotated[int, Field(ge=0, le=3)] | None = None
    pinned: bool | None = None
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    valid_from: Instant | None = None
    source: Name = API

    def as_statement(self, scope: Scope) -> MemoryStatement:
        """Return the posted memory as a statement about the scope's person: a fact, or a todo if it is an OPEN_LOOP."""
        says = self._as_todo_draft() if self.type == OPEN_LOOP else self._as_fact(MemoryType(self.type))
        return MemoryStatement(external=self.user_id, scope=scope, says=says)

    def _as_todo_draft(self) -> NewTodo:
        """Return the posted OPEN_LOOP as a new todo, its kind inferred from the text."""
        return NewTodo(kind=infer_todo_kind(self.content, self.fact_type), content=self.content, source=self.source)

    def _as_fact(self, kind: MemoryType) -> Fact:
        """Return the posted memory as a fact of this type."""
        return Fact(
            type=kind,
            content=self.content,
            entity=FactEntity(type=self.entity.type, label=self.entity.label) if self.entity else None,
            fact_type=self.fact_type or FactType.FACT,
            attribute=self.attribute,
            importance=self.importance,
            pinned=self.pinned,
            confidence=self.confidence,
            valid_from=self.valid_from,
            source=self.source,
            # A fact told to a persona is visible to that persona alone.
            private=self.persona_id is not None,
        )


class BatchIn(ApiModel):
    """Facts to store together."""

    memories: Annotated[list[MemoryIn], Field(max_length=1000)]


BatchBody = Annotated[
    Annotated[list[MemoryIn], Field(max_length=1000), Tag("list")] | Annotated[BatchIn, Tag("object")],
    Discriminator(
        lambda body: "list" if isinstance(body, list) else "object" if isinstance(body, dict | BatchIn) else None,
        custom_error_type="batch_type",
        custom_error_message="Input should be a JSON object or a list",
    ),
]
"""The body of a batch: its facts as a list, or in an object. Only the form that was sent is checked."""


class MemoryPatch(ApiModel):
    """The fields of a memory to change; a field that is left out stays."""

    content: NonEmptyText | None = None
    importance: Annotated[int, Field(ge=0, le=3)] | None = None
    pinned: bool | None = None
    status: ArchiveStatus | None = None
    reason: Annotated[Text, Field(max_length=500)] | None = None
    source: Name | None = None
    """Who changes it; by default the operator, or for a bound key its person."""


class RestoreIn(ApiModel):
    """Which version of a memory to bring back, and why."""

    version: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    reason: Annotated[Text, Field(max_length=500)] | None = None
    source: Name | None = None
    """Who restores it; by default the operator, or for a bound key its person."""


class Subtype(ApiModel):
    """The kinds of a memory's entity and of its fact."""

    entity_type: EntityType
    fact_type: FactType


class ProvenanceOut(ApiModel):
    """A message that a memory came from, with the quoted words."""

    turn_id: str
    message_id: str
    start: int
    """Offset of the quote's first character in the message."""
    end: int
    quote: str
    at: Instant

    @classmethod
    def from_provenance(cls, said: Provenance) -> Self:
        """Return the response for one time that a memory was said."""
        return cls(**vars(said))


class MemoryOut(ApiModel):
    """A memory."""

    id: str
    user_id: str
    persona_id: str | None
    type: MemoryType
    content: str
    entity_refs: list[str]
    entity_roles: list[str]
    entity_label: str | None
    subtype: Subtype
    attribute: str | None
    importance: int
    pinned: bool
    memory_key: str
    source: str
    origin: str
    trust: CoarseTrust
    trust_level: Trust
    claim_of: str | None
    status: ArchiveStatus
    archive_reason: ArchiveReason | None
    archived_at: Instant | None
    note: str | None
    confidence: float
    mentions: int
    version: int
    valid_from: Instant
    valid_to: Instant | None
    sources: list[str]
    dates: list[str]
    created_at: Instant
    updated_at: Instant
    provenance: list[ProvenanceOut]

    @classmethod
    def from_memory(cls, memory: StoredMemory, user_id: str) -> Self:
        """Return the response for a stored memory; `user_id` is the application's name for the person."""
        provenance = [ProvenanceOut.from_provenance(one) for one in memory.provenance]
        fields = {name: value for name, value in vars(memory).items() if name in cls.model_fields}
        subtype = Subtype(entity_type=memory.entity_type, fact_type=memory.fact_type)
        lists = {
            "entity_refs": list(memory.entity_refs),
            "entity_roles": list(memory.entity_roles or (ABOUT,) * len(memory.entity_refs)),
            "sources": list(memory.sources),
            "dates": list(memory.dates or ()),
            "provenance": provenance,
        }
        trust = {"trust": coarse_trust(memory.trust), "trust_level": memory.trust}
        return cls(**{**fields, **lists, **trust, "user_id": user_id, "subtype": subtype})


class TodoOut(ApiModel):
    """A todo."""

    id: str
    user_id: str
    persona_id: str | None
    kind: TodoKind
    content: str
    status: TodoStatus
    source: str
    trust_level: Trust
    turn_id: str | None
    message_id: str | None
    quote: str | None
    created_at: Instant
    updated_at: Instant
    closed_at: Instant | None

    @classmethod
    def from_todo(cls, todo: Todo, user_id: str) -> Self:
        """Return the response for a todo; `user_id` is the application's name for the person."""
        return cls(user_id=user_id, trust_level=todo.trust, **vars(todo))


class StatedMemory(MemoryOut):
    """A memory that a statement created or updated."""

    outcome: MemoryOutcome


class SkippedMemory(StatedMemory):
    """The memory that was held already, where a statement changed nothing; `why` says why."""

    why: str


class StatedTodo(TodoOut):
    """A todo that a statement created or updated."""

    outcome: MemoryOutcome


StatedOut = SkippedMemory | StatedMemory | StatedTodo


def stated_out(stated: StatementResult) -> StatedOut:
    """Return the response for a stored statement: its memory or todo, and whether it was new, changed or skipped."""
    if isinstance(stated.thing, StoredMemory):
        memory = MemoryOut.from_memory(stated.thing, stated.external)
        if stated.why is not None:
            return SkippedMemory(**dict(memory), outcome=stated.outcome, why=stated.why)
        return StatedMemory(**dict(memory), outcome=stated.outcome)
    return StatedTodo(**dict(TodoOut.from_todo(stated.thing, stated.external)), outcome=stated.outcome)


class VersionOut(ApiModel):
    """A version of a memory's text, with its own source, quotes and number of mentions."""

    version: int
    content: str
    importance: int
    confidence: float
    source: str
    origin: str
    trust: CoarseTrust
    trust_level: Trust
    valid_from: Instant
    valid_to: Instant | None
    recorded_at: Instant
    reason: str | None
    mentions: int
    current: bool
    provenance: list[ProvenanceOut]

    @classmethod
    def from_version(cls, one: MemoryVersion) -> Self:
        """Return the response for an earlier or current version of a memory's text."""
        fields = {name: value for name, value in vars(one).items() if name != "number"}
        trust = {"trust": coarse_trust(one.trust), "trust_level": one.trust}
        provenance = [ProvenanceOut.from_provenance(said) for said in one.provenance]
        return cls(version=one.number, **{**fields, **trust, "provenance": provenance})


class UnfoldedOut(ApiModel):
    """A fold that was undone: its id, and the memories that are active again."""

    fold: str
    restored: list[MemoryOut]

    @classmethod
    def from_unfolded(cls, undone: UnfoldedMemory, user_id: str) -> Self:
        """Build the response from the result of unfolding."""
        return cls(fold=undone.fold_id, restored=[MemoryOut.from_memory(one, user_id) for one in undone.restored])
