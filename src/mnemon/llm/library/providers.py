"""Which of the library's models a name means."""

from typing import Literal

import httpx2
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model

from mnemon.llm.key import missing_key


def provided(
    vendor: Literal["anthropic", "google"],
    model: str,
    *,
    base_url: str | None,
    api_key: str | None,
    http: httpx2.AsyncClient,
) -> Model:
    """The vendor library's model."""
    try:
        if vendor == "anthropic":
            return _anthropic(model, base_url, api_key, http)
        return _google(model, base_url, api_key, http)
    except UserError as error:
        raise missing_key(vendor, model) from error


def _anthropic(model: str, base_url: str | None, api_key: str | None, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel(model, provider=AnthropicProvider(api_key=api_key, base_url=base_url, http_client=http))


def _google(model: str, base_url: str | None, api_key: str | None, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(model, provider=GoogleProvider(api_key=api_key, base_url=base_url, http_client=http))
