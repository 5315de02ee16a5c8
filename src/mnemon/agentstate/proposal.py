"""How a change is proposed from outside: the JSON that a PATCH carries and a model answers with."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from mnemon.agentstate.state import ExpectationStatus, ItemKind, ItemStatus, moment
from mnemon.section import Rejection

_TEXT = r"^[^\x00]*$"
Id = Annotated[str, Field(min_length=1, max_length=200, pattern=_TEXT)]
Word = Annotated[str, Field(max_length=200, pattern=_TEXT)]
Line = Annotated[str, Field(min_length=1, max_length=2_000, pattern=_TEXT)]
Prose = Annotated[str, Field(max_length=8_000, pattern=_TEXT)]
Ids = Annotated[list[Id], Field(max_length=100)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=2**53)]


def _of_our_times(at: datetime) -> datetime:
    if not 1970 <= at.year <= 9000:
        raise ValueError("must lie between the years 1970 and 9000")
    return moment(at)


When = Annotated[datetime, AfterValidator(_of_our_times)]


def _readable(name: str, members: list[Any], adapter: TypeAdapter[Any], unreadable: list[Rejection]) -> list[Any]:
    kept = []
    for place, member in enumerate(members):
        try:
            kept.append(adapter.validate_python(member, extra="ignore"))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            unreadable.append(Rejection(what=f"{name}[{place}] {field}".rstrip(), why=first["msg"]))
    return kept


class Proposed(BaseModel):
    """Part of a proposal; a field that nobody knows is a fault, unless the reader sifts."""

    model_config = ConfigDict(extra="forbid")


class Sifting(Proposed):
    """Takes what it can read of its lists and keeps account of the rest, unless the reader is strict."""

    sifted: ClassVar[Mapping[str, TypeAdapter[Any]]] = {}
    _unreadable: list[Rejection] = PrivateAttr(default_factory=list)

    @property
    def unreadable(self) -> tuple[Rejection, ...]:
        """The members that were left out, and why."""
        return tuple(self._unreadable)

    def without(self, unreadable: list[Rejection]) -> Self:
        """The same, accounting for these."""
        self._unreadable = unreadable
        return self

    @model_validator(mode="wrap")
    @classmethod
    def _sift(cls, value: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        if not isinstance(value, dict) or (info.context or {}).get("strict"):
            return handler(value)
        unreadable: list[Rejection] = []
        readable = {
            name: _readable(name, members, cls.sifted[name], unreadable)
            if name in cls.sifted and isinstance(members, list)
            else members
            for name, members in value.items()
            if name in cls.model_fields
        }
        return handler(readable).without(unreadable)


class ProposedEntity(Proposed):
    """An entity, identified by its id."""

    id: Id
    kind: Word
    name: Word | None = None


class ProposedDependency(Proposed):
    """A relation, identified by all three fields."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True, extra="forbid")

    source: Id = Field(alias="from")
    target: Id = Field(alias="to")
    rel: Word | None = None


class ProposedUnderstanding(Sifting):
    """What there is and how it hangs together, as far as it changes."""

    sifted: ClassVar[Mapping[str, TypeAdapter[Any]]] = {
        "entities": TypeAdapter(ProposedEntity),
        "dependencies": TypeAdapter(ProposedDependency),
    }

    entities: list[ProposedEntity] | None = None
    dependencies: list[ProposedDependency] | None = None


class ProposedAssumption(Proposed):
    """A new assumption, or evidence about one that is held; the confidence counts only for a new one."""

    id: Id | None = None
    hypothesis: Line | None = None
    confidence: Share | None = None
    evidence: Ids | None = None
    contradicted_by: Ids | None = Field(None, description="Ids of evidence that speaks against it.")


class ProposedExpectation(Proposed):
    """A new expectation, or with an id a change to a pending one."""

    id: Id | None = None
    action: Line | None = None
    expected_outcome: Line | None = None
    expected_ids: Ids | None = None
    expected_type: Word | None = None
    expected_count: Count | None = None
    invariant: Line | None = None
    status: ExpectationStatus | None = None
    last_checked_at: When | None = None


class ProposedHypothesis(Proposed):
    """Something that may be true and has no evidence yet."""

    id: Id | None = None
    hypothesis: Line
    reason: Prose | None = None


class ProposedItem(Proposed):
    """A new item; what it leaves out is filled in."""

    id: Id | None = None
    kind: ItemKind
    title: Line
    details: Prose | None = None
    status: ItemStatus = ItemStatus.ACTIVE
    relatedEntityIds: Ids | None = None  # noqa: N815, the specification's spelling
    createdAt: When | None = None  # noqa: N815
    updatedAt: When | None = None  # noqa: N815


class ProposedPatch(Proposed):
    """The fields of an item that change; its id and its times are not among them and are passed over."""

    id: Id | None = None
    kind: ItemKind | None = None
    title: Line | None = None
    details: Prose | None = None
    status: ItemStatus | None = None
    relatedEntityIds: Ids | None = None  # noqa: N815
    createdAt: When | None = None  # noqa: N815
    updatedAt: When | None = None  # noqa: N815


class AddsItem(Proposed):
    op: Literal["add"]
    item: ProposedItem


class UpdatesItem(Proposed):
    op: Literal["update"]
    id: Id
    patch: ProposedPatch


class RemovesItem(Proposed):
    op: Literal["remove"]
    id: Id


ItemUpdate = Annotated[AddsItem | UpdatesItem | RemovesItem, Field(discriminator="op")]


class AgentStateUpdate(Sifting):
    """What is understood, assumed, expected and guessed, as far as it changes."""

    sifted: ClassVar[Mapping[str, TypeAdapter[Any]]] = {
        "assumptions": TypeAdapter(ProposedAssumption),
        "expectations": TypeAdapter(ProposedExpectation),
        "tentative_hypotheses": TypeAdapter(ProposedHypothesis),
    }

    current_understanding: ProposedUnderstanding | None = None
    assumptions: list[ProposedAssumption] | None = None
    expectations: list[ProposedExpectation] | None = None
    tentative_hypotheses: list[ProposedHypothesis] | None = None


class AgentStateDeltas(Sifting):
    """The two kinds of change together: a model's answer."""

    sifted: ClassVar[Mapping[str, TypeAdapter[Any]]] = {"agent_state_item_updates": TypeAdapter(ItemUpdate)}

    agent_state_item_updates: list[ItemUpdate] | None = None
    agent_state_updates: AgentStateUpdate | None = None


MOST_MEMBERS = 1_000
"""Of one list in a PATCH. A model's answer has no such bound: what it costs to read is bounded by its tokens."""


class AgentStatePatch(AgentStateUpdate):
    """What a PATCH takes: an update, or both kinds of change under their names, with a reason if there is one."""

    assumptions: Annotated[list[ProposedAssumption], Field(max_length=MOST_MEMBERS)] | None = None
    expectations: Annotated[list[ProposedExpectation], Field(max_length=MOST_MEMBERS)] | None = None
    tentative_hypotheses: Annotated[list[ProposedHypothesis], Field(max_length=MOST_MEMBERS)] | None = None
    agent_state_item_updates: Annotated[list[ItemUpdate], Field(max_length=MOST_MEMBERS)] | None = None
    agent_state_updates: AgentStateUpdate | None = None
    reason: Line | None = None
