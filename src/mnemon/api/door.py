"""What a handler stands at: who asks, what they may, transactions, and the one way to answer a write.

The route that every endpoint of the API is made with: its body is JSON by name and within the limits on JSON.
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
from mnemon.access.audit import ids_in, record_write
from mnemon.access.grants import Grant, Principal, missing_scope_error, other_person_error
from mnemon.access.keys import KeyWatch, StreamEnd, authenticate
from mnemon.api.models import Envelope, Page, encode_cursor
from mnemon.api.problems import openapi_problem
from mnemon.db.tx import Tx
from mnemon.errors import Contended, Invalid, NotAllowed, Unauthenticated, WrongMediaType
from mnemon.event_loop import run_off_loop
from mnemon.input_checks import parse_json
from mnemon.memory.trust import Trust, trust_of
from mnemon.scope import Scope, person_scope
from mnemon.services import Services


class JsonRequest(Request):
    """A request whose JSON is within the limits, or refused before a handler sees it."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = await run_off_loop(len(body) // 16, lambda: parse_json(body))  # 64 KB take 1 ms on the spot
        return self._json


class JsonRoute(APIRoute):
    """A route that reads its body as a JsonRequest does."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_within_limits(request: Request) -> Response:
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
    """Whether the Content-Type is `application/json` or `application/*+json`."""
    # Read as FastAPI does, which otherwise leaves the body unparsed: the two must not disagree.
    sent = Message()
    sent["content-type"] = request.headers.get("content-type", "")
    subtype = sent.get_content_subtype()
    return sent.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))


R = TypeVar("R")
CONTENTION_RETRIES = 3
"""How often an effect that gave way to another writer is run again."""
_COMMON_STATUSES = (400, 401, 403, 404, 409, 412, 413, 422, 429, 503)
_JSON_ADAPTER: TypeAdapter[Any] = TypeAdapter(Any)
_bearer = HTTPBearer(auto_error=False, bearerFormat="mnk_<org>_<secret>", scheme_name="key")


class Door:
    """One request whose key has been checked."""

    def __init__(self, request: Request, principal: Principal, services: Services) -> None:
        self.request = request
        self.principal = principal
        self.services = services
        self.concerned: set[str] = set()
        """The internal ids of the people this request has named so far: whom its kept reply concerns."""

    @property
    def request_id(self) -> str:
        return str(self.request.state.request_id)

    @property
    def org(self) -> Scope:
        """The organization the key belongs to."""
        return Scope(org_id=self.principal.org_id)

    def person_scope(self, user_id: str, persona_id: str | None = None) -> Scope:
        """The scope of the person the request names; refused for a key bound to another one."""
        bound = self.principal.bound_user
        if bound is not None and bound != user_id:
            raise other_person_error()
        named = person_scope(self.principal.org_id, user_id, persona_id)
        self.concerned.add(named.user)
        return named

    def check_source(self, source: str) -> str:
        """The source that a request declares; a key that is bound to a person does not speak for the operator."""
        if self.principal.bound_user is not None and trust_of(source) is Trust.OPERATOR:
            raise NotAllowed(
                "This key speaks for one person, not for the operator. Declare another `source`.",
                code="key_bound_to_user",
            )
        return source

    @property
    def bound_user_id(self) -> str | None:
        """The internal id of the one person the key may see; None when it may see all of its organization's."""
        bound = self.principal.bound_user
        return None if bound is None else person_scope(self.principal.org_id, bound).user

    def has_grant(self, grant: Grant) -> bool:
        return self.principal.may(grant)

    def require_grant(self, grant: Grant) -> None:
        """Refuses a key that lacks the scope."""
        if not self.principal.may(grant):
            raise missing_scope_error(self.principal, grant)

    def require_unbound(self) -> None:
        """Refuse a key that is bound to one person what belongs to the whole organization."""
        if self.principal.bound_user is not None:
            raise NotAllowed(
                "This key speaks for one person only; this belongs to the whole organization. Use a key that is not "
                "bound to a person: `mnemon keys create` without `--user` makes one.",
                code="key_bound_to_user",
            )

    @asynccontextmanager
    async def tx(self) -> AsyncIterator[Tx]:
        """A transaction of the key's organization, for reading and for what needs no kept reply."""
        async with self.services.db.tx(self.principal.org_id) as tx:
            yield tx

    def until_key_ends(self) -> AbstractAsyncContextManager[StreamEnd]:
        """Give an event for an endless stream: set when the key expires or is revoked, or the server stops."""
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
        """Runs the effect in one transaction and keeps its reply with it, so that a retry gets the same one.

        An effect that had to give way to another writer is run again: nothing of its first try is left.
        """
        slot = await self.idempotency_key()
        for _ in range(CONTENTION_RETRIES):
            with suppress(Contended):
                return await self._try_write(slot, effect, render, status, headers)
        return await self._try_write(slot, effect, render, status, headers)

    async def _try_write(
        self,
        slot: idempotency.IdempotencyKey | None,
        effect: Callable[[Tx], Awaitable[R]],
        render: Callable[[R], Any],
        status: int | Callable[[R], int],
        headers: dict[str, str] | None,
    ) -> Response:
        async with self.tx() as tx:
            if slot is not None:
                kept = await idempotency.load_reply(tx, self.org, slot)
                if kept is not None and kept.status is not None:
                    return _replay_reply(kept)
            result = await effect(tx)
            shown = _to_json(render(result))
            response = self.reply(shown, status=status(result) if callable(status) else status, headers=headers)
            self.audit_write(tx, *ids_in(shown))
            if slot is not None:
                body = bytes(response.body)
                await idempotency.store_reply(
                    tx, self.org, slot, status=response.status_code, body=body, concerns=self.concerned
                )
        return response

    def audit_write(self, tx: Tx, *made: str) -> None:
        """Append this request to the audit log when the transaction commits: its route, and the ids it is about."""
        action = f"{self.request.method} {self.request.scope['route'].path_format}"
        named = self.request.path_params.values()
        targets = [*map(str, named), *made, *sorted(self.concerned)]
        record_write(tx, self.org, actor=self.principal.key_id, action=action, targets=targets)

    async def kept_reply(self) -> Response | None:
        """Give the reply that was kept for this very request; None for its first time."""
        slot = await self.idempotency_key()
        if slot is None:
            return None
        async with self.tx() as tx:
            kept = await idempotency.load_reply(tx, self.org, slot)
        return None if kept is None or kept.status is None else _replay_reply(kept)

    async def idempotency_key(self) -> idempotency.IdempotencyKey | None:
        """Where this request's reply is kept; None when it names no Idempotency-Key."""
        key = self.request.headers.get("Idempotency-Key")
        if key is None:
            return None
        if not 1 <= len(key) <= 255 or not key.isprintable():
            raise Invalid("An Idempotency-Key has 1 to 255 printable characters.", code="bad_idempotency_key")
        url = self.request.url
        print_ = idempotency.request_fingerprint(self.request.method, url.path, url.query, await self.request.body())
        return idempotency.IdempotencyKey(caller=self.principal.key_id, key=key, fingerprint=print_)

    def reply(self, data: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
        """The data in its envelope."""
        body = {"data": _to_json(data), "meta": {"requestId": self.request_id}}
        return Response(_JSON_ADAPTER.dump_json(body), status, headers, media_type="application/json")

    def page(self, items: Sequence[Any], *, limit: int, position: Callable[[Any], str]) -> Response:
        """A page of at most `limit`; pass one more than that, and it becomes the sign that more follow.

        `position` tells an item's place, which the next request's cursor carries back.
        """
        shown = list(items[:limit])
        following = encode_cursor(position(shown[-1])) if len(items) > limit else None
        meta = {"requestId": self.request_id, "nextCursor": following}
        body = {"data": [_to_json(item) for item in shown], "meta": meta}
        return Response(_JSON_ADAPTER.dump_json(body), media_type="application/json")


def _to_json(data: Any) -> Any:
    if isinstance(data, BaseModel):
        return data.model_dump(mode="json", by_alias=True)
    return [_to_json(item) for item in data] if isinstance(data, list | tuple) else data


def _replay_reply(kept: idempotency.StoredReply) -> Response:
    return Response(kept.body, kept.status or 200, {"Idempotent-Replayed": "true"}, media_type="application/json")


async def _authenticate_request(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Principal:
    if credentials is None:
        raise Unauthenticated(
            "No key was sent. Add `Authorization: Bearer mnk_<org>_<secret>`; `mnemon keys create` makes one."
        )
    services: Services = request.app.state.services
    principal = await authenticate(services.db, credentials.credentials)
    request.app.state.rate_limit.count_request(principal.org_id, principal.key_id)
    return principal


async def _open_door(request: Request, principal: Annotated[Principal, Depends(_authenticate_request)]) -> Door:
    await require_json(request)
    return Door(request, principal, request.app.state.services)


def needs(grant: Grant) -> Any:
    """The door for a handler that needs this scope: `door: Annotated[Door, needs(Grant.MEMORY_READ)]`."""

    async def door_with_grant(door: Annotated[Door, Depends(_open_door)]) -> Door:
        door.require_grant(grant)
        return door

    return Depends(door_with_grant)


def responses_for(
    model: Any = None, *, status: int = 200, page: bool = False, problems: Collection[int] | None = None, **more: Any
) -> dict[int | str, Any]:
    """The `responses=` of a route: its success, and the problems it may answer with; by default those of any route."""
    possible = _COMMON_STATUSES if problems is None else problems
    responses: dict[int | str, Any] = {status: openapi_problem(status) for status in possible}
    if model is not None:
        responses[status] = {"model": Page[model] if page else Envelope[model], "description": "Done", **more}
    return responses
