"""`/api/key`: what the key of the request may do, and for whom."""

from typing import Self

from fastapi import APIRouter, Response

from mnemon.access.grants import Principal
from mnemon.api.door import AnyDoor, JsonRoute, responses_for
from mnemon.api.models import ApiModel, Instant

router = APIRouter(prefix="/api/key", tags=["keys"], route_class=JsonRoute)


class OwnKeyOut(ApiModel):
    """The key of the request, without its secret."""

    id: str
    organization: str
    scopes: list[str]
    user_id: str | None
    """The person that the key is bound to; null for a key that may name anyone."""
    expires_at: Instant | None

    @classmethod
    def from_principal(cls, caller: Principal) -> Self:
        """Return the response for the authenticated caller."""
        return cls(
            id=caller.key_id,
            organization=caller.org_id,
            scopes=sorted(caller.grants),
            user_id=caller.bound_user,
            expires_at=caller.expires_at,
        )


@router.get("", responses=responses_for(OwnKeyOut))
async def get_own_key(door: AnyDoor) -> Response:
    """Return the organization, the scopes and the person of the key that makes the request; it needs no scope."""
    return door.reply(OwnKeyOut.from_principal(door.principal))
