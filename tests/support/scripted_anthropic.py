"""The scripted model behind Anthropic's Messages API on loopback, for programs that support only that one.

    with ScriptedAnthropicServer(script) as server:     # ANTHROPIC_BASE_URL=<server.root_url>, any key
        …
        assert "earlier words" in script.asked[-1].messages[0].content

Every request is a chat: `script.add_replies(…)` sets the replies, and the same faults apply.
"""

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from mnemon.llm.protocol import Json, LlmMessage, ToolRequest, Usage
from mnemon.llm.scripted.script import CHAT_TITLE, Script, ScriptedReply, ScriptedRequest, estimate_usage
from mnemon.llm.scripted.server import (
    Reader,
    ScriptedServer,
    Writer,
    _read_request,
    _send_events,
    _send_fault,
    _send_json,
)


class ScriptedAnthropicServer(ScriptedServer):
    """Serves `/v1/messages`, streamed and whole, and `/v1/messages/count_tokens`."""

    def __init__(self, script: Script | None = None, *, port: int = 0) -> None:
        """Make a scripted server for Anthropic's API; port 0 chooses a free one when it starts."""
        super().__init__(script, port=port)
        self._numbers = itertools.count(1)

    @property
    def root_url(self) -> str:
        """Return the server's URL without a path, as Anthropic's clients want it."""
        return f"http://127.0.0.1:{self.port}"

    async def _handle_request(self, reader: Reader, writer: Writer) -> bool:
        """Answer one HTTP request as Anthropic's API does; return False when the connection is to be closed."""
        method, target, headers, raw = await _read_request(reader)
        path = urlsplit(target).path
        if method == "POST" and path == "/v1/messages/count_tokens":
            return await _send_json(writer, 200, {"input_tokens": len(raw) // 4})
        if method != "POST" or path != "/v1/messages":
            return await _send_json(writer, 404, message_error("not_found_error", f"no such route: {method} {path}"))
        request = parse_messages_request(json.loads(raw), headers)
        fault = self.script.record_request(request)
        if fault and fault.kind == "error":
            # Clients retry a 500 for minutes; a request that is refused as invalid fails at once.
            return await _send_json(
                writer, 400, message_error("invalid_request_error", "the script refuses this request")
            )
        if fault and fault.kind == "rejected":
            said = f"Invalid content: {request.prompt}"
            return await _send_json(writer, 400, message_error("invalid_request_error", said))
        if fault and fault.kind in ("dead", "rate_limited", "garbage"):
            return await _send_fault(writer, fault)
        if fault and fault.kind == "slow":
            await fault.wait_out()
            fault = None
        reply = _number_calls(self.script.next_reply(request), next(self._numbers))
        if request.stream:
            return await _send_events(writer, message_events(request, reply), fault)
        return await _send_json(writer, 200, message_body(request, reply), fault=fault)


def parse_messages_request(body: Json, headers: dict[str, str]) -> ScriptedRequest:
    """Return a request to Anthropic's Messages API in the form that the script sees."""
    return ScriptedRequest(
        on=CHAT_TITLE,
        model=str(body.get("model", "")),
        system=_content_text(body.get("system")),
        messages=tuple(message for raw in body.get("messages", ()) for message in _parse_messages(raw)),
        tools=tuple(str(tool.get("name", "")) for tool in body.get("tools") or ()),
        stream=bool(body.get("stream")),
        body=body,
        headers=headers,
    )


def message_body(request: ScriptedRequest, reply: ScriptedReply) -> Json:
    """Return the scripted reply as the JSON of one Anthropic message."""
    content: list[Json] = [{"type": "text", "text": reply.text}] if reply.text else []
    content += [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in reply.calls]
    return {
        **_message_envelope(request),
        "content": content,
        "stop_reason": _stop_reason(reply),
        "usage": _message_usage(request, reply),
    }


def message_events(request: ScriptedRequest, reply: ScriptedReply) -> Iterator[str]:
    """Yield the scripted reply as Anthropic's server-sent events, one block of text and one per tool call."""
    usage = _message_usage(request, reply)
    opening = {**_message_envelope(request), "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield _format_event("message_start", message=opening)
    if reply.pieces:
        yield _format_event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece in reply.pieces:
            yield _format_event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        yield _format_event("content_block_stop", index=0)
    for number, call in enumerate(reply.calls, 1 if reply.pieces else 0):
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield _format_event("content_block_start", index=number, content_block=block)
        part = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
        yield _format_event("content_block_delta", index=number, delta=part)
        yield _format_event("content_block_stop", index=number)
    yield _format_event("message_delta", delta={"stop_reason": _stop_reason(reply), "stop_sequence": None}, usage=usage)
    yield _format_event("message_stop")


def message_error(kind: str, message: str) -> Json:
    """Return the JSON of an error as Anthropic's API sends it."""
    return {"type": "error", "error": {"type": kind, "message": message}}


def _number_calls(reply: ScriptedReply, number: int) -> ScriptedReply:
    """Return the scripted reply with unique ids of its tool calls."""
    # A client that resumes a session takes a repeated id for the same call.
    calls = tuple(replace(call, id=f"toolu_{number:04}_{place}") for place, call in enumerate(reply.calls))
    return replace(reply, calls=calls)


def _parse_messages(raw: Json) -> Iterator[LlmMessage]:
    """Yield one message of Anthropic's API as Mnemon's messages, several when it carries tool results."""
    content = raw.get("content")
    blocks: list[Json] = content if isinstance(content, list) else [{"type": "text", "text": str(content or "")}]
    for block in blocks:
        if block.get("type") == "tool_result":
            yield LlmMessage(role="tool", content=_content_text(block.get("content")), tool_id=block.get("tool_use_id"))
    calls = tuple(
        ToolRequest(id=str(block["id"]), name=str(block["name"]), arguments=block.get("input") or {})
        for block in blocks
        if block.get("type") == "tool_use"
    )
    text = _content_text([block for block in blocks if block.get("type") == "text"])
    if text or calls:
        yield LlmMessage(role=str(raw.get("role")), content=text, tool_requests=calls)


def _content_text(content: Any) -> str:
    """Return the text of a message's content, which is text itself or a list of blocks."""
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return str(content or "")


def _stop_reason(reply: ScriptedReply) -> str:
    """Return Anthropic's name for why the reply ended: `tool_use`, `max_tokens` or `end_turn`."""
    return {"length": "max_tokens", None: "end_turn"}.get(reply.reason, "end_turn") if not reply.calls else "tool_use"


def _message_envelope(request: ScriptedRequest) -> Json:
    """Return the fields that every Anthropic message has, whatever its content."""
    return {
        "id": f"msg_{uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "stop_sequence": None,
    }


def _message_usage(request: ScriptedRequest, reply: ScriptedReply) -> Json:
    """Return the reply's tokens as Anthropic's API reports them, estimated unless the script gives them."""
    text = reply.text + "".join(json.dumps(call.arguments) for call in reply.calls)
    usage: Usage = reply.usage or estimate_usage(request, text, request.model)
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation_input_tokens": 0,
    }


def _format_event(kind: str, **body: Any) -> str:
    """Return one server-sent event of Anthropic's stream."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **body}, ensure_ascii=False)}\n\n"
