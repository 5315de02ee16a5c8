"""The problems in the OpenAPI document: one component for each status, with the codes that can come with it."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI

from mnemon.api.codes import AT_STATUS
from mnemon.api.wire import Problem

ANYWHERE = (405, 408, 431)
"""Statuses that a request to any path can get before a handler sees it."""
WITH_JSON = 415
"""The status of a body that is not sent as JSON, at every operation that takes JSON."""
_METHODS = frozenset({"get", "post", "put", "patch", "delete"})


def problem_response(status: int) -> dict[str, Any]:
    """Give the response of an operation that answers with a problem of this status."""
    schema = {"$ref": f"#/components/schemas/{_name(status)}"}
    return {
        "description": HTTPStatus(status).phrase,
        "content": {"application/problem+json": {"schema": schema}},
    }


def problem_schema(status: int) -> dict[str, Any]:
    """Give the schema of a problem of this status: its `code` is one of those that the registry has for it."""
    codes = AT_STATUS[status]
    schema = Problem.model_json_schema()
    schema["title"] = _name(status)
    schema["properties"]["status"] = {"type": "integer", "const": status, "title": "Status"}
    schema["properties"]["code"] = {"type": "string", "enum": list(codes), "title": "Code", "x-next-steps": codes}
    return schema


def document_problems(app: FastAPI) -> None:
    """Have the application's OpenAPI document name every problem; routes that are added later are in it too."""
    make: Callable[[], dict[str, Any]] = app.openapi

    def openapi() -> dict[str, Any]:
        document = make()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.update({_name(status): problem_schema(status) for status in AT_STATUS})
        for item in document["paths"].values():
            for operation in (item[method] for method in _METHODS & set(item)):
                takes_json = "application/json" in operation.get("requestBody", {}).get("content", {})
                for status in (*ANYWHERE, WITH_JSON) if takes_json else ANYWHERE:
                    operation["responses"].setdefault(str(status), problem_response(status))
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend the document


def _name(status: int) -> str:
    return f"Problem{status}"
