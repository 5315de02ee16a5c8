"""`/api/users`: a person's seed and spine, exporting everything about a person, and forgetting them."""

from typing import Annotated, Any, Self

from fastapi import APIRouter, Path, Response
from fastapi.exceptions import RequestValidationError
from pydantic import Discriminator, Field, Tag, ValidationError
from starlette.responses import StreamingResponse

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for, sent_as_json, write_responses
from mnemon.api.memory_shapes import EntityIn
from mnemon.api.models import ApiModel, ExistingName, Instant, Label, Name, NonEmptyText
from mnemon.custody.export import export_to_file, file_chunks
from mnemon.custody.forget_person import forget_person
from mnemon.custody.ledger import Receipt
from mnemon.db.tx import Tx
from mnemon.errors import Invalid, WrongMediaType
from mnemon.input_checks import check_text, parse_json
from mnemon.memory.fact import EntityType, FactType, MemoryType
from mnemon.memory.person_lock import lock_people
from mnemon.memory.spine import SpinePart, SpineVersion
from mnemon.memory.upkeep import store as upkeep
from mnemon.memory.upkeep.seed import SeedEntry, SeedResult, apply_seed, parse_profile, seed_entries
from mnemon.sessions.people import ensure_person
from mnemon.vectors.text_vectors import embed_texts

router = APIRouter(prefix="/api/users", tags=["users"], route_class=JsonRoute)
_PATH_HINT = "May contain `/`, percent-encoded as `%2F` or not."
NewUserId = Annotated[Name, Path(description=_PATH_HINT)]
"""Matches across `/`: the server decodes `%2F` before the route is looked up."""
UserId = Annotated[ExistingName, Path(description=_PATH_HINT)]
"""A person who may exist already, under a name that is no longer accepted for new ones."""
MAX_SEED_ENTRIES = 1000


class SeedEntryIn(ApiModel):
    """A fact of a seed."""

    type: MemoryType = MemoryType.PROFILE
    content: NonEmptyText
    entity: EntityIn | None = None
    fact_type: FactType = FactType.FACT
    attribute: Label | None = None
    importance: Annotated[int, Field(ge=0, le=3)] | None = None
    pinned: bool | None = None

    def as_entry(self) -> SeedEntry:
        """Return a fact of the posted profile as an entry of the person's seed."""
        return SeedEntry(
            content=self.content.strip(),
            type=self.type,
            entity_type=self.entity.type if self.entity else None,
            entity_label=self.entity.label if self.entity else None,
            fact_type=self.fact_type,
            attribute=self.attribute,
            importance=self.importance,
            pinned=self.pinned,
        )

    @classmethod
    def from_entry(cls, entry: SeedEntry) -> Self:
        """Return the shape of a stored seed entry, as it was posted."""
        about = (entry.entity_type, entry.entity_label)
        return cls(
            type=entry.type,
            content=entry.content,
            entity=EntityIn(type=about[0], label=about[1]) if about[0] and about[1] else None,
            fact_type=entry.fact_type,
            attribute=entry.attribute,
            importance=entry.importance,
            pinned=entry.pinned,
        )


SeedFact = Annotated[
    Annotated[SeedEntryIn, Tag("object")] | Annotated[NonEmptyText, Tag("text")],
    Discriminator(lambda fact: "text" if isinstance(fact, str) else "object"),
]
"""A fact as an object or as a plain text; told apart first, so that a fault is reported for the one that was meant."""


class SeedIn(ApiModel):
    """A person's profile: facts as objects or plain texts."""

    profile: Annotated[list[SeedFact], Field(max_length=MAX_SEED_ENTRIES)]

    def as_entries(self) -> tuple[SeedEntry, ...]:
        """Return the facts of the posted profile as entries of the person's seed."""
        return tuple(SeedEntry(content=one.strip()) if isinstance(one, str) else one.as_entry() for one in self.profile)


class SeedOut(ApiModel):
    """A person's profile as it was loaded."""

    profile: list[SeedEntryIn]
    loaded_at: Instant


