"""Build the JSON schemas that a model is sent: small, closed and strict, as every grammar engine takes them.

Such a schema is not the shape in which an answer is read. Every property is required, with null for nothing, and
there is no pattern, length, `oneOf`, `$ref` or default: lengths and forms are checked by the code that reads the
answer, which also reads shapes with more or fewer fields.
"""

from collections.abc import Sequence
from typing import Any

from mnemon.llm.protocol import Json

TEXT: Json = {"type": "string"}
BOOLEAN: Json = {"type": "boolean"}
INTEGER: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
OPTIONAL_TEXT: Json = {"type": ["string", "null"]}
OPTIONAL_INTEGER: Json = {"type": ["integer", "null"]}


def closed_object(**properties: Json) -> Json:
    """Return the JSON schema of an object with exactly these properties, all required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def list_of(items: Json) -> Json:
    """Return the JSON schema of a list of such items."""
    return {"type": "array", "items": items}


def one_of(values: Sequence[str]) -> Json:
    """Return the JSON schema of a text that is one of these."""
    return {"type": "string", "enum": [str(value) for value in values]}


def one_or_none_of(values: Sequence[str]) -> Json:
    """Return the JSON schema of a text that is one of these, or null."""
    return {"type": ["string", "null"], "enum": [*(str(value) for value in values), None]}


def optional(schema: Json) -> Json:
    """Return the JSON schema that allows what the given one allows, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def titled(title: str, schema: Json) -> Json:
    """Return the JSON schema with this title, by which scripted models recognize the question."""
    return {"title": title, **schema}


def is_strict(schema: Any) -> bool:
    """Say whether every object in a JSON schema is closed and requires all its properties."""
    if isinstance(schema, list):
        return all(is_strict(one) for one in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" and (
        schema.get("additionalProperties") is not False
        or list(schema.get("required", ())) != list(schema.get("properties", {}))
    ):
        return False
    return all(is_strict(one) for one in schema.values())
