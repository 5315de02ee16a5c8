"""The official OpenAI client talks to us with only its base URL and key changed."""

from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pytest
from openai import OpenAI
from openai.resources.chat.completions import CompletionsWithRawResponse

from mnemon.llm.scripted.script import tool_call_reply
from support.served import Served

TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of a city.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]


@pytest.fixture
def ai(server: Served) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.url}/v1", api_key=server.key("acme"), max_retries=0) as made:
        yield made


def messages_of(client: httpx2.Client, user: str) -> list[tuple[str, str]]:
    told: list[tuple[str, str]] = []
    for session in reversed(client.get("/api/sessions", params={"userId": user}).json()["data"]):
        listed = client.get(f"/api/sessions/{session['id']}/messages?limit=200").json()["data"]
        told += [(one["role"], one["content"]) for one in listed]
    return told


@pytest.mark.scripted
def test_a_conversation_resent_whole_stores_each_message_once(
    server: Served, client: httpx2.Client, ai: OpenAI
) -> None:
    server.script.add_replies("Nice to meet you.", "You live in Austin.", "Bye.")
    sent: list[Any] = [{"role": "system", "content": "Be brief."}]
    for text in ("I am Ana and live in Austin.", "Where do I live?", "Bye!"):
        sent.append({"role": "user", "content": text})
        made = ai.chat.completions.create(model="any", messages=sent, user="ana")
        assert made.choices[0].finish_reason == "stop"
        assert made.usage is not None
        assert made.usage.total_tokens > 0
        sent.append({"role": "assistant", "content": made.choices[0].message.content})
    assert messages_of(client, "ana") == [
        ("user", "I am Ana and live in Austin."),
        ("assistant", "Nice to meet you."),
        ("user", "Where do I live?"),
        ("assistant", "You live in Austin."),
        ("user", "Bye!"),
        ("assistant", "Bye."),
    ]
    asked = server.script.requests_on("chat")[-1]
    assert "Be brief." in asked.system
    assert [one.content for one in asked.messages if one.role == "user"] == [
        "I am Ana and live in Austin.",
        "Where do I live?",
        "Bye!",
    ]


@pytest.mark.scripted
def test_streaming_gives_pieces_and_usage(server: Served, ai: OpenAI) -> None:
    server.script.add_replies("one two three")
    pieces: list[str] = []
    reasons: list[str | None] = []
    usage = None
    for chunk in ai.chat.completions.create(
        model="any",
        messages=[{"role": "user", "content": "Count."}],
        user="ana",
        stream=True,
        stream_options={"include_usage": True},
    ):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            pieces.append(choice.delta.content or "")
            reasons.append(choice.finish_reason)
    assert "".join(pieces) == "one two three"
    assert len([piece for piece in pieces if piece]) > 1
    assert reasons[-1] == "stop"
    assert usage is not None
    assert usage.completion_tokens > 0


@pytest.mark.scripted
def test_a_second_session_remembers_the_first(server: Served, client: httpx2.Client, ai: OpenAI) -> None:
    server.script.add_answers(
        "Reflection",
        {
            "memories": [
                {
                    "type": "PROFILE",
                    "content": "Is allergic to peanuts",
                    "quote": "I am allergic to peanuts",
                    "entity": {"type": "person", "label": "self"},
                    "factType": "fact",
                    "attribute": "allergy",
                }
            ]
        },
    )
    ai.chat.completions.create(
        model="any", messages=[{"role": "user", "content": "I am allergic to peanuts."}], user="ana"
    )
    server.settled(client)
    server.advance(days=2)
    server.settled(client)
    ai.chat.completions.create(
        model="any", messages=[{"role": "user", "content": "Can I eat a peanut butter sandwich?"}], user="ana"
    )
    assert "Is allergic to peanuts" in server.script.requests_on("chat")[-1].system
    assert len(client.get("/api/sessions", params={"userId": "ana"}).json()["data"]) == 2


@pytest.mark.scripted
def test_tool_calls_go_to_the_caller_and_their_results_continue_the_turn(
    server: Served, client: httpx2.Client, ai: OpenAI
) -> None:
    for stream in (False, True):
        user = f"ana-{stream}"
        server.script.add_replies(tool_call_reply("get_weather", city="Austin"), "It is sunny.")
        sent: list[Any] = [{"role": "user", "content": "How is the weather?"}]
        first = _completed(ai, sent, user, stream)
        assert first["finish_reason"] == "tool_calls"
        [call] = first["tool_calls"]
        assert (call["name"], call["arguments"]) == ("get_weather", '{"city": "Austin"}')
        sent.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": call["id"], "type": "function", "function": {k: call[k] for k in ("name", "arguments")}}
                ],
            }
        )
        sent.append({"role": "tool", "tool_call_id": call["id"], "content": "sunny, 30 degrees"})
        second = _completed(ai, sent, user, stream)
        assert second["content"] == "It is sunny."
        assert second["turn"] == first["turn"]
        assert messages_of(client, user) == [
            ("user", "How is the weather?"),
            ("assistant", ""),
            ("tool", "sunny, 30 degrees"),
            ("assistant", "It is sunny."),
        ]
        found = client.get(f"/api/turns/{first['turn']}").json()["data"]
        assert found["status"] == "answered"
        assert found["usage"]["calls"] == 2
        server.settled(client)
        found = client.get(f"/api/turns/{first['turn']}").json()["data"]
        assert found["totalUsage"]["calls"] == 3
        for kind in ("inputTokens", "outputTokens"):
            assert found["totalUsage"][kind] == found["usage"][kind] + found["reflection"]["usage"][kind] > 0
    assert len(server.script.requests_on("Reflection")) == 2


