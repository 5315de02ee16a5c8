"""The local embedder: the average of WordLlama's static token vectors. Needs no network, no torch and no GPU.

Weights and tokenizer are read directly from the installed wheel: the package's own loader looks for the tokenizer in
the wrong folder and then on the internet.
"""

import asyncio
import threading
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mnemon.embedding.embedder import scale_to_unit
from mnemon.errors import Misconfigured

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LOCAL_MODEL = "wordllama-l2-supercat-256"
LOCAL_DIMENSION = 256
MAX_TEXT_CHARS = 20_000
"""Characters of a text that count: a longer average tells no more, and a long text would delay others."""
BATCH_SIZE = 64
"""Texts embedded at once; a limit keeps memory small."""
MAX_INLINE_CHARS = 5_000
"""Up to this many characters, 2 ms, the work is done on the event loop: a thread would start later than that."""


class LocalEmbedder:
    """Averages token vectors. Loads its 16 MB on first use, in about 0.2 s, once for all embedders of a process."""

    model = LOCAL_MODEL
    dimension = LOCAL_DIMENSION

    def __init__(self) -> None:
        """Find the model's files; they are loaded at first use."""
        self._weights_path = _model_file("weights", "l2_supercat_256.safetensors")
        self._tokenizer_path = _model_file("tokenizers", "l2_supercat_tokenizer_config.json")
        self._loading = threading.Lock()

    async def close(self) -> None:
        """Do nothing: the local embedder has no connection."""

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of the texts; long texts are embedded in a thread."""
        if sum(map(len, texts)) <= MAX_INLINE_CHARS:
            return self.embed_now(texts)
        return await asyncio.to_thread(self.embed_now, texts)

    def embed_now(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of the texts, computed in the calling thread."""
        # One thread loads the files; others that come meanwhile wait for it and do not load them again.
        with self._loading:
            tokenizer, weights = self._tokenizer, self._weights
        made = np.zeros((len(texts), LOCAL_DIMENSION), dtype=np.float32)
        for start in range(0, len(texts), BATCH_SIZE):
            chunk = [text[:MAX_TEXT_CHARS] for text in texts[start : start + BATCH_SIZE]]
            encoded = tokenizer.encode_batch_fast(chunk, add_special_tokens=False)
            for place, tokens in enumerate(encoded, start):
                if tokens.ids:
                    made[place] = weights[tokens.ids].sum(axis=0, dtype=np.float32)
        # The sum does for the mean: both have the same direction, and the length is scaled to 1.
        return scale_to_unit(made)

    @property
    def _weights(self) -> np.ndarray:
        """Return the vectors of all tokens, loaded from the file at first use."""
        return _load_weights(self._weights_path)

    @property
    def _tokenizer(self) -> "Tokenizer":
        """Return the tokenizer, loaded at first use, without padding or truncation."""
        return _load_tokenizer(self._tokenizer_path)


# Kept for the process, not for one embedder: the files never change, and several servers in a process share them.
@lru_cache(maxsize=1)
def _load_weights(path: Path) -> np.ndarray:
    """Return the token vectors in the file, which nobody may write to."""
    from safetensors.numpy import load_file

    weights: np.ndarray = load_file(path)["embedding.weight"]
    weights.setflags(write=False)
    return weights


@lru_cache(maxsize=1)
def _load_tokenizer(path: Path) -> "Tokenizer":
    """Return the tokenizer in the file, without padding or truncation."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _model_file(folder: str, name: str) -> Path:
    """Return a file of the installed package `wordllama`. Raise Misconfigured when it is missing."""
    # find_spec locates the package without importing it, which would load far more than is needed.
    spec = find_spec("wordllama")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place) / folder / name
        if path.exists():
            return path
    raise Misconfigured(
        f"The local embedder's file {folder}/{name} is missing. Reinstall Mnemon's dependencies (`make install`), "
        "or set MNEMON_EMBEDDER to another one."
    )
