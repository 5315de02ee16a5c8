"""Count the tokens of texts with tiktoken, as o200k; run in the environment of the grammar engines.

    .venv/peers/engines/bin/python tests/conformance/count_tokens.py < texts.json

The request is `{name: text}`, the answer `{name: tokens}`. The vocabulary comes from a package, not from the network,
and tiktoken checks its hash.
"""

import gzip
import hashlib
import importlib
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

_VOCABULARY_URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"


def main() -> None:
    """Read the texts from stdin and write their numbers of tokens to stdout."""
    found = importlib.util.find_spec("bpe_openai")
    assert found is not None
    assert found.origin is not None
    packed = Path(found.origin).parent / "data" / "o200k_base.tiktoken.gz"
    with tempfile.TemporaryDirectory() as cache:
        # Where tiktoken looks before it would download the file, and checks what it finds.
        name = hashlib.sha1(_VOCABULARY_URL.encode()).hexdigest()
        (Path(cache) / name).write_bytes(gzip.decompress(packed.read_bytes()))
        os.environ["TIKTOKEN_CACHE_DIR"] = cache
        encoding = importlib.import_module("tiktoken").get_encoding("o200k_base")
    counted = {name: len(encoding.encode(text)) for name, text in json.load(sys.stdin).items()}
    json.dump(counted, sys.stdout)


if __name__ == "__main__":
    main()
