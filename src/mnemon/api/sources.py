"""`/api/sources`: the sources of what is stored about a person, and withdrawing one of them."""

from typing import Annotated, Self

from fastapi import APIRouter, Query, Response
from pydantic import model_validator

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for, write_responses
from mnemon.api.memory_shapes import MemoryOut
from mnemon.api.models import ApiModel, ExistingName, Instant, decode_cursor
from mnemon.db.tx import Tx
from mnemon.memory.sources.overview import (
    SourceOverview,
    memories_of_source,
    preview_withdrawal,
    resolve_source_name,
    source_names,
    source_overviews,
)
from mnemon.memory.sources.withdrawal import Withdrawal, withdraw_from_everyone, withdraw_source
from mnemon.memory.trust import Trust

router = APIRouter(prefix="/api/sources", tags=["sources"], route_class=JsonRoute)


class SourceOut(ApiModel):
    """A source with the number of memories, claims and todos it gave."""

    origin: str
    trust_level: Trust
    active: int
    claims: int
    archived: int
    past: int
    todos: int
    last_at: Instant

    @classmethod
    def from_overview(cls, one: SourceOverview) -> Self:
        """Return the response for a source: how many memories, claims and todos it gave."""
        return cls(**vars(one))


class WithdrawIn(ApiModel):
    """A source to withdraw, by its name: `source`, or `origin` as earlier releases called it."""

    user_id: ExistingName | None = None
    """Whose data to withdraw it from; by default every person of the organization."""
    source: ExistingName | None = None
    origin: ExistingName | None = None

    @model_validator(mode="after")
    def _check_one_named(self) -> Self:
        """Return the request; raise ValueError where it names no source, or two different ones."""
        if self.source is None and self.origin is None:
            raise ValueError("Name the `source` to take back, as `GET /api/sources` gives its `origin`.")
        if None not in (self.source, self.origin) and self.source != self.origin:
            raise ValueError("`source` and `origin` name two sources. Send one of them.")
        return self

    @property
    def name(self) -> str:
        """Return the name of the source to withdraw, from `source` or `origin`."""
        return str(self.source or self.origin)


class WithdrawalPreviewOut(ApiModel):
    """What a withdrawal would take back now."""

    source: str
    """The exact name of the source, to be sent to `POST /api/sources/withdraw`."""
    people: int
    memories: int
    versions: int
    todos: int


class WithdrawalOut(ApiModel):
    """The receipt of a withdrawal."""

    id: str
    at: Instant
    source: str
    origin: str
    people: int
    archived: list[str]
    restored: list[str]
    versions: int
    todos: int
    total: int

    @classmethod
    def from_withdrawal(cls, done: Withdrawal) -> Self:
        """Return the response for a withdrawal: its receipt."""
        lists = {"archived": list(done.archived), "restored": list(done.restored)}
        return cls(**{**vars(done), **lists, "source": done.origin, "total": done.total})


@router.get("", responses=responses_for(SourceOut, page=True))
async def list_sources(
    door: Annotated[Door, needs(Grant.MEMORY_READ)],
    user_id: Annotated[ExistingName, Query(alias="userId")],
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Response:
    """List the sources of a person's memories and todos over all personas, by name."""
    scope = door.person_scope(user_id)
    after = decode_cursor(cursor) or ""
    async with door.tx() as tx:
        found = await source_overviews(tx, scope)
    shown = [SourceOut.from_overview(one) for one in found if one.origin > after]
    return door.page(shown[: limit + 1], limit=limit, position=lambda one: one.origin)


SourceName = Annotated[
    ExistingName, Query(description="A source's `origin`, or the same with unprintable characters escaped.")
]


@router.get("/memories", responses=responses_for(MemoryOut, page=True, also=(404,)))
async def list_source_memories(
    door: Annotated[Door, needs(Grant.MEMORY_READ)],
    user_id: Annotated[ExistingName, Query(alias="userId")],
    source: SourceName,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """List the latest that one source said about a person, active or archived, over all personas.

    404 `no_such_source` names the sources that did say something.
    """
    scope = door.person_scope(user_id)
    async with door.tx() as tx:
        origin = resolve_source_name(source, await source_names(tx, scope))
        found = await memories_of_source(tx, scope, origin, most=limit)
    return door.page([MemoryOut.from_memory(one, user_id) for one in found], limit=limit, position=lambda one: one.id)


@router.get("/preview", responses=responses_for(WithdrawalPreviewOut, also=(404,)))
async def preview(
    door: Annotated[Door, needs(Grant.MEMORY_READ)],
    source: SourceName,
    user_id: Annotated[ExistingName | None, Query(alias="userId")] = None,
) -> Response:
    """Count what a withdrawal of the source would take back, from one person or from everyone; nothing is changed."""
    if user_id is None:
        door.require_unbound()
    scope = door.org if user_id is None else door.person_scope(user_id)
    async with door.tx() as tx:
        origin = resolve_source_name(source, await source_names(tx, scope))
        counted = await preview_withdrawal(tx, scope, origin)
    return door.reply(WithdrawalPreviewOut(source=origin, **vars(counted)))


@router.post("/withdraw", responses=write_responses(WithdrawalOut, also=(404,)))
async def withdraw(body: WithdrawIn, door: Annotated[Door, needs(Grant.CUSTODY)]) -> Response:
    """Withdraw what a source said of one person, or of everyone without `userId`, and restore what it had replaced.

    Repeating it changes nothing. People are done one after the other: repeat it after an interruption. A key bound to
    a person cannot withdraw what the operator stated.
    """
    if body.user_id is None:
        return await _withdraw_from_everyone(door, body.name)
    scope = door.person_scope(body.user_id)
    # A key bound to a person must not withdraw what the operator stated.
    at_most = Trust.OPERATOR if door.principal.bound_user is None else Trust.PERSON

    async def withdraw_for_person(tx: Tx) -> Withdrawal:
        """Withdraw what the source said about this person and return the receipt."""
        return await withdraw_source(tx, scope, body.name, at_most=at_most)

    return await door.write(withdraw_for_person, WithdrawalOut.from_withdrawal)


async def _withdraw_from_everyone(door: Door, origin: str) -> Response:
    """Withdraw the source from every person of the organization, one transaction each, then store the reply."""
    door.require_unbound()
    kept = await door.kept_reply()
    if kept is not None:
        return kept
    # A transaction per person, each with its audit line; the reply is stored in a last one of its own.
    done = await withdraw_from_everyone(
        door.services.db, door.org, origin, lambda tx, scope, receipt: door.audit_write(tx, receipt, scope.user)
    )

    async def finished_withdrawal(tx: Tx) -> Withdrawal:
        """Return the receipt of the withdrawal that is already committed."""
        return done

    return await door.write(finished_withdrawal, WithdrawalOut.from_withdrawal)
