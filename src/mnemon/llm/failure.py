"""What went wrong with a request to a model, in Mnemon's words."""

from dataclasses import dataclass

import httpx2

from mnemon.errors import ModelDown

UNAVAILABLE = "model_unavailable"
UNUSABLE = "model_answer_unusable"
REFUSED = "model_refused"
_RETRIED_STATUS = {408, 409, 425, 429}


class Rejected(Exception):
    """The server answered with an error: by its status, or inside a stream that had begun well."""

    def __init__(self, status: int, cause: str, *, after: float | None = None, spent: bool = False) -> None:
        super().__init__(cause)
        self.status = status
        self.after = after
        """Seconds it asked to wait."""
        self.spent = spent
        """Whether what was paid for is used up, so that waiting does not help."""


class Declined(Exception):
    """The vendor's content filter stopped the answer."""


class Unaskable(Exception):
    """This model cannot be asked so; says why."""


RAISED: tuple[type[Exception], ...] = (
    Rejected,
    Declined,
    Unaskable,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    OSError,
    TimeoutError,
    # An answer of the wrong shape; the vendors' libraries read one without looking first.
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
)
"""All that a request may raise, whoever serves it."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One request that failed."""

    detail: str
    """The cause and the next step."""
    code: str
    again: bool
    """Whether the same request may succeed when sent again."""
    after: float | None = None
    """Seconds the server asked to wait."""

    def error(self) -> ModelDown:
        return ModelDown(self.detail, code=self.code)


def failure_of(error: Exception, model: str, timeout: float) -> Failure:
    """What to make of an exception that a request raised."""
    match error:
        case httpx2.ConnectTimeout():
            return _unreachable(model, "it did not take the connection")
        case TimeoutError() | httpx2.TimeoutException():
            return too_slow(model, timeout)
        case httpx2.TransportError() | OSError():
            return _unreachable(model, cause_of(error))
        case Rejected():
            return _from_status(error, model)
        case Declined():
            detail = f"{model} declined to answer: its content filter stopped it. Rephrase, or use another model."
            return Failure(detail=detail, code=REFUSED, again=False)
        case Unaskable():
            return Failure(detail=f"{model} cannot be asked so: {error}", code=REFUSED, again=False)
        case _:
            return unusable(model, cause_of(error))


def too_slow(model: str, timeout: float) -> Failure:
    """No answer within the bound."""
    detail = f"{model} did not answer within {timeout:g} s. Try again, or raise MNEMON_MODEL_TIMEOUT_S."
    return Failure(detail=detail, code=UNAVAILABLE, again=True)


def unusable(model: str, why: str) -> Failure:
    """An answer came, and it is not one."""
    detail = f"{model} gave an answer that cannot be used: {why}. Ask again, or use another model."
    return Failure(detail=detail, code=UNUSABLE, again=False)


def broken_off(model: str, why: str) -> Failure:
    """The reply began and did not end."""
    detail = f"{model} broke off in the middle of its reply ({why}). Ask again."
    return Failure(detail=detail, code=UNAVAILABLE, again=False)


def cause_of(error: Exception) -> str:
    """The error's first line, short: it may quote what the server sent."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]


def _unreachable(model: str, cause: str) -> Failure:
    detail = f"{model} cannot be reached ({cause}). Check MNEMON_MODEL_BASE_URL and that the server runs."
    return Failure(detail=detail, code=UNAVAILABLE, again=True)


def _from_status(error: Rejected, model: str) -> Failure:
    status = error.status
    if status in (401, 403):
        detail = f"{model} refused the key ({status}). Set MNEMON_MODEL_API_KEY to one that is valid."
        return Failure(detail=detail, code=REFUSED, again=False)
    if status == 404:
        detail = f"{model} is not known there (404). Check MNEMON_MODEL and MNEMON_MODEL_BASE_URL."
        return Failure(detail=detail, code=REFUSED, again=False)
    if status == 429 or error.spent:
        detail = f"{model} takes no more requests now (429). Wait, or raise the quota there."
        return Failure(detail=detail, code=UNAVAILABLE, again=not error.spent, after=error.after)
    if status >= 500 or status in _RETRIED_STATUS:
        detail = f"{model} failed with status {status}. Try again later."
        return Failure(detail=detail, code=UNAVAILABLE, again=True, after=error.after)
    detail = f"{model} rejected the request ({status}): {cause_of(error)}"
    return Failure(detail=detail, code=REFUSED, again=False)
