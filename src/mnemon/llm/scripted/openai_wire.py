"""OpenAI's chat-completions and embeddings API, as far as the scripted server supports it."""

import hashlib
import json
import math
from collections.abc import Iterator

from mnemon.llm.protocol import Json, LlmMessage, ToolRequest, Usage
from mnemon.llm.scripted.script import CHAT_TITLE, EMBEDDINGS_TITLE, ScriptedReply, ScriptedRequest, estimate_usage

CREATED_AT = 1_700_000_000
"""A fixed time, so that every response is the same each time."""
EMBEDDING_DIMENSION = 64


def parse_request(path: str, body: Json, headers: dict[str, str]) -> ScriptedRequest:
    """Return a request to OpenAI's API in the form that the script sees."""
    if path.endswith("/embeddings"):
        return ScriptedRequest(on=EMBEDDINGS_TITLE, model=str(body.get("model", "")), body=body, headers=headers)
    messages = body.get("messages", [])
    wanted = body.get("response_format") or {}
    named = wanted.get("json_schema") or {}
    schema = named.get("schema") if wanted.get("type") == "json_schema" else None
    return ScriptedRequest(
        # By the schema's title: the contract promises that every question goes out with one (decision 10).
        on=CHAT_TITLE if schema is None else str(schema.get("title") or named.get("name")),
        model=str(body.get("model", "")),
        system="\n\n".join(_content_text(m) for m in messages if m.get("role") in ("system", "developer")),
        messages=tuple(_parse_message(m) for m in messages if m.get("role") not in ("system", "developer")),
        tools=tuple(tool["function"]["name"] for tool in body.get("tools") or ()),
        schema=schema,
        stream=bool(body.get("stream")),
        body=body,
        headers=headers,
    )


def completion_body(request: ScriptedRequest, reply: ScriptedReply) -> Json:
    """Return the scripted reply as the JSON of one chat completion."""
    message: Json = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [_tool_call_json(call) for call in reply.calls]
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(reply), "logprobs": None}
    return {
        **_completion_envelope(request, "chat.completion"),
        "choices": [choice],
        "usage": _usage_json(request, reply),
    }


def completion_chunks(request: ScriptedRequest, reply: ScriptedReply) -> Iterator[str]:
    """Yield the reply as server-sent events: one per piece, one per tool call, the end, the usage, [DONE]."""
    for piece in reply.pieces:
        yield _format_chunk(request, {"role": "assistant", "content": piece})
    for number, call in enumerate(reply.calls):
        yield _format_chunk(request, {"role": "assistant", "tool_calls": [{"index": number, **_tool_call_json(call)}]})
    yield _format_chunk(request, {}, _finish_reason(reply))
    # As OpenAI's API does it: usage only on request, in a chunk without choices.
    if (request.body.get("stream_options") or {}).get("include_usage"):
        last = {
            **_completion_envelope(request, "chat.completion.chunk"),
            "choices": [],
            "usage": _usage_json(request, reply),
        }
        yield _format_event(last)
    yield "data: [DONE]\n\n"


def embeddings_body(body: Json) -> Json:
    """Return a vector per input text: the same for the same text, similar for texts that share words."""
    given = body.get("input", [])
    texts = [given] if isinstance(given, str) else list(given)
    size = int(body.get("dimensions") or EMBEDDING_DIMENSION)
    data = [
        {"object": "embedding", "index": number, "embedding": _hash_vector(str(text), size)}
        for number, text in enumerate(texts)
    ]
    tokens = sum(len(str(text)) // 4 for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": body.get("model", ""), "data": data, "usage": usage}


def models_body(names: tuple[str, ...]) -> Json:
    """Return the JSON with which OpenAI's API lists these models."""
    listed = [{"id": name, "object": "model", "created": CREATED_AT, "owned_by": "script"} for name in names]
    return {"object": "list", "data": listed}


def error_body(message: str, kind: str) -> Json:
    """Return the JSON of an error as OpenAI's API sends it."""
    return {"error": {"message": message, "type": kind, "code": kind, "param": None}}


def _parse_message(raw: Json) -> LlmMessage:
    """Return one message of OpenAI's API as Mnemon's."""
    calls = tuple(
        ToolRequest(
            id=call["id"],
            name=call["function"]["name"],
            arguments=json.loads(call["function"]["arguments"] or "{}"),
        )
        for call in raw.get("tool_calls") or ()
    )
    return LlmMessage(
        role=str(raw.get("role")),
        content=_content_text(raw),
        tool_requests=calls,
        tool_id=raw.get("tool_call_id"),
        tool_name=raw.get("name"),
    )


def _content_text(raw: Json) -> str:
    """Return the text of a message, whose content is text itself or a list of parts."""
    content = raw.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def _tool_call_json(call: ToolRequest) -> Json:
    """Return a tool call as OpenAI's API sends it."""
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _finish_reason(reply: ScriptedReply) -> str:
    """Return OpenAI's name for why the reply ended: as scripted, else `tool_calls` or `stop`."""
    return reply.reason or ("tool_calls" if reply.calls else "stop")


def _completion_envelope(request: ScriptedRequest, kind: str) -> Json:
    """Return the fields that every completion and every chunk has."""
    return {"id": "chatcmpl-scripted", "object": kind, "created": CREATED_AT, "model": request.model}


def _format_chunk(request: ScriptedRequest, delta: Json, reason: str | None = None) -> str:
    """Return one chunk of a streamed completion as a server-sent event."""
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return _format_event({**_completion_envelope(request, "chat.completion.chunk"), "choices": [choice]})


def _format_event(body: Json) -> str:
    """Return the JSON value as one server-sent event."""
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"


def _usage_json(request: ScriptedRequest, reply: ScriptedReply) -> Json:
    """Return the reply's tokens as OpenAI's API reports them, estimated unless the script gives them."""
    text = reply.text + "".join(json.dumps(call.arguments) for call in reply.calls)
    usage: Usage = reply.usage or estimate_usage(request, text, request.model)
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def _hash_vector(text: str, size: int) -> list[float]:
    """Return a unit vector of the text's words, each hashed into four of `size` positions."""
    sums = [0.0] * size
    for word in text.lower().split():
        digest = hashlib.sha256(word.encode()).digest()
        for place in range(0, 16, 4):
            number = int.from_bytes(digest[place : place + 4], "big")
            # Signed, so that words which share a position cancel out on average.
            sums[number % size] += 1.0 if number & 0x80000000 else -1.0
    length = math.sqrt(sum(value * value for value in sums)) or 1.0
    return [value / length for value in sums]
