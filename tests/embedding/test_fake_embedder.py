"""The fake embedder is deterministic and knows shared words."""

import numpy as np

from mnemon.embedding.connect import connect_embedder
from mnemon.embedding.fake import FakeEmbedder


async def test_the_same_text_has_the_same_vector_everywhere() -> None:
    first, again = await connect_embedder("fake").embed(["Green tea!"]), await FakeEmbedder().embed(["green TEA"])
    assert np.array_equal(first, again)


async def test_shared_words_are_near() -> None:
    green, black, tax = await FakeEmbedder().embed(["green tea", "black tea", "tax law"])
    assert green @ black > green @ tax + 0.2


async def test_dimension_and_name_go_together() -> None:
    small = FakeEmbedder(dimension=8)
    assert (small.model, (await small.embed(["x"])).shape) == ("fake-8", (1, 8))
