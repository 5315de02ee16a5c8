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
    """A page's content: the same values for the template and for the `.json` twin."""

    title: str
    data: Mapping[str, Any] = field(default_factory=dict)
    """Plain values, dataclasses or models: whatever JSON can carry."""


@dataclass(frozen=True, kw_only=True)
class ActionRedirect:
    """Where an action leads, and what it says there."""

    to: str
    notice: str
    undo: str | None = None
    """The action that takes it back, offered beside the notice."""


PageHandler = Callable[..., Awaitable[PageContent]]
ActionHandler = (
    Callable[..., Awaitable[ActionRedirect | PageContent]]
    | Callable[..., Awaitable[ActionRedirect]]
    | Callable[..., Awaitable[PageContent]]
)
DownloadHandler = Callable[[PageRequest], Awaitable[Response]]


@dataclass(frozen=True, kw_only=True)
class PageRoute:
    """A page and where it is served."""

    pattern: re.Pattern[str]
    handler: PageHandler
    template: str
    grant: Grant


_PAGE_ROUTES: list[PageRoute] = []
_UNDO_FORMS: list[UndoForm] = []
"""The forms that a notice may offer to undo what it tells of."""


def page(router: APIRouter, path: str, template: str, *, grant: Grant) -> Callable[[PageHandler], PageHandler]:
    """Serves the page at its path and its values at `path.json`; path parameters reach the function by name."""

    def register_page(handler: PageHandler) -> PageHandler:
        place = PageRoute(pattern=compile_path(path)[0], handler=handler, template=template, grant=grant)
        _PAGE_ROUTES.append(place)

        async def shown(request: Request) -> Response:
            return await _handle_errors(request, lambda: _serve_page(request, place))

        twin = "/index.json" if path == "/" else f"{path}.json"
        for address in (twin, path):  # the twin first: `{id}` would swallow `.json`
            router.add_api_route(address, shown, methods=["GET"], include_in_schema=False)
        return handler

    return register_page


def action(
    router: APIRouter, path: str, *, grant: Grant, template: str = "", field: str = "", undoes: str | None = None
) -> Callable[[ActionHandler], ActionHandler]:
    """Serves a write by POST: signed in, with the session's CSRF token, ending in a redirect with a notice.

    What may be seen only once is shown at once instead, with the template. A form that is refused comes back on its
    page as it was filled in; an error that names no field is said beside `field`. A notice may offer to undo by this
    action if `undoes` says what the query then begins with.
    """

    def register_action(handler: ActionHandler) -> ActionHandler:
        if undoes is not None:
            _UNDO_FORMS.append(UndoForm(path=compile_path(path)[0], query=undoes))

        async def done(request: Request) -> Response:
            return await _handle_errors(request, lambda: _serve_action(request, handler, grant, template, field))

        router.add_api_route(path, done, methods=["POST"], include_in_schema=False)
        return handler

    return register_action


def download(router: APIRouter, path: str, *, grant: Grant) -> Callable[[DownloadHandler], DownloadHandler]:
    """Serves a file by GET to whoever is signed in and has the grant."""

    def register_download(handler: DownloadHandler) -> DownloadHandler:
        async def sent(request: Request) -> Response:
            return await _handle_errors(request, lambda: _serve_download(request, handler, grant))

        router.add_api_route(path, sent, methods=["GET"], include_in_schema=False)
        return handler

    return register_download


async def _serve_page(request: Request, place: PageRoute) -> Response:
    visit = await admit_request(request)
    visit.require_grant(place.grant)
    params = {name: str(value).removesuffix(".json") for name, value in request.path_params.items()}
    shown = await place.handler(visit, **params)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if visit.refused else HTTPStatus.OK
    if request.url.path.endswith(".json"):
        return Response(
            _JSON_ADAPTER.dump_json({"title": shown.title, **shown.data}), status, media_type="application/json"
        )
    cookie = request.cookies.get(NOTICE_COOKIE)
    response = _render_page(place.template, visit, shown, status, notice=read_notice(cookie, _UNDO_FORMS))
    if cookie:
        response.delete_cookie(NOTICE_COOKIE)
    return response


def _render_page(template: str, visit: PageRequest, shown: PageContent, status: int = 200, **more: Any) -> HTMLResponse:
    return HTMLResponse(render(template, {**shown.data, "visit": visit, "title": shown.title, **more}), status)


async def _serve_download(request: Request, handler: DownloadHandler, grant: Grant) -> Response:
    visit = await admit_request(request)
    visit.require_grant(grant)
    return await handler(visit)


async def _serve_action(request: Request, handler: ActionHandler, grant: Grant, template: str, field: str) -> Response:
    visit = await admit_request(request)
    form = await request.form()
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
        response.headers["HX-Push-Url"] = at
        return response
    response = RedirectResponse(local_address(went.to), HTTPStatus.SEE_OTHER)
    response.set_cookie(
        NOTICE_COOKIE, notice_cookie(went.notice, went.undo), max_age=60, httponly=True, samesite="strict"
    )
    return response


async def _show_refused_form(visit: PageRequest, typed: Mapping[str, str], error: MnemonError, field: str) -> Response:
    """The page the form stands on, with the form as it was filled in and what is wrong with it.

    The address stays the page's, so that loading it again sends nothing. What names no page of ours, or one that is
    gone, gets the error alone.
    """
    at = local_address(typed.get("at", ""))
    where = unquote(urlsplit(at).path)
    place, match = next(((one, found) for one in _PAGE_ROUTES if (found := one.pattern.match(where))), (None, None))
    status = _status_code(error)
    if place is None or match is None or not typed.get("at") or status >= 500 or not visit.principal.may(place.grant):
        raise error
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
    """The address if it is one of ours; never another site's."""
    return address if address.startswith("/") and not address.startswith(("//", "/\\")) else "/"


def clean_form(form: FormData) -> dict[str, str]:
    """The form's words, without what no database text can hold."""
    return {name: value.replace("\0", "") for name, value in form.items() if isinstance(value, str)}


async def _handle_errors(request: Request, work: Callable[[], Awaitable[Response]]) -> Response:
    """An error of ours becomes a page that says it, or the way to sign in; who asks for JSON gets a problem."""
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


def _status_code(error: MnemonError) -> int:
    return next((code for kind, code in _STATUS_CODES if isinstance(error, kind)), 422)


def _error_page(request: Request, error: MnemonError) -> Response:
    """A page that says the error, within the console for who is signed in."""
    note_error(error)
    status, visit = _status_code(error), getattr(request.state, "visit", None)
    html = render("trouble.html", {"title": "That did not work", "error": error, "status": status, "visit": visit})
    headers = {"Retry-After": str(error.retry_after)} if isinstance(error, RateLimited) else None
    return HTMLResponse(html, status, headers)


def _request_address(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Nothing from elsewhere, nothing inline, nothing framed, nothing kept."""
