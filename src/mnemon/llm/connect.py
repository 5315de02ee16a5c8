"""Connect the model that the settings name."""

from typing import TYPE_CHECKING

from mnemon.errors import Misconfigured
from mnemon.llm.offline import OFFLINE_NAME, OfflineLlm
from mnemon.llm.protocol import Llm
from mnemon.llm.vendor import RetryPolicy

if TYPE_CHECKING:
    from mnemon.event_loop import RequestPriority

_KNOWN_VENDORS = "Use openai:…, anthropic:…, google:…, ollama:… or offline."


def connect_llm(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout: float = 60.0,
    longest_reply: int = 200_000,
    priority: "RequestPriority | None" = None,
) -> Llm:
    """Return the model that `MNEMON_MODEL` names, metered; no request is sent yet. Raise Misconfigured for a bad name.

    `priority` is the request priority by which questions of jobs wait for requests.
    """
    from mnemon.llm.meter import MeteredLlm

    if name == OFFLINE_NAME:
        return MeteredLlm(OfflineLlm())
    vendor, colon, model = name.partition(":")
    if not colon or not model:
        raise Misconfigured(f"MNEMON_MODEL={name!r} names no provider. {_KNOWN_VENDORS}")
    policy = RetryPolicy(timeout=timeout, whole_reply=max(600.0, timeout), longest_reply=longest_reply)
    return MeteredLlm(_connect_remote(vendor, model, base_url or None, api_key or None, policy, priority))


def _connect_remote(
    vendor: str,
    model: str,
    base_url: str | None,
    api_key: str | None,
    policy: RetryPolicy,
    priority: "RequestPriority | None",
) -> Llm:
    """Return the model of this vendor, with retries; raise Misconfigured when the vendor is unknown."""
    # Imported here, so that a command that uses no model starts without an HTTP client.
    from mnemon.llm.remote import RemoteLlm
    from mnemon.llm.vendor import LlmVendor

    made: LlmVendor
    timeout = policy.timeout
    match vendor:
        case "openai" | "ollama":
            from mnemon.llm.completions.vendor import connect_completions

            made = connect_completions(vendor, model, base_url=base_url, api_key=api_key, timeout=timeout)
        case "anthropic" | "google":
            # The vendors' libraries take seconds to import, so only now that one is used.
            from mnemon.llm.pydantic_ai_vendor import connect_library

            made = connect_library(vendor, model, base_url=base_url, api_key=api_key, timeout=timeout)
        case _:
            raise Misconfigured(f"MNEMON_MODEL names an unknown provider, {vendor!r}. {_KNOWN_VENDORS}")
    return RemoteLlm(f"{vendor}:{model}", made, policy, priority)
