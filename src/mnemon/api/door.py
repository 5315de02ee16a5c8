"""What every handler of the API gets: the checked key, transactions, and one way to answer a write.

A route names the scope it needs with `needs(Grant.…)` and is made with `JsonRoute`, which checks the media type and
the limits on JSON before the handler runs.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from email.message import Message
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, TypeAdapter

from mnemon.access import idempotency
from mnemon.access.audit import CLI_ACTOR, ids_in, record_write
from mnemon.access.grants import Grant, Principal, missing_scope_error, other_person_error
from mnemon.access.keys import KeyWatch, StreamEnd, authenticate
from mnemon.access.local_operator import LocalOperator
from mnemon.api.models import Envelope, Page, encode_cursor
from mnemon.api.problems import openapi_problem
from mnemon.db.tx import Tx
from mnemon.errors import Contended, NotAllowed, Unauthenticated, WrongMediaType
from mnemon.event_loop import run_off_loop
from mnemon.input_checks import parse_json
from mnemon.memory.fact import API
from mnemon.memory.trust import Trust, trust_of
from mnemon.scope import Scope, org_option, person_scope
from mnemon.services import Services


class JsonRequest(Request):
    """A request whose JSON is refused before a handler sees it if it exceeds the limits."""

    async def json(self) -> Any:
        """Return the request's parsed JSON body, refused beyond the limits; a large one is parsed in a thread."""
        if not hasattr(self, "_json"):
            body = await self.body()
            # Parsing 64 KB in place takes 1 ms.
            self._json = await run_off_loop(len(body) // 16, lambda: parse_json(body))
        return self._json


class JsonRoute(APIRoute):
    """A route whose request is a JsonRequest."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's handler of the route, which gets a JsonRequest in place of a Request."""
        handle = super().get_route_handler()

        async def handle_within_limits(request: Request) -> Response:
            """Call the handler with a request that checks its JSON."""
            return await handle(JsonRequest(request.scope, request.receive))

        return handle_within_limits


async def require_json(request: Request) -> None:
    """Refuse a body that is not sent as JSON, where the route takes one; an optional body may be left out."""
    takes_json = getattr(request.scope.get("route"), "body_field", None) is not None
    if takes_json and not sent_as_json(request) and await request.body():
        raise WrongMediaType(
            "The body is not sent as JSON. Send `Content-Type: application/json`; "
            "`curl -d` sends a form unless `-H` names it."
        )


def sent_as_json(request: Request) -> bool:
    """Say whether the Content-Type is `application/json` or `application/*+json`."""
    # Read as FastAPI does, which otherwise leaves the body unparsed: the two must not disagree.
    sent = Message()
    sent["content-type"] = request.headers.get("content-type", "")
    subtype = sent.get_content_subtype()
    return sent.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))


R = TypeVar("R")
CONTENTION_RETRIES = 3
"""How often an effect that lost to another writer is run again before the caller gets a 503."""
_JSON_ADAPTER: TypeAdapter[Any] = TypeAdapter(Any)
_bearer = HTTPBearer(auto_error=False, bearerFormat="mnk_<org>_<secret>", scheme_name="key")


