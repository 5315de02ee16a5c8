"""Errors as `application/problem+json`: the mapping from errors to statuses, the exception handlers, and the problems
in the OpenAPI document, where each status has one component with its codes.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match
from structlog.contextvars import bind_contextvars

from mnemon import errors
from mnemon.api.codes import CODES_BY_STATUS, FRAMEWORK_CODES
from mnemon.api.models import Problem
from mnemon.errors import FieldFault, MnemonError
from mnemon.logs import note_error

STATUS_BY_ERROR: dict[type[MnemonError], int] = {
    errors.Malformed: 400,
    errors.Unauthenticated: 401,
    errors.NotAllowed: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Stale: 412,
    errors.TooLarge: 413,
    errors.WrongMediaType: 415,
    errors.Misdirected: 421,
    errors.Invalid: 422,
    errors.RateLimited: 429,
    errors.Unavailable: 503,
}
_RETRY_AFTER_S = 2
_EXPECTED = "Input should be "
"""How a message of the validator begins that names what a field takes."""
_PROGRAM_PATHS = ("/api/", "/v1/", "/mcp")
"""Paths below which an unknown route is answered with a problem, whatever the client accepts."""


def status_of(error: MnemonError) -> int:
    """Return the HTTP status of an error, by its nearest class in the mapping; 500 for none."""
    for kind in type(error).__mro__:
        if kind in STATUS_BY_ERROR:
            return STATUS_BY_ERROR[kind]
    return 500


def problem(
    request_id: str,
    status: int,
    detail: str,
    code: str,
    faults: tuple[FieldFault, ...] = (),
    retry_after: int | None = None,
) -> Response:
    """Return an RFC 9457 problem response (what went wrong, what to do) and note its code for the log line."""
    bind_contextvars(code=code)
    body: dict[str, object] = {
        "type": f"urn:mnemon:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "requestId": request_id,
        "errors": [{"pointer": fault.pointer, "detail": fault.detail} for fault in faults],
    }
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    if status == HTTPStatus.UNAUTHORIZED:
        # RFC 9110 demands it with every 401.
        headers["WWW-Authenticate"] = 'Bearer realm="mnemon"'
    return Response(json.dumps(body), status, headers, media_type="application/problem+json")


def install_handlers(app: FastAPI) -> None:
    """Register the application's exception handlers, so that every error is answered as a problem."""
    app.add_exception_handler(MnemonError, _handle_mnemon_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, _handle_http_error)


async def _handle_mnemon_error(request: Request, error: Exception) -> Response:
    """Return the problem for an error of ours, with Retry-After where it is temporary."""
    assert isinstance(error, MnemonError)
    note_error(error)
    retry_after = getattr(error, "retry_after", None)
    if retry_after is None and isinstance(error, errors.Unavailable):
        retry_after = _RETRY_AFTER_S
    return problem(request.state.request_id, status_of(error), error.detail, error.code, error.faults, retry_after)


async def _handle_validation_error(request: Request, error: Exception) -> Response:
    """Return the 400 for a body that is not JSON, or the 422 that lists each invalid field."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(fault["type"] == "json_invalid" for fault in found):
        return problem(request.state.request_id, 400, "The body is not JSON. Send valid JSON.", "malformed_json")
    faults = _merge_alternatives(
        FieldFault(
            pointer=pointer_to(fault["loc"], error.body, missing=fault["type"] == "missing"),
            detail=_plain_message(fault),
        )
        for fault in found
    )
    named = ", ".join(dict.fromkeys(fault.pointer for fault in faults[:5]))
    detail = f"The request is invalid: see `errors` for {named}."
    if getattr(request.scope.get("route"), "include_in_schema", True):
        detail += " /openapi.json describes what is accepted."
    return problem(request.state.request_id, 422, detail, "invalid_request", faults)


async def _handle_http_error(request: Request, error: Exception) -> Response:
    """Return the problem for an error that FastAPI or Starlette raised, such as 404 and 405."""
    assert isinstance(error, HTTPException)
    # FastAPI makes any error while it reads a body a 400.
    if isinstance(error.__cause__, MnemonError):
        return await _handle_mnemon_error(request, error.__cause__)
    # Nobody is left to answer; the middleware notes it in the request's log line.
    if isinstance(error.__cause__, ClientDisconnect):
        raise error.__cause__
    code = FRAMEWORK_CODES.get(error.status_code, "invalid_request")
    show_page: Callable[[Request], Awaitable[Response]] | None = request.app.state.missing_page
    if code == "no_such_route" and show_page is not None and _is_for_reader(request):
        return await show_page(request)
    detail = "This path does not exist." if code == "no_such_route" else f"{str(error.detail).rstrip('.')}."
    if code == "method_not_allowed":
        detail = f"This path does not take {request.method}."
    response = problem(request.state.request_id, error.status_code, f"{detail} /openapi.json lists every route.", code)
    # Starlette sets headers of its own on some errors, such as Allow.
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    if code == "method_not_allowed":
        response.headers["Allow"] = ", ".join(sorted(_methods_of_path(request)))
    return response


def _is_for_reader(request: Request) -> bool:
    """Say whether a browser asks for a page to show, and not for something under a path of programs."""
    path = request.url.path
    if request.method not in {"GET", "HEAD"} or path.startswith(_PROGRAM_PATHS) or path.endswith(".json"):
        return False
    return "text/html" in request.headers.get("accept", "").lower()


def _methods_of_path(request: Request) -> set[str]:
    """Return every HTTP method the request's path takes, over all routes with this path."""
    routes = iter_route_contexts(request.app.router.routes)
    return {method for one in routes if one.matches(request.scope)[0] is not Match.NONE for method in one.methods or ()}


