"""Build the body of a chat-completions request, with its JSON schemas in the form OpenAI accepts.

In strict mode the server holds the model to the schema, but it accepts only some schemas: every property required, no
additional ones, no defaults. Any other schema is sent without strict mode.

Each schema is encoded once: those of Mnemon's tools and questions are the same objects in every request.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from mnemon.llm.completions.server import SAMPLING_OPTIONS, CompletionsServer
from mnemon.llm.failure import UnsupportedRequest
from mnemon.llm.protocol import Json, LlmChatRequest, LlmMessage, LlmQuestion, ToolSpec

_MAX_CACHED = 256
_DROPPED_KEYWORDS = ("title", "$schema", "discriminator")
"""Keywords that OpenAI does not know."""
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
"""Keywords that strict mode refuses."""
_STRICT_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
"""Formats that strict mode accepts."""
_TYPE_KEYWORDS = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"})
_UNION_KEYWORDS = ("allOf", "anyOf", "oneOf")
_LOOKAROUND = re.compile(r"(?:[^\\]|\\.)*?\(\?(?:=|!|<=|<!)", re.DOTALL)
"""A pattern with a lookaround, which strict mode refuses."""
_DEFINITION_REF = re.compile(r"#/(?:\$defs|definitions)/[^/]+")
_PASSED_OPTIONS = (*SAMPLING_OPTIONS, "seed")
_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class SchemaCache:
    """Encodes a schema under a name and description, and caches the result for the last 256 schemas."""

    def __init__(self, encode: Callable[[str, str, Json], bytes]) -> None:
        """Make a cache around the function that encodes a JSON schema under a name and a description."""
        self._encode = encode
        self._kept: dict[int, tuple[Json, str, str, bytes]] = {}
        """By the schema's `id()`. The schema is kept too: otherwise a new object could get the same id."""

    def __call__(self, name: str, description: str, schema: Json) -> bytes:
        """Return the JSON schema encoded, from the cache if it was under the same name and description."""
        kept = self._kept.get(id(schema))
        if kept is not None and kept[1] == name and kept[2] == description:
            return kept[3]
        made = self._encode(name, description, schema)
        self._kept.pop(id(schema), None)
        if len(self._kept) >= _MAX_CACHED:
            del self._kept[next(iter(self._kept))]
        self._kept[id(schema)] = (schema, name, description, made)
        return made


def prepare_schema(schema: Json) -> tuple[Json, bool]:
    """Return a JSON schema as OpenAI takes it, with its title, and whether strict mode accepts it."""
    # The result is what pydantic-ai would send, which a test compares, but for the title: scripted models need it.
    walk = _SchemaNormalizer(schema.get("$ref"))
    made = walk.normalize_node({name: value for name, value in schema.items() if name != "$defs"})
    for place in ("$defs", "definitions"):
        if isinstance(schema.get(place), dict) and schema[place]:
            made[place] = {name: walk.normalize_node(inner) for name, inner in schema[place].items()}
    if walk.root is not None:
        made = _inline_root(made, walk.root)
    return ({"title": schema["title"], **made} if "title" in schema else made), walk.strict


