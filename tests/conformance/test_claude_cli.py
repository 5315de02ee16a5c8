"""The claude-cli adapter with the real binary against a scripted Messages API on loopback."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from mnemon.llm.scripted.script import Script, tool_call_reply
from mnemon.runs.active_memory import MemoryAccess
from mnemon.runs.adapter import RunFailed
from mnemon.runs.adapters.claude_cli import ClaudeDriver
from mnemon.runs.card import load_cards
from mnemon.runs.card_filling import fill_card
from mnemon.settings import Settings
from support.claude import claude_binary, needs_claude
from support.orchestrator import orchestrator
from support.scripted_anthropic import ScriptedAnthropicServer
from support.tasks import Seen, review, task

pytestmark = [pytest.mark.conformance, needs_claude]
CARD = load_cards()["decision"]
WAIT = {"decision": "WAIT", "summary": "range unresolved"}


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def api(script: Script) -> Iterator[ScriptedAnthropicServer]:
    with ScriptedAnthropicServer(script) as server:
        yield server


@pytest.fixture
def settings(api: ScriptedAnthropicServer, tmp_path: Path) -> Settings:
    return Settings(
        data_dir=tmp_path, claude_cli=claude_binary(), claude_api_key="test-key", claude_base_url=api.root_url
    )


@pytest.fixture
def driver(settings: Settings) -> ClaudeDriver:
    return ClaudeDriver(settings)


async def test_a_session_is_resumed_with_its_history_and_a_new_system_prompt(
    driver: ClaudeDriver, script: Script
) -> None:
    script.add_replies("First.", "Second.")
    first = await driver.perform_task(task("one", access=MemoryAccess.EXTEND), Seen())
    again = task("two", access=MemoryAccess.EXTEND, session_id=first.session_id, system="You are renewed.")
    second = await driver.perform_task(again, Seen())
    asked = script.asked[-1]
    assert [m.content for m in asked.messages if m.role != "system"] == ["one", "First.", "two"]
    assert "You are renewed." in asked.system
    assert "You are Scout" not in asked.system
    assert second.reply == "Second."
    assert second.session_id is not None
    assert asked.headers["x-api-key"] == "test-key"


async def test_without_memory_nothing_is_kept(driver: ClaudeDriver, script: Script, tmp_path: Path) -> None:
    outcome = await driver.perform_task(task("one"), Seen())
    assert outcome.session_id is None
    assert not list(tmp_path.rglob("*.jsonl"))


async def test_a_read_only_run_sees_the_session_and_does_not_extend_it(driver: ClaudeDriver, script: Script) -> None:
    first = await driver.perform_task(task("one", access=MemoryAccess.EXTEND), Seen())
    peek = await driver.perform_task(task("peek", access=MemoryAccess.READ, session_id=first.session_id), Seen())
    assert [m.content for m in script.asked[-1].messages if m.role == "user"] == ["one", "peek"]
    assert peek.session_id is None
    await driver.perform_task(task("two", access=MemoryAccess.EXTEND, session_id=first.session_id), Seen())
    assert [m.content for m in script.asked[-1].messages if m.role == "user"] == ["one", "two"]


async def test_a_card_is_filled(driver: ClaudeDriver, script: Script) -> None:
    script.add_replies(tool_call_reply("StructuredOutput", **WAIT))
    outcome = await driver.perform_task(task(card=CARD), Seen())
    assert outcome.answer is not None
    assert fill_card(CARD, outcome.answer) == WAIT
    assert outcome.usage.input_tokens > 0
    assert outcome.usage.cost_usd is not None


async def test_an_mcp_call_arrives_with_the_runs_token(settings: Settings, script: Script) -> None:
    script.add_replies(tool_call_reply("mcp__orchestrator__get_my_decisions"), "Noted.")
    with orchestrator("2d ago · WAIT · range unresolved") as server:
        driver = ClaudeDriver(settings.model_copy(update={"mcp_url": server.url}))
        seen = Seen()
        await driver.perform_task(task(review=review("x", token="mnr_acme_abc")), seen)
    assert server.calls == 1
    assert set(server.bearers) == {"Bearer mnr_acme_abc"}
    assert "mcp__orchestrator__get_my_decisions" in script.asked[0].tools
    assert "mcp__orchestrator__get_my_decisions" in script.asked[0].system
    assert seen.of("tool_call")[0]["name"] == "mcp__orchestrator__get_my_decisions"
    assert "range unresolved" in seen.of("tool_result")[0]["content"]


async def test_a_model_that_does_not_look_at_its_decisions_is_reported(settings: Settings) -> None:
    with orchestrator("2d ago · WAIT") as server:
        seen = Seen()
        await ClaudeDriver(settings.model_copy(update={"mcp_url": server.url})).perform_task(
            task(review=review("x")), seen
        )
    assert "did not look" in seen.of("review")[0]["note"]


async def test_without_review_no_tool_is_offered(driver: ClaudeDriver, script: Script) -> None:
    await driver.perform_task(task(), Seen())
    assert script.asked[0].tools == ()


async def test_an_api_error_fails_the_run_although_its_subtype_says_success(
    driver: ClaudeDriver, script: Script
) -> None:
    script.add_fault("error", times=None)
    with pytest.raises(RunFailed, match="the API answered with status 400"):
        await driver.perform_task(task(access=MemoryAccess.EXTEND), Seen())


async def test_a_lost_session_starts_fresh_and_says_so(driver: ClaudeDriver, script: Script) -> None:
    lost = "11111111-2222-3333-4444-555555555555"
    seen = Seen()
    outcome = await driver.perform_task(task("hello", access=MemoryAccess.EXTEND, session_id=lost), seen)
    assert outcome.reply == "Understood."
    assert outcome.session_id not in (None, lost)
    assert seen.of("session")[0]["lost"] == lost


async def test_a_session_of_another_adapter_starts_fresh_and_says_so(driver: ClaudeDriver) -> None:
    seen = Seen()
    outcome = await driver.perform_task(task("hello", access=MemoryAccess.EXTEND, session_id="ase_01H"), seen)
    assert outcome.session_id not in (None, "ase_01H")
    assert seen.of("session")[0]["lost"] == "ase_01H"


async def test_a_timeout_kills_the_program_and_all_it_started(driver: ClaudeDriver, script: Script) -> None:
    script.add_fault("hang", times=None, after=0)
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    performing = asyncio.create_task(driver.perform_task(task(access=MemoryAccess.EXTEND), Seen()))
    while not script.asked:
        await asyncio.sleep(0.05)
    performing.cancel()  # as its time limit does
    with pytest.raises(asyncio.CancelledError):
        await performing
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    assert not [child for child in left if child.status() != psutil.STATUS_ZOMBIE]


async def test_a_file_named_in_a_prompt_is_not_attached(driver: ClaudeDriver, script: Script, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("TOPSECRET42")
    await driver.perform_task(task(f"look at @{secret} please"), Seen())
    assert "TOPSECRET42" not in json.dumps(script.asked[-1].body)


async def test_a_prompt_that_looks_like_a_command_reaches_the_model(driver: ClaudeDriver, script: Script) -> None:
    await driver.perform_task(task("/clear everything"), Seen())
    assert script.asked[-1].prompt.strip() == "/clear everything"


async def test_chat_streams(driver: ClaudeDriver, script: Script) -> None:
    script.add_replies("Hello there friend.")
    seen = Seen()
    await driver.perform_task(task("hi"), seen)
    assert "".join(delta["text"] for delta in seen.of("delta")) == "Hello there friend."
    assert len(seen.of("delta")) > 1


@pytest.mark.parametrize(
    ("complaint", "told"),
    [
        ("error: unknown option --mute", "a result: error: unknown option --mute."),
        ("API says: your words", "a result."),
    ],
)
async def test_a_program_without_a_result_has_failed(
    settings: Settings, tmp_path: Path, complaint: str, told: str
) -> None:
    mute = tmp_path / "mute"
    said = '{"type":"system","session_id":"s"}'
    mute.write_text(f"#!/bin/sh\ncat > /dev/null\necho '{said}'\necho '{complaint}' >&2\nexit 3\n")
    mute.chmod(0o700)
    driver = ClaudeDriver(settings.model_copy(update={"claude_cli": mute}))
    with pytest.raises(RunFailed) as caught:
        await driver.perform_task(task(), Seen())
    assert caught.value.detail == f"The Claude CLI ended with code 3 and without {told}"


async def test_an_api_error_that_quotes_the_prompt_is_told_by_its_type(driver: ClaudeDriver, script: Script) -> None:
    script.add_fault("rejected", times=None)
    seen = Seen()
    with pytest.raises(RunFailed, match="the API answered with status 400") as caught:
        await driver.perform_task(task("I collect zanzibarite stamps"), seen)
    assert "zanzibarite" not in caught.value.detail
    assert "zanzibarite" not in json.dumps([event.data for event in seen.events])


async def test_the_program_inherits_nothing(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "inherited-secret")
    spy = tmp_path / "spy"
    spy.write_text('#!/bin/sh\ncat > /dev/null\nenv > "$HOME/env.txt"\npwd > "$HOME/pwd.txt"\n')
    spy.chmod(0o700)
    driver = ClaudeDriver(settings.model_copy(update={"claude_cli": spy}))
    with pytest.raises(RunFailed):
        await driver.perform_task(task(), Seen())
    home = tmp_path / "agents" / "acme" / "agt_01" / "home"
    assert "inherited-secret" not in (home / "env.txt").read_text()
    assert (home / "pwd.txt").read_text().strip() == str(home.parent / "work")
    assert home.parent.stat().st_mode & 0o077 == 0


async def test_it_is_off_until_the_operator_names_the_binary(settings: Settings) -> None:
    driver = ClaudeDriver(settings.model_copy(update={"claude_cli": None}))
    with pytest.raises(RunFailed, match="MNEMON_CLAUDE_CLI"):
        await driver.perform_task(task(), Seen())
