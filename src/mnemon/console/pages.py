"""Decorators that serve pages, actions and downloads, with what they share.

`page` serves HTML and its `.json` twin, `action` a write by POST, `download` a file. All of them authenticate the
session, check the grant, turn errors into pages and add the security headers; `action` also checks the CSRF token and
shows a refused form again.
"""

import hmac
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
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
from mnemon.console.forms import NOTICE_COOKIE, UndoForm, form_refusal, notice_cookie, read_notice
from mnemon.console.page_request import PageRequest, admit_request
from mnemon.console.rendering import render
from mnemon.errors import Conflict, MnemonError, NotAllowed, NotFound, RateLimited, Unauthenticated, Unavailable
from mnemon.logs import note_error

_JSON_ADAPTER: TypeAdapter[Any] = TypeAdapter(Any)
_STATUS_CODES: tuple[tuple[type[MnemonError], int], ...] = (
    (NotFound, 404),
    (NotAllowed, 403),
    (Unauthenticated, 401),
    (Conflict, 409),
    (RateLimited, 429),
    (Unavailable, 503),
)


@dataclass(frozen=True, kw_only=True)
class PageContent:
    """A page's title and values, the same for the template and for the `.json` twin."""

    title: str
    data: Mapping[str, Any] = field(default_factory=dict)
    """Plain values, dataclasses or models: whatever pydantic can write as JSON."""


@dataclass(frozen=True, kw_only=True)
class ActionRedirect:
    """Where an action redirects to, and the notice shown there."""

    to: str
    notice: str
    undo: str | None = None
    """The address of the action that undoes it, offered beside the notice."""


PageHandler = Callable[..., Awaitable[PageContent]]
ActionHandler = (
    Callable[..., Awaitable[ActionRedirect | PageContent]]
    | Callable[..., Awaitable[ActionRedirect]]
    | Callable[..., Awaitable[PageContent]]
)
DownloadHandler = Callable[[PageRequest], Awaitable[Response]]


@dataclass(frozen=True, kw_only=True)
class PageRoute:
    """A page with its path pattern, handler, template and grant."""

    pattern: re.Pattern[str]
    handler: PageHandler
    template: str
    grant: Grant


_PAGE_ROUTES: list[PageRoute] = []
"""All pages, to find the one that a refused form came from."""
_UNDO_FORMS: list[UndoForm] = []
"""The actions that a notice may offer as undo."""


def page(router: APIRouter, path: str, template: str, *, grant: Grant) -> Callable[[PageHandler], PageHandler]:
    """Return a decorator that serves a function's page at the path, and its values at `path.json`.

    Path parameters are passed to the function by name.
    """

    def register_page(handler: PageHandler) -> PageHandler:
        """Add the page's route and its `.json` twin to the router; return the handler unchanged."""
        place = PageRoute(pattern=compile_path(path)[0], handler=handler, template=template, grant=grant)
        _PAGE_ROUTES.append(place)

        async def answer_get(request: Request) -> Response:
            """Answer a GET of the page or of its `.json` twin."""
            return await _handle_errors(request, lambda: _serve_page(request, place))

        twin = "/index.json" if path == "/" else f"{path}.json"
        for address in (twin, path):  # the twin first: `{id}` also matches `id.json`
            router.add_api_route(address, answer_get, methods=["GET"], include_in_schema=False)
        return handler

    return register_page


def action(
    router: APIRouter, path: str, *, grant: Grant, template: str = "", field: str = "", undoes: str | None = None
) -> Callable[[ActionHandler], ActionHandler]:
    """Return a decorator that serves a function as a form's POST, for signed-in requests with the CSRF token.

    The function returns a redirect with a notice, or content that is rendered at once with `template`, for what may be
    shown only once. A refused form is shown again on its page as it was filled in; an error that names no field is
    shown beside `field`. An action with `undoes` may be offered as undo by a notice, with a query that begins so.
    """

    def register_action(handler: ActionHandler) -> ActionHandler:
        """Add the action's POST route, and its undo form if it has one; return the handler unchanged."""
        if undoes is not None:
            _UNDO_FORMS.append(UndoForm(path=compile_path(path)[0], query=undoes))

        async def answer_post(request: Request) -> Response:
            """Answer a POST of the form."""
            return await _handle_errors(request, lambda: _serve_action(request, handler, grant, template, field))

        router.add_api_route(path, answer_post, methods=["POST"], include_in_schema=False)
        return handler

    return register_action


def download(router: APIRouter, path: str, *, grant: Grant) -> Callable[[DownloadHandler], DownloadHandler]:
    """Return a decorator that serves a function's response by GET, for signed-in requests with the grant."""

    def register_download(handler: DownloadHandler) -> DownloadHandler:
        """Add the download's route to the router; return the handler unchanged."""

        async def answer_get(request: Request) -> Response:
            """Answer a GET of the file to download."""
            return await _handle_errors(request, lambda: _serve_download(request, handler, grant))

        router.add_api_route(path, answer_get, methods=["GET"], include_in_schema=False)
        return handler

    return register_download


async def _serve_page(request: Request, place: PageRoute) -> Response:
    """Authenticate, run the page's handler, and return its values as HTML or as JSON."""
    visit = await admit_request(request)
    visit.require_grant(place.grant)
    params = {name: str(value).removesuffix(".json") for name, value in request.path_params.items()}
    shown = await place.handler(visit, **params)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if visit.refused else HTTPStatus.OK
    if request.url.path.endswith(".json"):
        return Response(
            _JSON_ADAPTER.dump_json({"title": shown.title, **shown.data}), status, media_type="application/json"
        )
    # A notice is shown once, by the first page after its action.
    cookie = request.cookies.get(NOTICE_COOKIE)
    response = _render_page(place.template, visit, shown, status, notice=read_notice(cookie, _UNDO_FORMS))
    if cookie:
        response.delete_cookie(NOTICE_COOKIE)
    return response


