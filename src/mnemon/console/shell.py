"""What every page shares: how it and its `.json` twin are made, how a write is guarded, how a form is refused."""

import hmac
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import TypeAdapter
from starlette.datastructures import FormData
from starlette.routing import compile_path

from mnemon.access.grants import Grant
from mnemon.console.notice import NOTICE, Undoing, notice_cookie, read_notice
from mnemon.console.paper import render
from mnemon.console.sheet import refusal
from mnemon.console.visit import Visit, visitor
from mnemon.errors import Conflict, MnemonError, NotAllowed, NotFound, RateLimited, Unauthenticated, Unavailable
from mnemon.logs import note_error

_JSON: TypeAdapter[Any] = TypeAdapter(Any)
_STATUSES: tuple[tuple[type[MnemonError], int], ...] = (
    (NotFound, 404),
    (NotAllowed, 403),
    (Unauthenticated, 401),
    (Conflict, 409),
    (RateLimited, 429),
    (Unavailable, 503),
)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A page's content: the same values for the template and for the `.json` twin."""

    title: str
    data: Mapping[str, Any] = field(default_factory=dict)
    """Plain values, dataclasses or models: whatever JSON can carry."""


@dataclass(frozen=True, kw_only=True)
class Went:
    """Where an action leads, and what it says there."""

    to: str
    notice: str
    undo: str | None = None
    """The action that takes it back, offered beside the notice."""


Page = Callable[..., Awaitable[Shown]]
Action = Callable[..., Awaitable[Went | Shown]] | Callable[..., Awaitable[Went]] | Callable[..., Awaitable[Shown]]
Download = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True, kw_only=True)
class Place:
    """A page and where it is served."""

    pattern: re.Pattern[str]
    handler: Page
    template: str
    grant: Grant


_PLACES: list[Place] = []
_UNDOES: list[Undoing] = []
"""The forms that a notice may offer to undo what it tells of."""


def page(router: APIRouter, path: str, template: str, *, grant: Grant) -> Callable[[Page], Page]:
    """Serves the page at its path and its values at `path.json`; path parameters reach the function by name."""

    def register(handler: Page) -> Page:
        place = Place(pattern=compile_path(path)[0], handler=handler, template=template, grant=grant)
        _PLACES.append(place)

        async def shown(request: Request) -> Response:
            return await _guarded(request, lambda: _show(request, place))

        twin = "/index.json" if path == "/" else f"{path}.json"
        for address in (twin, path):  # the twin first: `{id}` would swallow `.json`
            router.add_api_route(address, shown, methods=["GET"], include_in_schema=False)
        return handler

    return register


def action(
    router: APIRouter, path: str, *, grant: Grant, template: str = "", field: str = "", undoes: str | None = None
) -> Callable[[Action], Action]:
    """Serves a write by POST: signed in, with the session's CSRF token, ending in a redirect with a notice.

    What may be seen only once is shown at once instead, with the template. A form that is refused comes back on its
    page as it was filled in; an error that names no field is said beside `field`. A notice may offer to undo by this
    action if `undoes` says what the query then begins with.
    """

    def register(handler: Action) -> Action:
        if undoes is not None:
            _UNDOES.append(Undoing(path=compile_path(path)[0], query=undoes))

        async def done(request: Request) -> Response:
            return await _guarded(request, lambda: _act(request, handler, grant, template, field))

        router.add_api_route(path, done, methods=["POST"], include_in_schema=False)
        return handler

    return register


def download(router: APIRouter, path: str, *, grant: Grant) -> Callable[[Download], Download]:
    """Serves a file by GET to whoever is signed in and has the grant."""

    def register(handler: Download) -> Download:
        async def sent(request: Request) -> Response:
            return await _guarded(request, lambda: _send(request, handler, grant))

        router.add_api_route(path, sent, methods=["GET"], include_in_schema=False)
        return handler

    return register


async def _show(request: Request, place: Place) -> Response:
    visit = await visitor(request)
    visit.require(place.grant)
    params = {name: str(value).removesuffix(".json") for name, value in request.path_params.items()}
    shown = await place.handler(visit, **params)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if visit.refused else HTTPStatus.OK
    if request.url.path.endswith(".json"):
        return Response(_JSON.dump_json({"title": shown.title, **shown.data}), status, media_type="application/json")
    cookie = request.cookies.get(NOTICE)
    response = _page(place.template, visit, shown, status, notice=read_notice(cookie, _UNDOES))
    if cookie:
        response.delete_cookie(NOTICE)
    return response