def pointer_to(place: Sequence[int | str], body: object, *, missing: bool) -> str:
    """Return where in the request a fault is: a JSON pointer into the body, or a parameter's name.

    The validator's locations also hold names of its own, such as the member of a union that it tried. Only steps that
    lead into this body, or a field that is missing there, become part of the pointer.
    """
    where, *path = place
    if where != "body":
        return f"{'?' if where == 'query' else f'{where}:'}{'.'.join(str(part) for part in path[:1])}"
    steps: list[str] = []
    here: Any = body
    for number, part in enumerate(path, 1):
        if _has_member(here, part):
            here = here[part]
        elif not (missing and number == len(path)):
            continue
        steps.append(str(part).replace("~", "~0").replace("/", "~1"))
    return "/" + "/".join(steps)


def _has_member(value: object, step: int | str) -> bool:
    """Say whether a JSON value has a member with this name or index."""
    if isinstance(value, list):
        return isinstance(step, int) and step < len(value)
    return isinstance(value, dict) and step in value


def _merge_alternatives(faults: Iterable[FieldFault]) -> tuple[FieldFault, ...]:
    """Return the faults with one for each place: the members of a union each say what they take, and any will do."""
    merged: dict[tuple[str, str], FieldFault] = {}
    for fault in faults:
        # Other faults of one place do not exclude each other, so each stays.
        alike = (fault.pointer, "" if fault.detail.startswith(_EXPECTED) else fault.detail)
        held = merged.get(alike)
        if held is not None and alike[1] == "" and fault.detail != held.detail:
            either = f"{held.detail}, or {fault.detail.removeprefix(_EXPECTED)}"
            merged[alike] = FieldFault(pointer=fault.pointer, detail=either)
        else:
            merged.setdefault(alike, fault)
    return tuple(merged.values())


def _plain_message(fault: Mapping[str, Any]) -> str:
    """Return pydantic's message without its prefix "Value error, ", and in the words of HTTP and JSON."""
    if tuple(fault["loc"]) == ("body",) and fault["type"] == "missing":
        return "There is no body; send one as JSON"
    if fault["type"] in {"model_attributes_type", "model_type", "dict_type"}:
        return "Input should be a JSON object"
    return str(fault["msg"]).removeprefix("Value error, ")


STATUSES_EVERYWHERE = (405, 408, 413, 422, 431, 503)
"""Statuses that a request to any path can get before its handler runs: 413 for a large body even with GET, 422 for a
NUL character in the address or one that is not UTF-8, 503 while the server stops."""
STATUSES_WITH_KEY = (401, 403, 429)
"""Statuses of an operation that takes a key: unknown, without the scope, used too often."""
STATUSES_WITH_JSON = (400, 415)
"""Statuses for a body that is not JSON, or not sent as JSON."""
_STATUS_BY_PARAMETER = {"cursor": 400, "last-event-id": 400, "if-match": 412}
"""What a parameter of this name adds: a place that is none, a version that is no longer current."""
_METHODS = frozenset({"get", "post", "put", "patch", "delete"})


def openapi_problem(status: int) -> dict[str, Any]:
    """Return the OpenAPI response of an operation that answers with a problem of this status."""
    schema = {"$ref": f"#/components/schemas/{_component_name(status)}"}
    return {
        "description": HTTPStatus(status).phrase,
        "content": {"application/problem+json": {"schema": schema}},
    }


def operation_statuses(operation: dict[str, Any], *, any_text: bool = False) -> set[int]:
    """Return the problems that follow from an operation's parameters, its body and its security.

    `any_text` says that the path takes any text, so that no address is without a route.
    """
    statuses = set(STATUSES_EVERYWHERE)
    if operation.get("security"):
        statuses.update(STATUSES_WITH_KEY)
    if "application/json" in operation.get("requestBody", {}).get("content", {}):
        statuses.update(STATUSES_WITH_JSON)
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path" and not any_text:
            statuses.add(404)
        elif parameter["name"] in _STATUS_BY_PARAMETER:
            statuses.add(_STATUS_BY_PARAMETER[parameter["name"]])
    return statuses


def problem_schema(status: int) -> dict[str, Any]:
    """Return the schema of a problem of this status: its `code` is one of those registered for it."""
    codes = CODES_BY_STATUS[status]
    schema = Problem.model_json_schema()
    schema["title"] = _component_name(status)
    schema["properties"]["status"] = {"type": "integer", "const": status, "title": "Status"}
    schema["properties"]["code"] = {"type": "string", "enum": list(codes), "title": "Code", "x-next-steps": codes}
    return schema


def document_problems(app: FastAPI) -> None:
    """Have the application's OpenAPI document name every problem, also of routes that are added later."""
    make: Callable[[], dict[str, Any]] = app.openapi

    def openapi_with_problems() -> dict[str, Any]:
        """Return FastAPI's OpenAPI document with a schema per problem, named at each operation."""
        document = make()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.update({_component_name(status): problem_schema(status) for status in CODES_BY_STATUS})
        any_text = {one.path_format for one in iter_route_contexts(app.router.routes) if ":any}" in (one.path or "")}
        for path, item in document["paths"].items():
            for operation in (item[method] for method in _METHODS & set(item)):
                given = {code: response for code, response in operation["responses"].items() if code != "422"}
                found = {
                    str(status): openapi_problem(status)
                    for status in operation_statuses(operation, any_text=path in any_text)
                }
                operation["responses"] = dict(sorted({**given, **found}.items()))
        # FastAPI's own shape of a 422, which is never sent.
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        return document

    app.openapi = openapi_with_problems  # type: ignore[method-assign]  # FastAPI's documented way to extend the document


def _component_name(status: int) -> str:
    """Return the name of the OpenAPI schema for problems of this status."""
    return f"Problem{status}"
