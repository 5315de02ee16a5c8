"""`DELETE /api/memories/{id}` and `POST /api/import`: one memory forgotten, a person's data brought in."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Self

from fastapi import APIRouter, Query, Response

from mnemon.access.grants import Grant
from mnemon.api.door import Door, documented, needs
from mnemon.api.json_route import JsonRoute
from mnemon.api.users import ReceiptOut
from mnemon.api.wire import Name, Wire
from mnemon.custody.bound_import import AdmitRow, row_for_bound_key, row_of_anyone
from mnemon.custody.forget_memory import forget_memory
from mnemon.custody.intake import Imported, take_in
from mnemon.custody.receipt import Receipt
from mnemon.db.tx import Tx
from mnemon.memory import browse
from mnemon.scope import Scope

router = APIRouter(prefix="/api", tags=["custody"], route_class=JsonRoute)


class ImportedOut(Wire):
    user_id: str
    stored: dict[str, int]
    kept: dict[str, int]

    @classmethod
    def of(cls, imported: Imported) -> Self:
        return cls(user_id=imported.user_id, stored=imported.stored, kept=imported.kept)


@router.delete("/memories/{memory_id}", responses=documented(ReceiptOut), tags=["memories"])
async def forget(memory_id: str, door: Annotated[Door, needs(Grant.CUSTODY)]) -> Response:
    """The memory is forgotten, and what it said stands nowhere any more."""

    async def effect(tx: Tx) -> Receipt:
        asked = Scope(org_id=door.org.org_id, user_id=door.bound_user_id)
        return await forget_memory(tx, await browse.locate(tx, asked, memory_id), memory_id)

    return await door.write(effect, ReceiptOut.of)


_LINES: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}
}


@router.post("/import", responses=documented(ImportedOut), openapi_extra=_LINES)
async def import_user(
    door: Annotated[Door, needs(Grant.CUSTODY)],
    user_id: Annotated[Name | None, Query(alias="userId")] = None,
) -> Response:
    """An export is brought in, for the person it names or for `userId`: all of it or nothing.

    With a key bound to one person, a line that claims the operator's trust is 403.
    """
    body, rule = await door.request.body(), _admitted_rows(door)

    async def effect(tx: Tx) -> Imported:
        return await take_in(tx, door.org.org_id, _lines(body), user_id=user_id, admit=door.person, admit_row=rule)

    return await door.write(effect, ImportedOut.of)


def _admitted_rows(door: Door) -> AdmitRow:
    """The rule for the rows of an import: all of them, or for a bound key what it could say itself."""
    if door.principal.bound_user is None:
        return row_of_anyone
    return row_for_bound_key(agent_state=door.may(Grant.AGENT_STATE_WRITE))


async def _lines(body: bytes) -> AsyncIterator[bytes]:
    for one in body.split(b"\n"):
        yield one
