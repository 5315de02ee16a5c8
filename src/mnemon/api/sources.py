"""`/api/sources`: who said what is held about a person, and taking back what one of them said."""

from typing import Annotated, Self

from fastapi import APIRouter, Query, Response

from mnemon.access.grants import Grant
from mnemon.api.door import Door, documented, needs
from mnemon.api.json_route import JsonRoute
from mnemon.api.wire import Instant, Name, Wire, position_of
from mnemon.db.tx import Tx
from mnemon.memory.sources.overview import SourceOverview, source_overviews
from mnemon.memory.sources.withdrawal import Withdrawal, withdraw_source
from mnemon.memory.trust import Trust

router = APIRouter(prefix="/api/sources", tags=["sources"], route_class=JsonRoute)


class SourceOut(Wire):
    origin: str
    trust_level: Trust
    active: int
    claims: int
    archived: int
    past: int
    todos: int
    last_at: Instant

    @classmethod
    def of(cls, one: SourceOverview) -> Self:
        fields = {name: value for name, value in vars(one).items() if name != "trust"}
        return cls(**fields, trust_level=one.trust)


class WithdrawIn(Wire):
    user_id: Name
    origin: Name


class WithdrawalOut(Wire):
    """The receipt."""

    id: str
    at: Instant
    origin: str
    archived: list[str]
    restored: list[str]
    versions: int
    todos: int
    total: int

    @classmethod
    def of(cls, done: Withdrawal) -> Self:
        lists = {"archived": list(done.archived), "restored": list(done.restored)}
        return cls(**{**vars(done), **lists, "total": done.total})


@router.get("", responses=documented(SourceOut, page=True))
async def list_sources(
    door: Annotated[Door, needs(Grant.MEMORY_READ)],
    user_id: Annotated[Name, Query(alias="userId")],
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Response:
    """The sources of a person's memories and todos, over all personas, by name."""
    scope = door.person(user_id)
    after = position_of(cursor) or ""
    async with door.tx() as tx:
        found = await source_overviews(tx, scope)
    shown = [SourceOut.of(one) for one in found if one.origin > after]
    return door.page(shown[: limit + 1], limit=limit, position=lambda one: one.origin)


@router.post("/withdraw", responses=documented(WithdrawalOut))
async def withdraw(body: WithdrawIn, door: Annotated[Door, needs(Grant.CUSTODY)]) -> Response:
    """Everything the source said is taken back; what it had replaced is held again. Again changes nothing."""
    scope = door.person(body.user_id)

    async def effect(tx: Tx) -> Withdrawal:
        return await withdraw_source(tx, scope, body.origin)

    return await door.write(effect, WithdrawalOut.of)