@pytest.mark.scripted
def test_a_call_of_a_tool_that_nobody_has_is_not_handed_to_the_caller(server: Served, ai: OpenAI) -> None:
    for stream in (False, True):
        server.script.add_replies(tool_call_reply("get_stocks", city="Austin"), "I cannot look that up.")
        asked: list[Any] = [{"role": "user", "content": "How are stocks?"}]
        done = _completed(ai, asked, f"bo-{stream}", stream, tools=[])
        assert (done["content"], done["finish_reason"]) == ("I cannot look that up.", "stop")
        assert not done["tool_calls"]


@pytest.mark.scripted
def test_a_caller_who_goes_on_without_the_tools_results_ends_the_waiting_turn(
    server: Served, client: httpx2.Client, ai: OpenAI
) -> None:
    server.script.add_replies(tool_call_reply("get_weather", city="Austin"), "Never mind then.")
    first = _completed(ai, [{"role": "user", "content": "How is the weather?"}], "ana", False)
    _completed(ai, [{"role": "user", "content": "Forget it."}], "ana", False)
    found = client.get(f"/api/turns/{first['turn']}").json()["data"]
    assert found["status"] == "interrupted"
    server.settled(client)
    assert client.get(f"/api/turns/{first['turn']}").json()["data"]["reflection"]["status"] == "done"


@pytest.mark.scripted
def test_without_a_user_each_key_has_one_of_its_own(server: Served) -> None:
    server.script.add_replies("One.", "Two.")
    names = []
    for _ in range(2):
        with OpenAI(base_url=f"{server.url}/v1", api_key=server.key("acme"), max_retries=0) as ai:
            raw = ai.chat.completions.with_raw_response.create(
                model="any", messages=[{"role": "user", "content": "Hi"}]
            )
            names.append(raw.headers["x-mnemon-session-id"])
    assert len(set(names)) == 2


@pytest.mark.scripted
def test_a_failing_model_is_an_error_and_the_clients_own_retry_stores_the_message_once(
    server: Served, client: httpx2.Client
) -> None:
    server.script.add_fault("error", on="chat", times=None)
    with OpenAI(base_url=f"{server.url}/v1", api_key=server.key("acme"), max_retries=0) as ai:
        for _ in range(2):
            with pytest.raises(openai.InternalServerError):
                ai.chat.completions.create(model="any", messages=[{"role": "user", "content": "Hi"}], user="ana")
        server.script.clear_faults()
        server.script.add_replies("Hello.")
        ai.chat.completions.create(model="any", messages=[{"role": "user", "content": "Hi"}], user="ana")
    assert messages_of(client, "ana") == [("user", "Hi"), ("assistant", "Hello.")]


def test_models_are_listed(server: Served, ai: OpenAI) -> None:
    assert server.model in ("openai:scripted", "offline")
    assert [model.id for model in ai.models.list()] == [server.model]
    assert ai.models.retrieve(server.model).owned_by == "mnemon"
    with pytest.raises(openai.NotFoundError) as refused:
        ai.models.retrieve("nope")
    assert "`GET /v1/models` lists the one that answers" in refused.value.response.text


def _completed(ai: OpenAI, sent: list[Any], user: str, stream: bool, tools: Any = TOOLS) -> dict[str, Any]:
    asked = ai.chat.completions.with_raw_response
    return _streamed(asked, sent, user, tools) if stream else _whole(asked, sent, user, tools)


def _whole(asked: CompletionsWithRawResponse, sent: list[Any], user: str, tools: Any) -> dict[str, Any]:
    raw = asked.create(model="any", messages=sent, user=user, tools=tools, stream=False)
    choice = raw.parse().choices[0]
    return {
        "turn": raw.headers["x-mnemon-turn-id"],
        "content": choice.message.content,
        "finish_reason": choice.finish_reason,
        "tool_calls": [
            {"id": one.id, "name": one.function.name, "arguments": one.function.arguments}
            for one in choice.message.tool_calls or []
            if one.type == "function"
        ],
    }


def _streamed(asked: CompletionsWithRawResponse, sent: list[Any], user: str, tools: Any) -> dict[str, Any]:
    raw = asked.create(model="any", messages=sent, user=user, tools=tools, stream=True)
    text, reason = "", None
    calls: list[dict[str, Any]] = []
    for chunk in raw.parse():
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
            calls += [
                {"id": one.id, "name": one.function.name, "arguments": one.function.arguments}
                for one in choice.delta.tool_calls or []
                if one.function
            ]
    turn = raw.headers["x-mnemon-turn-id"]
    return {"turn": turn, "content": text, "finish_reason": reason, "tool_calls": calls}


def test_odd_requests_are_refused_and_never_break_the_server(client: httpx2.Client) -> None:
    hello = [{"role": "user", "content": "Hi"}]
    for body in (
        {},
        {"model": "any", "messages": []},
        {"model": "any", "messages": [{"role": "wizard", "content": "x"}]},
        {"model": "any", "messages": [{"role": "assistant", "content": "x"}]},
        {"model": "any", "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}]},
        {"model": "any", "messages": [{"role": "user"}]},
        {"model": "any", "messages": hello, "stop": 5},
        {"model": "any", "messages": hello, "max_tokens": "many"},
        {"model": "any", "messages": hello, "n": 3},
        {"model": "any", "messages": hello, "tools": [{"function": {"name": "f", "parameters": []}}]},
        {"model": "any", "messages": hello, "metadata": {"sessionId": 5}},
    ):
        answer = client.post("/v1/chat/completions", json=body)
        assert answer.status_code == 422, (body, answer.text)
    parts = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    fine = {"model": "any", "messages": parts, "temperature": 0.5, "store": True, "tool_choice": "auto", "stop": ["x"]}
    assert client.post("/v1/chat/completions", json=fine).status_code == 200
