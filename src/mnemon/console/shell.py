"""What every page shares: who visits, how a page and its `.json` twin are made, how a write is guarded."""

import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import TypeAdapter
from starlette.datastructures import FormData

from mnemon.access import signin
from mnemon.access import store as access
from mnemon.access.grants import Grant
from mnemon.access.principal import Principal
from mnemon.basement import Basement
from mnemon.console.paper import render
from mnemon.db.tx import Tx
from mnemon.errors import MnemonError, NotAllowed, NotFound, Unauthenticated
from mnemon.scope import Scope, person

COOKIE = "mnemon_console"
NOTICE = "mnemon_notice"
_JSON: TypeAdapter[Any] = TypeAdapter(Any)
_STATUSES: tuple[tuple[type[MnemonError], int], ...] = ((NotFound, 404), (NotAllowed, 403), (Unauthenticated, 401))


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


class Visit:
    """One request of someone who is signed in."""

    def __init__(self, request: Request, principal: Principal, secret: str) -> None:
        self.request = request
        self.principal = principal
        self.basement: Basement = request.app.state.basement
        self.csrf = signin.csrf_token(secret)

    @property
    def org(self) -> Scope:
        return Scope(org_id=self.principal.org_id)

    @property
    def path(self) -> str:
        """The page's address without `.json`."""
        return self.request.url.path.removesuffix(".json")

    def person(self, user_id: str, persona_id: str | None = None) -> Scope:
        return person(self.principal.org_id, user_id, persona_id)

    def asked(self, name: str, default: str = "") -> str:
        """A word of the page's state, which stands in its address."""
        return self.request.query_params.get(name, default).replace("\0", "").strip()

    def address(self, **changes: str | int | None) -> str:
        """This page's address with some of its state changed; None takes a word out."""
        words = {**self.request.query_params, **changes}
        kept = {name: value for name, value in words.items() if value not in (None, "")}
        return f"{self.path}?{urlencode(kept)}" if kept else self.path

    @asynccontextmanager
    async def tx(self) -> AsyncIterator[Tx]:
        async with self.basement.db.tx(self.principal.org_id) as tx:
            yield tx

    async def note(self, tx: Tx, action: str, target: str | None = None) -> None:
        """The write stands in the audit log, with the transaction that did it."""
        await access.note(self.org, tx, actor=self.principal.key_id, action=action, target=target)

    def number(self, name: str, default: int, *, most: int) -> int:
        """A number of the page's state, from 1 to the most."""
        word = self.asked(name)
        return max(1, min(int(word), most)) if word.isascii() and word.isdigit() and len(word) < 10 else default

    def require(self, grant: Grant) -> None:
        if not self.principal.may(grant):
            raise NotAllowed(f"Your sign-in lacks the scope `{grant}`.", code="missing_scope")


Page = Callable[..., Awaitable[Shown]]
Action = Callable[..., Awaitable[Went | Shown]] | Callable[..., Awaitable[Went]] | Callable[..., Awaitable[Shown]]
Download = Callable[[Visit], Awaitable[Response]]


def page(router: APIRouter, path: str, template: str, *, grant: Grant) -> Callable[[Page], Page]:
    """Serves the page at its path and its values at `path.json`; path parameters reach the function by name."""

    def register(handler: Page) -> Page:
        async def shown(request: Request) -> Response:
            return await _guarded(request, lambda: _show(request, handler, template, grant))

        twin = "/index.json" if path == "/" else f"{path}.json"
        for address in (twin, path):  # the twin first: `{id}` would swallow `.json`
            router.add_api_route(address, shown, methods=["GET"], include_in_schema=False)
        return handler

    return register


def action(router: APIRouter, path: str, *, grant: Grant, template: str = "") -> Callable[[Action], Action]:
    """Serves a write by POST: signed in, with the session's CSRF token, ending in a redirect with a notice.

    What may be seen only once is shown at once instead, with the template.
    """

    def register(handler: Action) -> Action:
        async def done(request: Request) -> Response:
            return await _guarded(request, lambda: _act(request, handler, grant, template))

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


async def visitor(request: Request) -> Visit:
    """Whoever the cookie belongs to."""
    org_id, secret = signin.split(request.cookies.get(COOKIE, ""))
    basement: Basement = request.app.state.basement
    async with basement.db.tx(org_id) as tx:
        principal = await signin.session(tx, Scope(org_id=org_id), secret)
    return Visit(request, principal, secret)


async def _show(request: Request, handler: Page, template: str, grant: Grant) -> Response:
    visit = await visitor(request)
    visit.require(grant)
    params = {name: str(value).removesuffix(".json") for name, value in request.path_params.items()}
    shown = await handler(visit, **params)
    if request.url.path.endswith(".json"):
        return Response(_JSON.dump_json({"title": shown.title, **shown.data}), media_type="application/json")
    notice = request.cookies.get(NOTICE)
    said = json.loads(unquote(notice)) if notice else None
    html = render(template, {**shown.data, "visit": visit, "title": shown.title, "notice": said})
    response = HTMLResponse(html)
    if notice:
        response.delete_cookie(NOTICE)
    return response


async def _send(request: Request, handler: Download, grant: Grant) -> Response:
    visit = await visitor(request)
    visit.require(grant)
    return await handler(visit)


async def _act(request: Request, handler: Action, grant: Grant, template: str) -> Response:
    visit = await visitor(request)
    form = await request.form()
    sent = request.headers.get("X-CSRF-Token") or str(form.get("csrf", ""))
    if not hmac.compare_digest(sent.encode(), visit.csrf.encode()):
        raise NotAllowed("The form is not from this session. Go back, reload the page and try again.", code="csrf")
    visit.require(grant)
    params = {name: str(value) for name, value in request.path_params.items()}
    went = await handler(visit, clean(form), **params)
    if isinstance(went, Shown):
        return HTMLResponse(render(template, {**went.data, "visit": visit, "title": went.title}))
    response = RedirectResponse(own(went.to), HTTPStatus.SEE_OTHER)
    said = quote(json.dumps({"text": went.notice, "undo": went.undo}))
    response.set_cookie(NOTICE, said, max_age=60, httponly=True, samesite="strict")
    return response


def own(address: str) -> str:
    """The address if it is one of ours; never another site's."""
    return address if address.startswith("/") and not address.startswith(("//", "/\\")) else "/"


def clean(form: FormData) -> dict[str, str]:
    """The form's words, without what no database text can hold."""
    return {name: value.replace("\0", "") for name, value in form.items() if isinstance(value, str)}


async def _guarded(request: Request, work: Callable[[], Awaitable[Response]]) -> Response:
    """An error of ours becomes a page that says it, or the way to sign in."""
    try:
        response = await work()
    except Unauthenticated as error:
        if request.method == "GET" and not request.url.path.endswith(".json"):
            response = RedirectResponse(f"/sign-in?next={quote(_local(request))}", HTTPStatus.SEE_OTHER)
        else:
            response = _trouble(error)
    except MnemonError as error:
        response = _trouble(error)
    for name, value in HEADERS.items():
        response.headers[name] = value
    return response


def _trouble(error: MnemonError) -> Response:
    status = next((code for kind, code in _STATUSES if isinstance(error, kind)), 422)
    html = render("trouble.html", {"title": "That did not work", "error": error, "status": status})
    return HTMLResponse(html, status)


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