def _render_page(template: str, visit: PageRequest, shown: PageContent, status: int = 200, **more: Any) -> HTMLResponse:
    """Return the page as an HTML response with this status."""
    return HTMLResponse(render(template, {**shown.data, "visit": visit, "title": shown.title, **more}), status)


async def _serve_download(request: Request, handler: DownloadHandler, grant: Grant) -> Response:
    """Authenticate, check the grant, and return the download's response."""
    visit = await admit_request(request)
    visit.require_grant(grant)
    return await handler(visit)


async def _serve_action(request: Request, handler: ActionHandler, grant: Grant, template: str, field: str) -> Response:
    """Authenticate, check CSRF token and grant, run the action, and redirect with its notice."""
    visit = await admit_request(request)
    form = await request.form()
    # htmx sends the header, a form without script the field.
    sent = request.headers.get("X-CSRF-Token") or str(form.get("csrf", ""))
    if not hmac.compare_digest(sent.encode(), visit.csrf.encode()):
        raise NotAllowed("The form is not from this session. Go back, reload the page and try again.", code="csrf")
    visit.require_grant(grant)
    params = {name: str(value) for name, value in request.path_params.items()}
    typed = clean_form(form)
    try:
        went = await handler(visit, typed, **params)
    except MnemonError as error:
        return await _show_refused_form(visit, typed, error, field)
    if isinstance(went, PageContent):
        at = local_address(typed.get("at", "/"))
        response: Response = _render_page(template, visit, went, at=at)
        # The address of the form's page: a reload must not post again.
        response.headers["HX-Push-Url"] = at
        return response
    response = RedirectResponse(local_address(went.to), HTTPStatus.SEE_OTHER)
    response.set_cookie(
        NOTICE_COOKIE, notice_cookie(went.notice, went.undo), max_age=60, httponly=True, samesite="strict"
    )
    return response


async def _show_refused_form(visit: PageRequest, typed: Mapping[str, str], error: MnemonError, field: str) -> Response:
    """Return the page that the refused form is on, as it was filled in, with its errors.

    The browser keeps the page's address, so that a reload sends nothing. Raises the error again when the form names no
    page of the console, the page is gone or not allowed, or the error is the server's.
    """
    at = local_address(typed.get("at", ""))
    where = unquote(urlsplit(at).path)
    place, match = next(((one, found) for one in _PAGE_ROUTES if (found := one.pattern.match(where))), (None, None))
    status = _status_code(error)
    if place is None or match is None or not typed.get("at") or status >= 500 or not visit.principal.may(place.grant):
        raise error
    # The page is rendered as if it had been requested, at its own address and with its own query.
    again = PageRequest(visit.request, visit.principal, visit.secret, at=at)
    again.refused = form_refusal(visit.path, typed, error, field)
    try:
        shown = await place.handler(again, **match.groupdict())
    except MnemonError:
        raise error from None
    response = _render_page(place.template, again, shown, status, at=at)
    response.headers["HX-Push-Url"] = "false"
    return response


def local_address(address: str) -> str:
    """Return the address if it is a path on this server, else `/`, so that no redirect leads to another site."""
    # Browsers read `//host` and `/\host` as another host.
    return address if address.startswith("/") and not address.startswith(("//", "/\\")) else "/"


def clean_form(form: FormData) -> dict[str, str]:
    """Return the form's text fields without NUL characters, which PostgreSQL cannot store."""
    return {name: value.replace("\0", "") for name, value in form.items() if isinstance(value, str)}


async def _handle_errors(request: Request, work: Callable[[], Awaitable[Response]]) -> Response:
    """Run `work`; turn a MnemonError into an error page or a redirect to sign in. For `.json` let it pass."""
    try:
        response = await work()
    except MnemonError as error:
        if request.method == "GET" and request.url.path.endswith(".json"):
            raise
        if request.method == "GET" and isinstance(error, Unauthenticated):
            response = RedirectResponse(f"/sign-in?next={quote(_request_address(request))}", HTTPStatus.SEE_OTHER)
        else:
            response = _error_page(request, error)
    for name, value in SECURITY_HEADERS.items():
        response.headers[name] = value
    return response


async def show_missing_page(request: Request) -> Response:
    """Return the error page for an address that is no page, with the console's navigation when signed in."""

    async def refuse_address() -> Response:
        """Raise NotFound, after the session was looked up for the navigation."""
        with suppress(Unauthenticated):
            await admit_request(request)
        raise NotFound("page", detail="There is no such page. Check the address.", code="no_such_route")

    return await _handle_errors(request, refuse_address)


def _status_code(error: MnemonError) -> int:
    """Return the HTTP status of the error page for this error; 422 for one that is not listed."""
    return next((code for kind, code in _STATUS_CODES if isinstance(error, kind)), 422)


def _error_page(request: Request, error: MnemonError) -> Response:
    """Return the error page, with the console's navigation when signed in."""
    note_error(error)
    status, visit = _status_code(error), getattr(request.state, "visit", None)
    html = render("trouble.html", {"title": "That did not work", "error": error, "status": status, "visit": visit})
    headers = {"Retry-After": str(error.retry_after)} if isinstance(error, RateLimited) else None
    return HTMLResponse(html, status, headers)


def _request_address(request: Request) -> str:
    """Return the request's path and query, to come back to after signing in."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every page: no foreign or inline scripts and styles, no framing, no sniffing, no caching."""
