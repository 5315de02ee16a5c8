"""Which server a model's name means: where it is, the key it gets, and the words that it knows."""

import os
from dataclasses import dataclass
from typing import Literal

import httpx2

from mnemon.errors import Misconfigured
from mnemon.llm.completions.sampling import takes_sampling
from mnemon.llm.key import missing_key, sendable

OPENAI_URL = "https://api.openai.com/v1"
OLLAMA_URL = "http://127.0.0.1:11434/v1"
_NO_KEY = "none"
"""Sent to a server of one's own that wants no key; some refuse a request without any."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """One server of this wire and one model on it."""

    model: str
    url: httpx2.URL
    """Of its chat completions."""
    key: str
    limit: Literal["max_completion_tokens", "max_tokens"]
    """How it calls the bound of a reply's length. The older name is the one that every server but OpenAI's knows."""
    strict: bool
    """Whether it may be told that a schema is strict."""
    sampling: bool
    """Whether the model takes options about sampling."""
    whose: tuple[tuple[str, str], ...] = ()
    """Headers that say who pays."""


def server_of(vendor: str, model: str, *, base_url: str | None, api_key: str | None) -> Server:
    """The server that `openai:…` or `ollama:…` means, with this base URL and key where they are set."""
    if vendor == "ollama":
        url, key = _place(base_url or OLLAMA_URL), sendable(api_key or _NO_KEY)
        return Server(model=model, url=url, key=key, limit="max_tokens", strict=False, sampling=True)
    sampling = takes_sampling(model)
    if base_url is not None:
        # A key in OPENAI_API_KEY is for OpenAI: another server gets only the one meant for it.
        url, key = _place(base_url), sendable(api_key or _NO_KEY)
        return Server(model=model, url=url, key=key, limit="max_tokens", strict=True, sampling=sampling)
    return Server(
        model=model,
        url=_place(os.environ.get("OPENAI_BASE_URL") or OPENAI_URL),
        key=sendable(api_key or _openai_key(model)),
        limit="max_completion_tokens",
        strict=True,
        sampling=sampling,
        whose=_whose(),
    )


def _openai_key(model: str) -> str:
    """The key as OpenAI's own programs find it; without one there must be an address that may do without."""
    if key := os.environ.get("OPENAI_API_KEY"):
        return key
    if os.environ.get("OPENAI_BASE_URL"):
        return _NO_KEY
    raise missing_key("openai", model)


def _whose() -> tuple[tuple[str, str], ...]:
    named = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
    return tuple((header, value) for header, name in named.items() if (value := os.environ.get(name)))


def _place(base_url: str) -> httpx2.URL:
    try:
        url = httpx2.URL(base_url)
    except httpx2.InvalidURL:
        url = httpx2.URL()
    if url.scheme not in ("http", "https") or not url.host:
        raise Misconfigured(
            f"MNEMON_MODEL_BASE_URL={base_url!r} is no address of a server. Write it as http://host:port/v1."
        )
    return url.copy_with(path=url.path.rstrip("/") + "/chat/completions")
