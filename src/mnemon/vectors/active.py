"""The model whose vectors are searched: one per organization, changed only by `mnemon reembed`."""

from mnemon.basement import Basement
from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.errors import Misconfigured
from mnemon.jobs import store as jobs
from mnemon.scope import Scope
from mnemon.vectors.people import people_of
from mnemon.vectors.work import EMBED

SQL = statements("mnemon.vectors")


async def others(tx: Tx, model: str) -> dict[str, str]:
    """Organizations whose vectors are of another model, with that model; the operator's transaction sees them all."""
    return {row["org_id"]: row["model"] for row in await tx.all(SQL["other_active"], model=model)}


async def assert_active(tx: Tx, model: str) -> None:
    """The configured embedder is the one that stored vectors are of; otherwise the operator is told what to do."""
    found = await others(tx, model)
    if found:
        stored = ", ".join(sorted(set(found.values())))
        count = f"{len(found)} organization{'s' if len(found) > 1 else ''}"
        raise Misconfigured(
            f"MNEMON_EMBEDDER means {model}, and the stored vectors of {count} are of {stored}. "
            "Run `mnemon reembed` with this MNEMON_EMBEDDER to move them, or set it back."
        )


async def assert_dimension(tx: Tx, model: str, dimension: int) -> None:
    """Stored vectors of the model are as long as those it gives now: an endpoint may serve another under its name."""
    rows = await tx.all(SQL["widths"], model=model, dimension=dimension)
    if rows:
        stored = ", ".join(sorted({str(row["width"]) for row in rows}))
        raise Misconfigured(
            f"{model} gives vectors of {dimension} dimensions, and the stored ones have {stored}: another model "
            f"answers under its name. Name it with its dimensions, MNEMON_EMBEDDER={model}@{dimension}, and run "
            "`mnemon reembed`; or set the old one back."
        )


async def begin(tx: Tx, scope: Scope, model: str) -> None:
    """Vectors of this model were written; the first model's are the ones that are searched."""
    await tx.run(SQL["begin_active"], org_id=scope.org_id, model=model, now=tx.now)


async def flip(tx: Tx, scope: Scope, model: str) -> None:
    """This model's are searched from the next start on; what is written meanwhile is looked after then."""
    await tx.run(SQL["flip_active"], org_id=scope.org_id, model=model, now=tx.now)


async def settle(basement: Basement, unsettled: list[str]) -> None:
    """What was written by a server of the old model after the flip is about to get its vectors."""
    for org_id in unsettled:
        scope = Scope(org_id=org_id)
        async for people in people_of(basement.db, scope):
            async with basement.db.tx(org_id) as tx:
                for user_id in people:
                    await jobs.enqueue(tx, scope, EMBED, user_id)
        async with basement.db.tx(org_id) as tx:
            await tx.run(SQL["settle"], org_id=org_id, model=basement.embedder.model)


async def unsettled(tx: Tx, model: str) -> list[str]:
    """Organizations that were flipped to this model and not looked after since."""
    return [row["org_id"] for row in await tx.all(SQL["unsettled"], model=model)]
