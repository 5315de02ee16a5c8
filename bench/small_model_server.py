"""Serve a model file over OpenAI's API with llama.cpp, in the environment of xllamacpp (`make models`).

Prints the address once the model is loaded, and serves until its standard input ends.
"""

import importlib
import sys
from typing import Any

CONTEXT_TOKENS = 16_384
SLOTS = 2
"""Prompts whose beginnings are kept: the one of reflections, and that of whatever else is asked in between."""


def main() -> None:
    """Load the model named by the first argument, on as many threads as the second says, and serve it on loopback."""
    path, threads = sys.argv[1], int(sys.argv[2])
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.model_alias = {"qwen"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = SLOTS
    params.kv_unified = True
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.warmup = False
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
