"""Every call is counted by model and purpose."""

import pytest
from prometheus_client import REGISTRY

from mnemon.errors import ModelDown
from mnemon.llm.meter import Metered
from mnemon.llm.protocol import ChatRequest, Message, Purpose, Question, Usage
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.llm.scripted.script import Reply, Script


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def question() -> Question:
    return Question(
        title="Spine",
        schema={"title": "Spine", "type": "object"},
        system="s",
        prompt="p" * 40,
        purpose=Purpose.SPINE,
        by_rule=dict,
    )


async def test_calls_tokens_and_seconds_are_counted() -> None:
    script = Script()
    script.replies(Reply(pieces=("x",), usage=Usage(input_tokens=10, output_tokens=2, cached_tokens=3)))
    llm = Metered(ScriptedLlm(script, name="meter:a"))
    request = ChatRequest(system="", messages=(Message(role="user", content="hi"),), by_rule=str)
    [event async for event in llm.chat(request)]
    await llm.answer(question())
    about = {"model": "meter:a", "purpose": "chat"}
    assert value("mnemon_model_calls_total", outcome="ok", **about) == 1
    assert [value("mnemon_model_tokens_total", kind=k, **about) for k in ("input", "output", "cached")] == [10, 2, 3]
    assert value("mnemon_model_seconds_count", **about) == 1
    assert value("mnemon_model_calls_total", model="meter:a", purpose="spine", outcome="ok") == 1


async def test_failed_calls_are_counted_by_their_code() -> None:
    script = Script()
    script.fails("error", times=1)
    script.answers("Spine", "not json")
    llm = Metered(ScriptedLlm(script, name="meter:b"))
    for _ in range(2):
        with pytest.raises(ModelDown):
            await llm.answer(question())
    about = {"model": "meter:b", "purpose": "spine"}
    assert value("mnemon_model_calls_total", outcome="model_unavailable", **about) == 1
    assert value("mnemon_model_calls_total", outcome="model_answer_unusable", **about) == 1