class _SchemaNormalizer:
    """Rewrites a schema node by node and records whether all of it can be strict."""

    def __init__(self, root: Any) -> None:
        """Begin with a schema that counts as strict until a node is not; `root` is its own `$ref`."""
        self.root: str | None = root if isinstance(root, str) else None
        self.strict = True

    def normalize_node(self, given: Any) -> Any:
        """Return the JSON schema's node in the form that OpenAI takes; `given` is not changed."""
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
        """Normalize the properties of an object's schema node, in place."""
        for place in ("properties", "patternProperties"):
            if isinstance(node.get(place), dict):
                node[place] = {name: self.normalize_node(inner) for name, inner in node[place].items()}
        if "additionalProperties" in node:
            node["additionalProperties"] = self.normalize_node(node["additionalProperties"])

    def _normalize_array(self, node: Json) -> None:
        """Normalize the items of an array's schema node, in place."""
        for place in ("prefixItems", "items"):
            inner = node.get(place)
            if inner:
                node[place] = (
                    [self.normalize_node(one) for one in inner]
                    if isinstance(inner, list)
                    else self.normalize_node(inner)
                )

    def _normalize_union(self, node: Json, kind: str) -> Json:
        """Return the schema node with each member of its union normalized; a union of one becomes that member."""
        if not isinstance(node.get(kind), list):
            return node
        rest = {name: value for name, value in node.items() if name != kind}
        members = [self.normalize_node(member) for member in node[kind]]
        if len(members) == 1 and isinstance(members[0], dict) and members[0].get("not") != {}:
            return members[0] | rest
        return {**rest, kind: members}

    def _normalize_keywords(self, node: Json) -> Json:
        """Return the schema node without keywords OpenAI does not know and with those it requires."""
        for name in _DROPPED_KEYWORDS:
            node.pop(name, None)
        self._check_strict(node)
        if isinstance(node.get("$ref"), str):
            if node["$ref"] == self.root:
                node["$ref"] = "#"
            if len(node) > 1:
                # The API allows no keyword beside `$ref`, but does beside `anyOf`.
                node["anyOf"] = [{"$ref": node.pop("$ref")}]
        if node.get("type") == "object":
            node.setdefault("properties", {})
            if node.get("additionalProperties") in (None, False):
                node["additionalProperties"] = False
        return node

    def _check_strict(self, node: Json) -> None:
        """Record that the schema cannot be strict when this node cannot."""
        self.strict = self.strict and not (
            not _NON_STRICT_KEYWORDS.isdisjoint(node)
            or (node.get("format") and node["format"] not in _STRICT_FORMATS)
            or (isinstance(node.get("pattern"), str) and _LOOKAROUND.match(node["pattern"]))
            or (node.get("type") == "object" and not _is_closed_object(node))
            or (node.get("type") == "array" and not _has_typed_items(node))
            or self._is_deep_ref(node.get("$ref"))
        )

    def _is_deep_ref(self, ref: Any) -> bool:
        """Say whether a `$ref` refers to a part of the schema other than a definition."""
        return (
            isinstance(ref, str)
            and ref != self.root
            and ref.startswith("#/")
            and _DEFINITION_REF.fullmatch(ref) is None
        )


def _is_closed_object(node: Json) -> bool:
    """Say whether an object's schema requires all its properties and allows no others."""
    required, properties = node.get("required"), node.get("properties", {})
    if not isinstance(required, list) or not isinstance(properties, dict):
        return False
    return node.get("additionalProperties") in (None, False) and all(name in required for name in properties)


def _has_typed_items(node: Json) -> bool:
    """Say whether an array's schema declares the type of its items."""
    items = node.get("items")
    return bool(node.get("prefixItems")) or (isinstance(items, dict) and not _TYPE_KEYWORDS.isdisjoint(items))


def _inline_root(made: Json, root: str) -> Json:
    """Return the schema with a root that is only a reference replaced by the definition it names."""
    name = root.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
    rest = {key: value for key, value in made.items() if key != "$ref"}
    definition = made.get("$defs", {}).get(name)
    return {**rest, **definition} if isinstance(definition, dict) else rest


