"""From the settings' words to a model."""

from mnemon.errors import Misconfigured
from mnemon.llm.offline import NAME, OfflineLlm
from mnemon.llm.patience import Patience
from mnemon.llm.protocol import Llm


def connect(name: str, *, base_url: str | None = None, api_key: str | None = None, timeout: float = 60.0) -> Llm:
    """The model that `MNEMON_MODEL` names, metered. Nothing is sent yet; a wrong name is `Misconfigured`."""
    from mnemon.llm.meter import Metered

    if name == NAME:
        return Metered(OfflineLlm())
    vendor, colon, model = name.partition(":")
    if not colon or not model:
        raise Misconfigured(
            f"MNEMON_MODEL={name!r} names no provider. Use openai:…, anthropic:…, google:…, ollama:… or offline."
        )
    return Metered(_remote(vendor, model, base_url, api_key, timeout))


def _remote(vendor: str, model: str, base_url: str | None, api_key: str | None, timeout: float) -> Llm:
    # The vendors' libraries take seconds to import: only now, when one is used.
    from mnemon.llm.ending import http_client
    from mnemon.llm.providers import OLLAMA_URL, provided
    from mnemon.llm.remote import RemoteLlm

    patience = Patience(timeout=timeout, whole_reply=max(600.0, timeout))
    http = http_client(timeout, base_url=base_url or (OLLAMA_URL if vendor == "ollama" else None))
    made = provided(vendor, model, base_url=base_url or None, api_key=api_key or None, http=http)
    return RemoteLlm(f"{vendor}:{model}", made, http, patience)
