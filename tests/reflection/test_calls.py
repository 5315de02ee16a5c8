"""In how many calls the sections are asked, what becomes of one that is too long, and where answers are cut."""

from dataclasses import replace

import pytest

from mnemon.errors import ModelDown, ModelOverrun
from mnemon.llm.protocol import LlmAnswer, LlmQuestion
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.llm.scripted.script import Script
from mnemon.reflection.prompt import DueSection
from mnemon.reflection.question import answer_limit, build_question
from mnemon.reflection.reflect import AskOptions, ask_model
from mnemon.section import Brief
from reflection.test_question import GIST, NOTES, turn

DUE = [NOTES, GIST]


class CrampedLlm(ScriptedLlm):
    """A model that takes questions up to a length and of so many sections, as one of small context does."""

    def __init__(self, script: Script, *, most_chars: int, most_sections: int = 5) -> None:
        super().__init__(script)
        self._most = most_chars
        self._sections = most_sections
        self.questions: list[LlmQuestion] = []

    async def answer(self, question: LlmQuestion) -> LlmAnswer:
        self.questions.append(question)
        if len(question.prompt) > self._most or len(question.schema["properties"]) > self._sections:
            raise ModelOverrun("too long")
        return await super().answer(question)

    @property
    def asked_for(self) -> list[list[str]]:
        return [list(one.schema["properties"]) for one in self.questions]


def answers() -> Script:
    script = Script()
    script.set_default_answer(
        "Reflection",
        lambda asked: {
            name: {"notes": [{"text": "a"}], "gist": "short"}[name] for name in (asked.schema or {})["properties"]
        },
    )
    return script


async def test_all_sections_are_asked_in_one_call_by_default() -> None:
    model = CrampedLlm(answers(), most_chars=10_000)
    given = await ask_model(model, turn(), DUE, {})
    assert model.asked_for == [["notes", "gist"]]
    assert set(given.answers) == {"notes", "gist"}


async def test_each_section_is_asked_alone_where_that_is_set() -> None:
    model = CrampedLlm(answers(), most_chars=10_000)
    given = await ask_model(model, turn(), DUE, {}, AskOptions(one_by_one=True))
    assert model.asked_for == [["notes"], ["gist"]]
    assert set(given.answers) == {"notes", "gist"}
    assert given.usage is not None
    assert given.usage.calls == 2


async def test_a_call_that_is_too_long_is_split_into_the_sections() -> None:
    model = CrampedLlm(answers(), most_chars=10_000, most_sections=1)
    given = await ask_model(model, turn(), DUE, {})
    assert model.asked_for == [["notes", "gist"], ["notes"], ["gist"]]
    assert set(given.answers) == {"notes", "gist"}


async def test_a_section_that_is_still_too_long_is_asked_with_long_messages_cut_and_no_limit() -> None:
    model = CrampedLlm(answers(), most_chars=8_000)
    given = await ask_model(model, turn("I live in Bern. " + "x" * 50_000 + " I moved to Rome."), DUE, {})
    assert set(given.answers) == {"notes", "gist"}
    assert model.asked_for == [["notes", "gist"], ["notes"], ["notes"], ["gist"], ["gist"]]
    assert [one.max_tokens is None for one in model.questions] == [False, False, True, False, True]
    assert "I live in Bern." in model.questions[2].prompt
    assert "I moved to Rome." in model.questions[2].prompt


async def test_a_section_without_any_answer_leaves_the_others() -> None:
    model = CrampedLlm(answers(), most_chars=10_000)
    long = DueSection(section=GIST.section, brief=replace(GIST.brief, state="x" * 20_000))
    given = await ask_model(model, turn(), [NOTES, long], {})
    assert set(given.answers) == {"notes"}
    assert set(given.faults) == {"gist"}
    assert set(given.raw) == {"notes"}, "what failed is asked for again"


async def test_with_no_answer_at_all_the_model_is_down() -> None:
    with pytest.raises(ModelDown):
        await ask_model(CrampedLlm(answers(), most_chars=10), turn(), DUE, {})


def test_an_answer_is_limited_by_its_sections_and_the_length_of_the_turn() -> None:
    both, one = build_question(turn(), DUE), build_question(turn(), [NOTES])
    assert both.max_tokens is not None
    assert one.max_tokens is not None
    assert both.max_tokens > one.max_tokens >= 500
    longer = answer_limit(turn("I live in Bern. " * 20), [NOTES])
    assert longer > one.max_tokens
    assert answer_limit(turn("x" * 10_000), [NOTES]) == answer_limit(turn("x" * 100_000), [NOTES])
    assert build_question(turn(), DUE, limited=False).max_tokens is None


def test_a_brief_of_its_own_keeps_the_system_prompt_the_same() -> None:
    """What comes first is the same for every turn, so that the model's server need not read it again."""
    other = [replace(one, brief=Brief(instructions=one.brief.instructions, state="something else")) for one in DUE]
    assert build_question(turn(), DUE).system == build_question(turn("Something else."), other).system
