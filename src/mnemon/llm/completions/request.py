"""A JSON schema as OpenAI's wire wants it, and whether it may be called strict.

Strict means that the server holds the model to the schema, which it can for a part of what schemas can say: every
property required, none added, no defaults. A schema that says more is sent as it is and not called strict.

What is made of a schema is made once: those of our own tools and questions are the same objects in every request.

The body of a request, as its bytes.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from mnemon.llm.completions.server import SAMPLING_OPTIONS as SAMPLING
from mnemon.llm.completions.server import CompletionsServer
from mnemon.llm.failure import UnsupportedRequest
from mnemon.llm.protocol import Json, LlmChatRequest, LlmMessage, LlmQuestion, ToolSpec

_MAX_CACHED = 256


class SchemaCache:
    """Encodes a schema under a name, and keeps what came of it for the schemas that it saw last."""

    def __init__(self, encode: Callable[[str, str, Json], bytes]) -> None:
        self._encode = encode
        self._kept: dict[int, tuple[Json, str, str, bytes]] = {}
        """By the schema's identity; the schema is kept too, so that no other can take its place in memory."""

    def __call__(self, name: str, description: str, schema: Json) -> bytes:
        kept = self._kept.get(id(schema))
        if kept is not None and kept[1] == name and kept[2] == description:
            return kept[3]
        made = self._encode(name, description, schema)
        self._kept.pop(id(schema), None)
        if len(self._kept) >= _MAX_CACHED:
            del self._kept[next(iter(self._kept))]
        self._kept[id(schema)] = (schema, name, description, made)
        return made


_DROPPED_KEYWORDS = ("title", "$schema", "discriminator")
_NON_STRICT_KEYWORDS = frozenset(
    {
        "default",
        "oneOf",
        "minLength",
        "maxLength",
        "patternProperties",
        "unevaluatedProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "unevaluatedItems",
        "contains",
        "minContains",
        "maxContains",
        "uniqueItems",
    }
)
_STRICT_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_TYPE_KEYWORDS = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"})
_UNION_KEYWORDS = ("allOf", "anyOf", "oneOf")
_LOOKAROUND = re.compile(r"(?:[^\\]|\\.)*?\(\?(?:=|!|<=|<!)", re.DOTALL)
_DEFINITION_REF = re.compile(r"#/(?:\$defs|definitions)/[^/]+")


def prepare_schema(schema: Json) -> tuple[Json, bool]:
    """The schema to send, with its title, and whether it may be called strict."""
    walk = _SchemaNormalizer(schema.get("$ref"))
    made = walk.normalize_node({name: value for name, value in schema.items() if name != "$defs"})
    for place in ("$defs", "definitions"):
        if isinstance(schema.get(place), dict) and schema[place]:
            made[place] = {name: walk.normalize_node(inner) for name, inner in schema[place].items()}
    if walk.root is not None:
        made = _inline_root(made, walk.root)
    return ({"title": schema["title"], **made} if "title" in schema else made), walk.strict


class _SchemaNormalizer:
    """Goes through a schema and remembers whether all of it may be strict."""

    def __init__(self, root: Any) -> None:
        self.root: str | None = root if isinstance(root, str) else None
        self.strict = True

    def normalize_node(self, given: Any) -> Any:
        """What is sent in the place of this schema; `given` stays as it is."""
        if not isinstance(given, dict):
            return given
        node = dict(given)
        match node.get("type"):
            case "object":
                self._normalize_object(node)
            case "array":
                self._normalize_array(node)
            case None:
                for kind in _UNION_KEYWORDS:
                    node = self._normalize_union(node, kind)
                return self._normalize_keywords(node)
        for kind in _UNION_KEYWORDS:
            if node.get(kind):
                node[kind] = [self.normalize_node(member) for member in node[kind]]
        return self._normalize_keywords(node)

    def _normalize_object(self, node: Json) -> None:
        for place in ("properties", "patternProperties"):
            if isinstance(node.get(place), dict):
                node[place] = {name: self.normalize_node(inner) for name, inner in node[place].items()}
        if "additionalProperties" in node:
            node["additionalProperties"] = self.normalize_node(node["additionalProperties"])

    def _normalize_array(self, node: Json) -> None:
        for place in ("prefixItems", "items"):
            inner = node.get(place)
            if inner:
                node[place] = (
                    [self.normalize_node(one) for one in inner]
                    if isinstance(inner, list)
                    else self.normalize_node(inner)
                )

    def _normalize_union(self, node: Json, kind: str) -> Json:
        """The node with each member gone through; a union of one is that one."""
        if not isinstance(node.get(kind), list):
            return node
        rest = {name: value for name, value in node.items() if name != kind}
        members = [self.normalize_node(member) for member in node[kind]]
        if len(members) == 1 and isinstance(members[0], dict) and members[0].get("not") != {}:
            return members[0] | rest
        return {**rest, kind: members}

    def _normalize_keywords(self, node: Json) -> Json:
        """The node without what the wire does not know, and with what it wants to be said."""
        for name in _DROPPED_KEYWORDS:
            node.pop(name, None)
        self._check_strict(node)
        if isinstance(node.get("$ref"), str):
            if node["$ref"] == self.root:
                node["$ref"] = "#"
            if len(node) > 1:
                # Beside a reference nothing may stand; beside a union something may.
                node["anyOf"] = [{"$ref": node.pop("$ref")}]
        if node.get("type") == "object":
            node.setdefault("properties", {})
            if node.get("additionalProperties") in (None, False):
                node["additionalProperties"] = False
        return node

    def _check_strict(self, node: Json) -> None:
        """Notes whether this much of the schema keeps it from being strict."""
        self.strict = self.strict and not (
            not _NON_STRICT_KEYWORDS.isdisjoint(node)
            or (node.get("format") and node["format"] not in _STRICT_FORMATS)
            or (isinstance(node.get("pattern"), str) and _LOOKAROUND.match(node["pattern"]))
            or (node.get("type") == "object" and not _is_closed_object(node))
            or (node.get("type") == "array" and not _has_typed_items(node))
            or self._is_deep_ref(node.get("$ref"))
        )

    def _is_deep_ref(self, ref: Any) -> bool:
        """Whether it is a pointer into the schema that is none to a definition."""
        return (
            isinstance(ref, str)
            and ref != self.root
            and ref.startswith("#/")
            and _DEFINITION_REF.fullmatch(ref) is None
        )


