"""Where a model on this wire is, and which key goes there."""

import pytest

from mnemon.errors import Misconfigured
from mnemon.llm.completions.server import CompletionsServer, resolve_server

VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OLLAMA_BASE_URL")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def at(vendor: str = "openai", base_url: str | None = None, api_key: str | None = None) -> CompletionsServer:
    return resolve_server(vendor, "m", base_url=base_url, api_key=api_key)


@pytest.mark.parametrize(
    ("vendor", "base_url", "url"),
    [
        ("openai", None, "https://api.openai.com/v1/chat/completions"),
        ("openai", "http://model.test/v1", "http://model.test/v1/chat/completions"),
        ("openai", "http://model.test/v1/", "http://model.test/v1/chat/completions"),
        ("openai", "http://model.test", "http://model.test/chat/completions"),
        ("openai", "https://az.test/x?api-version=7", "https://az.test/x/chat/completions?api-version=7"),
        ("ollama", None, "http://127.0.0.1:11434/v1/chat/completions"),
        ("ollama", "http://box.test:11434/v1", "http://box.test:11434/v1/chat/completions"),
    ],
)
def test_the_address_is_the_base_with_the_route(vendor: str, base_url: str | None, url: str) -> None:
    assert str(at(vendor, base_url, "sk-own").url) == url


@pytest.mark.parametrize("base_url", ["model.test/v1", "not a url", "ftp://model.test", "http://", "http://[::1"])
def test_what_is_no_address_is_said_at_once(base_url: str) -> None:
    with pytest.raises(Misconfigured, match="MNEMON_MODEL_BASE_URL"):
        at(base_url=base_url)


def test_openai_is_found_as_its_own_programs_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://proxy.test/v9")
    assert (str(at().url), at().key) == ("http://proxy.test/v9/chat/completions", "none")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj")
    assert at().key == "sk-env"
    assert at(api_key="sk-own").key == "sk-own"
    assert at().whose == (("OpenAI-Organization", "org"), ("OpenAI-Project", "proj"))


@pytest.mark.parametrize("vendor", ["openai", "ollama"])
def test_what_is_meant_for_openai_goes_to_no_other_server(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, "http://elsewhere.test/v1")
    server = at(vendor, "http://model.test/v1")
    assert (server.url.host, server.key, server.whose) == ("model.test", "none", ())
    assert at("ollama").url.host == "127.0.0.1"


@pytest.mark.parametrize("empty", [None, ""])
def test_without_a_key_openai_is_not_asked(empty: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if empty is not None:
        monkeypatch.setenv("OPENAI_API_KEY", empty)
    with pytest.raises(Misconfigured, match=r"openai:m needs a key\. Set OPENAI_API_KEY\. "):
        at()


@pytest.mark.parametrize("key", ["sk-secret\n", "sk-secret\r\nX-Evil: 1", "sk-secrét", "sk-\x00secret"])
@pytest.mark.parametrize("base_url", [None, "http://model.test/v1"])
def test_a_key_that_no_header_can_carry_is_said_without_showing_it(key: str, base_url: str | None) -> None:
    with pytest.raises(Misconfigured, match="MNEMON_MODEL_API_KEY") as caught:
        at(base_url=base_url, api_key=key)
    assert "secr" not in caught.value.detail
