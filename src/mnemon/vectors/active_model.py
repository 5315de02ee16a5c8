"""The model whose vectors are searched: one per organization, changed only by `mnemon reembed`.

Walks over everyone of an organization, a page at a time, each page in its own transaction.

The work that gives a person's texts their vectors, as it is asked for.
"""

from collections.abc import AsyncIterator
from datetime import timedelta

from mnemon.db.database import Database
from mnemon.db.statements import load_statements
from mnemon.db.tx import Tx
from mnemon.errors import Misconfigured
from mnemon.jobs import store as jobs
from mnemon.scope import Scope
from mnemon.services import Services

PEOPLE_SQL = load_statements("mnemon.vectors")
PAGE_SIZE = 500


async def list_people(db: Database, scope: Scope) -> AsyncIterator[list[str]]:
    """Internal ids, in order; people who come while it walks may be left out."""
    after = ""
    while True:
        async with db.tx(scope.org_id) as tx:
            rows = await tx.fetch_all(PEOPLE_SQL["people"], org_id=scope.org_id, after=after, most=PAGE_SIZE)
        if not rows:
            return
        yield [row["user_id"] for row in rows]
        after = rows[-1]["user_id"]


EMBED_KIND = "embed"
"""Its key is the person."""
EMBED_DELAY = timedelta(milliseconds=500)
"""For what is said in a conversation: found by its words at once; a few messages get their vectors together."""


async def enqueue_embedding(tx: Tx, scope: Scope, *, after: timedelta = timedelta(0)) -> None:
    """The person's texts without a vector get one soon."""
    await jobs.enqueue_work(tx, scope, EMBED_KIND, scope.user, due_at=tx.now + after)


SQL = load_statements("mnemon.vectors")


async def list_other_models(tx: Tx, model: str) -> dict[str, str]:
    """Organizations whose vectors are of another model, with that model; the operator's transaction sees them all."""
    return {row["org_id"]: row["model"] for row in await tx.fetch_all(SQL["other_active"], model=model)}


async def assert_active(tx: Tx, model: str) -> None:
    """The configured embedder is the one that stored vectors are of; otherwise the operator is told what to do."""
    found = await list_other_models(tx, model)
    if found:
        stored = ", ".join(sorted(set(found.values())))
        count = f"{len(found)} organization{'s' if len(found) > 1 else ''}"
        raise Misconfigured(
            f"MNEMON_EMBEDDER means {model}, and the stored vectors of {count} are of {stored}. "
            "Run `mnemon reembed` with this MNEMON_EMBEDDER to move them, or set it back."
        )


async def assert_dimension(tx: Tx, model: str, dimension: int) -> None:
    """Stored vectors of the model are as long as those it gives now: an endpoint may serve another under its name."""
    rows = await tx.fetch_all(SQL["widths"], model=model, dimension=dimension)
    if rows:
        stored = ", ".join(sorted({str(row["width"]) for row in rows}))
        raise Misconfigured(
            f"{model} gives vectors of {dimension} dimensions, and the stored ones have {stored}: another model "
            f"answers under its name. Name it with its dimensions, MNEMON_EMBEDDER={model}@{dimension}, and run "
            "`mnemon reembed`; or set the old one back."
        )


async def activate_first_model(tx: Tx, scope: Scope, model: str) -> None:
    """Vectors of this model were written; the first model's are the ones that are searched."""
    await tx.execute(SQL["begin_active"], org_id=scope.org_id, model=model, now=tx.now)


async def activate_model(tx: Tx, scope: Scope, model: str) -> None:
    """This model's are searched from the next start on; what is written meanwhile is looked after then."""
    await tx.execute(SQL["flip_active"], org_id=scope.org_id, model=model, now=tx.now)


async def enqueue_unsettled(services: Services, unsettled: list[str]) -> None:
    """What was written by a server of the old model after the flip is about to get its vectors."""
    for org_id in unsettled:
        scope = Scope(org_id=org_id)
        async for people in list_people(services.db, scope):
            async with services.db.tx(org_id) as tx:
                for user_id in people:
                    await jobs.enqueue_work(tx, scope, EMBED_KIND, user_id)
        async with services.db.tx(org_id) as tx:
            await tx.execute(SQL["settle"], org_id=org_id, model=services.embedder.model)


async def list_unsettled_orgs(tx: Tx, model: str) -> list[str]:
    """Organizations that were flipped to this model and not looked after since."""
    return [row["org_id"] for row in await tx.fetch_all(SQL["unsettled"], model=model)]
