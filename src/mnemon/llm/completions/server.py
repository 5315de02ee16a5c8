"""Resolve a model's name to its server: URL, key, and which options it supports."""

import os
from dataclasses import dataclass
from typing import Literal

import httpx2

from mnemon.errors import Misconfigured
from mnemon.llm.vendor_http import missing_key_error, require_sendable_key

SAMPLING_OPTIONS = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
"""Options about sampling. OpenAI's reasoning models answer 400 to a request that has one."""

_TAKES_SAMPLING = {
    # These reason only on request.
    "gpt-5.1-codex": False,
    "gpt-5.1-chat": False,
    "gpt-5.1": True,
    "gpt-5.2-chat": False,
    "gpt-5.2-pro": False,
    "gpt-5.2": True,
    "gpt-5.3-chat": False,
    "gpt-5.3": True,
    "gpt-5.4-pro": False,
    "gpt-5.4": True,
    # Does not reason.
    "gpt-5-chat": True,
    # All others of these families reason.
    "gpt-5": False,
    "gpt-6": False,
    "o1": False,
    "o3": False,
    "o4": False,
}
"""Whether a model takes sampling options, by the start of its name; the first match decides."""
OPENAI_URL = "https://api.openai.com/v1"
OLLAMA_URL = "http://127.0.0.1:11434/v1"
_PLACEHOLDER_KEY = "none"
"""The key for a server that needs none; some servers refuse a request without any."""


def takes_sampling(model: str) -> bool:
    """Say whether the model takes sampling options, named as OpenAI or a gateway does; an unknown model does."""
    name = model.removeprefix("openai/")
    return next((takes for begins, takes in _TAKES_SAMPLING.items() if name.startswith(begins)), True)


@dataclass(frozen=True, kw_only=True)
class CompletionsServer:
    """One model on one server."""

    model: str
    url: httpx2.URL
    """The URL of its chat completions."""
    key: str
    limit: Literal["max_completion_tokens", "max_tokens"]
    """The option that limits a reply's length. All servers but OpenAI's know the older name only."""
    strict: bool
    """Whether the server accepts the field `strict` with a schema."""
    sampling: bool
    """Whether the model takes sampling options."""
    whose: tuple[tuple[str, str], ...] = ()
    """Headers that name the organization and project to bill."""


def resolve_server(vendor: str, model: str, *, base_url: str | None, api_key: str | None) -> CompletionsServer:
    """Return the server that `openai:…` or `ollama:…` means, with this base URL and key where they are set.

    Raises Misconfigured when a key is missing or the URL is invalid.
    """
    if vendor == "ollama":
        url, key = _completions_url(base_url or OLLAMA_URL), require_sendable_key(api_key or _PLACEHOLDER_KEY)
        return CompletionsServer(model=model, url=url, key=key, limit="max_tokens", strict=False, sampling=True)
    sampling = takes_sampling(model)
    if base_url is not None:
        # The key in OPENAI_API_KEY is never sent to another server than OpenAI's.
        url, key = _completions_url(base_url), require_sendable_key(api_key or _PLACEHOLDER_KEY)
        return CompletionsServer(model=model, url=url, key=key, limit="max_tokens", strict=True, sampling=sampling)
    return CompletionsServer(
        model=model,
        url=_completions_url(os.environ.get("OPENAI_BASE_URL") or OPENAI_URL),
        key=require_sendable_key(api_key or _openai_key(model)),
        limit="max_completion_tokens",
        strict=True,
        sampling=sampling,
        whose=_organization_headers(),
    )


def _openai_key(model: str) -> str:
    """Return the key in OPENAI_API_KEY; a dummy key when only OPENAI_BASE_URL is set.

    Raises Misconfigured when neither is set.
    """
    if key := os.environ.get("OPENAI_API_KEY"):
        return key
    if os.environ.get("OPENAI_BASE_URL"):
        return _PLACEHOLDER_KEY
    raise missing_key_error("openai", model)


def _organization_headers() -> tuple[tuple[str, str], ...]:
    """Return the headers for OPENAI_ORG_ID and OPENAI_PROJECT_ID, where they are set."""
    named = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
    return tuple((header, value) for header, name in named.items() if (value := os.environ.get(name)))


def _completions_url(base_url: str) -> httpx2.URL:
    """Return the URL of the chat completions under this base URL. Raise Misconfigured when it is invalid."""
    try:
        url = httpx2.URL(base_url)
    except httpx2.InvalidURL:
        url = httpx2.URL()
    if url.scheme not in ("http", "https") or not url.host:
        raise Misconfigured(f"MNEMON_MODEL_BASE_URL={base_url!r} is not a URL. Write it as http://host:port/v1.")
    return url.copy_with(path=url.path.rstrip("/") + "/chat/completions")
