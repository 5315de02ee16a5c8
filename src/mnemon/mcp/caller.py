"""Who calls over MCP: a key's holder, who names a person in the address, or an agent's own run."""

from dataclasses import dataclass, replace

from starlette.requests import Request

from mnemon.access.grants import Grant
from mnemon.access.keys import authenticate
from mnemon.access.principal import Principal, names_another_person
from mnemon.access.rate import RateLimit
from mnemon.basement import Basement
from mnemon.errors import NotAllowed, Unauthenticated
from mnemon.runs.tokens import authenticate_run_token, split_run_token
from mnemon.scope import Scope, person
from mnemon.sessions.record import named_session
from mnemon.storable import name_as_sent
from mnemon.tool import Caller

LONGEST_NAME = 200
SERVER_MEMORY = "server-memory"
"""`?tools=server-memory` in the address."""


@dataclass(frozen=True, kw_only=True)
class Visitor:
    """Someone whose credential was checked, and what they may be offered."""

    org_id: str
    grants: frozenset[Grant]
    actor: str
    """What the audit log calls them: the key's id, `cli`, or the agent's id for a run."""
    user_name: str
    persona_id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    """Set for a run: then only its own decisions are within reach, and only if its agent reviews them."""
    reviews: bool = False
    server_memory: bool = False
    """Whether they want the nine tools of the reference `server-memory` instead of ours."""

    @property
    def scope(self) -> Scope:
        return person(self.org_id, self.user_name, self.persona_id)


async def from_request(request: Request, basement: Basement, rate_limit: RateLimit) -> Visitor:
    """Who the request's bearer is; `userId`, `personaId` and `sessionId` stand in the address.

    Whoever the bearer proves is counted, even where what they ask for is then refused.
    """
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not bearer:
        raise Unauthenticated("No key was sent. Add `Authorization: Bearer mnk_<org>_<secret>`.")
    run = split_run_token(bearer.strip())
    if run is not None:
        visitor = await _run(basement, *run)
        rate_limit.take_request(visitor.org_id, visitor.user_name)
        return visitor
    principal = await authenticate(basement.db, bearer.strip())
    rate_limit.take_request(principal.org_id, principal.key_id)
    words = {name: _name(request.query_params.get(name)) for name in ("userId", "personaId", "sessionId")}
    visitor = await _named(basement, principal, **words)
    return replace(visitor, server_memory=request.query_params.get("tools") == SERVER_MEMORY)


async def with_key(basement: Basement, rate_limit: RateLimit, bearer: str, **words: str | None) -> Visitor:
    """The holder of a key, who names a person with the words of the address; counted as at the other doors."""
    principal = await authenticate(basement.db, bearer)
    rate_limit.take_request(principal.org_id, principal.key_id)
    return await _named(basement, principal, **words)


async def _named(
    basement: Basement,
    principal: Principal,
    *,
    userId: str | None = None,  # noqa: N803  the wire's words
    personaId: str | None = None,  # noqa: N803
    sessionId: str | None = None,  # noqa: N803
) -> Visitor:
    """The visitor as the person who is named. Without one named, the key has one of its own."""
    if principal.bound_user is not None and userId not in (None, principal.bound_user):
        raise names_another_person()
    name = principal.bound_user or userId or f"key:{principal.key_id}"
    scope = person(principal.org_id, name, personaId)
    if sessionId is not None:
        async with basement.db.tx(principal.org_id) as tx:
            scope, _ = await named_session(tx, scope, sessionId)
    return Visitor(
        org_id=principal.org_id,
        grants=principal.grants,
        actor=principal.key_id,
        user_name=name,
        persona_id=scope.persona_id,
        session_id=sessionId,
    )


async def _run(basement: Basement, org_id: str, secret: str) -> Visitor:
    async with basement.db.tx(org_id) as tx:
        known = await authenticate_run_token(tx, secret)
    grants = frozenset({Grant.AGENTS_READ})
    return Visitor(
        org_id=org_id,
        grants=grants,
        actor=known.agent_id,
        user_name=f"agent:{known.agent_id}",
        agent_id=known.agent_id,
        reviews=known.reviews,
    )


def as_caller(visitor: Visitor, basement: Basement) -> Caller:
    """The visitor as a tool sees them."""
    return Caller(
        scope=Scope(org_id=visitor.org_id) if visitor.agent_id else visitor.scope,
        user_name=visitor.user_name,
        session_id=visitor.session_id,
        agent_id=visitor.agent_id,
        embedder=basement.embedder.model,
        may=lambda grant: grant in visitor.grants,
    )


def _name(text: str | None) -> str | None:
    if text is None or not text.strip():
        return None
    if len(text) > LONGEST_NAME:
        raise NotAllowed(f"A name in the address is too long. Send at most {LONGEST_NAME} characters.", code="bad_name")
    try:
        return name_as_sent(text)
    except ValueError as error:
        raise NotAllowed(f"A name in the address {error}.", code="bad_name") from None
