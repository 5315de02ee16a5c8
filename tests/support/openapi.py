"""Requests made up from the OpenAPI document, so that a new route is covered by itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One method of one path."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    """A minimal body its schema takes; None where it takes none."""

    @property
    def placed(self) -> list[str]:
        """The names of its path parameters."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


def operations(document: dict[str, Any], words: dict[str, str]) -> Iterator[Operation]:
    """Every operation; fields and parameters called like one of `words` get its value."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield _operation(document, method, path, item[method], words)


def _operation(
    document: dict[str, Any], method: str, path: str, spec: dict[str, Any], words: dict[str, str]
) -> Operation:
    query = {
        p["name"]: words.get(p["name"], _made(document, p["schema"], words, p["name"]))
        for p in spec.get("parameters", [])
        if p["in"] == "query" and (p.get("required") or p["name"] in words)
    }
    content = spec.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema")
    return Operation(
        method=method.upper(),
        path=path,
        query=query,
        body=None if schema is None else _made(document, schema, words, ""),
    )


def _made(document: dict[str, Any], schema: dict[str, Any], words: dict[str, str], name: str) -> Any:
    """A small value that the schema takes."""
    if "$ref" in schema:
        found = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return _made(document, found, words, name)
    if name in words:
        return words[name]
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            real = [option for option in schema[choice] if option.get("type") != "null"]
            return _made(document, real[0], words, name)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    return _plain(document, schema, words)


def _plain(document: dict[str, Any], schema: dict[str, Any], words: dict[str, str]) -> Any:
    kind = schema.get("type")
    if kind == "object":
        wanted = set(schema.get("required", [])) | (set(schema.get("properties", {})) & set(words))
        return {
            n: _made(document, schema["properties"][n], words, n) for n in schema.get("properties", {}) if n in wanted
        }
    if kind == "array":
        return [_made(document, schema["items"], words, "") for _ in range(max(1, schema.get("minItems", 0)))]
    if kind in ("integer", "number"):
        return schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
    if kind == "boolean":
        return False
    if schema.get("format") == "date-time":
        return "2026-04-12T15:22:00Z"
    return "x" * max(1, schema.get("minLength", 0)) if kind == "string" else "x"
