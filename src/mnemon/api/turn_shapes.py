"""The JSON shapes of turns and their reflections."""

from functools import reduce
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from mnemon.api.models import ApiModel, Instant, Json, Label, Name, Text
from mnemon.api.sse import UsageOut
from mnemon.llm.protocol import Usage
from mnemon.reflection.report import Reflection, ReflectionStatus
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.record import NewTurn
from mnemon.sessions.turns import StoredTurn, TurnOrigin
from mnemon.turn import DependencyPatch, EntityPatch, Intent, Role, ToolOutcome, TurnMessage, error_text


def number_as_text(value: Any) -> Any:
    """Return a whole number as text, anything else unchanged."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Id = Annotated[Text, Field(min_length=1, max_length=500)]
Ids = Annotated[list[Annotated[Id, BeforeValidator(number_as_text)]], Field(max_length=1000)]
"""Ids as text; whole numbers are taken too, since many programs number what they make."""
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
LongText = Annotated[Text, Field(max_length=200_000)]
Sentence = Annotated[Text, Field(min_length=1, max_length=4000)]


class MessageIn(ApiModel):
    """A message of a turn."""

    role: Role
    content: LongText
    name: Label | None = None
    at: Annotated[
        Instant | None,
        Field(
            description="When it was sent. A message without `at` takes the time of the message before it, or, before "
            "the first one with `at`, that one's time. If no message of the turn has `at`, all take the present time."
        ),
    ] = None

    def as_new(self) -> NewMessage:
        """Return the posted message as `sessions` stores it."""
        return NewMessage(role=self.role, content=self.content, name=self.name, at=self.at)


class EntityPatchIn(ApiModel):
    """A thing that a tool named."""

    id: Id
    kind: Label
    name: Id | None = None


class DependencyIn(ApiModel):
    """A relation between two things that a tool named."""

    source: Annotated[Id, Field(alias="from")]
    target: Annotated[Id, Field(alias="to")]
    rel: Label | None = None


class ToolResultIn(ApiModel):
    """The result of a tool; a structured field that is left out counts as not given."""

    id: Id
    action: Label
    ids: Ids | None = None
    types: Ids | None = None
    count: Count | None = None
    entities: Annotated[list[EntityPatchIn], Field(max_length=1000)] = Field(default_factory=list)
    dependencies: Annotated[list[DependencyIn], Field(max_length=1000)] = Field(default_factory=list)
    output: Json = None
    error: Annotated[
        Json, Field(description="What went wrong: text or JSON. Null, false and an empty text mean that nothing did.")
    ] = None
    expectation_id: Annotated[
        Id | None, Field(alias="expectation_id", description="The expectation it is the result for.")
    ] = None
    tool_call_id: Annotated[
        Id | None, Field(alias="tool_call_id", description="The call it answers, as an expectation may name it.")
    ] = None

    def as_outcome(self) -> ToolOutcome:
        """Return the posted tool result as the agent state compares it with expectations."""
        return ToolOutcome(
            id=self.id,
            action=self.action,
            ids=None if self.ids is None else tuple(self.ids),
            types=None if self.types is None else tuple(self.types),
            count=self.count,
            entities=tuple(EntityPatch(id=one.id, kind=one.kind, name=one.name) for one in self.entities),
            dependencies=tuple(
                DependencyPatch(source=one.source, target=one.target, rel=one.rel) for one in self.dependencies
            ),
            output=self.output,
            error=error_text(self.error),
            expectation_id=self.expectation_id,
            tool_call_id=self.tool_call_id,
        )


MAX_PARTS = 5_000
"""Most ids, types, entities and dependencies in all tool results of a turn: more would exceed a request's time."""


def _check_part_count(results: Any) -> Any:
    """Return the tool results unchanged; raise ValueError for too many parts, before any of them is validated."""
    if isinstance(results, list):
        parts = [
            part
            for one in results
            if isinstance(one, dict)
            for name in ("ids", "types", "entities", "dependencies")
            if isinstance(part := one.get(name), list)
        ]
        # Counted on the raw JSON: validating many thousand parts first would take longer than a request may.
        if sum(map(len, parts)) > MAX_PARTS:
            raise ValueError(f"has more than {MAX_PARTS:,} ids, types, entities and dependencies in all")
    return results


ToolResultsIn = Annotated[
    list[ToolResultIn],
    BeforeValidator(_check_part_count),
    Field(max_length=200, description=f"At most {MAX_PARTS:,} ids, types, entities and dependencies in all of them."),
]


