"""The operator's view: a transaction that sees every organization."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mnemon.basement import Basement
from mnemon.db.database import Database
from mnemon.db.tx import Tx


@asynccontextmanager
async def operator_tx(basement: Basement) -> AsyncIterator[Tx]:
    """As the tables' owner: the database's own login, or MNEMON_MIGRATION_URL's where the two differ."""
    owner = basement.settings.migration_url
    if owner is None:
        async with basement.db.owner_tx() as tx:
            yield tx
        return
    url = owner.get_secret_value()
    prepared = basement.settings.prepared_statements
    db = Database(url, basement.clock, pool_size=1, prepared=prepared, listen_url=url)
    await db.open()
    try:
        async with db.owner_tx() as tx:
            yield tx
    finally:
        await db.close()


async def assert_embedder(basement: Basement) -> None:
    """Stored vectors are of the configured embedder, and what was written while they moved is being looked after."""
    from mnemon.vectors.active import assert_active, assert_dimension, settle, unsettled
    from mnemon.vectors.embed import dimension_of

    dimension = await dimension_of(basement.embedder)
    async with operator_tx(basement) as tx:
        await assert_active(tx, basement.embedder.model)
        if dimension:
            await assert_dimension(tx, basement.embedder.model, dimension)
        waiting = await unsettled(tx, basement.embedder.model)
    await settle(basement, waiting)
