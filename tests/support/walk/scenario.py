"""What is walked over: a request that writes, or a kind of work."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from support.walk.house import Call, Stage


@dataclass(frozen=True, kw_only=True)
class RequestScenario:
    """A request on an organization that was made ready for it."""

    name: str
    operation: str
    """`POST /api/memories` as the OpenAPI document has it, `MCP remember`, or `FORM /memories/{memory_id}/pin`."""
    arrange: Callable[[Stage], Awaitable[Call]]
    keyed: bool = True
    """Sent with an Idempotency-Key: sent again, it takes effect once. Forms and MCP calls have none."""
    kinds: tuple[str, ...] = ()
    """Work that a server does by itself before a repetition can be answered."""
    ends_after_minutes: float = 0.0
    """How long it takes until what the request left open is over."""


@dataclass(frozen=True, kw_only=True)
class WorkScenario:
    """Work of one kind that is due on an organization."""

    name: str
    kind: str
    arrange: Callable[[Stage], Awaitable[None]]
    beside: Callable[[Stage], str] = lambda stage: ""
    """What the work leaves outside the database, as text."""


Scenario = RequestScenario | WorkScenario
