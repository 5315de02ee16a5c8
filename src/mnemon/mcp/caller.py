"""The caller of an MCP request: the holder of a key, who names a person in the URL, or a run of an agent."""

from dataclasses import dataclass, replace

from starlette.requests import Request

from mnemon.access.grants import Grant, Principal, other_person_error
from mnemon.access.idempotency import check_key
from mnemon.access.keys import authenticate
from mnemon.access.rate import RateLimit
from mnemon.errors import Invalid, Unauthenticated
from mnemon.input_checks import check_name
from mnemon.runs.tokens import authenticate_run_token, parse_run_token
from mnemon.scope import Scope, person_scope
from mnemon.services import Services
from mnemon.sessions.boundary import boundary_from_settings
from mnemon.sessions.record import find_named_session
from mnemon.sessions.store import follow_conversation
from mnemon.tool import Caller

MAX_NAME_CHARS = 200
SERVER_MEMORY_TOOLS = "server-memory"
"""The value of `?tools=` that selects the tools of the reference `server-memory`."""


@dataclass(frozen=True, kw_only=True)
class McpCaller:
    """An authenticated caller and what it may be offered."""

    org_id: str
    grants: frozenset[Grant]
    actor: str
    """The actor in the audit log: the key's id, `cli`, or the agent's id for a run."""
    user_name: str
    persona_id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    """Set for a run, which can read only its own decisions, and those only if its agent reviews them."""
    reviews: bool = False
    server_memory: bool = False
    """Whether to offer the nine tools of the reference `server-memory` instead of Mnemon's."""
    idempotency_key: str | None = None
    """The request's Idempotency-Key; None for none, and always for a run, which only reads."""

    @property
    def scope(self) -> Scope:
        """Return the scope of the person and the persona that the MCP caller names."""
        return person_scope(self.org_id, self.user_name, self.persona_id)


async def authenticate_request(request: Request, services: Services, rate_limit: RateLimit) -> McpCaller:
    """Return the caller of an MCP request by its key or run token; raise Unauthenticated without one.

    `userId`, `personaId` and `sessionId` are query parameters of the URL. An authenticated caller counts for the rate
    limit even if the request is then refused.
    """
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not bearer:
        raise Unauthenticated("No key was sent. Add `Authorization: Bearer mnk_<org>_<secret>`.")
    run = parse_run_token(bearer.strip())
    if run is not None:
        caller = await _caller_for_run(services, *run)
        rate_limit.count_request(caller.org_id, caller.user_name)
        return caller
    principal = await authenticate(services.db, bearer.strip())
    # Counted before the names are looked up, so that refused requests count too.
    rate_limit.count_request(principal.org_id, principal.key_id)
    names = {name: _parse_name(name, request.query_params.get(name)) for name in ("userId", "personaId", "sessionId")}
    tools = request.query_params.get("tools") or None
    if tools not in (None, SERVER_MEMORY_TOOLS):
        raise Invalid(
            f"`tools` in the address is `{SERVER_MEMORY_TOOLS}`, or left out for Mnemon's own tools.",
            code="invalid_request",
        )
    caller = await _caller_for_person(services, principal, **names)
    key = request.headers.get("Idempotency-Key")
    return replace(caller, server_memory=tools is not None, idempotency_key=None if key is None else check_key(key))


async def authenticate_key(
    services: Services, rate_limit: RateLimit, bearer: str, *, default_user: str, **names: str | None
) -> McpCaller:
    """Return the MCP caller for a key and the person it names, counted for the rate limit like a request.

    If nobody is named, the person is the one that the key is bound to, and the default for any other key.
    """
    principal = await authenticate(services.db, bearer)
    rate_limit.count_request(principal.org_id, principal.key_id)
    if principal.bound_user is None and names.get("userId") is None:
        names["userId"] = default_user
    return await _caller_for_person(services, principal, **names)


async def _caller_for_person(
    services: Services,
    principal: Principal,
    *,
    userId: str | None = None,  # noqa: N803  the names of the query parameters
    personaId: str | None = None,  # noqa: N803
    sessionId: str | None = None,  # noqa: N803
) -> McpCaller:
    """Return the MCP caller for the named person; without a name, for a person of the key's own."""
    if principal.bound_user is not None and userId not in (None, principal.bound_user):
        raise other_person_error(principal.org_id)
    name = principal.bound_user or userId or f"key:{principal.key_id}"
    scope = person_scope(principal.org_id, name, personaId)
    if sessionId is not None:
        async with services.db.tx(principal.org_id) as tx:
            scope, named = await find_named_session(tx, scope, sessionId)
            if named is not None:
                boundary = boundary_from_settings(services.settings)
                sessionId = (await follow_conversation(tx, scope, named, tx.now, boundary)).id  # noqa: N806
    return McpCaller(
        org_id=principal.org_id,
        grants=principal.grants,
        actor=principal.key_id,
        user_name=name,
        persona_id=scope.persona_id,
        session_id=sessionId,
    )


async def _caller_for_run(services: Services, org_id: str, secret: str) -> McpCaller:
    """Return the MCP caller for an agent's run by its token, with the right to read decisions only."""
    async with services.db.tx(org_id) as tx:
        known = await authenticate_run_token(tx, secret)
    # Whatever the agent's owner may do, a run reads no more than its own decisions.
    grants = frozenset({Grant.AGENTS_READ})
    return McpCaller(
        org_id=org_id,
        grants=grants,
        actor=known.agent_id,
        user_name=f"agent:{known.agent_id}",
        agent_id=known.agent_id,
        reviews=known.reviews,
    )


def as_tool_caller(caller: McpCaller, services: Services) -> Caller:
    """Return the MCP caller in the form that tools take: scope, session, embedder and rights."""
    return Caller(
        scope=Scope(org_id=caller.org_id) if caller.agent_id else caller.scope,
        user_name=caller.user_name,
        session_id=caller.session_id,
        agent_id=caller.agent_id,
        embedder=services.embedder.model,
        may=lambda grant: grant in caller.grants,
    )


def _parse_name(name: str, text: str | None) -> str | None:
    """Return a person's, persona's or session's name from the URL, None if left out; raise Invalid as the API does."""
    if text is None:
        return None
    try:
        if not text.strip():
            raise ValueError("is blank; name one, or leave it out")
        if len(text) > MAX_NAME_CHARS:
            raise ValueError(f"is too long; send at most {MAX_NAME_CHARS} characters")
        return check_name(text)
    except ValueError as error:
        raise Invalid(f"`{name}` in the address {error}.", code="invalid_request") from None
