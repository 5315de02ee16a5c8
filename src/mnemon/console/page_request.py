"""The request of a signed-in user, and the person and persona that a page is about.

A page's state is in the query of its address. A page without a person in it shows the one who spoke last.
"""

import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi import Request

from mnemon.access import signin
from mnemon.access.audit import record_write
from mnemon.access.grants import Grant, Principal
from mnemon.console.forms import FormState, Refusal
from mnemon.db.tx import Tx
from mnemon.errors import NotAllowed, Unauthenticated
from mnemon.scope import LOCAL_ORG, Scope, person_scope
from mnemon.services import Services
from mnemon.sessions import overview

SESSION_COOKIE = "mnemon_console"


class PageRequest:
    """One request of a signed-in user: services, scopes, query parameters, form state."""

    def __init__(self, request: Request, principal: Principal, secret: str, *, at: str | None = None) -> None:
        """Keep the request and its session's caller; `at` is the page whose address and query to use instead."""
        self.request = request
        self.principal = principal
        self.secret = secret
        """The session's secret, for a stream that authenticates again and again."""
        self.services: Services = request.app.state.services
        self.csrf = signin.csrf_token(secret)
        where = urlsplit(at) if at is not None else None
        self.path = (where.path if where else request.url.path).removesuffix(".json")
        """The page's address without `.json`."""
        self._words = dict(parse_qsl(where.query)) if where else dict(request.query_params)
        self.refused: Refusal | None = None
        """The form of this page that was refused, if one was."""

    @property
    def org_scope(self) -> Scope:
        """Return the scope of the organization whose user is signed in."""
        return Scope(org_id=self.principal.org_id)

    def person_scope(self, user_id: str, persona_id: str | None = None) -> Scope:
        """Return the scope of the person whom the organization calls `user_id`; whether they exist is not checked."""
        return person_scope(self.principal.org_id, user_id, persona_id)

    def asked(self, name: str, default: str = "") -> str:
        """Return one of the page's query parameters, stripped; the default if it is missing."""
        # PostgreSQL stores no NUL in a text.
        return self._words.get(name, default).replace("\0", "").strip()

    def address(self, **changes: str | int | None) -> str:
        """Return this page's address with some query parameters changed; None removes one."""
        words = {**self._words, **changes}
        kept = {name: value for name, value in words.items() if value not in (None, "")}
        return f"{self.path}?{urlencode(kept)}" if kept else self.path

    def command(self, command: str, *words: str) -> str:
        """Return a `mnemon` command to copy, its arguments quoted, with `--org` unless it is the default."""
        named = () if self.principal.org_id == LOCAL_ORG else ("--org", self.principal.org_id)
        return " ".join([command, *map(shlex.quote, (*words, *named))])

    def form_state(self, to: str) -> FormState:
        """Return the state of the form that is posted to this path, with what was typed if it was refused."""
        return FormState(to, self.refused)

    @asynccontextmanager
    async def tx(self) -> AsyncIterator[Tx]:
        """Open a transaction that sees only the rows of the organization that is signed in."""
        async with self.services.db.tx(self.principal.org_id) as tx:
            yield tx

    def audit_write(self, tx: Tx, action: str, target: str | None = None) -> None:
        """Append the console's write to the audit log when this transaction commits."""
        record_write(tx, self.org_scope, actor=self.principal.key_id, action=action, targets=[target])

    def query_number(self, name: str, default: int, *, most: int) -> int:
        """Return one of the page's query parameters as a number from 1 to `most`; the default when it is none."""
        word = self.asked(name)
        # Nine digits fit PostgreSQL's integer; `isdigit` alone would let other scripts' digits in.
        return max(1, min(int(word), most)) if word.isascii() and word.isdigit() and len(word) < 10 else default

    def require_grant(self, grant: Grant) -> None:
        """Raise NotAllowed unless the signed-in session has this grant."""
        if not self.principal.may(grant):
            detail = f"Your sign-in lacks the scope `{grant}`. Sign in with a key that has it."
            raise NotAllowed(detail, code="missing_scope")


async def admit_request(request: Request) -> PageRequest:
    """Return the request of the session cookie's user, counted for the rate limit; raise Unauthenticated."""
    visit = await authenticate_session(request)
    request.app.state.rate_limit.count_request(visit.principal.org_id, visit.principal.key_id)
    return visit


async def authenticate_session(request: Request) -> PageRequest:
    """Return the request of the session cookie's user, not counted; raise Unauthenticated."""
    try:
        org_id, secret = signin.parse_token(request.cookies.get(SESSION_COOKIE, ""))
    except Unauthenticated:
        # Its words are about a link, and none was used here.
        raise Unauthenticated(
            "You are not signed in to the console. Open the link that `mnemon console` prints, or sign in at /sign-in "
            "with a key; a program then sends the cookie that it gets. With a key alone, use the API: /openapi.json."
        ) from None
    services: Services = request.app.state.services
    async with services.db.tx(org_id) as tx:
        principal = await signin.authenticate_session(tx, Scope(org_id=org_id), secret)
    request.state.visit = visit = PageRequest(request, principal, secret)
    return visit


MAX_PEOPLE = 200


@dataclass(frozen=True, kw_only=True)
class PersonFilter:
    """The person and persona that a page is about, with the ones that can be chosen."""

    user: str
    """The person's id in the application; empty while the organization has no person."""
    persona: str
    """Empty for none."""
    people: tuple[str, ...]
    personas: tuple[str, ...]


async def load_person_filter(visit: PageRequest, tx: Tx) -> PersonFilter:
    """Return the person and persona that the query names, else the person who spoke last, with all choices."""
    people = await overview.list_people(tx, visit.org_scope, most=MAX_PEOPLE)
    user = visit.asked("user") or await overview.latest_person(tx, visit.org_scope) or (people[0] if people else "")
    personas = await overview.list_persona_names(tx, visit.person_scope(user)) if user else []
    return PersonFilter(user=user, persona=visit.asked("persona"), people=tuple(people), personas=tuple(personas))


def scope_of(visit: PageRequest, chosen: PersonFilter) -> Scope:
    """Return the scope of the person and persona that the page is about."""
    return visit.person_scope(chosen.user, chosen.persona or None)