def _page(template: str, visit: Visit, shown: Shown, status: int = 200, **more: Any) -> HTMLResponse:
    return HTMLResponse(render(template, {**shown.data, "visit": visit, "title": shown.title, **more}), status)


async def _send(request: Request, handler: Download, grant: Grant) -> Response:
    visit = await visitor(request)
    visit.require(grant)
    return await handler(visit)


async def _act(request: Request, handler: Action, grant: Grant, template: str, field: str) -> Response:
    visit = await visitor(request)
    form = await request.form()
    sent = request.headers.get("X-CSRF-Token") or str(form.get("csrf", ""))
    if not hmac.compare_digest(sent.encode(), visit.csrf.encode()):
        raise NotAllowed("The form is not from this session. Go back, reload the page and try again.", code="csrf")
    visit.require(grant)
    params = {name: str(value) for name, value in request.path_params.items()}
    typed = clean(form)
    try:
        went = await handler(visit, typed, **params)
    except MnemonError as error:
        return await _again(visit, typed, error, field)
    if isinstance(went, Shown):
        at = own(typed.get("at", "/"))
        response: Response = _page(template, visit, went, at=at)
        response.headers["HX-Push-Url"] = at
        return response
    response = RedirectResponse(own(went.to), HTTPStatus.SEE_OTHER)
    response.set_cookie(NOTICE, notice_cookie(went.notice, went.undo), max_age=60, httponly=True, samesite="strict")
    return response


async def _again(visit: Visit, typed: Mapping[str, str], error: MnemonError, field: str) -> Response:
    """The page the form stands on, with the form as it was filled in and what is wrong with it.

    The address stays the page's, so that loading it again sends nothing. What names no page of ours, or one that is
    gone, gets the error alone.
    """
    at = own(typed.get("at", ""))
    where = unquote(urlsplit(at).path)
    place, match = next(((one, found) for one in _PLACES if (found := one.pattern.match(where))), (None, None))
    status = _status(error)
    if place is None or match is None or not typed.get("at") or status >= 500 or not visit.principal.may(place.grant):
        raise error
    again = Visit(visit.request, visit.principal, visit.secret, at=at)
    again.refused = refusal(visit.path, typed, error, field)
    try:
        shown = await place.handler(again, **match.groupdict())
    except MnemonError:
        raise error from None
    response = _page(place.template, again, shown, status, at=at)
    response.headers["HX-Push-Url"] = "false"
    return response


def own(address: str) -> str:
    """The address if it is one of ours; never another site's."""
    return address if address.startswith("/") and not address.startswith(("//", "/\\")) else "/"


def clean(form: FormData) -> dict[str, str]:
    """The form's words, without what no database text can hold."""
    return {name: value.replace("\0", "") for name, value in form.items() if isinstance(value, str)}


async def _guarded(request: Request, work: Callable[[], Awaitable[Response]]) -> Response:
    """An error of ours becomes a page that says it, or the way to sign in; who asks for JSON gets a problem."""
    try:
        response = await work()
    except MnemonError as error:
        if request.method == "GET" and request.url.path.endswith(".json"):
            raise
        if request.method == "GET" and isinstance(error, Unauthenticated):
            response = RedirectResponse(f"/sign-in?next={quote(_local(request))}", HTTPStatus.SEE_OTHER)
        else:
            response = _trouble(request, error)
    for name, value in HEADERS.items():
        response.headers[name] = value
    return response


def _status(error: MnemonError) -> int:
    return next((code for kind, code in _STATUSES if isinstance(error, kind)), 422)


def _trouble(request: Request, error: MnemonError) -> Response:
    """A page that says the error, within the console for who is signed in."""
    note_error(error)
    status, visit = _status(error), getattr(request.state, "visit", None)
    html = render("trouble.html", {"title": "That did not work", "error": error, "status": status, "visit": visit})
    headers = {"Retry-After": str(error.retry_after)} if isinstance(error, RateLimited) else None
    return HTMLResponse(html, status, headers)


def _local(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Nothing from elsewhere, nothing inline, nothing framed, nothing kept."""