class Door:
    """One request whose key has been checked."""

    def __init__(self, request: Request, principal: Principal, services: Services) -> None:
        """Keep the request, its authenticated caller and the services; nothing is read yet."""
        self.request = request
        self.principal = principal
        self.services = services
        self.concerned: set[str] = set()
        """The internal ids of the people named so far; forgetting one of them redacts this request's stored reply."""

    @property
    def request_id(self) -> str:
        """Return the id of this request, as in its response header and its log lines."""
        return str(self.request.state.request_id)

    @property
    def org(self) -> Scope:
        """Return the scope of the key's organization."""
        return Scope(org_id=self.principal.org_id)

    def person_scope(self, user_id: str, persona_id: str | None = None) -> Scope:
        """Return the scope of the person the request names; refuse a key that is bound to another person."""
        bound = self.principal.bound_user
        if bound is not None and bound != user_id:
            raise other_person_error(self.principal.org_id)
        named = person_scope(self.principal.org_id, user_id, persona_id)
        self.concerned.add(named.user)
        return named

    def check_source(self, source: str) -> str:
        """Return the source that a request declares; refuse the operator's to a key that is bound to a person."""
        if self.principal.bound_user is not None and trust_of(source) is Trust.OPERATOR:
            raise NotAllowed(
                "This key speaks for one person, not for the operator. Declare another `source`.",
                code="key_bound_to_user",
            )
        return source

    def editor_source(self, declared: str | None = None) -> str:
        """Return whose word a manual change is: the declared source, else the operator's, or the bound person's."""
        if declared is not None:
            return self.check_source(declared)
        return Trust.OPERATOR if self.principal.bound_user is None else API

    @property
    def bound_user_id(self) -> str | None:
        """Return the internal id of the person the key is bound to; None if it may see the whole organization."""
        bound = self.principal.bound_user
        return None if bound is None else person_scope(self.principal.org_id, bound).user

    @property
    def visible_scope(self) -> Scope:
        """Return the scope that the key may see: its organization, or the one person it is bound to."""
        return Scope(org_id=self.principal.org_id, user_id=self.bound_user_id)

    def has_grant(self, grant: Grant) -> bool:
        """Say whether the request's key has this scope."""
        return self.principal.may(grant)

    def require_grant(self, grant: Grant) -> None:
        """Raise NotAllowed for a request whose key lacks this scope."""
        if not self.principal.may(grant):
            raise missing_scope_error(self.principal, grant)

    def require_unbound(self) -> None:
        """Raise NotAllowed for a key bound to one person, where a resource belongs to the whole organization."""
        if self.principal.bound_user is not None:
            raise NotAllowed(
                "This key speaks for one person only; this belongs to the whole organization. Use a key that is not "
                f"bound to a person: `mnemon keys create --name laptop{org_option(self.principal.org_id)}`, without "
                "`--user`, makes one.",
                code="key_bound_to_user",
            )

    @asynccontextmanager
    async def tx(self) -> AsyncIterator[Tx]:
        """Open a transaction of the key's organization, for reads and for writes whose reply is not stored."""
        async with self.services.db.tx(self.principal.org_id) as tx:
            yield tx

    def until_key_ends(self) -> AbstractAsyncContextManager[StreamEnd]:
        """Return an event for an endless stream: set when the key expires or is revoked, or the server stops."""
        state = self.request.app.state
        watch: KeyWatch = state.key_watch
        return watch.key_end_event(self.principal, state.closing)

    async def write(
        self,
        effect: Callable[[Tx], Awaitable[R]],
        render: Callable[[R], Any] = lambda result: result,
        *,
        status: int | Callable[[R], int] = 200,
        headers: dict[str, str] | None = None,
    ) -> Response:
        """Run the effect in one transaction, store its reply for retries, and return it as the response.

        An effect that failed because of contention with another writer is run again: its first try was rolled back.
        """
        key = await self.idempotency_key()
        for _ in range(CONTENTION_RETRIES):
            with suppress(Contended):
                return await self._try_write(key, effect, render, status, headers)
        return await self._try_write(key, effect, render, status, headers)

    async def _try_write(
        self,
        key: idempotency.IdempotencyKey | None,
        effect: Callable[[Tx], Awaitable[R]],
        render: Callable[[R], Any],
        status: int | Callable[[R], int],
        headers: dict[str, str] | None,
    ) -> Response:
        """Run the effect, its audit entry and its stored reply in one transaction; replay a reply stored before."""
        async with self.tx() as tx:
            # In the effect's transaction: a crash leaves effect and reply, or neither (docs/decisions/0005).
            if key is not None:
                kept = await idempotency.load_reply(tx, self.org, key)
                if kept is not None and kept.status is not None:
                    return _replay_reply(kept)
            result = await effect(tx)
            shown = render(result)
            response = self.reply(shown, status=status(result) if callable(status) else status, headers=headers)
            self.audit_write(tx, *ids_in(_top_level(shown)))
            if key is not None:
                body = bytes(response.body)
                await idempotency.store_reply(
                    tx, self.org, key, status=response.status_code, body=body, concerns=self.concerned
                )
        return response

    def audit_write(self, tx: Tx, *made: str) -> None:
        """Append this request to the audit log when the transaction commits: its route and the ids it concerns."""
        action = f"{self.request.method} {self.request.scope['route'].path_format}"
        # No body and no query: the audit log holds ids only.
        named = self.request.path_params.values()
        targets = [*map(str, named), *made, *sorted(self.concerned)]
        record_write(tx, self.org, actor=self.principal.key_id, action=action, targets=targets)

    async def kept_reply(self) -> Response | None:
        """Return the stored reply to this request; None if it is the first with its Idempotency-Key."""
        key = await self.idempotency_key()
        if key is None:
            return None
        async with self.tx() as tx:
            kept = await idempotency.load_reply(tx, self.org, key)
        return None if kept is None or kept.status is None else _replay_reply(kept)

    async def idempotency_key(self) -> idempotency.IdempotencyKey | None:
        """Return the request's Idempotency-Key with its fingerprint; None when the request has none."""
        key = self.request.headers.get("Idempotency-Key")
        if key is None:
            return None
        url = self.request.url
        fingerprint = idempotency.request_fingerprint(
            self.request.method, url.path, url.query, await self.request.body()
        )
        return idempotency.IdempotencyKey(
            caller=self.principal.key_id, key=idempotency.check_key(key), fingerprint=fingerprint
        )

    def reply(
        self, data: Any, *, status: int = 200, headers: dict[str, str] | None = None, omit_unset: bool = False
    ) -> Response:
        """Return a response with the data in its envelope; `omit_unset` leaves out the fields that were not set."""
        body = {"data": data, "meta": {"requestId": self.request_id}}
        text = _JSON_ADAPTER.dump_json(body, by_alias=True, exclude_unset=omit_unset)
        return Response(text, status, headers, media_type="application/json")

    def page(self, items: Sequence[Any], *, limit: int, position: Callable[[Any], str]) -> Response:
        """Return a response with at most `limit` items and the next cursor; pass one item more if more follow.

        `position` returns an item's place, which the cursor of the next request carries.
        """
        shown = list(items[:limit])
        following = encode_cursor(position(shown[-1])) if len(items) > limit else None
        meta = {"requestId": self.request_id, "nextCursor": following}
        text = _JSON_ADAPTER.dump_json({"data": shown, "meta": meta}, by_alias=True)
        return Response(text, media_type="application/json")


