"""What goes out: the bodies that each kind of server is sent, to the letter."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mnemon.llm.completions.request import RequestEncoder
from mnemon.llm.completions.server import resolve_server
from mnemon.llm.failure import UnsupportedRequest
from mnemon.llm.protocol import Json, LlmChatRequest, LlmMessage, LlmQuestion, Purpose, ToolRequest, ToolSpec

STRICT: Json = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"], "title": "Forget"}
LOOSE: Json = {"type": "object", "properties": {"query": {"type": "string", "title": "Query", "default": "tea"}}}
TOOLS = (
    ToolSpec(name="forget", description="Forget it.", schema=STRICT),
    ToolSpec(name="recall", description="Search.", schema=LOOSE),
)
CALL = ToolRequest(id="c1", name="recall", arguments={"query": "grün", "n": [1, 2.5, None, True]})
TOLD = (
    LlmMessage(role="user", content="what do I drink?"),
    LlmMessage(role="assistant", content="Let me see.", tool_requests=(CALL,)),
    LlmMessage(role="tool", content="tea", tool_id="c1", tool_name="recall"),
    LlmMessage(role="assistant", tool_requests=(CALL,)),
    LlmMessage(role="system", content="Be brief."),
    LlmMessage(role="assistant", content=""),
    LlmMessage(role="user", content="and?"),
)


def bodies(vendor: str, model: str = "m", base_url: str | None = None) -> RequestEncoder:
    return RequestEncoder(resolve_server(vendor, model, base_url=base_url, api_key="sk-0123456789"))


OPENAI, ENDPOINT, OLLAMA = bodies("openai"), bodies("openai", base_url="http://model.test/v1"), bodies("ollama")


def chat(made: RequestEncoder, tools: tuple[ToolSpec, ...] = (), **options: Any) -> Json:
    request = LlmChatRequest(system="Be kind.", messages=TOLD[:1], tools=tools, by_rule=str, options=options)
    body: Json = json.loads(made.encode_chat(request))
    return body


def question(made: RequestEncoder, schema: Json, title: str = "Spine") -> Json:
    asked = LlmQuestion(
        title=title, schema=schema, system="Sum up.", prompt="Alles, grün.", purpose=Purpose.SPINE, by_rule=dict
    )
    body: Json = json.loads(made.encode_question(asked))
    return body


@pytest.mark.parametrize(
    ("made", "option"),
    [
        (OPENAI, "max_completion_tokens"),
        (ENDPOINT, "max_tokens"),
        (OLLAMA, "max_tokens"),
        (bodies("openai", "o4-mini"), None),
    ],
)
def test_an_answer_is_limited_and_the_likeliest_unless_the_model_reasons(
    made: RequestEncoder, option: str | None
) -> None:
    asked = LlmQuestion(
        title="Reflection",
        schema={},
        system="",
        prompt="Hi.",
        purpose=Purpose.REFLECTION,
        by_rule=dict,
        max_tokens=700,
        temperature=0.0,
    )
    body = json.loads(made.encode_question(asked))
    shown = {name: value for name, value in body.items() if name.startswith("max") or name == "temperature"}
    assert shown == ({option: 700, "temperature": 0.0} if option else {})
    free = json.loads(made.encode_question(replace(asked, max_tokens=None, temperature=None)))
    assert not any(name.startswith("max") or name == "temperature" for name in free)


@pytest.mark.parametrize("made", [OPENAI, ENDPOINT, OLLAMA])
def test_a_conversation_is_told_in_order(made: RequestEncoder) -> None:
    arguments = '{"query":"grün","n":[1,2.5,null,true]}'
    called = {"id": "c1", "type": "function", "function": {"name": "recall", "arguments": arguments}}
    assert json.loads(made.encode_chat(LlmChatRequest(system="Be kind.", messages=TOLD, by_rule=str))) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "what do I drink?"},
            {"role": "assistant", "content": "Let me see.", "tool_calls": [called]},
            {"role": "tool", "tool_call_id": "c1", "content": "tea"},
            {"role": "assistant", "content": None, "tool_calls": [called]},
            {"role": "system", "content": "Be brief."},
            {"role": "assistant", "content": ""},
            {"role": "user", "content": "and?"},
        ],
    }


def test_without_a_system_prompt_there_is_no_message_for_it() -> None:
    body = json.loads(OPENAI.encode_chat(LlmChatRequest(system="", messages=TOLD[:1], by_rule=str)))
    assert body["messages"] == [{"role": "user", "content": "what do I drink?"}]


@pytest.mark.parametrize(("made", "strict"), [(OPENAI, True), (ENDPOINT, True), (OLLAMA, False)])
def test_tools_are_offered_strictly_where_they_and_the_server_can_be(made: RequestEncoder, strict: bool) -> None:
    forget = {"title": "Forget", **STRICT, "additionalProperties": False}
    recall = {
        "type": "object",
        "properties": {"query": {"type": "string", "default": "tea"}},
        "additionalProperties": False,
    }
    body = chat(made, TOOLS)
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "forget",
                "description": "Forget it.",
                "parameters": forget,
                **({"strict": True} if strict else {}),
            },
        },
        {"type": "function", "function": {"name": "recall", "description": "Search.", "parameters": recall}},
    ]
    assert body["tool_choice"] == "auto"


@pytest.mark.parametrize(("made", "knows"), [(OPENAI, True), (ENDPOINT, True), (OLLAMA, False)])
@pytest.mark.parametrize(("schema", "strict"), [(STRICT, True), ({**LOOSE, "title": "Spine"}, False)])
def test_an_answer_is_asked_for_by_its_titled_schema(
    made: RequestEncoder, knows: bool, schema: Json, strict: bool
) -> None:
    body = question(made, schema)
    form = body.pop("response_format")
    assert body == {
        "model": "m",
        "stream": False,
        "messages": [{"role": "system", "content": "Sum up."}, {"role": "user", "content": "Alles, grün."}],
    }
    assert form["type"] == "json_schema"
    assert form["json_schema"]["schema"]["title"] == schema["title"]
    assert form["json_schema"]["name"] == "Spine"
    assert form["json_schema"].get("strict") == (strict if knows else None)


@pytest.mark.parametrize(
    ("made", "limit"), [(OPENAI, "max_completion_tokens"), (ENDPOINT, "max_tokens"), (OLLAMA, "max_tokens")]
)
def test_the_limit_goes_by_the_name_that_the_server_knows(made: RequestEncoder, limit: str) -> None:
    assert chat(made, max_tokens=9)[limit] == 9
    assert chat(made, max_completion_tokens=7, max_tokens=9)[limit] == 7
    both = {"max_tokens", "max_completion_tokens"}
    assert both & chat(made, max_tokens=9).keys() == {limit}
    assert both.isdisjoint(chat(made, max_tokens=None))


def test_the_callers_options_go_under_their_own_names_and_others_nowhere() -> None:
    given: dict[str, Any] = {
        "temperature": 0,
        "top_p": 0.5,
        "seed": 7,
        "presence_penalty": 0.1,
        "frequency_penalty": -0.1,
    }
    body = chat(OPENAI, **given, stop="END", nonsense=1, logit_bias={}, n=2)
    assert {name: body[name] for name in given} == given
    assert body["stop"] == ["END"]
    assert body.keys() - given.keys() == {"model", "stream", "stream_options", "messages", "stop"}
    assert chat(OPENAI, stop=["a", "b"])["stop"] == ["a", "b"]
    assert "stop" not in chat(OPENAI, stop=[])


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        (None, "auto"),
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "function": {"name": "recall"}}, {"type": "function", "function": {"name": "recall"}}),
        ({"type": "allowed_tools"}, "auto"),
        ("whatever", "auto"),
    ],
)
def test_which_tool_is_called_is_the_callers_choice(wanted: Any, sent: Any) -> None:
    assert chat(OPENAI, TOOLS, tool_choice=wanted)["tool_choice"] == sent


def test_a_choice_of_a_tool_that_is_not_there_cannot_be_asked() -> None:
    with pytest.raises(UnsupportedRequest, match="tool_choice names fly"):
        chat(OPENAI, TOOLS, tool_choice={"type": "function", "function": {"name": "fly"}})


def test_without_tools_nothing_is_said_about_them() -> None:
    body = chat(OPENAI, tool_choice="required", parallel_tool_calls=False)
    assert {"tools", "tool_choice", "parallel_tool_calls"}.isdisjoint(body)
    assert chat(OPENAI, TOOLS, parallel_tool_calls=False)["parallel_tool_calls"] is False


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("gpt-4o", True),
        ("gpt-5", False),
        ("gpt-5-mini", False),
        ("gpt-5-chat-latest", True),
        ("gpt-5.1", True),
        ("gpt-5.1-codex", False),
        ("gpt-5.4", True),
        ("gpt-5.4-pro", False),
        ("gpt-5.5", False),
        ("gpt-6-sol", False),
        ("o3-mini", False),
        ("openai/gpt-5", False),
        ("openrouter/o3", True),
        ("qwen3", True),
    ],
)
def test_a_model_that_reasons_is_told_nothing_about_sampling(model: str, takes: bool) -> None:
    for base_url in (None, "http://model.test/v1"):
        body = chat(bodies("openai", model, base_url), temperature=0.2, top_p=0.5, seed=7, max_tokens=9)
        assert ("temperature" in body, "top_p" in body) == (takes, takes)
        assert body["seed"] == 7


def test_what_is_the_same_in_every_request_is_made_once() -> None:
    request = LlmChatRequest(system="", messages=TOLD[:1], tools=TOOLS, by_rule=str)
    made = bodies("openai")
    first = made.encode_chat(request)
    kept = dict(LOOSE)
    try:
        LOOSE["description"] = "said too late"
        assert made.encode_chat(request) == first
        assert "said too late" in bodies("openai").encode_chat(request).decode()
    finally:
        LOOSE.clear()
        LOOSE.update(kept)
