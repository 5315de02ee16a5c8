"""What a handler stands at: who asks, what they may, transactions, and the one way to answer a write."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, TypeAdapter

from mnemon.access import replies
from mnemon.access.audit import ids_in, record_write
from mnemon.access.grants import Grant
from mnemon.access.keys import authenticate
from mnemon.access.principal import Principal, lacks_scope, names_another_person
from mnemon.access.watch import KeyWatch, StreamEnd
from mnemon.api.documented_problems import problem_response
from mnemon.api.json_route import require_json
from mnemon.api.wire import Envelope, Page, cursor_of
from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.errors import Contended, Invalid, NotAllowed, Unauthenticated
from mnemon.memory.trust import Trust, trust_of
from mnemon.scope import Scope, person

R = TypeVar("R")
GIVEN_WAY = 3
"""How often an effect that gave way to another writer is run again."""
_ANY_ROUTE = (400, 401, 403, 404, 409, 412, 413, 422, 429, 503)
_JSON: TypeAdapter[Any] = TypeAdapter(Any)
_bearer = HTTPBearer(auto_error=False, bearerFormat="mnk_<org>_<secret>", scheme_name="key")


class Door:
    """One request whose key has been checked."""

    def __init__(self, request: Request, principal: Principal, basement: Basement) -> None:
        self.request = request
        self.principal = principal
        self.basement = basement
        self.concerned: set[str] = set()
        """The internal ids of the people this request has named so far: whom its kept reply concerns."""

    @property
    def request_id(self) -> str:
        return str(self.request.state.request_id)

    @property
    def org(self) -> Scope:
        """The organization the key belongs to."""
        return Scope(org_id=self.principal.org_id)

    def person(self, user_id: str, persona_id: str | None = None) -> Scope:
        """The scope of the person the request names; refused for a key bound to another one."""
        bound = self.principal.bound_user
        if bound is not None and bound != user_id:
            raise names_another_person()
        named = person(self.principal.org_id, user_id, persona_id)
        self.concerned.add(named.user)
        return named

    def declared(self, source: str) -> str:
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
        return None if bound is None else person(self.principal.org_id, bound).user

    def may(self, grant: Grant) -> bool:
        return self.principal.may(grant)

    def require(self, grant: Grant) -> None:
        """Refuses a key that lacks the scope."""
        if not self.principal.may(grant):
            raise lacks_scope(self.principal, grant)

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
        async with self.basement.db.tx(self.principal.org_id) as tx:
            yield tx

    def while_key_is_good(self) -> AbstractAsyncContextManager[StreamEnd]:
        """Give an event for an endless stream: set when the key expires or is revoked, or the server stops."""
        state = self.request.app.state
        watch: KeyWatch = state.key_watch
        return watch.until_key_ends(self.principal, state.closing)

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
        slot = await self.slot()
        for _ in range(GIVEN_WAY):
            with suppress(Contended):
                return await self._written(slot, effect, render, status, headers)
        return await self._written(slot, effect, render, status, headers)

    async def _written(
        self,
        slot: replies.Slot | None,
        effect: Callable[[Tx], Awaitable[R]],
        render: Callable[[R], Any],
        status: int | Callable[[R], int],
        headers: dict[str, str] | None,
    ) -> Response:
        async with self.tx() as tx:
            if slot is not None:
                kept = await replies.earlier(tx, self.org, slot)
                if kept is not None and kept.status is not None:
                    return _replayed(kept)
            result = await effect(tx)
            shown = _plain(render(result))
            response = self.reply(shown, status=status(result) if callable(status) else status, headers=headers)
            self.audit(tx, *ids_in(shown))
            if slot is not None:
                body = bytes(response.body)
                await replies.keep(tx, self.org, slot, status=response.status_code, body=body, concerns=self.concerned)
        return response

    def audit(self, tx: Tx, *made: str) -> None:
        """Append this request to the audit log when the transaction commits: its route, and the ids it is about."""
        action = f"{self.request.method} {self.request.scope['route'].path_format}"
        named = self.request.path_params.values()
        targets = [*map(str, named), *made, *sorted(self.concerned)]
        record_write(tx, self.org, actor=self.principal.key_id, action=action, targets=targets)

    async def kept_reply(self) -> Response | None:
        """Give the reply that was kept for this very request; None for its first time."""
        slot = await self.slot()
        if slot is None:
            return None
        async with self.tx() as tx:
            kept = await replies.earlier(tx, self.org, slot)
        return None if kept is None or kept.status is None else _replayed(kept)

    async def slot(self) -> replies.Slot | None:
        """Where this request's reply is kept; None when it names no Idempotency-Key."""
        key = self.request.headers.get("Idempotency-Key")
        if key is None:
            return None
        if not 1 <= len(key) <= 255 or not key.isprintable():
            raise Invalid("An Idempotency-Key has 1 to 255 printable characters.", code="bad_idempotency_key")
        url = self.request.url
        print_ = replies.fingerprint(self.request.method, url.path, url.query, await self.request.body())
        return replies.Slot(caller=self.principal.key_id, key=key, fingerprint=print_)

    def reply(self, data: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
        """The data in its envelope."""
        body = {"data": _plain(data), "meta": {"requestId": self.request_id}}
        return Response(_JSON.dump_json(body), status, headers, media_type="application/json")

    def page(self, items: Sequence[Any], *, limit: int, position: Callable[[Any], str]) -> Response:
        """A page of at most `limit`; pass one more than that, and it becomes the sign that more follow.

        `position` tells an item's place, which the next request's cursor carries back.
        """
        shown = list(items[:limit])
        following = cursor_of(position(shown[-1])) if len(items) > limit else None
        meta = {"requestId": self.request_id, "nextCursor": following}
        body = {"data": [_plain(item) for item in shown], "meta": meta}
        return Response(_JSON.dump_json(body), media_type="application/json")


def _plain(data: Any) -> Any:
    if isinstance(data, BaseModel):
        return data.model_dump(mode="json", by_alias=True)
    return [_plain(item) for item in data] if isinstance(data, list | tuple) else data


def _replayed(kept: replies.Reply) -> Response:
    return Response(kept.body, kept.status or 200, {"Idempotent-Replayed": "true"}, media_type="application/json")


async def _principal(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Principal:
    if credentials is None:
        raise Unauthenticated(
            "No key was sent. Add `Authorization: Bearer mnk_<org>_<secret>`; `mnemon keys create` makes one."
        )
    basement: Basement = request.app.state.basement
    principal = await authenticate(basement.db, credentials.credentials)
    request.app.state.rate_limit.take_request(principal.org_id, principal.key_id)
    return principal


async def _door(request: Request, principal: Annotated[Principal, Depends(_principal)]) -> Door:
    await require_json(request)
    return Door(request, principal, request.app.state.basement)


def needs(grant: Grant) -> Any:
    """The door for a handler that needs this scope: `door: Annotated[Door, needs(Grant.MEMORY_READ)]`."""

    async def door(door: Annotated[Door, Depends(_door)]) -> Door:
        door.require(grant)
        return door

    return Depends(door)


def documented(
    model: Any = None, *, status: int = 200, page: bool = False, problems: Collection[int] | None = None, **more: Any
) -> dict[int | str, Any]:
    """The `responses=` of a route: its success, and the problems it may answer with; by default those of any route."""
    possible = _ANY_ROUTE if problems is None else problems
    responses: dict[int | str, Any] = {status: problem_response(status) for status in possible}
    if model is not None:
        responses[status] = {"model": Page[model] if page else Envelope[model], "description": "Done", **more}
    return responses
