"""The emptiest answer that a JSON schema allows."""

from typing import Any

from mnemon.llm.protocol import Json


def empty_answer(schema: Json) -> Json:
    """An object with only what the schema requires, each value as empty as it may be."""
    value = _empty(schema, schema)
    return value if isinstance(value, dict) else {}


def _empty(schema: Json, root: Json) -> Any:
    schema = _resolved(schema, root)
    for fixed in ("const", "default"):
        if fixed in schema:
            return schema[fixed]
    if "enum" in schema:
        return schema["enum"][0]
    for union in ("anyOf", "oneOf"):
        if union in schema:
            options = [_resolved(option, root) for option in schema[union]]
            return None if any(o.get("type") == "null" for o in options) else _empty(options[0], root)
    return _empty_of_type(schema, root)


def _empty_of_type(schema: Json, root: Json) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "null")
    if isinstance(kind, list):
        return None if "null" in kind else _empty({**schema, "type": kind[0]}, root)
    match kind:
        case "object":
            fields = schema.get("properties", {})
            return {name: _empty(fields.get(name, {}), root) for name in schema.get("required", ())}
        case "array":
            return [_empty(schema.get("items", {}), root) for _ in range(schema.get("minItems", 0))]
        case "string":
            return " " * schema.get("minLength", 0)
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case _:
            return None


def _resolved(schema: Json, root: Json) -> Json:
    while "$ref" in schema:
        target: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        schema = target
    if len(schema.get("allOf", ())) == 1:
        return _resolved(schema["allOf"][0], root)
    return schema
