"""The model adapter: tool loop, review first, card last, a transcript only where the session may be extended."""

import pytest

from mnemon.llm.offline import OfflineLlm
from mnemon.llm.protocol import LlmMessage
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.llm.scripted.script import Script, ScriptedRequest, tool_call_reply, tool_calls_reply
from mnemon.runs.active_memory import MemoryAccess
from mnemon.runs.adapter import ModelRequired, RunFailed
from mnemon.runs.adapters.model import ModelDriver
from mnemon.runs.agent import AdapterConfig
from mnemon.runs.card import load_cards
from support.tasks import Seen, review, task

CARDS = load_cards()
WAIT = {"decision": "WAIT", "summary": "range unresolved"}


async def test_a_run_converses_and_then_fills_its_card() -> None:
    script = Script()
    script.add_replies("The range holds.")
    script.add_answers("Card", WAIT)
    seen = Seen()
    outcome = await ModelDriver(ScriptedLlm(script)).perform_task(task(card=CARDS["decision"]), seen)
    assert outcome.answer == WAIT
    assert outcome.reply == "The range holds."
    assert "The range holds." in script.requests_on("Card")[0].prompt
    assert "".join(delta["text"] for delta in seen.of("delta")) == "The range holds."
    assert outcome.usage.calls == 2
    assert outcome.usage.input_tokens > 0


async def test_without_memory_nothing_is_kept_and_nothing_but_skill_and_prompt_is_seen() -> None:
    script = Script()
    outcome = await ModelDriver(ScriptedLlm(script)).perform_task(task("Hello"), Seen())
    assert (outcome.session_id, outcome.transcript) == (None, ())
    asked = script.asked[0]
    assert (asked.system, [m.content for m in asked.messages], asked.tools) == (
        "You are Scout, an analyst.",
        ["Hello"],
        (),
    )


async def test_with_memory_the_history_comes_first_and_the_task_is_added_to_it() -> None:
    script = Script()
    script.add_replies("Second.")
    history = (LlmMessage(role="user", content="one"), LlmMessage(role="assistant", content="First."))
    given = task("two", access=MemoryAccess.EXTEND, session_id="s1", history=history)
    outcome = await ModelDriver(ScriptedLlm(script)).perform_task(given, Seen())
    assert [m.content for m in script.asked[0].messages] == ["one", "First.", "two"]
    assert [m.content for m in outcome.transcript] == ["two", "Second."]
    assert outcome.session_id == "s1"


async def test_a_first_task_with_memory_begins_the_session_it_was_given() -> None:
    outcome = await ModelDriver(ScriptedLlm(Script())).perform_task(task(access=MemoryAccess.EXTEND), Seen())
    assert outcome.session_id == "new-session"


async def test_a_read_only_task_sees_the_history_and_adds_nothing() -> None:
    script = Script()
    history = (LlmMessage(role="user", content="one"),)
    given = task(access=MemoryAccess.READ, session_id="s1", history=history)
    outcome = await ModelDriver(ScriptedLlm(script)).perform_task(given, Seen())
    assert script.asked[0].messages[0].content == "one"
    assert (outcome.session_id, outcome.transcript) == (None, ())


async def test_with_review_the_decisions_are_called_for_first_and_shown_in_the_events() -> None:
    script, seen = Script(), Seen()
    await ModelDriver(ScriptedLlm(script)).perform_task(task(review=review("2d ago · WAIT · range unresolved")), seen)
    assert [event.type for event in seen.events][:2] == ["tool_call", "tool_result"]
    assert seen.of("tool_call")[0]["name"] == "get_my_decisions"
    assert seen.of("tool_result")[0]["content"] == "2d ago · WAIT · range unresolved"
    first = script.asked[0]
    assert first.tools == ("get_my_decisions",)
    assert [m.role for m in first.messages] == ["user", "assistant", "tool"]


async def test_without_review_the_tool_is_neither_offered_nor_answered() -> None:
    script, seen = Script(), Seen()
    script.add_replies(tool_call_reply("get_my_decisions"), "Done.")
    await ModelDriver(ScriptedLlm(script)).perform_task(task(), seen)
    assert all(asked.tools == () for asked in script.asked)
    assert seen.of("tool_result")[0]["content"] == "There is no tool get_my_decisions."