def _is_closed_object(node: Json) -> bool:
    """Whether an object requires all its properties and takes no others."""
    required, properties = node.get("required"), node.get("properties", {})
    if not isinstance(required, list) or not isinstance(properties, dict):
        return False
    return node.get("additionalProperties") in (None, False) and all(name in required for name in properties)


def _has_typed_items(node: Json) -> bool:
    """Whether an array says what its items are."""
    items = node.get("items")
    return bool(node.get("prefixItems")) or (isinstance(items, dict) and not _TYPE_KEYWORDS.isdisjoint(items))


def _inline_root(made: Json, root: str) -> Json:
    """A schema that was only a reference to one of its definitions: that definition, which now calls itself `#`."""
    name = root.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
    rest = {key: value for key, value in made.items() if key != "$ref"}
    definition = made.get("$defs", {}).get(name)
    return {**rest, **definition} if isinstance(definition, dict) else rest


_PASSED_OPTIONS = (*SAMPLING, "seed")
_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class RequestEncoder:
    """Makes the bodies for one server. What is the same in every request is encoded once."""

    def __init__(self, server: CompletionsServer) -> None:
        self._server = server
        model = _to_bytes(server.model)
        self._chat = b'{"model":' + model + b',"stream":true,"stream_options":{"include_usage":true},"messages":'
        self._question = b'{"model":' + model + b',"stream":false,"messages":'
        self._tool = SchemaCache(self._encode_tool)
        self._form = SchemaCache(self._encode_response_format)

    def encode_chat(self, request: LlmChatRequest) -> bytes:
        """A reply is wanted, piece by piece, and what it cost."""
        told = [_message_json(message) for message in request.messages]
        if request.system:
            told.insert(0, {"role": "system", "content": request.system})
        parts = [self._chat, _to_bytes(told)]
        if request.tools:
            tools = (self._tool(tool.name, tool.description, tool.schema) for tool in request.tools)
            parts += [b',"tools":[', b",".join(tools), b"]"]
        if request.tools or request.options:
            options = self._known_options(request.options, request.tools)
            parts += [b"," + _to_bytes(options)[1:-1]] if options else []
        parts.append(b"}")
        return b"".join(parts)

    def encode_question(self, question: LlmQuestion) -> bytes:
        """A structured answer is wanted."""
        told = [{"role": "user", "content": question.prompt}]
        if question.system:
            told.insert(0, {"role": "system", "content": question.system})
        form = self._form(question.title, "", question.schema)
        return b"".join((self._question, _to_bytes(told), b',"response_format":', form, b"}"))

    def _encode_tool(self, name: str, description: str, schema: Json) -> bytes:
        parameters, strict = prepare_schema(schema)
        function: Json = {"name": name, "description": description, "parameters": parameters}
        if strict and self._server.strict:
            function["strict"] = True
        return _to_bytes({"type": "function", "function": function})

    def _encode_response_format(self, title: str, _: str, schema: Json) -> bytes:
        wanted, strict = prepare_schema(schema)
        named: Json = {"name": title, "schema": wanted}
        if self._server.strict:
            named["strict"] = strict
        return _to_bytes({"type": "json_schema", "json_schema": named})

    def _known_options(self, given: Json, tools: tuple[ToolSpec, ...]) -> Json:
        """The caller's options that the server knows; the others are dropped."""
        known = {name: given[name] for name in _PASSED_OPTIONS if given.get(name) is not None}
        if not self._server.sampling:
            known = {name: value for name, value in known.items() if name not in SAMPLING}
        if limit := given.get("max_completion_tokens") or given.get("max_tokens"):
            known[self._server.limit] = limit
        if stop := given.get("stop"):
            known["stop"] = [stop] if isinstance(stop, str) else list(stop)
        if tools:
            # Without tools the wire takes no word about them.
            known["tool_choice"] = _tool_choice(given.get("tool_choice"), tools)
            if given.get("parallel_tool_calls") is not None:
                known["parallel_tool_calls"] = given["parallel_tool_calls"]
        return known


def _message_json(message: LlmMessage) -> Json:
    match message.role:
        case "assistant":
            calls = [_tool_call_json(call.id or call.name, call.name, call.arguments) for call in message.tool_requests]
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


def _tool_call_json(call_id: str, name: str, arguments: Json) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": _encode_json(arguments)}}


def _tool_choice(wanted: Any, tools: tuple[ToolSpec, ...]) -> Any:
    """Which tools the model may call; what nobody knows means that it may choose."""
    match wanted:
        case "none" | "required":
            return wanted
        case {"function": {"name": str(name)}}:
            if all(tool.name != name for tool in tools):
                raise UnsupportedRequest(f"tool_choice names {name}, which is none of the tools.")
            return {"type": "function", "function": {"name": name}}
        case _:
            return "auto"


def _to_bytes(value: Any) -> bytes:
    return _encode_json(value).encode()
