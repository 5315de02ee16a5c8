"""The cache never changes a vector, only how often its embedder is asked."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemon.embedding.embedder import CachedEmbedder
from mnemon.embedding.fake import FakeEmbedder


class Counting(FakeEmbedder):
    asked: int = 0

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += len(texts)
        return await super().embed(texts)


words = st.sampled_from(["tea", "jazz", "tea jazz", "", "x" * 3000])


@given(st.lists(st.lists(words, max_size=6), max_size=8), st.integers(1, 3))
async def test_its_vectors_are_those_of_its_embedder(batches: list[list[str]], capacity: int) -> None:
    cached = CachedEmbedder(FakeEmbedder(), capacity=capacity)
    for batch in batches:
        assert np.array_equal(await cached.embed(batch), await FakeEmbedder().embed(batch))
        assert len(cached._held) <= capacity


async def test_a_text_is_asked_for_once() -> None:
    counting = Counting()
    cached = CachedEmbedder(counting)
    await cached.embed(["tea", "tea", "jazz"])
    await cached.embed(["jazz", "tea"])
    assert counting.asked == 2


async def test_the_least_recently_used_goes_first() -> None:
    counting = Counting()
    cached = CachedEmbedder(counting, capacity=2)
    for text in ("a", "b", "a", "c", "a"):
        await cached.embed([text])
    assert counting.asked == 3
    await cached.embed(["b"])
    assert counting.asked == 4


async def test_long_texts_are_not_kept() -> None:
    counting = Counting()
    cached = CachedEmbedder(counting)
    for _ in range(2):
        await cached.embed(["x" * 3000])
    assert counting.asked == 2
