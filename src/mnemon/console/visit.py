"""Who visits a page, where they stand, and what they typed."""

import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi import Request

from mnemon.access import signin
from mnemon.access.audit import record_write
from mnemon.access.grants import Grant
from mnemon.access.principal import Principal
from mnemon.basement import Basement
from mnemon.console.sheet import Refusal, Sheet
from mnemon.db.tx import Tx
from mnemon.errors import NotAllowed
from mnemon.scope import Scope, person

COOKIE = "mnemon_console"
DEFAULT_ORG = "local"
"""What a command takes that names no organization."""


class Visit:
    """One request of someone who is signed in."""

    def __init__(self, request: Request, principal: Principal, secret: str, *, at: str | None = None) -> None:
        self.request = request
        self.principal = principal
        self.secret = secret
        """What the session's cookie proves, for a stream that asks again whether it has ended."""
        self.basement: Basement = request.app.state.basement
        self.csrf = signin.csrf_token(secret)
        where = urlsplit(at) if at is not None else None
        self.path = (where.path if where else request.url.path).removesuffix(".json")
        """The page's address without `.json`."""
        self._words = dict(parse_qsl(where.query)) if where else dict(request.query_params)
        self.refused: Refusal | None = None
        """The form of this page that was sent and not taken."""

    @property
    def org(self) -> Scope:
        return Scope(org_id=self.principal.org_id)

    def person(self, user_id: str, persona_id: str | None = None) -> Scope:
        return person(self.principal.org_id, user_id, persona_id)

    def asked(self, name: str, default: str = "") -> str:
        """A word of the page's state, which stands in its address."""
        return self._words.get(name, default).replace("\0", "").strip()

    def address(self, **changes: str | int | None) -> str:
        """This page's address with some of its state changed; None takes a word out."""
        words = {**self._words, **changes}
        kept = {name: value for name, value in words.items() if value not in (None, "")}
        return f"{self.path}?{urlencode(kept)}" if kept else self.path

    def command(self, command: str, *words: str) -> str:
        """A command to copy, these words quoted at its end, that means the organization one looks at."""
        named = () if self.principal.org_id == DEFAULT_ORG else ("--org", self.principal.org_id)
        return " ".join([command, *map(shlex.quote, (*words, *named))])

    def sheet(self, to: str) -> Sheet:
        """The form of this page that is sent there, filled in as it was if it was refused."""
        return Sheet(to, self.refused)

    @asynccontextmanager
    async def tx(self) -> AsyncIterator[Tx]:
        async with self.basement.db.tx(self.principal.org_id) as tx:
            yield tx

    def note(self, tx: Tx, action: str, target: str | None = None) -> None:
        """The write stands in the audit log, with the transaction that did it."""
        record_write(tx, self.org, actor=self.principal.key_id, action=action, targets=[target])

    def number(self, name: str, default: int, *, most: int) -> int:
        """A number of the page's state, from 1 to the most."""
        word = self.asked(name)
        return max(1, min(int(word), most)) if word.isascii() and word.isdigit() and len(word) < 10 else default

    def require(self, grant: Grant) -> None:
        if not self.principal.may(grant):
            said = f"Your sign-in lacks the scope `{grant}`. Sign in with a key that has it."
            raise NotAllowed(said, code="missing_scope")


async def visitor(request: Request) -> Visit:
    """Whoever the cookie belongs to; the request counts for the key that opened the session."""
    visit = await signed_in(request)
    request.app.state.rate_limit.take_request(visit.principal.org_id, visit.principal.key_id)
    return visit


async def signed_in(request: Request) -> Visit:
    """Whoever the cookie belongs to, without counting the request."""
    org_id, secret = signin.split(request.cookies.get(COOKIE, ""))
    basement: Basement = request.app.state.basement
    async with basement.db.tx(org_id) as tx:
        principal = await signin.session(tx, Scope(org_id=org_id), secret)
    request.state.visit = visit = Visit(request, principal, secret)
    return visit
