"""Who calls over MCP: a key's holder, who names a person in the address, or an agent's own run."""

from dataclasses import dataclass, replace

from starlette.requests import Request

from mnemon.access.grants import Grant, Principal, other_person_error
from mnemon.access.keys import authenticate
from mnemon.access.rate import RateLimit
from mnemon.errors import NotAllowed, Unauthenticated
from mnemon.input_checks import check_name
from mnemon.runs.tokens import authenticate_run_token, parse_run_token
from mnemon.scope import Scope, person_scope
from mnemon.services import Services
from mnemon.sessions.record import find_named_session
from mnemon.tool import Caller

MAX_NAME_CHARS = 200
SERVER_MEMORY_TOOLS = "server-memory"
"""`?tools=server-memory` in the address."""


@dataclass(frozen=True, kw_only=True)
class McpCaller:
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
        return person_scope(self.org_id, self.user_name, self.persona_id)


async def authenticate_request(request: Request, services: Services, rate_limit: RateLimit) -> McpCaller:
    """Who the request's bearer is; `userId`, `personaId` and `sessionId` stand in the address.

    Whoever the bearer proves is counted, even where what they ask for is then refused.
    """
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not bearer:
        raise Unauthenticated("No key was sent. Add `Authorization: Bearer mnk_<org>_<secret>`.")
    run = parse_run_token(bearer.strip())
    if run is not None:
        visitor = await _caller_for_run(services, *run)
        rate_limit.count_request(visitor.org_id, visitor.user_name)
        return visitor
    principal = await authenticate(services.db, bearer.strip())
    rate_limit.count_request(principal.org_id, principal.key_id)
    words = {name: _parse_name(request.query_params.get(name)) for name in ("userId", "personaId", "sessionId")}
    visitor = await _caller_for_person(services, principal, **words)
    return replace(visitor, server_memory=request.query_params.get("tools") == SERVER_MEMORY_TOOLS)


async def authenticate_key(services: Services, rate_limit: RateLimit, bearer: str, **words: str | None) -> McpCaller:
    """The holder of a key, who names a person with the words of the address; counted as at the other doors."""
    principal = await authenticate(services.db, bearer)
    rate_limit.count_request(principal.org_id, principal.key_id)
    return await _caller_for_person(services, principal, **words)


async def _caller_for_person(
    services: Services,
    principal: Principal,
    *,
    userId: str | None = None,  # noqa: N803  the wire's words
    personaId: str | None = None,  # noqa: N803
    sessionId: str | None = None,  # noqa: N803
) -> McpCaller:
    """The visitor as the person who is named. Without one named, the key has one of its own."""
    if principal.bound_user is not None and userId not in (None, principal.bound_user):
        raise other_person_error()
    name = principal.bound_user or userId or f"key:{principal.key_id}"
    scope = person_scope(principal.org_id, name, personaId)
    if sessionId is not None:
        async with services.db.tx(principal.org_id) as tx:
            scope, _ = await find_named_session(tx, scope, sessionId)
    return McpCaller(
        org_id=principal.org_id,
        grants=principal.grants,
        actor=principal.key_id,
        user_name=name,
        persona_id=scope.persona_id,
        session_id=sessionId,
    )


async def _caller_for_run(services: Services, org_id: str, secret: str) -> McpCaller:
    async with services.db.tx(org_id) as tx:
        known = await authenticate_run_token(tx, secret)
    grants = frozenset({Grant.AGENTS_READ})
    return McpCaller(
        org_id=org_id,
        grants=grants,
        actor=known.agent_id,
        user_name=f"agent:{known.agent_id}",
        agent_id=known.agent_id,
        reviews=known.reviews,
    )


def as_tool_caller(visitor: McpCaller, services: Services) -> Caller:
    """The visitor as a tool sees them."""
    return Caller(
        scope=Scope(org_id=visitor.org_id) if visitor.agent_id else visitor.scope,
        user_name=visitor.user_name,
        session_id=visitor.session_id,
        agent_id=visitor.agent_id,
        embedder=services.embedder.model,
        may=lambda grant: grant in visitor.grants,
    )


def _parse_name(text: str | None) -> str | None:
    if text is None or not text.strip():
        return None
    if len(text) > MAX_NAME_CHARS:
        raise NotAllowed(
            f"A name in the address is too long. Send at most {MAX_NAME_CHARS} characters.", code="bad_name"
        )
    try:
        return check_name(text)
    except ValueError as error:
        raise NotAllowed(f"A name in the address {error}.", code="bad_name") from None
