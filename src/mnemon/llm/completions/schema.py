"""A JSON schema as OpenAI's wire wants it, and whether it may be called strict.

Strict means that the server holds the model to the schema, which it can for a part of what schemas can say: every
property required, none added, no defaults. A schema that says more is sent as it is and not called strict.
"""

import re
from typing import Any

from mnemon.llm.protocol import Json

_DROPPED = ("title", "$schema", "discriminator")
_NOT_STRICT = frozenset(
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
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_TYPED = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"})
_UNIONS = ("allOf", "anyOf", "oneOf")
_LOOKAROUND = re.compile(r"(?:[^\\]|\\.)*?\(\?(?:=|!|<=|<!)", re.DOTALL)
_DEFINITION = re.compile(r"#/(?:\$defs|definitions)/[^/]+")


def prepared(schema: Json) -> tuple[Json, bool]:
    """The schema to send, with its title, and whether it may be called strict."""
    walk = _Walk(schema.get("$ref"))
    made = walk.node({name: value for name, value in schema.items() if name != "$defs"})
    for place in ("$defs", "definitions"):
        if isinstance(schema.get(place), dict) and schema[place]:
            made[place] = {name: walk.node(inner) for name, inner in schema[place].items()}
    if walk.root is not None:
        made = _rooted(made, walk.root)
    return ({"title": schema["title"], **made} if "title" in schema else made), walk.strict


class _Walk:
    """Goes through a schema and remembers whether all of it may be strict."""

    def __init__(self, root: Any) -> None:
        self.root: str | None = root if isinstance(root, str) else None
        self.strict = True

    def node(self, given: Any) -> Any:
        """What is sent in the place of this schema; `given` stays as it is."""
        if not isinstance(given, dict):
            return given
        node = dict(given)
        match node.get("type"):
            case "object":
                self._object(node)
            case "array":
                self._array(node)
            case None:
                for kind in _UNIONS:
                    node = self._union(node, kind)
                return self._mended(node)
        for kind in _UNIONS:
            if node.get(kind):
                node[kind] = [self.node(member) for member in node[kind]]
        return self._mended(node)

    def _object(self, node: Json) -> None:
        for place in ("properties", "patternProperties"):
            if isinstance(node.get(place), dict):
                node[place] = {name: self.node(inner) for name, inner in node[place].items()}
        if "additionalProperties" in node:
            node["additionalProperties"] = self.node(node["additionalProperties"])

    def _array(self, node: Json) -> None:
        for place in ("prefixItems", "items"):
            inner = node.get(place)
            if inner:
                node[place] = [self.node(one) for one in inner] if isinstance(inner, list) else self.node(inner)

    def _union(self, node: Json, kind: str) -> Json:
        """The node with each member gone through; a union of one is that one."""
        if not isinstance(node.get(kind), list):
            return node
        rest = {name: value for name, value in node.items() if name != kind}
        members = [self.node(member) for member in node[kind]]
        if len(members) == 1 and isinstance(members[0], dict) and members[0].get("not") != {}:
            return members[0] | rest
        return {**rest, kind: members}

    def _mended(self, node: Json) -> Json:
        """The node without what the wire does not know, and with what it wants to be said."""
        for name in _DROPPED:
            node.pop(name, None)
        self._weigh(node)
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

    def _weigh(self, node: Json) -> None:
        """Notes whether this much of the schema keeps it from being strict."""
        self.strict = self.strict and not (
            not _NOT_STRICT.isdisjoint(node)
            or (node.get("format") and node["format"] not in _FORMATS)
            or (isinstance(node.get("pattern"), str) and _LOOKAROUND.match(node["pattern"]))
            or (node.get("type") == "object" and not _closed(node))
            or (node.get("type") == "array" and not _typed(node))
            or self._points_elsewhere(node.get("$ref"))
        )

    def _points_elsewhere(self, ref: Any) -> bool:
        """Whether it is a pointer into the schema that is none to a definition."""
        return isinstance(ref, str) and ref != self.root and ref.startswith("#/") and _DEFINITION.fullmatch(ref) is None


def _closed(node: Json) -> bool:
    """Whether an object requires all its properties and takes no others."""
    required, properties = node.get("required"), node.get("properties", {})
    if not isinstance(required, list) or not isinstance(properties, dict):
        return False
    return node.get("additionalProperties") in (None, False) and all(name in required for name in properties)


def _typed(node: Json) -> bool:
    """Whether an array says what its items are."""
    items = node.get("items")
    return bool(node.get("prefixItems")) or (isinstance(items, dict) and not _TYPED.isdisjoint(items))


def _rooted(made: Json, root: str) -> Json:
    """A schema that was only a reference to one of its definitions: that definition, which now calls itself `#`."""
    name = root.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
    rest = {key: value for key, value in made.items() if key != "$ref"}
    definition = made.get("$defs", {}).get(name)
    return {**rest, **definition} if isinstance(definition, dict) else rest
