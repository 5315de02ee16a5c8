"""The scripted server is an OpenAI endpoint to any client, and breaks the way real ones do."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import openai
import pytest

from mnemon.llm.scripted.script import Script, ScriptedRequest, tool_call_reply
from mnemon.llm.scripted.server import ScriptedServer
from support.bounds import HANGS_S

SCHEMA = {
    "title": "Reflection",
    "type": "object",
    "properties": {"memories": {"type": "array", "items": {"type": "string"}}, "week": {"type": "integer"}},
    "required": ["memories"],
}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def client(server: ScriptedServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.url, api_key="sk-test", max_retries=0, timeout=HANGS_S) as made:
        yield made


def say(client: openai.OpenAI, text: str = "hi", **more: Any) -> openai.types.chat.ChatCompletion:
    made: openai.types.chat.ChatCompletion = client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": text}],
        **more,
    )
    return made


def form(title: str = "Reflection") -> dict[str, Any]:
    named = {"name": title, "schema": {**SCHEMA, "title": title}}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def test_unscripted_it_replies_with_its_fallback(client: openai.OpenAI) -> None:
    assert say(client).choices[0].message.content == "Understood."


def test_replies_come_in_order_and_may_be_functions(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.script.add_replies("one", lambda asked: f"you said {asked.prompt}")
    assert [say(client, "x").choices[0].message.content for _ in range(3)] == [
        "one",
        "you said x",
        "Understood.",
    ]


def test_a_streamed_reply_comes_in_pieces_with_usage(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.script.add_replies("a b c")
    stream = client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "hi"}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    assert [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content] == [
        "a ",
        "b ",
        "c",
    ]
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens > 0


def test_a_tool_call_reaches_the_client(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.script.add_replies(tool_call_reply("recall", query="tea"))
    calls = say(client).choices[0].message.tool_calls
    assert calls is not None
    assert calls[0].type == "function"
    assert (calls[0].function.name, json.loads(calls[0].function.arguments)) == ("recall", {"query": "tea"})


def test_an_unscripted_question_gets_the_emptiest_valid_answer(client: openai.OpenAI) -> None:
    assert say(client, **form()).choices[0].message.content == '{"memories": []}'


def test_answers_are_chosen_by_title(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.script.add_answers("Spine", {"memories": ["s"]})
    server.script.set_default_answer("Reflection", lambda asked: {"memories": [asked.prompt]})
    got = [
        json.loads(say(client, "q", **form(t)).choices[0].message.content or "")
        for t in ("Reflection", "Spine", "Spine")
    ]
    assert got == [{"memories": ["q"]}, {"memories": ["s"]}, {"memories": []}]


def test_it_remembers_what_it_was_asked(server: ScriptedServer, client: openai.OpenAI) -> None:
    say(client, "what?", **form())
    asked: ScriptedRequest = server.script.requests_on("Reflection")[0]
    assert (asked.title, asked.prompt, asked.headers["authorization"]) == (
        "Reflection",
        "what?",
        "Bearer sk-test",
    )


def test_faults_hit_only_where_they_are_told_to(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.script.add_fault("error", on="Reflection", times=None)
    assert say(client).choices[0].message.content == "Understood."
    for _ in range(2):
        with pytest.raises(openai.InternalServerError):
            say(client, **form())
    server.script.clear_faults()
    assert say(client, **form()).choices[0].message.content


def test_a_rate_limit_says_when_to_come_back(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.script.add_fault("rate_limited", seconds=7)
    with pytest.raises(openai.RateLimitError) as caught:
        say(client)
    assert caught.value.response.headers["retry-after"] == "7"


def test_a_dead_one_closes_without_a_word(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.script.add_fault("dead")
    with pytest.raises(openai.APIConnectionError):
        say(client)


def test_a_cut_stream_breaks_after_what_was_said(server: ScriptedServer) -> None:
    server.script.add_replies("a b c")
    server.script.add_fault("cut", after=2)
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    seen = ""
    broke = False
    with httpx2.stream("POST", f"{server.url}/chat/completions", json=body, timeout=HANGS_S) as response:
        try:
            for piece in response.iter_text():
                seen += piece
        except httpx2.RemoteProtocolError:
            broke = True
    assert broke
    assert '"a "' in seen
    assert '"b "' in seen
    assert '"c"' not in seen


def test_a_hanging_one_never_ends(server: ScriptedServer) -> None:
    server.script.add_fault("hang")
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(f"{server.url}/chat/completions", json=body, timeout=httpx2.Timeout(HANGS_S, read=0.2))


def test_a_slow_one_answers_late(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.script.add_fault("slow", seconds=0.2)
    began = time.perf_counter()
    assert say(client).choices[0].message.content == "Understood."
    assert time.perf_counter() - began >= 0.2


def test_healed_a_slow_one_answers_now(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.script.add_fault("slow", seconds=10 * HANGS_S)
    with ThreadPoolExecutor(1) as beside:
        late = beside.submit(say, client)
        while not server.script.asked:
            time.sleep(0.01)
        assert not late.done()
        server.script.clear_faults()
        assert late.result().choices[0].message.content == "Understood."


def test_stopped_its_port_refuses_and_started_again_it_answers(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.stop()
    with pytest.raises(openai.APIConnectionError):
        say(client)
    server.start()
    assert say(client).choices[0].message.content == "Understood."


def test_embeddings_are_the_same_for_the_same_text_and_near_for_shared_words(client: openai.OpenAI) -> None:
    made = client.embeddings.create(model="e", input=["green tea", "green tea", "black tea", "tax law"])
    a, b, c, d = (row.embedding for row in made.data)
    assert a == b
    near, far = (sum(x * y for x, y in zip(a, other, strict=True)) for other in (c, d))
    assert near > far + 0.2


def test_it_lists_its_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["scripted"]


def test_as_a_process_it_is_scripted_over_http() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "mnemon.llm.scripted", "--port", str(port)], stderr=subprocess.PIPE
    )
    try:
        root = f"http://127.0.0.1:{port}"
        _wait(root)
        httpx2.post(
            f"{root}/script",
            json={"replies": [{"calls": [{"name": "t", "arguments": {"a": 1}}]}, "yes"]},
            timeout=HANGS_S,
        )
        with openai.OpenAI(base_url=f"{root}/v1", api_key="k", max_retries=0) as client:
            assert say(client).choices[0].finish_reason == "tool_calls"
            assert say(client).choices[0].message.content == "yes"
        assert len(httpx2.get(f"{root}/script/asked", timeout=HANGS_S).json()["asked"]) == 2
    finally:
        process.terminate()
        process.communicate()


def _wait(root: str) -> None:
    for _ in range(round(HANGS_S / 0.05)):
        try:
            httpx2.get(f"{root}/v1/models", timeout=HANGS_S)
        except httpx2.ConnectError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("the process did not start")


def test_clearing_forgets_everything() -> None:
    script = Script()
    script.add_replies("x")
    script.add_fault("dead", times=None)
    script.record_request(ScriptedRequest(on="chat"))
    script.clear()
    assert script.asked == []
    assert script.record_request(ScriptedRequest(on="chat")) is None
    assert script.next_reply(ScriptedRequest(on="chat")).text == "Understood."
