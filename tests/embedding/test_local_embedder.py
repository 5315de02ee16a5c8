"""The local embedder gives WordLlama's vectors, quickly, from files in its wheel."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from mnemon.embedding.local import LOCAL_DIMENSION, MAX_TEXT_CHARS, LocalEmbedder

EMBEDDER = LocalEmbedder()


def test_its_vectors_are_those_of_the_package_itself() -> None:
    from wordllama.inference import WordLlamaInference

    reference = WordLlamaInference(EMBEDDER._weights, Tokenizer.from_file(str(EMBEDDER._tokenizer_path)))
    texts = ["Where do I live?", "I live in Austin, Texas.", "日本語 and 🎉", "a " * 500]
    assert np.abs(reference.embed(texts, norm=True) - EMBEDDER.embed_now(texts)).max() < 1e-6


async def test_a_text_without_words_is_a_row_of_zeros() -> None:
    made = await EMBEDDER.embed(["", "tea"])
    assert not made[0].any()
    assert np.linalg.norm(made[1]) == pytest.approx(1, abs=1e-5)


async def test_no_texts_are_no_rows() -> None:
    assert (await EMBEDDER.embed([])).shape == (0, 256)


async def test_meaning_is_nearer_than_another_topic() -> None:
    home, city, tax = await EMBEDDER.embed(["Where is my home?", "I live in Austin.", "The tax law changed."])
    assert home @ city > home @ tax


@given(st.lists(st.text(max_size=200), max_size=5))
def test_every_row_is_of_length_one_or_zero_and_does_not_depend_on_its_neighbours(texts: list[str]) -> None:
    together = EMBEDDER.embed_now(texts)
    lengths = np.linalg.norm(together, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-4) | (lengths == 0))
    for text, row in zip(texts, together, strict=True):
        assert np.array_equal(EMBEDDER.embed_now([text])[0], row)


async def test_a_huge_text_is_no_danger() -> None:
    """Only so much of it is read, whatever follows."""
    head = ("green tea " * MAX_TEXT_CHARS)[:MAX_TEXT_CHARS]
    made = await EMBEDDER.embed([head + "tax law " * 1_000_000])
    assert np.linalg.norm(made[0]) == pytest.approx(1, abs=1e-4)
    assert np.array_equal(made, EMBEDDER.embed_now([head]))


def test_a_query_is_embedded_without_a_detour_over_a_thread() -> None:
    asked = EMBEDDER.embed(["Where did I live in 2019?"])
    with pytest.raises(StopIteration) as done:
        asked.send(None)  # it never waits
    assert done.value.value.shape == (1, LOCAL_DIMENSION)


def test_a_second_embedder_of_a_process_loads_nothing_again() -> None:
    EMBEDDER.embed_now(["tea"])
    second = LocalEmbedder()
    assert second._weights is EMBEDDER._weights
    assert second._tokenizer is EMBEDDER._tokenizer
    assert not second._weights.flags.writeable


def test_loading_it_imports_neither_the_package_nor_a_network() -> None:
    script = (
        "import sys; from mnemon.embedding.local import LocalEmbedder;"
        "LocalEmbedder().embed_now(['tea']);"
        "assert 'wordllama' not in sys.modules and 'requests' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