async def test_of_a_replys_tool_calls_32_are_run_and_the_run_goes_on() -> None:
    script, seen = Script(), Seen()
    script.add_replies(tool_calls_reply(*[("get_my_decisions", {})] * 40), "Done.")
    outcome = await ModelDriver(ScriptedLlm(script)).perform_task(task(review=review("none yet")), seen)
    shown = [one["content"] for one in seen.of("tool_result")]
    # The first was made by the server itself.
    assert shown[:33] == ["none yet"] * 33
    assert [one.partition(":")[0] for one in shown[33:]] == ["This call was not run"] * 8
    assert outcome.reply == "Done."


async def test_a_model_that_never_stops_calling_tools_fails_the_run() -> None:
    script = Script()
    script.set_default_reply(tool_call_reply("get_my_decisions"))
    given = task(config=AdapterConfig(max_turns=3), review=review("none"))
    with pytest.raises(RunFailed, match="after 3 requests") as caught:
        await ModelDriver(ScriptedLlm(script)).perform_task(given, Seen())
    assert caught.value.usage.calls == 3


async def test_a_model_that_is_down_fails_the_run_and_keeps_what_it_cost() -> None:
    script = Script()
    script.add_fault("error", on="Card", times=None)
    with pytest.raises(RunFailed) as caught:
        await ModelDriver(ScriptedLlm(script)).perform_task(task(card=CARDS["decision"]), Seen())
    assert caught.value.usage.calls == 1


async def test_a_card_that_is_not_filled_is_asked_for_once_more_with_the_reasons() -> None:
    script = Script()
    script.add_answers("Card", {**WAIT, "mood": "good"}, WAIT)
    given = task(card=CARDS["decision"], access=MemoryAccess.EXTEND)
    outcome = await ModelDriver(ScriptedLlm(script)).perform_task(given, Seen())
    assert outcome.answer == WAIT
    first, second = script.requests_on("Card")
    assert "`mood` is not a slot of it" in second.prompt
    assert second.prompt.startswith(first.prompt), "the model's server still holds what was asked first"
    assert outcome.usage.calls == 3
    assert [m.role for m in outcome.transcript] == ["user", "assistant", "user", "assistant"]


async def test_a_card_is_asked_for_only_twice_and_a_mended_form_not_again() -> None:
    script = Script()
    script.set_default_answer("Card", lambda asked: {"summary": "no decision"})
    await ModelDriver(ScriptedLlm(script)).perform_task(task(card=CARDS["decision"]), Seen())
    assert len(script.requests_on("Card")) == 2
    script.set_default_answer("Card", lambda asked: {"Decision": "wait", "summary": "range"})
    await ModelDriver(ScriptedLlm(script)).perform_task(task(card=CARDS["decision"]), Seen())
    assert len(script.requests_on("Card")) == 3


async def test_a_first_answer_stays_where_the_second_call_fails() -> None:
    script = Script()
    half = {"summary": "no decision"}

    def answer_and_go_away(asked: ScriptedRequest) -> dict[str, str]:
        script.add_fault("error", on="Card", times=None)
        return half

    script.set_default_answer("Card", answer_and_go_away)
    outcome = await ModelDriver(ScriptedLlm(script)).perform_task(task(card=CARDS["decision"]), Seen())
    assert outcome.answer == half
    assert len(script.requests_on("Card")) == 2


@pytest.mark.parametrize("card_type", sorted(CARDS))
async def test_offline_no_shipped_card_is_filled_and_nothing_is_begun(card_type: str) -> None:
    seen = Seen()
    with pytest.raises(ModelRequired, match="MNEMON_MODEL"):
        await ModelDriver(OfflineLlm()).perform_task(task(card=CARDS[card_type], review=review("2d ago · WAIT")), seen)
    assert seen.events == []


async def test_offline_a_chat_is_told_that_no_model_is_set() -> None:
    outcome = await ModelDriver(OfflineLlm()).perform_task(task("Hello"), Seen())
    assert "no model is set" in outcome.reply


async def test_tools_a_session_once_called_come_back_as_words() -> None:
    script = Script()
    driver = ModelDriver(ScriptedLlm(script))
    first = await driver.perform_task(task("one", access=MemoryAccess.EXTEND, review=review("2d ago · WAIT")), Seen())
    await driver.perform_task(task("two", access=MemoryAccess.EXTEND, session_id="s", history=first.transcript), Seen())
    said = script.asked[-1].messages
    assert all(m.role in {"user", "assistant"} and not m.tool_requests for m in said)
    assert any("2d ago · WAIT" in m.content for m in said)