def _top_level(data: Any) -> Any:
    """Return a model, or each model of a list, as a mapping from JSON names to values; other data unchanged."""
    if isinstance(data, BaseModel):
        fields = type(data).model_fields
        return {field.serialization_alias or name: getattr(data, name) for name, field in fields.items()}
    return [_top_level(item) for item in data] if isinstance(data, list) else data


def _replay_reply(kept: idempotency.StoredReply) -> Response:
    """Return the stored reply as a response with the header `Idempotent-Replayed`."""
    return Response(kept.body, kept.status or 200, {"Idempotent-Replayed": "true"}, media_type="application/json")


async def _authenticate_request(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Principal:
    """Return the caller of the request's bearer key and count it for the rate limit; raise Unauthenticated."""
    if credentials is None:
        raise Unauthenticated(
            "No key was sent. Add `Authorization: Bearer mnk_<org>_<secret>`; "
            "`mnemon keys create --name laptop` makes one."
        )
    services: Services = request.app.state.services
    operator: LocalOperator = request.app.state.operator
    bearer = credentials.credentials
    principal = await operator.authenticate(services.db, bearer) or await authenticate(services.db, bearer)
    # Counted here, before the scope is checked: a request that is refused for it counts, too. The local operator has
    # the database itself, so a limit on commands would protect nothing.
    if principal.key_id != CLI_ACTOR:
        request.app.state.rate_limit.count_request(principal.org_id, principal.key_id)
    return principal


async def _open_door(request: Request, principal: Annotated[Principal, Depends(_authenticate_request)]) -> Door:
    """Return the Door of an authenticated request; raise where its body is not sent as JSON."""
    await require_json(request)
    return Door(request, principal, request.app.state.services)


AnyDoor = Annotated[Door, Depends(_open_door)]
"""The door of a handler that needs a valid key and no scope."""


def needs(grant: Grant) -> Any:
    """Return the dependency for a handler that needs this scope: `door: Annotated[Door, needs(Grant.MEMORY_READ)]`."""

    async def door_with_grant(door: Annotated[Door, Depends(_open_door)]) -> Door:
        """Return the request's door; raise NotAllowed for a key that lacks the scope."""
        door.require_grant(grant)
        return door

    return Depends(door_with_grant)


def responses_for(
    model: Any = None, *, status: int = 200, page: bool = False, also: Collection[int] = (), **more: Any
) -> dict[int | str, Any]:
    """Return the `responses=` of a route: its success, and problems that its OpenAPI operation does not show.

    `document_problems` adds those that follow from the operation. `also` names the others: 404 where a body or a query
    names something that may not exist.
    """
    responses: dict[int | str, Any] = {problem: openapi_problem(problem) for problem in also}
    if model is not None:
        responses[status] = {"model": Page[model] if page else Envelope[model], "description": "Done", **more}
    return responses


def write_responses(model: Any = None, *, also: Collection[int] = (), **success: Any) -> dict[int | str, Any]:
    """Return the `responses=` of a route that takes an Idempotency-Key, which can conflict with another request."""
    return responses_for(model, also=(409, *also), **success)
