"""`DELETE /api/memories/{id}` and `POST /api/import`: forget one memory, import a person's data."""

from typing import Annotated, Any, Self

from fastapi import APIRouter, Query, Response

from mnemon.access.grants import Grant
from mnemon.agentstate import imported as agentstate
from mnemon.api.door import Door, JsonRoute, needs, write_responses
from mnemon.api.models import ApiModel, Name
from mnemon.api.users import ReceiptOut
from mnemon.custody.forget_memory import forget_memory
from mnemon.custody.import_person import ImportResult, import_person
from mnemon.custody.import_rules import AdmitRow, admit_any_row, bound_key_rule
from mnemon.custody.ledger import Receipt
from mnemon.db.tx import Tx
from mnemon.memory import browse
from mnemon.memory import imported as memory
from mnemon.notes import imported as notes
from mnemon.reflection import imported as reflection
from mnemon.sessions import imported as sessions

router = APIRouter(prefix="/api", tags=["custody"], route_class=JsonRoute)


IMPORTED_TABLES = (
    *memory.IMPORTED_TABLES,
    *sessions.IMPORTED_TABLES,
    *agentstate.IMPORTED_TABLES,
    *notes.IMPORTED_TABLES,
    *reflection.IMPORTED_TABLES,
)
"""The tables of every room that an export has, as the room reads them."""


class ImportedOut(ApiModel):
    """The rows of an import per table: stored, kept because they were there already, left out because forgotten.

    A memory, a session or a note that is there already is kept with all that belongs to it: its versions, turns and
    texts in the export are counted as kept too. `nextStep` then says what to do to load the export whole.
    """

    user_id: str
    stored: dict[str, int]
    kept: dict[str, int]
    forgotten: dict[str, int]
    next_step: str | None

    @classmethod
    def from_import(cls, imported: ImportResult) -> Self:
        """Return the response for an import: rows stored, kept and left out as forgotten, per table."""
        return cls(
            user_id=imported.user_id,
            stored=imported.stored,
            kept=imported.kept,
            forgotten=imported.forgotten,
            next_step=imported.next_step,
        )


@router.delete("/memories/{memory_id}", responses=write_responses(ReceiptOut), tags=["memories"])
async def forget(memory_id: str, door: Annotated[Door, needs(Grant.CUSTODY)]) -> Response:
    """Forget a memory: its text is removed from everything that holds it. Returns a receipt."""

    async def remove_memory(tx: Tx) -> Receipt:
        """Forget the memory, if the key may see its person, and return the receipt."""
        return await forget_memory(tx, await browse.scope_of_memory(tx, door.visible_scope, memory_id), memory_id)

    return await door.write(remove_memory, ReceiptOut.from_receipt)


_NDJSON_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}
}


@router.post("/import", responses=write_responses(ImportedOut), openapi_extra=_NDJSON_BODY)
async def import_user(
    door: Annotated[Door, needs(Grant.CUSTODY)],
    user_id: Annotated[Name | None, Query(alias="userId")] = None,
) -> Response:
    """Import an export, for the person it names or for `userId`: all of it or nothing.

    What the person has already is kept. A line with a value that Mnemon never writes is 422 and named. With a key
    bound to one person, a line that claims the operator's trust is 403.
    """
    # The whole body is read first: one transaction stores all of it, and must not wait for a slow client.
    body, rule = await door.request.body(), _admission_rule(door)

    async def import_rows(tx: Tx) -> ImportResult:
        """Import the lines of the body, each checked by the rule for this key."""
        return await import_person(
            tx,
            door.org.org_id,
            body,
            rooms=IMPORTED_TABLES,
            user_id=user_id,
            admit=door.person_scope,
            admit_row=rule,
        )

    return await door.write(import_rows, ImportedOut.from_import)


def _admission_rule(door: Door) -> AdmitRow:
    """Return the check on an import's rows: with a bound key, only rows that the key could have written itself pass."""
    if door.principal.bound_user is None:
        return admit_any_row
    return bound_key_rule(agent_state=door.has_grant(Grant.AGENT_STATE_WRITE))