class ExpectationIn(BaseModel):
    """The expected outcome of an action, in the agent state's spelling."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Label
    expected_outcome: Sentence
    expected_ids: Ids | None = None
    expected_type: Label | None = None
    expected_count: Count | None = None
    invariant: Sentence | None = None
    tool_call_id: Id | None = None

    def as_intent(self) -> Intent:
        """Return the posted expectation as the agent state adds it: pending."""
        return Intent(
            action=self.action,
            expected_outcome=self.expected_outcome,
            expected_ids=None if self.expected_ids is None else tuple(self.expected_ids),
            expected_type=self.expected_type,
            expected_count=self.expected_count,
            invariant=self.invariant,
            tool_call_id=self.tool_call_id,
        )


class TurnIn(ApiModel):
    """A turn that the application ran itself."""

    user_id: Name
    persona_id: Name | None = None
    session_id: Name | None = None
    messages: Annotated[list[MessageIn], Field(min_length=1, max_length=200)]
    tool_results: ToolResultsIn = Field(default_factory=list)
    expectations: Annotated[list[ExpectationIn], Field(max_length=200)] = Field(default_factory=list)

    def as_incoming(self) -> NewTurn:
        """Return the posted turn as `sessions` stores it."""
        return NewTurn(
            user_name=self.user_id,
            messages=tuple(one.as_new() for one in self.messages),
            session_id=self.session_id,
            tool_results=tuple(one.as_outcome() for one in self.tool_results),
            intents=tuple(one.as_intent() for one in self.expectations),
        )


class QueuedOut(ApiModel):
    """The job of a queued reflection."""

    job_id: str
    status: ReflectionStatus


class RecordedOut(ApiModel):
    """A stored turn and what it changed at once."""

    turn_id: str
    session_id: str
    agent_state_update: dict[str, Any] | None
    verdicts: Annotated[
        list[dict[str, Any]] | None,
        Field(description="What each tool result settled, in their order; null for a key that may not see the state."),
    ]
    reflection: QueuedOut


class MessageOut(ApiModel):
    """A message of a turn."""

    id: str
    role: Role
    content: str
    name: str | None
    at: Instant

    @classmethod
    def from_said(cls, said: TurnMessage) -> Self:
        """Return the response for a turn's message."""
        return cls(id=said.message_id, role=said.role, content=said.content, name=said.name, at=said.at)


class SectionOut(ApiModel):
    """What one section of a reflection did; `due` is false where it had nothing to look at.

    `repaired` entries were refused at first, offered back to the model with the reason, and let in.
    """

    stored: int
    updated: int
    skipped: int
    rejected: int
    repaired: int = 0
    due: bool
    error: str | None = None


class RejectionOut(ApiModel):
    """Something the model proposed that was rejected, and why."""

    what: str
    why: str


class ReflectionOut(ApiModel):
    """The progress and the results of a reflection; a section that found nothing has zeros."""

    job_id: str
    status: ReflectionStatus
    attempts: int
    sections: dict[str, SectionOut]
    rejected: list[RejectionOut]
    usage: UsageOut | None
    error: str | None

    @classmethod
    def from_reflection(cls, reflection: Reflection, labels: tuple[str, ...]) -> Self:
        """Return the response for a reflection; `labels` are the sections that are always shown."""
        blank = SectionOut(stored=0, updated=0, skipped=0, rejected=0, due=False)
        reported = {
            label: SectionOut(
                stored=one.stored,
                updated=one.updated,
                skipped=one.skipped,
                rejected=one.rejected,
                repaired=one.repaired,
                due=one.due,
                error=one.error,
            )
            for label, one in reflection.sections.items()
        }
        return cls(
            job_id=reflection.job_id,
            status=reflection.status,
            attempts=reflection.attempts,
            sections={label: reported.get(label, blank) for label in dict.fromkeys([*labels, *reported])},
            rejected=[RejectionOut(what=one.what, why=one.why) for one in reflection.rejected],
            usage=UsageOut.from_usage(reflection.usage) if reflection.usage else None,
            error=reflection.error,
        )


class TurnErrorOut(ApiModel):
    """Why a turn failed."""

    code: str
    detail: str


class TurnOut(ApiModel):
    """A turn with its status and that of its reflection."""

    id: str
    turn_id: str
    session_id: str
    user_id: str
    persona_id: str | None
    seq: int
    at: Instant
    status: TurnStatus
    origin: TurnOrigin
    messages: list[MessageOut]
    usage: UsageOut | None
    total_usage: UsageOut | None
    error: TurnErrorOut | None
    recited: str | None
    reflection: ReflectionOut | None

    @classmethod
    def from_turn(cls, stored: StoredTurn, reflection: Reflection | None, labels: tuple[str, ...]) -> Self:
        """Return the response for a stored turn and its reflection."""
        turn, error = stored.turn, stored.error
        spent = [one for one in (stored.usage, reflection.usage if reflection else None) if one is not None]
        return cls(
            id=turn.id,
            turn_id=turn.id,
            session_id=turn.session_id,
            user_id=turn.user_name,
            persona_id=turn.scope.persona_id,
            seq=turn.seq,
            at=turn.at,
            status=stored.status,
            origin=stored.origin,
            messages=[MessageOut.from_said(said) for said in turn.messages],
            usage=UsageOut.from_usage(stored.usage) if stored.usage else None,
            total_usage=UsageOut.from_usage(reduce(Usage.plus, spent)) if spent else None,
            error=TurnErrorOut(code=error.code, detail=error.detail) if error else None,
            recited=stored.recited,
            reflection=ReflectionOut.from_reflection(reflection, labels) if reflection else None,
        )
