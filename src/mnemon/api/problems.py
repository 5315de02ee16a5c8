"""Errors as `application/problem+json`: the one mapping from our errors to statuses, and the door's boundary."""

import json
from collections.abc import Sequence
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
from mnemon.api.codes import HTTP_CODES
from mnemon.errors import Fault, MnemonError
from mnemon.logs import note_error

STATUSES: dict[type[MnemonError], int] = {
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


def status_of(error: MnemonError) -> int:
    """The status of the nearest class in the tree."""
    for kind in type(error).__mro__:
        if kind in STATUSES:
            return STATUSES[kind]
    return 500


def problem(
    request_id: str, status: int, detail: str, code: str, faults: tuple[Fault, ...] = (), retry_after: int | None = None
) -> Response:
    """The response that says what went wrong and what to do; the request's log line has its code."""
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
        headers["WWW-Authenticate"] = 'Bearer realm="mnemon"'
    return Response(json.dumps(body), status, headers, media_type="application/problem+json")


def install(app: FastAPI) -> None:
    """Every error of the application leaves as a problem."""
    app.add_exception_handler(MnemonError, _ours)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(HTTPException, _http)


async def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, MnemonError)
    note_error(error)
    retry_after = getattr(error, "retry_after", None)
    if retry_after is None and isinstance(error, errors.Unavailable):
        retry_after = _RETRY_AFTER_S
    return problem(request.state.request_id, status_of(error), error.detail, error.code, error.faults, retry_after)


async def _unreadable(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(fault["type"] == "json_invalid" for fault in found):
        return problem(request.state.request_id, 400, "The body is not JSON. Send valid JSON.", "malformed_json")
    faults = tuple(
        Fault(
            pointer=pointer_to(fault["loc"], error.body, missing=fault["type"] == "missing"),
            detail=_sentence(fault["msg"]),
        )
        for fault in found
    )
    named = ", ".join(dict.fromkeys(fault.pointer for fault in faults[:5]))
    detail = f"The request cannot be used as it is: see `errors` for {named}. /openapi.json describes what is taken."
    return problem(request.state.request_id, 422, detail, "invalid_request", faults)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, MnemonError):  # FastAPI says 400 for whatever goes wrong while it reads a body
        return await _ours(request, error.__cause__)
    if isinstance(error.__cause__, ClientDisconnect):
        raise error.__cause__
    code = HTTP_CODES.get(error.status_code, "invalid_request")
    detail = "There is nothing here." if code == "no_such_route" else f"{str(error.detail).rstrip('.')}."
    if code == "method_not_allowed":
        detail = f"This path does not take {request.method}."
    response = problem(request.state.request_id, error.status_code, f"{detail} /openapi.json lists every route.", code)
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    if code == "method_not_allowed":
        response.headers["Allow"] = ", ".join(sorted(_methods_of_path(request)))
    return response


def _methods_of_path(request: Request) -> set[str]:
    """Every method that the path takes; the framework names those of one route, and a path has a route per method."""
    routes = iter_route_contexts(request.app.router.routes)
    return {method for one in routes if one.matches(request.scope)[0] is not Match.NONE for method in one.methods or ()}


def pointer_to(place: Sequence[int | str], body: object, *, missing: bool) -> str:
    """Where in the request the fault is: a JSON pointer into the body, or a parameter's name.

    The validator's places also hold names of its own, such as the member of a union that it tried. Only what leads
    into this body, or a field that is missing there, stands in a pointer.
    """
    where, *path = place
    if where != "body":
        return f"{'?' if where == 'query' else f'{where}:'}{'.'.join(str(part) for part in path[:1])}"
    steps: list[str] = []
    here: Any = body
    for number, part in enumerate(path, 1):
        if _leads_on(here, part):
            here = here[part]
        elif not (missing and number == len(path)):
            continue
        steps.append(str(part).replace("~", "~0").replace("/", "~1"))
    return "/" + "/".join(steps)


def _leads_on(value: object, step: int | str) -> bool:
    """Whether the value has a member of that name or place."""
    if isinstance(value, list):
        return isinstance(step, int) and step < len(value)
    return isinstance(value, dict) and step in value


def _sentence(message: str) -> str:
    return message.removeprefix("Value error, ")
