"""The JSON that proposes a change: what a PATCH carries and a model's answer is read as.

The docstrings of these classes are part of the API's description; what a model is asked is in `prompt.py`.
"""

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

from mnemon.agentstate.state import ExpectationStatus, ItemKind, ItemStatus, to_utc_millis
from mnemon.section import Rejection

_TEXT_PATTERN = r"^[^\x00]*$"
RecordId = Annotated[str, Field(min_length=1, max_length=200, pattern=_TEXT_PATTERN)]
LabelText = Annotated[str, Field(max_length=200, pattern=_TEXT_PATTERN)]
LineText = Annotated[str, Field(min_length=1, max_length=2_000, pattern=_TEXT_PATTERN)]
LongText = Annotated[str, Field(max_length=8_000, pattern=_TEXT_PATTERN)]
RecordIds = Annotated[list[RecordId], Field(max_length=100)]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
NonNegativeCount = Annotated[int, Field(ge=0, le=2**53)]


def _check_year(at: datetime) -> datetime:
    """Return the time in UTC to the millisecond; raise ValueError for a year before 1970 or after 9000."""
    if not 1970 <= at.year <= 9000:
        raise ValueError("must lie between the years 1970 and 9000")
    return to_utc_millis(at)


BoundedTime = Annotated[datetime, AfterValidator(_check_year)]
"""A time between 1970 and 9000, in UTC, to the millisecond."""


def _readable_members(
    name: str, members: list[Any], adapter: TypeAdapter[Any], unreadable: list[Rejection]
) -> list[Any]:
    """Return the list members that can be parsed; append the others to `unreadable` with the reason."""
    kept = []
    for place, member in enumerate(members):
        try:
            kept.append(adapter.validate_python(member, extra="ignore"))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            unreadable.append(Rejection(what=f"{name}[{place}] {field}".rstrip(), why=first["msg"]))
    return kept


class ProposalModel(BaseModel):
    """Part of a proposal; a field that nobody knows is a fault, unless the reader sifts."""

    model_config = ConfigDict(extra="forbid")


