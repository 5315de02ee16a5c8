"""An endpoint's embedder batches, bounds its waiting, and fails as ModelDown only."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import numpy as np
import pytest

from mnemon.embedding import endpoint
from mnemon.embedding.connect import connect_embedder
from mnemon.embedding.endpoint import EndpointEmbedder
from mnemon.errors import Misconfigured, ModelDown
from mnemon.llm.scripted.server import ScriptedServer
from support.bounds import HANGS_S


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def embedder_on(respond: Callable[[httpx2.Request], httpx2.Response], name: str = "e") -> EndpointEmbedder:
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(respond))
    return EndpointEmbedder(name, base_url="http://e.test/v1", api_key="k", timeout=2, http=http)


def vectors(request: httpx2.Request, size: int = 3) -> httpx2.Response:
    given = json.loads(request.content)["input"]
    rows = [{"index": n, "embedding": [float(len(text)), 1.0, *[0.0] * (size - 2)]} for n, text in enumerate(given)]
    return httpx2.Response(200, json={"data": list(reversed(rows))})


async def test_it_asks_over_real_http_with_its_key(server: ScriptedServer) -> None:
    embedder = connect_embedder("openai:e@32", base_url=server.url, api_key="sk-e")
    made = await embedder.embed(["green tea", "green tea", ""])
    assert made.shape == (3, 32)
    assert np.array_equal(made[0], made[1])
    assert not made[2].any()
    assert (embedder.model, embedder.dimension) == ("openai:e@32", 32)
    assert server.script.asked[0].headers["authorization"] == "Bearer sk-e"
    await embedder.close()


async def test_rows_come_back_in_the_order_of_the_texts_and_of_length_one() -> None:
    embedder = embedder_on(vectors)
    made = await embedder.embed(["a", "aaaa"])
    assert made[1][0] > made[0][0]
    assert np.allclose(np.linalg.norm(made, axis=1), 1)
    assert embedder.dimension == 3


async def test_many_texts_go_in_several_requests() -> None:
    sizes: list[int] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        sizes.append(len(json.loads(request.content)["input"]))
        return vectors(request)

    assert (await embedder_on(respond).embed(["x"] * 300)).shape == (300, 3)
    assert sizes == [128, 128, 44]


async def test_a_short_failure_is_asked_again() -> None:
    answers = iter([503, 429, 200])

    def respond(request: httpx2.Request) -> httpx2.Response:
        status = next(answers)
        return vectors(request) if status == 200 else httpx2.Response(status)

    assert (await embedder_on(respond).embed(["x"])).shape == (1, 3)


async def test_while_it_is_down_nobody_waits_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = 0

    def respond(request: httpx2.Request) -> httpx2.Response:
        nonlocal sent
        sent += 1
        raise httpx2.ConnectError("refused")

    monkeypatch.setattr(endpoint, "REST_S", 10 * HANGS_S)
    embedder = embedder_on(respond)
    with pytest.raises(ModelDown, match="MNEMON_EMBEDDER_BASE_URL"):
        await embedder.embed(["x"])
    assert sent == 3
    with pytest.raises(ModelDown, match="a moment ago"):
        await embedder.embed(["x"])
    assert sent == 3
    monkeypatch.setattr(endpoint, "MAX_TRIES", 1)
    embedder._resting_until = 0.0
    with pytest.raises(ModelDown):
        await embedder.embed(["x"])
    assert sent == 4


async def test_a_slow_one_ends_at_the_timeout(server: ScriptedServer) -> None:
    server.script.add_fault("hang", times=None)
    embedder = connect_embedder("openai:e", base_url=server.url, timeout=0.3)
    with pytest.raises(ModelDown):
        async with asyncio.timeout(HANGS_S):
            await embedder.embed(["x"])
    await embedder.close()


WRONG: list[Any] = [None, [], {}, {"data": None}, {"data": []}, {"data": [{"index": 0, "embedding": "no"}]}]


@pytest.mark.parametrize("body", [*WRONG, {"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": [1]}]}])
async def test_an_answer_of_a_wrong_shape_is_unusable(body: Any) -> None:
    with pytest.raises(ModelDown) as caught:
        await embedder_on(lambda _: httpx2.Response(200, json=body)).embed(["x"])
    assert caught.value.code == "model_answer_unusable"


async def test_another_dimension_than_before_is_an_error() -> None:
    with pytest.raises(ModelDown, match="dimensions"):
        await embedder_on(vectors, "e@7").embed(["x"])


async def test_a_refused_key_says_what_to_check() -> None:
    with pytest.raises(ModelDown, match="MNEMON_EMBEDDER_API_KEY"):
        await embedder_on(lambda _: httpx2.Response(401)).embed(["x"])


@pytest.mark.parametrize("name", ["", "nonsense", "openai:", "openai:e@x", "openai:e@0", "openai:e@9999", "openai:e"])
def test_a_wrong_name_says_what_to_set(name: str) -> None:
    with pytest.raises(Misconfigured, match="MNEMON_EMBEDDER"):
        connect_embedder(name)
