"""Notes as they travel."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from mnemon.api.wire import Instant, Json, Name, Text, Wire
from mnemon.notes.note import Changed, Note, Order, Test

LONGEST_ADDRESS = 2000
"""Bytes of a namespace and a key together: what an index can hold."""

Label = Annotated[Text, Field(max_length=400)]


def _short(labels: list[str]) -> list[str]:
    if sum(len(label.encode()) for label in labels) > LONGEST_ADDRESS * 3 // 4:
        raise ValueError(f"is longer than {LONGEST_ADDRESS * 3 // 4} bytes in all")
    return labels


Namespace = Annotated[list[Label], Field(max_length=20), AfterValidator(_short)]
Key = Annotated[Text, Field(max_length=400)]
Vector = Annotated[
    list[Annotated[float, Field(allow_inf_nan=False, ge=-1e6, le=1e6)]], Field(min_length=1, max_length=4096)
]
Ttl = Annotated[float, Field(gt=0, le=5_256_000, allow_inf_nan=False)]


class PutIn(Wire):
    op: Literal["put"]
    namespace: Namespace
    key: Key | None = Field(None, description="Left out: the note is added at the end, under a key of ours.")
    value: Json
    ttl_minutes: Ttl | None = Field(None, description="It is gone after this time.")
    if_absent: bool = Field(False, description="Nothing is written where there is a note already.")
    texts: dict[Label, Annotated[Text, Field(max_length=100_000)]] = Field(
        default_factory=dict, max_length=50, description="Parts to be found by meaning; embedded here."
    )
    vectors: dict[Label, Vector] = Field(
        default_factory=dict, max_length=50, description="The same with vectors that the program made itself."
    )

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if self.texts and self.vectors:
            raise ValueError("has texts and vectors; send one of them")
        return self


class DeleteIn(Wire):
    op: Literal["delete"]
    namespace: Namespace
    key: Key


class ClearIn(Wire):
    op: Literal["clear"]
    namespace: Namespace


class PopIn(Wire):
    op: Literal["pop"]
    namespace: Namespace


class SweepIn(Wire):
    op: Literal["sweep"]


ChangeIn = Annotated[PutIn | DeleteIn | ClearIn | PopIn | SweepIn, Field(discriminator="op")]


class WriteIn(Wire):
    user_id: Name
    changes: list[ChangeIn] = Field(min_length=1, max_length=1000)


class AddressIn(Wire):
    namespace: Namespace
    key: Key


class ReadIn(Wire):
    user_id: Name
    notes: list[AddressIn] = Field(min_length=1, max_length=1000)
    refresh: bool = Field(False, description="Notes with a time to live last their whole time again.")


class ConditionIn(Wire):
    path: list[Label] = Field(min_length=1, max_length=20)
    test: Test = Test.EQ
    value: Json


class SearchIn(Wire):
    user_id: Name
    namespace: Namespace = Field(default_factory=list, description="Notes in it and below it.")
    exact: bool = Field(False, description="Only in it.")
    conditions: list[ConditionIn] = Field(default_factory=list, max_length=50)
    query: Annotated[Text, Field(max_length=20_000)] | None = None
    vector: Vector | None = None
    order: Order = Order.LATEST
    before: Key | None = Field(None, description="Only keys below this one.")
    after: Key | None = Field(None, description="Only keys above this one.")
    limit: int = Field(10, ge=1, le=1000)
    offset: int = Field(0, ge=0, le=1_000_000)
    refresh: bool = False


class NamespacesIn(Wire):
    user_id: Name
    prefix: Namespace = Field(default_factory=list, description="Labels it begins with; `*` stands for any.")
    suffix: Namespace = Field(default_factory=list, description="Labels it ends with; `*` stands for any.")
    max_depth: int = Field(20, ge=1, le=20)
    limit: int = Field(100, ge=1, le=1000)
    offset: int = Field(0, ge=0, le=1_000_000)


class NoteOut(Wire):
    namespace: list[str]
    key: str
    value: Any
    version: int
    created_at: Instant
    updated_at: Instant
    expires_at: Instant | None
    score: float | None

    @classmethod
    def of(cls, note: Note) -> Self:
        return cls(
            namespace=list(note.namespace),
            key=note.key,
            value=note.value,
            version=note.version,
            created_at=note.created_at,
            updated_at=note.updated_at,
            expires_at=note.expires_at,
            score=note.score,
        )


class ChangedOut(Wire):
    count: int
    key: str | None
    note: NoteOut | None

    @classmethod
    def of(cls, changed: Changed) -> Self:
        return cls(
            count=changed.count,
            key=changed.key,
            note=None if changed.note is None else NoteOut.of(changed.note),
        )


class WrittenOut(Wire):
    results: list[ChangedOut]


class ReadOut(Wire):
    notes: list[NoteOut | None]


class FoundOut(Wire):
    notes: list[NoteOut]


class NamespacesOut(Wire):
    namespaces: list[list[str]]
