"""A route documents the problems it can answer with and no others, and builds each response once."""

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from fastapi import FastAPI, Response
from fastapi.routing import iter_route_contexts

from mnemon.api.problems import document_problems
from mnemon.api.routers import API_ROUTERS

SOURCE = Path(__file__).parents[2] / "src" / "mnemon"
NAMED_ELSEWHERE = {
    "POST /api/chat": "sessionId in the body",
    "POST /api/context": "sessionId in the body",
    "POST /api/turns": "sessionId in the body",
    "POST /v1/chat/completions": "sessionId in the metadata",
    "POST /api/entities/merge": "the keys in the body",
    "POST /api/entities/split": "the keys in the body",
    "POST /api/sources/withdraw": "the source in the body",
    "GET /api/sources/memories": "the source in the query",
    "GET /api/sources/preview": "the source in the query",
    "GET /api/calibration": "agentId in the query",
    "GET /api/session-state": "the person and the persona in the query",
}
"""Operations without an id in the path that can answer 404, and what they look up."""
ANSWERS_FOR_ANYONE = {
    "PUT /api/users/{user_id}/seed": "creates the person",
    "GET /api/users/{user_id}/seed": "null for a person without one",
    "GET /api/users/{user_id}/spine": "null for a person without one",
    "GET /api/users/{user_id}/curator-runs": "an empty list for a person without any",
    "PUT /api/personas/{persona_id}": "creates the persona",
}
"""Operations with a name in the path, which may hold any text, that never answer 404."""
TAKE_THE_KEY = {"write", "kept_reply", "idempotency_key"}
"""The methods of a door that read the Idempotency-Key."""


@dataclass(frozen=True, kw_only=True)
class DocumentedOperation:
    """An operation of the OpenAPI document and its handler."""

    name: str
    shape: dict[str, Any]
    handler: Callable[..., Any]

    @property
    def statuses(self) -> set[str]:
        return set(self.shape["responses"])

    def parameters(self, place: str) -> set[str]:
        return {one["name"] for one in self.shape.get("parameters", ()) if one["in"] == place}

    @property
    def takes_json(self) -> bool:
        return "application/json" in self.shape.get("requestBody", {}).get("content", {})


@pytest.fixture(scope="module")
def operations() -> list[DocumentedOperation]:
    app = FastAPI()
    for router in API_ROUTERS:
        app.include_router(router)
    document_problems(app)
    paths = app.openapi()["paths"]
    return [
        DocumentedOperation(
            name=f"{method} {one.path_format}", shape=paths[one.path_format][method.lower()], handler=one.endpoint
        )
        for one in iter_route_contexts(app.router.routes)
        if one.path_format in paths and one.endpoint is not None
        for method in one.methods or ()
        if method.lower() in paths[one.path_format]
    ]


def test_all_operations_are_looked_at(operations: list[DocumentedOperation]) -> None:
    assert len(operations) > 70
    named = {one.name for one in operations}
    assert set(NAMED_ELSEWHERE) | set(ANSWERS_FOR_ANYONE) <= named


def test_a_404_needs_something_that_is_looked_up(operations: list[DocumentedOperation]) -> None:
    for one in operations:
        looked_up = bool(one.parameters("path")) and one.name not in ANSWERS_FOR_ANYONE
        assert ("404" in one.statuses) == (looked_up or one.name in NAMED_ELSEWHERE), one.name


def test_a_409_needs_an_idempotency_key(operations: list[DocumentedOperation]) -> None:
    for one in operations:
        assert ("409" in one.statuses) == bool(_names_used(one.handler) & TAKE_THE_KEY), one.name


def test_other_problems_need_what_they_are_about(operations: list[DocumentedOperation]) -> None:
    for one in operations:
        headers = one.parameters("header")
        place = bool(one.parameters("query") & {"cursor"} or headers & {"last-event-id"})
        expected = {
            "400": one.takes_json or place,
            "401": "security" in one.shape,
            "403": "security" in one.shape,
            "412": "if-match" in headers,
            "415": one.takes_json,
            "429": "security" in one.shape,
        }
        assert {status: status in one.statuses for status in expected} == expected, one.name


def test_handlers_return_a_finished_response(operations: list[DocumentedOperation]) -> None:
    """FastAPI validates and dumps what is not a Response yet a second time."""
    unfinished = []
    for one in operations:
        returned = inspect.signature(one.handler).return_annotation
        if not (isinstance(returned, type) and issubclass(returned, Response)):
            unfinished.append(one.name)
    assert unfinished == []


def test_no_shape_is_dumped_to_build_another() -> None:
    twice = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and any(map(_is_dump, [*node.args, *(one.value for one in node.keywords)]))
    ]
    assert [place for place in twice if place.startswith(("api/", "engagement/"))] == []


def _is_dump(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "model_dump"


def _names_used(handler: Callable[..., Any]) -> set[str]:
    """Return the names that a handler and the functions of the API it calls make use of."""
    found: set[str] = set()
    waiting, seen = [handler], set()
    while waiting:
        function = waiting.pop()
        if function in seen or not isinstance(function, FunctionType):
            continue
        seen.add(function)
        names = {name for code in _codes(function.__code__) for name in code.co_names}
        found |= names
        called = (function.__globals__.get(name) for name in names)
        waiting += [one for one in called if one and getattr(one, "__module__", "").startswith("mnemon.api.")]
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
