"""From the settings' words to a model."""

from typing import TYPE_CHECKING

from mnemon.errors import Misconfigured
from mnemon.llm.offline import NAME, OfflineLlm
from mnemon.llm.patience import Patience
from mnemon.llm.protocol import Llm

if TYPE_CHECKING:
    from mnemon.way import RightOfWay

_ANY = "Use openai:…, anthropic:…, google:…, ollama:… or offline."


def connect(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout: float = 60.0,
    longest_reply: int = 200_000,
    way: "RightOfWay | None" = None,
) -> Llm:
    """The model that `MNEMON_MODEL` names, metered. Nothing is sent yet; a wrong name is `Misconfigured`.

    Questions of jobs let pass whoever has the right of way.
    """
    from mnemon.llm.meter import Metered

    if name == NAME:
        return Metered(OfflineLlm())
    vendor, colon, model = name.partition(":")
    if not colon or not model:
        raise Misconfigured(f"MNEMON_MODEL={name!r} names no provider. {_ANY}")
    patience = Patience(timeout=timeout, whole_reply=max(600.0, timeout), longest_reply=longest_reply)
    return Metered(_remote(vendor, model, base_url or None, api_key or None, patience, way))


def _remote(
    vendor: str, model: str, base_url: str | None, api_key: str | None, patience: Patience, way: "RightOfWay | None"
) -> Llm:
    from mnemon.llm.remote import RemoteLlm
    from mnemon.llm.vendor import Vendor

    made: Vendor
    timeout = patience.timeout
    match vendor:
        case "openai" | "ollama":
            from mnemon.llm.completions.asking import completions

            made = completions(vendor, model, base_url=base_url, api_key=api_key, timeout=timeout)
        case "anthropic" | "google":
            # The vendors' libraries take seconds to import: only now, when one is used.
            from mnemon.llm.library.asking import through_library

            made = through_library(vendor, model, base_url=base_url, api_key=api_key, timeout=timeout)
        case _:
            raise Misconfigured(f"MNEMON_MODEL names an unknown provider, {vendor!r}. {_ANY}")
    return RemoteLlm(f"{vendor}:{model}", made, patience, way)
