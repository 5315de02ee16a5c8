"""What a search needs and no transaction should wait for: the query's vector, and the person's index."""

import numpy as np

from mnemon.basement import Basement
from mnemon.memory.ranking import Ranking
from mnemon.memory.recall.shelf import Shelf
from mnemon.scope import Scope
from mnemon.vectors.embed import embed_query


async def prepare_query(
    basement: Basement, scope: Scope, text: str, *, ranking: str = Ranking.HYBRID
) -> np.ndarray | None:
    """Embed the text and index the person unless that is done; call it before the transaction that searches.

    A search does without: it then indexes the person itself, with its transaction open.
    """
    vector = await embed_query(basement.embedder, text)
    if ranking == Ranking.HYBRID and scope.user_id is not None:
        await basement.db.attached.get(Shelf).load(basement.db, scope, basement.embedder.model)
    return vector
