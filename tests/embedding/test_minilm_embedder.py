"""MiniLM, where its extra is installed; where it is not, the error says how to get it."""

import numpy as np
import pytest

from mnemon.embedding import minilm
from mnemon.embedding.connect import connect_embedder
from mnemon.embedding.minilm import MiniLmEmbedder
from mnemon.errors import Misconfigured


@pytest.fixture(scope="module")
def embedder() -> MiniLmEmbedder:
    pytest.importorskip("onnxruntime", reason="the extra `minilm` is not installed")
    return MiniLmEmbedder()


async def test_meaning_is_nearer_than_another_topic(embedder: MiniLmEmbedder) -> None:
    home, city, tax = await embedder.embed(["Where is my home?", "I live in Austin.", "The tax law changed."])
    assert home @ city > home @ tax + 0.2


async def test_rows_are_of_length_one_or_zero_and_do_not_depend_on_their_neighbours(embedder: MiniLmEmbedder) -> None:
    texts = ["tea", "", "a much longer text about tea and everything else that one may drink in the afternoon", "  "]
    together = await embedder.embed(texts)
    assert np.allclose(np.linalg.norm(together, axis=1), [1, 0, 1, 0], atol=1e-4)
    alone = await embedder.embed(["tea"])
    assert np.abs(together[0] - alone[0]).max() < 1e-3


async def test_no_texts_are_no_rows(embedder: MiniLmEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, 384)


def test_without_its_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    with pytest.raises(Misconfigured, match=r"mnemon\[minilm\]"):
        connect_embedder("minilm")


def test_a_changed_file_is_refused(embedder: MiniLmEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    package, name, _ = minilm.MODEL_FILES["model"]
    monkeypatch.setitem(minilm.MODEL_FILES, "model", (package, name, "0" * 64))
    with pytest.raises(Misconfigured, match="not the file"):
        MiniLmEmbedder()