class SeededOut(ApiModel):
    """A loaded profile, and what loading it changed."""

    profile: list[SeedEntryIn]
    stored: int
    updated: int
    skipped: int
    archived: int

    @classmethod
    def from_seeding(cls, seeded: SeedResult) -> Self:
        """Return the response for a loaded profile, with what loading it changed."""
        return cls(
            profile=[SeedEntryIn.from_entry(entry) for entry in seeded.entries],
            stored=seeded.stored,
            updated=seeded.updated,
            skipped=seeded.skipped,
            archived=seeded.archived,
        )


class SpineOut(ApiModel):
    """A version of the person's long-term summary."""

    version: int
    content: dict[SpinePart, list[str]]
    message_count: int
    made_by: str
    sources: list[str]
    created_at: Instant

    @classmethod
    def from_spine(cls, spine: SpineVersion) -> Self:
        """Return the response for a stored version of the person's long-term summary."""
        return cls(
            version=spine.version,
            content={part: [line.text for line in spine.lines.get(part, ())] for part in SpinePart},
            message_count=spine.message_count,
            made_by=spine.made_by,
            sources=list(spine.sources),
            created_at=spine.at,
        )


class ReceiptOut(ApiModel):
    """The receipt of forgetting: rows removed, redacted and kept, per table."""

    id: str
    at: Instant
    removed: dict[str, int]
    redacted: dict[str, int]
    kept: dict[str, int]
    reasons: dict[str, str]
    """Why something was kept, for each entry of `kept`."""
    kept_ids: dict[str, list[str]]
    """Which rows were kept, at most 100 for each entry of `kept`."""
    total: int

    @classmethod
    def from_receipt(cls, receipt: Receipt) -> Self:
        """Return the response for a forgetting: its receipt."""
        return cls(
            id=receipt.id,
            at=receipt.at,
            removed=receipt.removed,
            redacted=receipt.redacted,
            kept=receipt.kept,
            reasons=receipt.reasons,
            kept_ids={place: list(ids) for place, ids in receipt.kept_ids.items()},
            total=receipt.total,
        )


_SEED_ENTRY = {
    "type": "object",
    "required": ["content"],
    "properties": {
        "type": {"enum": list(MemoryType)},
        "content": {"type": "string", "minLength": 1, "maxLength": 20_000},
        "factType": {"enum": list(FactType)},
        "attribute": {"type": "string", "minLength": 1, "maxLength": 200},
        "importance": {"type": "integer", "minimum": 0, "maximum": 3},
        "pinned": {"type": "boolean"},
        "entity": {
            "type": "object",
            "required": ["type", "label"],
            "properties": {
                "type": {"enum": list(EntityType)},
                "label": {"type": "string", "minLength": 1, "maxLength": 200},
            },
        },
    },
}
_SEED_TEXT = {"type": "string", "minLength": 1, "maxLength": 20_000}
_SEED_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["profile"],
                    "properties": {
                        "profile": {
                            "type": "array",
                            "maxItems": MAX_SEED_ENTRIES,
                            "items": {"anyOf": [_SEED_ENTRY, _SEED_TEXT]},
                        }
                    },
                }
            },
            "text/plain": {"schema": {"type": "string", "description": "One fact per line."}},
        },
    }
}


async def _read_seed_body(door: Door) -> tuple[SeedEntry, ...]:
    """Return the seed entries in the request's body: JSON, or plain text with one fact per line."""
    body = await door.request.body()
    # Parsed by hand, because the route takes two media types; faults are reported as FastAPI would.
    if door.request.headers.get("content-type", "").partition(";")[0].strip().lower() != "text/plain":
        if not sent_as_json(door.request):
            raise WrongMediaType(
                "A seed is JSON, or text with one fact per line. Send `Content-Type: application/json` or `text/plain`."
            )
        value = parse_json(body)
        try:
            return SeedIn.model_validate(value).as_entries()
        except ValidationError as error:
            faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors(include_url=False)]
            raise RequestValidationError(faults, body=value) from None
    try:
        entries = parse_profile(check_text(body.decode()))
    except ValueError:
        raise Invalid("The text is not valid UTF-8, or has a NUL character.", code="bad_text") from None
    if len(entries) > MAX_SEED_ENTRIES or any(len(entry.content) > 20_000 for entry in entries):
        raise Invalid(f"A seed has at most {MAX_SEED_ENTRIES} facts of 20,000 characters.", code="seed_too_large")
    return entries


