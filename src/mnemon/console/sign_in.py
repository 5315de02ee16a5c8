"""Sign in with a key or a link, sign out, and serve the static files."""

from functools import cache
from hashlib import sha256
from http import HTTPStatus
from importlib.resources import files
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from mnemon.access import keys, signin
from mnemon.access.audit import record_write
from mnemon.console.page_request import SESSION_COOKIE, authenticate_session
from mnemon.console.pages import SECURITY_HEADERS, local_address
from mnemon.console.rendering import render
from mnemon.errors import MnemonError, NotAllowed, NotFound, RateLimited, Unavailable
from mnemon.logs import note_error
from mnemon.scope import Scope
from mnemon.services import Services

router = APIRouter(include_in_schema=False)
RETRY_AFTER_S = "2"

_STATIC_FILES = {
    "console.css": ("mnemon.console", "static/console.css", "text/css"),
    "console.js": ("mnemon.console", "static/console.js", "text/javascript"),
    "htmx.js": ("js_lib_htmx", "static/htmx/htmx.min.js", "text/javascript"),
    "mark.svg": ("mnemon.console", "static/mark.svg", "image/svg+xml"),
}


@router.get("/static/{name}")
async def static(name: str, request: Request) -> Response:
    """Return a stylesheet, script or image, with an ETag so that an unchanged file is not sent again."""
    if name not in _STATIC_FILES:
        raise NotFound("file")
    body, tag, kind = _static_file(name)
    # no-cache: the browser asks each time and gets 304, so that an upgrade is seen at once.
    headers = {"ETag": tag, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    if request.headers.get("If-None-Match") == tag:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(body, headers=headers, media_type=kind)


@router.get("/sign-in")
async def ask(next: str = "/") -> Response:  # noqa: A002  the name of the query parameter
    """Show the sign-in page, which asks for an API key."""
    return HTMLResponse(
        render("sign_in.html", {"title": "Sign in", "next": local_address(next), "wrong": None}),
        headers=SECURITY_HEADERS,
    )


@router.post("/sign-in")
async def with_key(request: Request) -> Response:
    """Open a console session with the scopes of the posted key; refuse a key that is bound to one person."""
    form = await request.form()
    following = local_address(str(form.get("next", "/")))
    services: Services = request.app.state.services
    try:
        principal = await keys.authenticate(services.db, str(form.get("key", "")).strip())
        request.app.state.rate_limit.count_request(principal.org_id, principal.key_id)
        if principal.bound_user is not None:
            raise NotAllowed("This key is bound to one person, and the console shows everyone. Use another key.")
        async with services.db.tx(principal.org_id) as tx:
            cookie = await signin.open_session(
                tx,
                Scope(org_id=principal.org_id),
                actor=principal.key_id,
                grants=principal.grants,
                key_ends=principal.expires_at,
            )
            record_write(tx, Scope(org_id=principal.org_id), actor=principal.key_id, action="sign in")
    except MnemonError as error:
        return _refuse_sign_in(error, following)
    return _finish_sign_in(request, cookie, following)


@router.get("/sign-in/{token}")
async def sign_in_with_link(token: str, request: Request) -> Response:
    """Open a console session by a sign-in link, which works once."""
    services: Services = request.app.state.services
    try:
        org_id, secret = signin.parse_token(token)
        async with services.db.tx(org_id) as tx:
            cookie = await signin.redeem_link(tx, Scope(org_id=org_id), secret)
            record_write(tx, Scope(org_id=org_id), actor="operator", action="sign in")
    except MnemonError as error:
        return _refuse_sign_in(error, "/")
    return _finish_sign_in(request, cookie, "/")


@router.post("/sign-out")
async def leave(request: Request) -> Response:
    """Sign out: close the console session and delete its cookie."""
    # Not counted: a rate limit must not prevent signing out.
    visit = await authenticate_session(request)
    if (await request.form()).get("csrf") != visit.csrf:
        raise NotAllowed("The form is not from this session. Reload the page and try again.", code="csrf")
    _, secret = signin.parse_token(request.cookies[SESSION_COOKIE])
    async with visit.tx() as tx:
        await signin.close_session(tx, visit.org_scope, secret)
        visit.audit_write(tx, "sign out")
    response = RedirectResponse("/sign-in", HTTPStatus.SEE_OTHER)
    response.delete_cookie(SESSION_COOKIE)
    return response


def _refuse_sign_in(error: MnemonError, following: str) -> Response:
    """Return the sign-in page with the error; the browser keeps its address, so that a reload sends nothing."""
    note_error(error)
    values = {"title": "Sign in", "next": following, "wrong": error.detail, "at": f"/sign-in?next={quote(following)}"}
    page = render("sign_in.html", values)
    if isinstance(error, RateLimited):
        wait = {"Retry-After": str(error.retry_after)}
        return HTMLResponse(page, HTTPStatus.TOO_MANY_REQUESTS, headers={**SECURITY_HEADERS, **wait})
    if isinstance(error, Unavailable):  # the key was not checked, so this is not 401
        return HTMLResponse(
            page, HTTPStatus.SERVICE_UNAVAILABLE, headers={**SECURITY_HEADERS, "Retry-After": RETRY_AFTER_S}
        )
    # A good key that may not open the console is 403, so that the log does not take it for a wrong one.
    status = HTTPStatus.FORBIDDEN if isinstance(error, NotAllowed) else HTTPStatus.UNAUTHORIZED
    return HTMLResponse(page, status, headers=SECURITY_HEADERS)


def _finish_sign_in(request: Request, cookie: str, following: str) -> Response:
    """Return the redirect to the page wanted, with the session's cookie set."""
    response = RedirectResponse(following, HTTPStatus.SEE_OTHER, headers=SECURITY_HEADERS)
    response.set_cookie(
        SESSION_COOKIE,
        cookie,
        max_age=int(signin.SESSION_LIFETIME.total_seconds()),
        httponly=True,
        samesite="lax",
        # Over plain HTTP a secure cookie may not be sent back.
        secure=request.url.scheme == "https",
    )
    return response


@cache
def _static_file(name: str) -> tuple[bytes, str, str]:
    """Return a static file's bytes, its ETag and its content type, cached."""
    package, path, kind = _STATIC_FILES[name]
    body = files(package).joinpath(path).read_bytes()
    return body, f'"{sha256(body).hexdigest()[:16]}"', kind
