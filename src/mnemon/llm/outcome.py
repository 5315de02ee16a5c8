"""How a call to a model ended. It imports no HTTP library, which offline mode must not load."""

from dataclasses import dataclass
from enum import StrEnum

from mnemon.errors import ModelDown, ModelOverrun


class CallOutcome(StrEnum):
    """How a call to a model ended, for the log."""

    OK = "ok"
    BAD_ANSWER = "bad_answer"
    """An answer came that cannot be used."""
    TIMEOUT = "timeout"
    REFUSED = "refused"
    """The vendor will not answer this request, or not with this key."""
    UNAVAILABLE = "unavailable"
    CUT = "cut"
    """The reply began and did not end."""
    CANCELLED = "cancelled"
    """The caller no longer waits for the answer."""
    INTERNAL = "internal"
    """A bug in Mnemon."""


@dataclass(frozen=True, kw_only=True)
class ModelFailure:
    """One failed request: what to tell the caller, what to log, and whether to retry."""

    detail: str
    """The cause and the next step, for the caller; it quotes nothing from the server."""
    code: str
    outcome: CallOutcome
    next_step: str
    """What the operator should do, for the log."""
    status: int | None = None
    """The HTTP status the server answered with."""
    again: bool
    """Whether the same request may succeed when sent again."""
    after: float | None = None
    """Seconds the server asked to wait."""

    overrun: bool = False
    """Whether the question or its answer is longer than the model takes."""

    def to_error(self) -> ModelDown:
        """Return the failure as the ModelDown to raise."""
        return (ModelOverrun if self.overrun else ModelDown)(self.detail, code=self.code)
