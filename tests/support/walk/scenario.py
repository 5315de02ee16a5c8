"""What is walked over: a request that writes, or a kind of work."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from support.walk.contents import Contents
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

    @property
    def is_tool(self) -> bool:
        """Whether it calls an MCP tool, whose errors are told to the model in an answer of their own."""
        return self.operation.startswith("MCP ")


@dataclass(frozen=True, kw_only=True)
class WorkScenario:
    """Work of one kind that is due on an organization."""

    name: str
    kind: str
    arrange: Callable[[Stage], Awaitable[None]]
    beside: Callable[[Stage], str] = lambda stage: ""
    """What the work leaves outside the database, as text."""


Scenario = RequestScenario | WorkScenario


@dataclass(frozen=True, kw_only=True)
class Played:
    """What came of a scenario that nothing disturbed."""

    statements: tuple[str, ...]
    contents: Contents
    beside: str = ""
    """What work left outside the database."""
    status: int = 0
    body: Any = None
    """What a request was answered; for one with an Idempotency-Key, its repetition."""