@router.put("/{user_id:any}/seed", responses=write_responses(SeededOut), openapi_extra=_SEED_BODY)
async def put_seed(user_id: NewUserId, door: Annotated[Door, needs(Grant.MEMORY_WRITE)]) -> Response:
    """Load a person's profile; loading the same again changes nothing."""
    scope, entries = door.person_scope(user_id), await _read_seed_body(door)
    vectors = await embed_texts(door.services.embedder, [entry.content for entry in entries])

    async def store_seed(tx: Tx) -> SeedResult:
        """Create the person if unknown and load the seed; return what it changed."""
        await ensure_person(tx, scope.org_id, user_id)
        return await apply_seed(tx, scope, entries, vectors=vectors)

    # Embedded before the lock is taken, so that the person's other writers do not wait for the embedder.
    async with lock_people(door.services.db, [scope.user]):
        return await door.write(store_seed, SeededOut.from_seeding)


@router.get("/{user_id:any}/seed", responses=responses_for(SeedOut | None))
async def get_seed(user_id: UserId, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """Return the profile as it was loaded; null when there is none."""
    scope = door.person_scope(user_id)
    async with door.tx() as tx:
        seed, entries = await upkeep.get_seed(tx, scope), await seed_entries(tx, scope)
    shown = [SeedEntryIn.from_entry(entry) for entry in entries]
    return door.reply(SeedOut(profile=shown, loaded_at=seed.loaded_at) if seed else None)


@router.get("/{user_id:any}/spine", responses=responses_for(SpineOut | None))
async def get_spine(user_id: UserId, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """Return the person's long-term summary; null before the first."""
    async with door.tx() as tx:
        spine = await upkeep.latest_spine(tx, door.person_scope(user_id))
    return door.reply(SpineOut.from_spine(spine) if spine else None)


_NDJSON_RESPONSES: dict[int | str, Any] = {
    **responses_for(also=(404,)),
    200: {
        "description": "One JSON row per line.",
        "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
    },
}


@router.get("/{user_id:any}/export", responses=_NDJSON_RESPONSES, response_class=Response)
async def export_user(user_id: UserId, door: Annotated[Door, needs(Grant.CUSTODY)]) -> Response:
    """Export everything that is stored about the person, as of one moment, one JSON row per line.

    Agent states are left out for a key without `agent-state:read`, and what models answered when they reflected for one
    without that or `engagement:read`.
    """
    # Audited as a write although it changes nothing: it takes a person's whole data out.
    sees_state = door.has_grant(Grant.AGENT_STATE_READ)
    file = await export_to_file(
        door.services.db,
        door.person_scope(user_id),
        record=door.audit_write,
        agent_state=sees_state,
        answers=sees_state and door.has_grant(Grant.ENGAGEMENT_READ),
    )
    return StreamingResponse(file_chunks(file), media_type="application/x-ndjson")


@router.delete("/{user_id:any}", responses=write_responses(ReceiptOut, also=(404,)))
async def forget_user(user_id: UserId, door: Annotated[Door, needs(Grant.CUSTODY)]) -> Response:
    """Forget a person; the receipt counts what was removed, per table."""
    scope = door.person_scope(user_id)

    async def remove_person(tx: Tx) -> Receipt:
        """Forget the person and return the receipt; the reply and the audit entry then name nobody."""
        receipt = await forget_person(tx, scope)
        # Neither the receipt nor the audit line may name the forgotten person.
        door.concerned.clear()
        return receipt

    return await door.write(remove_person, ReceiptOut.from_receipt)
