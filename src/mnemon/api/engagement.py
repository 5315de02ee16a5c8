"""`/api/engagement`: the beliefs about the organization.

Reflection alone writes them. What a person may decide by hand, with a note, is that a contradiction is settled or that
a claim is archived; that needs the scope `admin`.
"""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for, write_responses
from mnemon.api.models import ApiModel, Instant, NonEmptyText, decode_cursor
from mnemon.engagement import reading, rulings
from mnemon.engagement.gates import MAX_TEXT_CHARS
from mnemon.engagement.shape import ArchivedShape, ChangeShape, EngagementShape, RuledShape
from mnemon.errors import Malformed

router = APIRouter(prefix="/api/engagement", tags=["engagement"], route_class=JsonRoute)


@router.get("", responses=responses_for(EngagementShape | None))
async def get_engagement(
    door: Annotated[Door, needs(Grant.ENGAGEMENT_READ)],
    expand: Literal["evidence"] | None = None,
    include: Literal["archived"] | None = None,
    as_of: Annotated[Instant | None, Query(alias="asOf")] = None,
) -> Response:
    """Return the engagement now, or as it was at `asOf`; null before the first session."""
    async with door.tx() as tx:
        held = await reading.load_engagement_at(tx, door.org, as_of)
    # The sequence number of the last change identifies the state.
    headers = {"ETag": f'"{held.seq}"'}
    if held.document is None:
        return door.reply(None, headers=headers)
    shape = EngagementShape.from_document(held.document, expand=expand is not None, archived=include is not None)
    return door.reply(shape, headers=headers, omit_unset=True)


@router.get("/history", responses=responses_for(ChangeShape, page=True))
async def get_history(
    door: Annotated[Door, needs(Grant.ENGAGEMENT_READ)],
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Response:
    """List every change of the engagement with its turn and its reason, oldest first."""
    async with door.tx() as tx:
        entries = await reading.list_history(tx, door.org, after=_parse_seq(cursor), most=limit + 1)
    return door.page(
        [ChangeShape.from_entry(entry) for entry in entries], limit=limit, position=lambda change: str(change.seq)
    )


Note = Annotated[NonEmptyText, Field(max_length=MAX_TEXT_CHARS, description="Why; it is shown with the decision.")]


class SettleIn(ApiModel):
    """Which contradiction is settled, and why."""

    evidence_id: Annotated[str, Field(max_length=100, description="The id of the contradicting evidence.")]
    note: Note


class ArchiveIn(ApiModel):
    """Why the claim is archived."""

    note: Note


@router.post("/hypotheses/{hypothesis_id}/resolve", responses=write_responses(RuledShape))
async def resolve_contradiction(
    hypothesis_id: str, body: SettleIn, door: Annotated[Door, needs(Grant.ADMIN)]
) -> Response:
    """Settle an outstanding contradiction of a hypothesis; 409 `not_outstanding` when it has none of this id."""
    return await door.write(
        lambda tx: rulings.settle_contradiction(
            tx,
            door.org,
            hypothesis_id,
            body.evidence_id,
            note=body.note,
            author=door.principal.key_id,
            threshold=door.services.settings.promotion_threshold,
        ),
        RuledShape.from_ruling,
    )


@router.post("/hypotheses/{hypothesis_id}/archive", responses=write_responses(ArchivedShape))
async def archive(hypothesis_id: str, body: ArchiveIn, door: Annotated[Door, needs(Grant.ADMIN)]) -> Response:
    """Archive a hypothesis or finding with a note; 409 `already_archived` when it is."""
    return await door.write(
        lambda tx: rulings.archive_by_hand(tx, door.org, hypothesis_id, note=body.note, author=door.principal.key_id),
        lambda archived: ArchivedShape.from_hypothesis(archived, expand=True),
    )


def _parse_seq(cursor: str | None) -> int:
    """Return the journal number that a page's cursor stands for, 0 without one; raise Malformed."""
    position = decode_cursor(cursor) or "0"
    if not position.isascii() or not position.isdigit() or len(position) > 18:
        raise Malformed("The cursor is invalid. Take it unchanged from `meta.nextCursor`.", code="bad_cursor")
    return int(position)