class RequestEncoder:
    """Encodes request bodies for one server; parts that every request shares are encoded once."""

    def __init__(self, server: CompletionsServer) -> None:
        """Encode the parts that all requests to this model server share."""
        self._server = server
        model = _to_bytes(server.model)
        self._chat = b'{"model":' + model + b',"stream":true,"stream_options":{"include_usage":true},"messages":'
        self._question = b'{"model":' + model + b',"stream":false,"messages":'
        self._tool = SchemaCache(self._encode_tool)
        self._form = SchemaCache(self._encode_response_format)

    def encode_chat(self, request: LlmChatRequest) -> bytes:
        """Return the request body for a streamed reply, with its usage at the end."""
        messages = [_message_json(message) for message in request.messages]
        if request.system:
            messages.insert(0, {"role": "system", "content": request.system})
        # Joined from parts that were encoded once, since this delays the first token (decision 19).
        parts = [self._chat, _to_bytes(messages)]
        if request.tools:
            tools = (self._tool(tool.name, tool.description, tool.schema) for tool in request.tools)
            parts += [b',"tools":[', b",".join(tools), b"]"]
        if request.tools or request.options:
            options = self._known_options(request.options, request.tools)
            parts += [b"," + _to_bytes(options)[1:-1]] if options else []
        parts.append(b"}")
        return b"".join(parts)

    def encode_question(self, question: LlmQuestion) -> bytes:
        """Return the request body for an answer that fits the question's schema."""
        messages = [{"role": "user", "content": question.prompt}]
        if question.system:
            messages.insert(0, {"role": "system", "content": question.system})
        form = self._form(question.title, "", question.schema)
        parts = [self._question, _to_bytes(messages), b',"response_format":', form]
        # Not for a model that reasons: its thoughts count too, and would leave nothing for the answer.
        if question.max_tokens is not None and self._server.sampling:
            parts += [b',"', self._server.limit.encode(), b'":', str(question.max_tokens).encode()]
        if question.temperature is not None and self._server.sampling:
            parts += [b',"temperature":', str(question.temperature).encode()]
        return b"".join((*parts, b"}"))

    def _encode_tool(self, name: str, description: str, schema: Json) -> bytes:
        """Return a tool's definition as JSON bytes, in strict mode where schema and server allow it."""
        parameters, strict = prepare_schema(schema)
        function: Json = {"name": name, "description": description, "parameters": parameters}
        # Otherwise the field is left out: Ollama's server does not take it.
        if strict and self._server.strict:
            function["strict"] = True
        return _to_bytes({"type": "function", "function": function})

    def _encode_response_format(self, title: str, _: str, schema: Json) -> bytes:
        """Return the `response_format` that demands this schema, as JSON bytes."""
        wanted, strict = prepare_schema(schema)
        named: Json = {"name": title, "schema": wanted}
        if self._server.strict:
            named["strict"] = strict
        return _to_bytes({"type": "json_schema", "json_schema": named})

    def _known_options(self, given: Json, tools: tuple[ToolSpec, ...]) -> Json:
        """Return the caller's options that the server knows, under the server's names; others are dropped."""
        known = {name: given[name] for name in _PASSED_OPTIONS if given.get(name) is not None}
        if not self._server.sampling:
            known = {name: value for name, value in known.items() if name not in SAMPLING_OPTIONS}
        if limit := given.get("max_completion_tokens") or given.get("max_tokens"):
            known[self._server.limit] = limit
        if stop := given.get("stop"):
            known["stop"] = [stop] if isinstance(stop, str) else list(stop)
        if tools:
            # Without tools the API refuses these two options.
            known["tool_choice"] = _tool_choice(given.get("tool_choice"), tools)
            if given.get("parallel_tool_calls") is not None:
                known["parallel_tool_calls"] = given["parallel_tool_calls"]
        return known


def _message_json(message: LlmMessage) -> Json:
    """Return a message of the conversation as OpenAI's API expects it."""
    match message.role:
        case "assistant":
            calls = [_tool_call_json(call.id or call.name, call.name, call.arguments) for call in message.tool_requests]
            if not calls:
                return {"role": "assistant", "content": message.content}
            # Beside tool calls the API takes null for no text; without them the text must be there.
            return {"role": "assistant", "content": message.content or None, "tool_calls": calls}
        case "tool":
            answered = message.tool_id or message.tool_name or "tool"
            return {"role": "tool", "tool_call_id": answered, "content": message.content}
        case "system":
            return {"role": "system", "content": message.content}
        case _:
            return {"role": "user", "content": message.content}


def _tool_call_json(call_id: str, name: str, arguments: Json) -> Json:
    """Return a tool call as it stands in an assistant's message to OpenAI's API."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": _encode_json(arguments)}}


def _tool_choice(wanted: Any, tools: tuple[ToolSpec, ...]) -> Any:
    """Return the `tool_choice` to send, `auto` for anything unknown; raise UnsupportedRequest for an unknown tool."""
    match wanted:
        case "none" | "required":
            return wanted
        case {"function": {"name": str(name)}}:
            if all(tool.name != name for tool in tools):
                raise UnsupportedRequest(f"tool_choice names {name}, which is not one of the tools.")
            return {"type": "function", "function": {"name": name}}
        case _:
            return "auto"


def _to_bytes(value: Any) -> bytes:
    """Return the value as compact JSON in UTF-8."""
    return _encode_json(value).encode()
