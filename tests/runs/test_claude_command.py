"""The Claude CLI's command line, environment and files: built from nothing, and nothing unchecked in them."""

import json
from pathlib import Path

import pytest

from mnemon.runs.active_memory import MemoryAccess
from mnemon.runs.adapters.claude_command import (
    ClaudeDirectories,
    ClaudeFiles,
    command_arguments,
    escape_prompt,
    is_session_id,
    mcp_config,
    parse_tool_names,
    process_environment,
)
from mnemon.runs.adapters.claude_stream import card_answer, line_events, parse_line, parse_result
from mnemon.runs.card import load_cards
from support.tasks import review, task

SESSION = "d8efe3c2-8f82-4e4b-9c25-232e29858e0e"
FILES = ClaudeFiles(system=Path("/private/system.md"), mcp=None)
WITH_MCP = ClaudeFiles(system=Path("/private/system.md"), mcp=Path("/private/mcp.json"))


def value(line: list[str], switch: str) -> str:
    return line[line.index(switch) + 1]


def test_the_measured_switches_are_always_there() -> None:
    line = command_arguments(task(), FILES, tools=(), resume=None, streaming=False)
    for switch in ("-p", "--verbose", "--bare", "--strict-mcp-config", "--disable-slash-commands"):
        assert switch in line
    assert value(line, "--output-format") == "stream-json"
    assert value(line, "--system-prompt-snapshot") == "off"
    assert value(line, "--permission-mode") == "dontAsk"


def test_neither_prompt_nor_skill_nor_token_stands_on_the_command_line() -> None:
    given = task("the prompt", review=review("x", token="mnr_secret"))
    line = " ".join(command_arguments(given, WITH_MCP, tools=(), resume=None, streaming=False))
    for private in ("the prompt", given.system, "mnr_secret"):
        assert private not in line


def test_built_in_tools_are_off_unless_named() -> None:
    assert value(command_arguments(task(), FILES, tools=(), resume=None, streaming=False), "--tools") == ""
    named = command_arguments(task(), FILES, tools=("Read", "WebSearch"), resume=None, streaming=False)
    assert value(named, "--tools") == "Read,WebSearch"
    assert value(named, "--allowedTools") == "Read,WebSearch"


def test_a_blind_task_has_no_tool_that_reaches_a_file() -> None:
    line = command_arguments(task(blind=True), FILES, tools=("Read", "Bash", "WebSearch"), resume=None, streaming=False)
    assert value(line, "--tools") == "WebSearch"


def test_our_tool_is_allowed_by_its_full_name_when_it_is_offered() -> None:
    line = command_arguments(task(review=review("x")), WITH_MCP, tools=(), resume=None, streaming=False)
    assert value(line, "--allowedTools") == "mcp__orchestrator__get_my_decisions"
    assert "--allowedTools" not in command_arguments(task(), FILES, tools=(), resume=None, streaming=False)


@pytest.mark.parametrize(
    ("access", "resume", "switches"),
    [
        (MemoryAccess.NONE, None, {"--no-session-persistence"}),
        (MemoryAccess.EXTEND, None, set()),
        (MemoryAccess.EXTEND, SESSION, {"--resume"}),
        (MemoryAccess.READ, SESSION, {"--resume", "--fork-session", "--no-session-persistence"}),
    ],
)
def test_a_session_is_kept_only_where_it_may_be_extended(
    access: MemoryAccess, resume: str | None, switches: set[str]
) -> None:
    line = command_arguments(task(access=access), FILES, tools=(), resume=resume, streaming=False)
    assert {"--resume", "--fork-session", "--no-session-persistence"} & set(line) == switches


def test_a_card_is_asked_for_by_its_schema() -> None:
    card = load_cards()["decision"]
    line = command_arguments(task(card=card), FILES, tools=(), resume=None, streaming=False)
    schema = json.loads(value(line, "--json-schema"))
    assert schema["title"] == "Card"
    # The CLI refuses an answer that lacks a required slot: one that may stay empty may be left out.
    assert schema["required"] == [slot.name for slot in card.slots if slot.required]
    assert len(schema["required"]) < len(schema["properties"])


