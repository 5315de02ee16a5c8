"""A structured answer: asked for, once more with what was wrong, and then not had."""

import pytest
from pydantic import BaseModel, ConfigDict

from mnemon.errors import ModelDown
from mnemon.llm.answer_schema import INTEGER, TEXT, closed_object, list_of, titled
from mnemon.llm.offline import OfflineLlm
from mnemon.llm.protocol import Llm, Purpose
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.llm.structured_answer import request_structured_answer


class Tally(BaseModel):
    model_config = ConfigDict(title="Tally")

    number: int
    words: list[str] = []


TALLY = titled("Tally", closed_object(number=INTEGER, words=list_of(TEXT)))


async def tally(llm: Llm) -> Tally:
    return await request_structured_answer(
        llm,
        Tally,
        schema=TALLY,
        system="Count.",
        prompt="One, two.",
        purpose=Purpose.SUMMARY,
        by_rule=lambda: Tally(number=7),
    )


async def test_an_answer_that_fits_is_taken_at_once() -> None:
    llm = ScriptedLlm()
    llm.script.add_answers("Tally", {"number": 2, "words": ["one\0", "two"]})
    assert await tally(llm) == Tally(number=2, words=["one", "two"])
    assert [asked.prompt for asked in llm.script.asked] == ["One, two."]


async def test_one_that_does_not_fit_is_asked_for_once_more_with_the_fault() -> None:
    llm = ScriptedLlm()
    llm.script.add_answers("Tally", {"number": "two"}, {"number": 2})
    assert (await tally(llm)).number == 2
    first, second = llm.script.asked
    assert second.prompt.startswith(first.prompt)
    assert "number: Input should be a valid integer" in second.prompt


async def test_then_it_fails_with_what_is_wrong() -> None:
    llm = ScriptedLlm()
    llm.script.set_default_answer("Tally", {"words": "many"})
    with pytest.raises(ModelDown, match="no Tally that can be used: number: Field required") as caught:
        await tally(llm)
    assert caught.value.code == "model_answer_unusable"
    assert len(llm.script.asked) == 2


async def test_offline_the_rule_answers() -> None:
    assert (await tally(OfflineLlm())).number == 7
