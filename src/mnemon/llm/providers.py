"""Which vendor a model's name means, and how that one is reached."""

from typing import ClassVar

import httpx2
from pydantic_ai._json_schema import JsonSchema
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model
from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer, OpenAIModelProfile

from mnemon.errors import Misconfigured

OLLAMA_URL = "http://127.0.0.1:11434/v1"
_MOST_SCHEMAS = 256


class Titled(OpenAIJsonSchemaTransformer):
    """Keeps the schema's title, which the library drops: a scripted endpoint knows by it what is asked.

    The schemas of our own tools and questions are the same objects for every request, so each is gone through once.
    """

    _gone_through: ClassVar[dict[tuple[int, bool | None], tuple[JsonSchema, JsonSchema, bool]]] = {}
    """By the schema's identity and strictness: the schema itself, what became of it, whether it can be strict."""

    def walk(self) -> JsonSchema:
        given, place = self.schema, (id(self.schema), self.strict)
        known = self._gone_through.get(place)
        if known is not None and known[0] is given:
            self.is_strict_compatible = known[2]
            return known[1]
        walked = super().walk()
        if "title" in given:
            walked = {"title": given["title"], **walked}
        if len(self._gone_through) >= _MOST_SCHEMAS:
            self._gone_through.clear()
        self._gone_through[place] = (given, walked, self.is_strict_compatible)
        return walked


def provided(vendor: str, model: str, *, base_url: str | None, api_key: str | None, http: httpx2.AsyncClient) -> Model:
    """The vendor library's model."""
    try:
        match vendor:
            case "openai":
                return _openai(model, base_url, api_key, http)
            case "ollama":
                return _ollama(model, base_url, api_key, http)
            case "anthropic":
                return _anthropic(model, base_url, api_key, http)
            case "google":
                return _google(model, base_url, api_key, http)
            case _:
                raise Misconfigured(
                    f"MNEMON_MODEL names an unknown provider, {vendor!r}. "
                    "Use openai:…, anthropic:…, google:…, ollama:… or offline."
                )
    except UserError as error:
        raise Misconfigured(
            f"{vendor}:{model} needs a key. Set MNEMON_MODEL_API_KEY, or {vendor.upper()}_API_KEY where "
            "MNEMON_MODEL is another provider's; or MNEMON_MODEL=offline to do without."
        ) from error


def _openai(model: str, base_url: str | None, api_key: str | None, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    from mnemon.llm.unconverted import UnconvertedClient

    profile = OpenAIModelProfile(json_schema_transformer=Titled, supports_json_schema_output=True)
    if base_url is None:
        # Without a key of ours the library looks for OPENAI_API_KEY, and says what is missing.
        keyed = UnconvertedClient(api_key=api_key, http_client=http, max_retries=0) if api_key else None
        direct = OpenAIProvider(openai_client=keyed) if keyed else OpenAIProvider(http_client=http)
        return OpenAIChatModel(model, provider=direct, profile=profile)
    # A key in OPENAI_API_KEY is for OpenAI: another server gets only the one meant for it.
    client = UnconvertedClient(base_url=base_url, api_key=api_key or "none", http_client=http, max_retries=0)
    other = OpenAICompatibleProvider("endpoint", openai_client=client)
    # The older name of the limit is the one that every such server knows.
    profile["openai_chat_supports_max_completion_tokens"] = False
    return OpenAIChatModel(model, provider=other, profile=profile)


def _ollama(model: str, base_url: str | None, api_key: str | None, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.providers.ollama import OllamaProvider

    provider = OllamaProvider(base_url=base_url or OLLAMA_URL, api_key=api_key or "none", http_client=http)
    profile = OpenAIModelProfile(json_schema_transformer=Titled)
    return OllamaModel(model, provider=provider, profile=profile)


def _anthropic(model: str, base_url: str | None, api_key: str | None, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel(model, provider=AnthropicProvider(api_key=api_key, base_url=base_url, http_client=http))


def _google(model: str, base_url: str | None, api_key: str | None, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(model, provider=GoogleProvider(api_key=api_key, base_url=base_url, http_client=http))
