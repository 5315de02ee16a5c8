"""Connect the embedder that the settings name."""

from urllib.parse import urlsplit

from mnemon.embedding.embedder import Embedder
from mnemon.errors import Misconfigured


def connect_embedder(
    name: str, *, base_url: str | None = None, api_key: str | None = None, timeout: float = 10.0
) -> Embedder:
    """Return the embedder that `MNEMON_EMBEDDER` names: `local`, `minilm`, `openai:model[@dimension]` or `fake`.

    Raises Misconfigured for any other name, and when a key or package is missing.
    """
    vendor, colon, model = name.partition(":")
    if name == "local":
        from mnemon.embedding.local import LocalEmbedder

        return LocalEmbedder()
    if name == "minilm":
        from mnemon.embedding.embedder import CachedEmbedder
        from mnemon.embedding.minilm import MiniLmEmbedder

        return CachedEmbedder(MiniLmEmbedder())
    if name == "fake":
        from mnemon.embedding.fake import FakeEmbedder

        return FakeEmbedder()
    if vendor == "openai" and colon and model:
        return _connect_endpoint(model, base_url or None, api_key or None, timeout)
    raise Misconfigured(
        f"MNEMON_EMBEDDER={name!r} is not known. Use local, minilm, openai:model or openai:model@dimension."
    )


def _connect_endpoint(model: str, base_url: str | None, api_key: str | None, timeout: float) -> Embedder:
    """Return a cached embedder behind an OpenAI-compatible endpoint."""
    import httpx2

    from mnemon.embedding.embedder import CachedEmbedder
    from mnemon.embedding.endpoint import EndpointEmbedder

    # "1" only passes the check below: without a size the endpoint's own dimension is used.
    size = model.rpartition("@")[2] if "@" in model else "1"
    if not size.isdigit() or not 0 < int(size) <= 4000:
        raise Misconfigured(f"MNEMON_EMBEDDER names {size!r} dimensions. Give a number from 1 to 4000 after the @.")
    if base_url is None and api_key is None:
        raise Misconfigured("OpenAI's embeddings need a key. Set MNEMON_EMBEDDER_API_KEY, or MNEMON_EMBEDDER=local.")
    # A server on this machine is reached without a proxy, whatever the environment says.
    local = base_url is not None and urlsplit(base_url).hostname in ("127.0.0.1", "localhost", "::1")
    http = httpx2.AsyncClient(timeout=httpx2.Timeout(timeout, connect=min(3.0, timeout)), trust_env=not local)
    return CachedEmbedder(EndpointEmbedder(model, base_url=base_url, api_key=api_key, timeout=timeout, http=http))
