"""The active embedding model of an organization.

Searches use the vectors of the active model. The first model that stores vectors becomes active; only `mnemon reembed`
changes it.
"""

from collections.abc import AsyncIterator

from mnemon.db.database import Database
from mnemon.db.statements import load_statements
from mnemon.db.tx import Tx
from mnemon.errors import Misconfigured
from mnemon.jobs import store as jobs
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.vectors.text_vectors import EMBED_KIND

SQL = load_statements("mnemon.vectors")
PAGE_SIZE = 500
"""People in one page."""


async def list_people(db: Database, scope: Scope) -> AsyncIterator[list[str]]:
    """Yield pages of the organization's internal user ids, in order, each read in its own transaction.

    People who are added meanwhile may be left out.
    """
    after = ""
    while True:
        async with db.tx(scope.org_id) as tx:
            rows = await tx.fetch_all(SQL["people"], org_id=scope.org_id, after=after, most=PAGE_SIZE)
        if not rows:
            return
        yield [row["user_id"] for row in rows]
        after = rows[-1]["user_id"]


async def list_other_models(tx: Tx, model: str) -> dict[str, str]:
    """Return the organizations whose active embedding model is another one, each with its model.

    Needs the operator's transaction, which sees every organization.
    """
    return {row["org_id"]: row["model"] for row in await tx.fetch_all(SQL["other_active"], model=model)}


async def assert_active(tx: Tx, model: str) -> None:
    """Raise Misconfigured when any organization's stored vectors are of another model than this one."""
    found = await list_other_models(tx, model)
    if found:
        stored = ", ".join(sorted(set(found.values())))
        count = f"{len(found)} organization{'s' if len(found) > 1 else ''}"
        raise Misconfigured(
            f"MNEMON_EMBEDDER names {model}, but the stored vectors of {count} are of {stored}. "
            "Run `mnemon reembed` with this MNEMON_EMBEDDER to move them, or set it back."
        )


async def assert_dimension(tx: Tx, model: str, dimension: int) -> None:
    """Raise Misconfigured when stored vectors of the embedding model have another length than it returns now."""
    # An endpoint may serve another model under the same name.
    rows = await tx.fetch_all(SQL["widths"], model=model, dimension=dimension)
    if rows:
        stored = ", ".join(sorted({str(row["width"]) for row in rows}))
        raise Misconfigured(
            f"{model} returns vectors of {dimension} dimensions, but the stored ones have {stored}: another model "
            f"answers under its name. Name it with its dimensions, MNEMON_EMBEDDER={model}@{dimension}, and run "
            "`mnemon reembed`; or set the old one back."
        )


async def activate_first_model(tx: Tx, scope: Scope, model: str) -> None:
    """Make this embedding model the organization's active one if it has none."""
    await tx.execute(SQL["begin_active"], org_id=scope.org_id, model=model, now=tx.now)


async def switch_active_model(tx: Tx, scope: Scope, model: str) -> None:
    """Make this model, which has embedded every text, the organization's active one from the next start on.

    Texts that a server with the old model stores until then are embedded by `enqueue_unsettled`.
    """
    await tx.execute(SQL["flip_active"], org_id=scope.org_id, model=model, now=tx.now)


async def enqueue_unsettled(services: Services, unsettled: list[str]) -> None:
    """Enqueue the embedding of texts that servers with the old model stored after the switch to a new one."""
    for org_id in unsettled:
        scope = Scope(org_id=org_id)
        async for people in list_people(services.db, scope):
            async with services.db.tx(org_id) as tx:
                for user_id in people:
                    await jobs.enqueue_work(tx, scope, EMBED_KIND, user_id)
        async with services.db.tx(org_id) as tx:
            # Last: a process that dies before leaves the organization unsettled, and enqueueing again is harmless.
            await tx.execute(SQL["settle"], org_id=org_id, model=services.embedder.model)


async def list_unsettled_orgs(tx: Tx, model: str) -> list[str]:
    """Return the organizations switched to this embedding model and not yet passed to `enqueue_unsettled`."""
    return [row["org_id"] for row in await tx.fetch_all(SQL["unsettled"], model=model)]
