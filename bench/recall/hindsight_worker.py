"""The half of `hindsight.py` that runs in Hindsight's environment, so it imports nothing of Mnemon.

Each request is a line of JSON on stdin, each answer a line on stdout. In between the worker asks for vectors by a line
`{"embed": [...]}` and reads `{"vectors": [...]}`.
"""

import asyncio
import json
import logging
import os
import sys
import threading
from datetime import datetime
from importlib import import_module
from typing import Any

_MAX_TOKENS = 20_000
"""A limit large enough for as many results as are asked for."""
# Vectors are requested in threads; a request and its answer must not interleave with another's on the pipe.
_pipe_lock = threading.Lock()
_answer_stream = sys.stdout


def _request_vectors(texts: list[str]) -> list[list[float]]:
    with _pipe_lock:
        _send_line({"embed": texts})
        vectors: list[list[float]] = json.loads(sys.stdin.readline())["vectors"]
        return vectors


def _send_line(value: object) -> None:
    _answer_stream.write(json.dumps(value) + "\n")
    _answer_stream.flush()


def _embedding_provider(dimension: int) -> Any:
    base = import_module("hindsight_api.engine.embeddings").Embeddings

    async def initialize(self: object) -> None:
        """Do nothing: there is no model to load."""

    async def encode(self: object, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(_request_vectors, list(texts))

    members = {"provider_name": "same", "dimension": dimension, "initialize": initialize, "encode": encode}
    return type("SameVectors", (base,), members)()


async def main(url: str) -> None:
    """Answer requests until stdin ends."""
    request = json.loads(sys.stdin.readline())
    engine = import_module("hindsight_api.engine.memory_engine").MemoryEngine(
        db_url=url,
        embeddings=_embedding_provider(request["dimension"]),
        cross_encoder=import_module("hindsight_api.engine.cross_encoder").RRFPassthroughCrossEncoder(),
        skip_llm_verification=True,
    )
    await engine.initialize()
    context = import_module("hindsight_api.models").RequestContext()
    _send_line({"answer": True})
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "add":
            contents = [
                {"content": text, "document_id": name, "event_date": datetime.fromisoformat(at)}
                for name, text, at in zip(request["ids"], request["texts"], request["times"], strict=True)
            ]
            await engine.retain_batch_async(request["user"], contents, request_context=context)
            _send_line({"answer": True})
        else:
            found = await engine.recall_async(
                request["user"], request["query"], max_tokens=_MAX_TOKENS, request_context=context
            )
            _send_line({"answer": list(dict.fromkeys(one.document_id for one in found.results))})


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    sys.stdout = sys.stderr  # keep prints of libraries out of the answers
    # Storage and search only: Hindsight's mode without a language model. Its reranker would download models from a hub;
    # without them it fuses by reciprocal rank.
    os.environ |= {"HINDSIGHT_API_LLM_PROVIDER": "none", "HINDSIGHT_API_RERANKER_PROVIDER": "rrf"}
    asyncio.run(main(sys.argv[1]))
