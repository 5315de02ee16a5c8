"""`/api/engagement`: the beliefs about the organization. Read only: they are written by reflection alone."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for
from mnemon.api.models import Instant, decode_cursor
from mnemon.engagement import reading
from mnemon.engagement.shape import ChangeShape, EngagementShape
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


def _parse_seq(cursor: str | None) -> int:
    """Return the journal number that a page's cursor stands for, 0 without one; raise Malformed."""
    position = decode_cursor(cursor) or "0"
    if not position.isascii() or not position.isdigit() or len(position) > 18:
        raise Malformed("The cursor is invalid. Take it unchanged from `meta.nextCursor`.", code="bad_cursor")
    return int(position)
