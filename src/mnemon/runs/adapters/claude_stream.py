"""The output of the Claude CLI: lines of JSON, parsed into events and one result.

`is_error` decides, not `subtype`: an API error ends as `success` with `is_error` true. A stream without a result is a
failure. Failed results carry session ids too, so only the session id of a success is ever used.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from mnemon.runs.adapter import RunEvent, RunEventType
from mnemon.runs.run import RunUsage

LOST_SESSION_TEXT = "No conversation found with session ID"
"""The CLI's error when the session to resume does not exist on this machine."""
_OWN_TEXTS = (
    LOST_SESSION_TEXT, "Invalid API key", "Not logged in", "Credit balance is too low", "Prompt is too long",
    "usage limit reached",
)  # fmt: skip
"""The CLI's own errors that may be passed on; each is shown without what surrounds it."""
_API_ERROR = re.compile(r"API Error: (\d{3})\b")
_ERROR_TYPE = re.compile(r'"error":\s*\{\s*"type":\s*"(\w{1,60})"')
_SUBTYPE = re.compile(r"error_\w{1,60}")
_SYNTHETIC_MODEL = "<synthetic>"
"""The model that the CLI names in messages it writes itself, such as an API error in the model's place."""


@dataclass(frozen=True, kw_only=True)
class ClaudeResult:
    """The result line that ends the CLI's output."""

    is_error: bool
    text: str
    structured: dict[str, Any] | None
    session_id: str | None
    usage: RunUsage
    subtype: str = ""
    """Its kind of error, such as `error_max_turns`; empty for none."""

    @property
    def is_lost_session(self) -> bool:
        """Say whether the CLI failed because the session to resume is not on this machine."""
        return self.is_error and LOST_SESSION_TEXT in self.text

    def describe_failure(self) -> str:
        """Return in a sentence why the CLI failed, without the API's own text, which may quote the prompt."""
        if found := _API_ERROR.search(self.text):
            kind = _ERROR_TYPE.search(self.text)
            return f"the API answered with status {found[1]}" + (f", {kind[1]}" if kind else "")
        own = next((text for text in _OWN_TEXTS if text in self.text), None)
        return own or self.subtype or "it did not say why"


def parse_line(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line of the CLI's output; None for anything else."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def line_events(line: dict[str, Any], names: dict[str, str]) -> list[RunEvent]:
    """Return the run events in a line of the CLI's output; `names` collects the tool name of each call id."""
    kind = line.get("type")
    if kind == "stream_event":
        delta = (line.get("event") or {}).get("delta") or {}
        return [_make_event(RunEventType.DELTA, text=str(delta["text"]))] if delta.get("type") == "text_delta" else []
    if kind not in {"assistant", "user"}:
        return []
    message = line.get("message") or {}
    if message.get("model") == _SYNTHETIC_MODEL:
        return []
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return [event for block in blocks if isinstance(block, dict) for event in _block_events(block, names)]


def parse_result(line: dict[str, Any]) -> ClaudeResult | None:
    """Return the CLI's result when the output line is one, otherwise None."""
    if line.get("type") != "result":
        return None
    structured = line.get("structured_output")
    failure = "; ".join(str(reason) for reason in line.get("errors") or ())
    return ClaudeResult(
        # Only an explicit false is a success: a line without the field counts as a failure.
        is_error=line.get("is_error") is not False,
        text=str(line.get("result") or failure or line.get("subtype") or ""),
        structured=structured if isinstance(structured, dict) else None,
        session_id=line.get("session_id") if isinstance(line.get("session_id"), str) else None,
        usage=_parse_usage(line),
        subtype=subtype if _SUBTYPE.fullmatch(subtype := str(line.get("subtype") or "")) else "",
    )


def card_answer(result: ClaudeResult) -> dict[str, Any] | None:
    """Return the answer in the CLI's result: its structured output, else the last JSON object in its text, or None."""
    if result.structured is not None:
        return result.structured
    found: dict[str, Any] | None = None
    decoder = json.JSONDecoder()
    place = result.text.find("{")
    while place != -1:
        try:
            value, end = decoder.raw_decode(result.text, place)
        except ValueError:
            end = place + 1
        else:
            found = value if isinstance(value, dict) else found
        place = result.text.find("{", end)
    return found


def _block_events(block: dict[str, Any], names: dict[str, str]) -> list[RunEvent]:
    """Return the run events of one content block; `names` collects the tool name of each call id."""
    match block.get("type"):
        case "text" if block.get("text"):
            return [_make_event(RunEventType.MESSAGE, text=str(block["text"]))]
        case "tool_use":
            names[str(block.get("id"))] = str(block.get("name"))
            given = block.get("input") or {}
            return [_make_event(RunEventType.TOOL_CALL, id=block.get("id"), name=block.get("name"), arguments=given)]
        case "tool_result":
            call = str(block.get("tool_use_id"))
            return [
                _make_event(
                    RunEventType.TOOL_RESULT, id=call, name=names.get(call), content=_content_text(block.get("content"))
                )
            ]
        case _:
            return []


def _parse_usage(line: dict[str, Any]) -> RunUsage:
    """Return the tokens, time and cost in the CLI's result line; cached tokens count as input too."""
    used = line.get("usage") or {}
    cached = _token_count(used, "cache_read_input_tokens")
    cost = line.get("total_cost_usd")
    return RunUsage(
        calls=int(line.get("num_turns") or 0),
        # Anthropic counts cached tokens apart from input tokens; Mnemon's input tokens include them.
        input_tokens=_token_count(used, "input_tokens") + _token_count(used, "cache_creation_input_tokens") + cached,
        output_tokens=_token_count(used, "output_tokens"),
        cached_tokens=cached,
        latency_ms=float(line.get("duration_ms") or 0),
        cost_usd=float(cost) if isinstance(cost, int | float) else None,
        model=next(iter(line.get("modelUsage") or {}), "claude-cli"),
    )


def _token_count(used: dict[str, Any], name: str) -> int:
    """Return a number of tokens from the CLI's usage; 0 where it is missing."""
    value = used.get(name)
    return value if isinstance(value, int) else 0


def _content_text(content: Any) -> str:
    """Return the text of a tool result, whose content is text itself or a list of blocks."""
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return str(content or "")


def _make_event(kind: RunEventType, **data: Any) -> RunEvent:
    """Return a run event of this type with this data."""
    return RunEvent(type=kind, data=data)
