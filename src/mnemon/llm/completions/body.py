"""The body of a request, as its bytes."""

import json
from typing import Any

from mnemon.llm.completions.once import OncePerSchema
from mnemon.llm.completions.sampling import OPTIONS as SAMPLING
from mnemon.llm.completions.schema import prepared
from mnemon.llm.completions.server import Server
from mnemon.llm.failure import Unaskable
from mnemon.llm.protocol import ChatRequest, Json, Message, Question, ToolSpec

_SAME_NAME = (*SAMPLING, "seed")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Bodies:
    """Makes the bodies for one server. What is the same in every request is encoded once."""

    def __init__(self, server: Server) -> None:
        self._server = server
        model = _bytes(server.model)
        self._chat = b'{"model":' + model + b',"stream":true,"stream_options":{"include_usage":true},"messages":'
        self._question = b'{"model":' + model + b',"stream":false,"messages":'
        self._tool = OncePerSchema(self._tool_bytes)
        self._form = OncePerSchema(self._form_bytes)

    def chat(self, request: ChatRequest) -> bytes:
        """A reply is wanted, piece by piece, and what it cost."""
        told = [_told(message) for message in request.messages]
        if request.system:
            told.insert(0, {"role": "system", "content": request.system})
        parts = [self._chat, _bytes(told)]
        if request.tools:
            tools = (self._tool(tool.name, tool.description, tool.schema) for tool in request.tools)
            parts += [b',"tools":[', b",".join(tools), b"]"]
        if request.tools or request.options:
            options = self._options(request.options, request.tools)
            parts += [b"," + _bytes(options)[1:-1]] if options else []
        parts.append(b"}")
        return b"".join(parts)

    def question(self, question: Question) -> bytes:
        """A structured answer is wanted."""
        told = [{"role": "user", "content": question.prompt}]
        if question.system:
            told.insert(0, {"role": "system", "content": question.system})
        form = self._form(question.title, "", question.schema)
        return b"".join((self._question, _bytes(told), b',"response_format":', form, b"}"))

    def _tool_bytes(self, name: str, description: str, schema: Json) -> bytes:
        parameters, strict = prepared(schema)
        function: Json = {"name": name, "description": description, "parameters": parameters}
        if strict and self._server.strict:
            function["strict"] = True
        return _bytes({"type": "function", "function": function})

    def _form_bytes(self, title: str, _: str, schema: Json) -> bytes:
        wanted, strict = prepared(schema)
        named: Json = {"name": title, "schema": wanted}
        if self._server.strict:
            named["strict"] = strict
        return _bytes({"type": "json_schema", "json_schema": named})

    def _options(self, given: Json, tools: tuple[ToolSpec, ...]) -> Json:
        """The caller's options that the server knows; the others are dropped."""
        known = {name: given[name] for name in _SAME_NAME if given.get(name) is not None}
        if not self._server.sampling:
            known = {name: value for name, value in known.items() if name not in SAMPLING}
        if limit := given.get("max_completion_tokens") or given.get("max_tokens"):
            known[self._server.limit] = limit
        if stop := given.get("stop"):
            known["stop"] = [stop] if isinstance(stop, str) else list(stop)
        if tools:
            # Without tools the wire takes no word about them.
            known["tool_choice"] = _choice(given.get("tool_choice"), tools)
            if given.get("parallel_tool_calls") is not None:
                known["parallel_tool_calls"] = given["parallel_tool_calls"]
        return known


def _told(message: Message) -> Json:
    match message.role:
        case "assistant":
            calls = [_call(call.id or call.name, call.name, call.arguments) for call in message.tool_requests]
            if not calls:
                return {"role": "assistant", "content": message.content}
            return {"role": "assistant", "content": message.content or None, "tool_calls": calls}
        case "tool":
            answered = message.tool_id or message.tool_name or "tool"
            return {"role": "tool", "tool_call_id": answered, "content": message.content}
        case "system":
            return {"role": "system", "content": message.content}
        case _:
            return {"role": "user", "content": message.content}


def _call(call_id: str, name: str, arguments: Json) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": _encode(arguments)}}


def _choice(wanted: Any, tools: tuple[ToolSpec, ...]) -> Any:
    """Which tools the model may call; what nobody knows means that it may choose."""
    match wanted:
        case "none" | "required":
            return wanted
        case {"function": {"name": str(name)}}:
            if all(tool.name != name for tool in tools):
                raise Unaskable(f"tool_choice names {name}, which is none of the tools.")
            return {"type": "function", "function": {"name": name}}
        case _:
            return "auto"


def _bytes(value: Any) -> bytes:
    return _encode(value).encode()