class LenientProposal(ProposalModel):
    """Takes what it can read of its lists and keeps account of the rest, unless the reader is strict."""

    sifted: ClassVar[Mapping[str, TypeAdapter[Any]]] = {}
    _unreadable: list[Rejection] = PrivateAttr(default_factory=list)

    @property
    def unreadable_members(self) -> tuple[Rejection, ...]:
        """Return the members of the proposal that could not be parsed, each with the reason."""
        return tuple(self._unreadable)

    def set_unreadable(self, unreadable: list[Rejection]) -> Self:
        """Store the list members that could not be parsed; return the proposal itself."""
        self._unreadable = unreadable
        return self

    @model_validator(mode="wrap")
    @classmethod
    def _drop_unreadable(cls, value: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        """Validate the proposal, leaving out list members that cannot be parsed; in strict mode, reject it instead."""
        # A model's answer is worth keeping in part; a client's PATCH is strict, so that the client learns of its
        # mistake.
        if not isinstance(value, dict) or (info.context or {}).get("strict"):
            return handler(value)
        unreadable: list[Rejection] = []
        readable = {
            name: _readable_members(name, members, cls.sifted[name], unreadable)
            if name in cls.sifted and isinstance(members, list)
            else members
            for name, members in value.items()
            if name in cls.model_fields
        }
        return handler(readable).set_unreadable(unreadable)


class ProposedEntity(ProposalModel):
    """An entity, identified by its id."""

    id: RecordId
    kind: LabelText
    name: LabelText | None = None


class ProposedDependency(ProposalModel):
    """A relation, identified by all three fields."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True, extra="forbid")

    source: RecordId = Field(alias="from")
    target: RecordId = Field(alias="to")
    rel: LabelText | None = None


class ProposedUnderstanding(LenientProposal):
    """What there is and how it hangs together, as far as it changes."""

    sifted: ClassVar[Mapping[str, TypeAdapter[Any]]] = {
        "entities": TypeAdapter(ProposedEntity),
        "dependencies": TypeAdapter(ProposedDependency),
    }

    entities: list[ProposedEntity] | None = None
    dependencies: list[ProposedDependency] | None = None


class ProposedAssumption(ProposalModel):
    """A new assumption, or evidence about one that is held; the confidence counts only for a new one."""

    id: RecordId | None = None
    hypothesis: LineText | None = None
    confidence: Fraction | None = None
    evidence: RecordIds | None = None
    contradicted_by: RecordIds | None = Field(None, description="Ids of evidence that speaks against it.")


class ProposedExpectation(ProposalModel):
    """A new expectation, or with an id a change to a pending one."""

    id: RecordId | None = None
    action: LineText | None = None
    expected_outcome: LineText | None = None
    expected_ids: RecordIds | None = None
    expected_type: LabelText | None = None
    expected_count: NonNegativeCount | None = None
    invariant: LineText | None = None
    status: ExpectationStatus | None = None
    last_checked_at: BoundedTime | None = None


class ProposedHypothesis(ProposalModel):
    """Something that may be true and has no evidence yet."""

    id: RecordId | None = None
    hypothesis: LineText
    reason: LongText | None = None


class ProposedItem(ProposalModel):
    """A new item; what it leaves out is filled in."""

    id: RecordId | None = None
    kind: ItemKind
    title: LineText
    details: LongText | None = None
    status: ItemStatus = ItemStatus.ACTIVE
    relatedEntityIds: RecordIds | None = None  # noqa: N815, the specification's spelling
    createdAt: BoundedTime | None = None  # noqa: N815
    updatedAt: BoundedTime | None = None  # noqa: N815


class ProposedPatch(ProposalModel):
    """The fields of an item that change; its id and its times are not among them and are passed over."""

    id: RecordId | None = None
    kind: ItemKind | None = None
    title: LineText | None = None
    details: LongText | None = None
    status: ItemStatus | None = None
    relatedEntityIds: RecordIds | None = None  # noqa: N815
    createdAt: BoundedTime | None = None  # noqa: N815
    updatedAt: BoundedTime | None = None  # noqa: N815


# No docstrings on these three: pydantic would add them to the API's description.
class ProposedAddItem(ProposalModel):
    op: Literal["add"]
    item: ProposedItem


class ProposedUpdateItem(ProposalModel):
    op: Literal["update"]
    id: RecordId
    patch: ProposedPatch


class ProposedRemoveItem(ProposalModel):
    op: Literal["remove"]
    id: RecordId


ItemUpdate = Annotated[ProposedAddItem | ProposedUpdateItem | ProposedRemoveItem, Field(discriminator="op")]


class AgentStateUpdate(LenientProposal):
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


class AgentStateDeltas(LenientProposal):
    """The two kinds of change together: a model's answer."""

    sifted: ClassVar[Mapping[str, TypeAdapter[Any]]] = {"agent_state_item_updates": TypeAdapter(ItemUpdate)}

    agent_state_item_updates: list[ItemUpdate] | None = None
    agent_state_updates: AgentStateUpdate | None = None


MAX_MEMBERS = 1_000
"""The most members of one list in a PATCH. A model's answer needs no such limit: its tokens limit the cost."""


class AgentStatePatch(AgentStateUpdate):
    """What a PATCH takes: an update, or both kinds of change under their names, with a reason if there is one."""

    assumptions: Annotated[list[ProposedAssumption], Field(max_length=MAX_MEMBERS)] | None = None
    expectations: Annotated[list[ProposedExpectation], Field(max_length=MAX_MEMBERS)] | None = None
    tentative_hypotheses: Annotated[list[ProposedHypothesis], Field(max_length=MAX_MEMBERS)] | None = None
    agent_state_item_updates: Annotated[list[ItemUpdate], Field(max_length=MAX_MEMBERS)] | None = None
    agent_state_updates: AgentStateUpdate | None = None
    reason: LineText | None = None