def test_the_environment_is_built_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "inherited")
    monkeypatch.setenv("CLAUDE_CODE_USE_BEDROCK", "1")
    made = process_environment(ClaudeDirectories(root=Path("/agents/a")), api_key="k", base_url="http://127.0.0.1:1")
    assert "inherited" not in made.values()
    assert "CLAUDE_CODE_USE_BEDROCK" not in made
    assert made["HOME"] == "/agents/a/home"
    assert made["CLAUDE_CONFIG_DIR"] == "/agents/a/config"
    assert made["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"


def test_only_names_of_tools_pass_the_setting() -> None:
    assert parse_tool_names("Read, Bash(rm *), --flag,, WebSearch") == ("Read", "WebSearch")


def test_a_prompt_is_never_taken_for_a_command() -> None:
    assert escape_prompt("/clear") == " /clear"
    assert escape_prompt("look at a/b") == "look at a/b"


def test_only_the_clis_own_session_ids_are_resumed() -> None:
    assert is_session_id(SESSION)
    assert not is_session_id("ase_01H")
    assert not is_session_id("--dangerously-skip-permissions")
    assert not is_session_id(None)


def test_the_token_reaches_one_server_that_is_loaded_at_once() -> None:
    config = mcp_config("http://127.0.0.1:8765/mcp", "mnr_x")["mcpServers"]["orchestrator"]
    assert config["headers"] == {"Authorization": "Bearer mnr_x"}
    assert config["alwaysLoad"] is True


def test_is_error_decides_and_not_the_subtype() -> None:
    good = parse_result({"type": "result", "subtype": "success", "is_error": False, "result": "hi", "session_id": "s"})
    bad = parse_result(
        {"type": "result", "subtype": "success", "is_error": True, "result": "API Error", "session_id": "s"}
    )
    unsaid = parse_result({"type": "result", "subtype": "success"})
    assert good is not None
    assert not good.is_error
    assert bad is not None
    assert bad.is_error
    assert unsaid is not None
    assert unsaid.is_error


def test_lines_that_are_no_json_object_are_passed_over() -> None:
    assert parse_line(b"warning: something\n") is None
    assert parse_line(b"[1]\n") is None


def test_calls_and_their_results_become_events_with_the_tools_name() -> None:
    names: dict[str, str] = {}
    call = {"type": "tool_use", "id": "t1", "name": "mcp__orchestrator__get_my_decisions", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "2d ago"}]}
    made = line_events({"type": "assistant", "message": {"content": [call]}}, names)
    made += line_events({"type": "user", "message": {"content": [result]}}, names)
    assert [event.type for event in made] == ["tool_call", "tool_result"]
    assert made[1].data == {"id": "t1", "name": "mcp__orchestrator__get_my_decisions", "content": "2d ago"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('Here: ```json\n{"a": 1}\n``` done', {"a": 1}),
        ('{"a": 1} and {"b": {"c": 2}}', {"b": {"c": 2}}),
        ("no card { at all", None),
    ],
)
def test_a_card_is_found_in_words_where_there_is_no_structured_output(text: str, found: dict[str, int] | None) -> None:
    result = parse_result({"type": "result", "is_error": False, "result": text})
    assert result is not None
    assert card_answer(result) == found


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            {"result": 'API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"My words"}}'},
            "the API answered with status 400, invalid_request_error",
        ),
        ({"result": "API Error: 500 My words"}, "the API answered with status 500"),
        ({"result": "Invalid API key · My words"}, "Invalid API key"),
        ({"subtype": "error_max_turns", "errors": ["My words"]}, "error_max_turns"),
        ({"subtype": "My words", "result": "My words"}, "it did not say why"),
    ],
)
def test_a_failure_is_told_without_the_apis_own_sentence(line: dict[str, object], told: str) -> None:
    result = parse_result({"type": "result", "is_error": True, **line})
    assert result is not None
    assert result.describe_failure() == told


def test_a_message_that_the_cli_writes_in_the_models_place_is_no_event() -> None:
    written = {"model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 400 My words"}]}
    assert line_events({"type": "assistant", "message": written}, {}) == []
