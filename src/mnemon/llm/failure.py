"""What went wrong with a request to a model, in Mnemon's words."""

from dataclasses import dataclass

import httpx2
from pydantic_ai import exceptions as vendor

from mnemon.errors import ModelDown

RAISED: tuple[type[Exception], ...] = (
    vendor.AgentRunError,
    vendor.UserError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    OSError,
    TimeoutError,
    # The vendors' libraries read an answer of the wrong shape without looking first.
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
)
"""All that a request may raise, whoever serves it."""

UNAVAILABLE = "model_unavailable"
UNUSABLE = "model_answer_unusable"
REFUSED = "model_refused"
_RETRIED_STATUS = {408, 409, 425, 429}


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
        case vendor.ModelRequestTimeout() | vendor.ModelTimeoutError() | TimeoutError():
            return too_slow(model, timeout)
        case vendor.ModelConnectionError() | httpx2.TransportError() | OSError():
            cause = _cause(error)
            detail = f"{model} cannot be reached ({cause}). Check MNEMON_MODEL_BASE_URL and that the server runs."
            return Failure(detail=detail, code=UNAVAILABLE, again=True)
        case vendor.ModelHTTPError():
            return _from_status(error, model)
        case vendor.ContentFilterError():
            detail = f"{model} declined to answer: its content filter stopped it. Rephrase, or use another model."
            return Failure(detail=detail, code=REFUSED, again=False)
        case vendor.UserError():
            return Failure(detail=f"{model} cannot be asked so: {error}", code=REFUSED, again=False)
        case _:
            return unusable(model, _cause(error))


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


def _from_status(error: vendor.ModelHTTPError, model: str) -> Failure:
    status = error.status_code
    if status in (401, 403):
        detail = f"{model} refused the key ({status}). Set MNEMON_MODEL_API_KEY to one that is valid."
        return Failure(detail=detail, code=REFUSED, again=False)
    if status == 404:
        detail = f"{model} is not known there (404). Check MNEMON_MODEL and MNEMON_MODEL_BASE_URL."
        return Failure(detail=detail, code=REFUSED, again=False)
    if status == 429 or isinstance(error, vendor.ModelQuotaExceededError):
        detail = f"{model} takes no more requests now (429). Wait, or raise the quota there."
        again = not isinstance(error, vendor.ModelQuotaExceededError)
        return Failure(detail=detail, code=UNAVAILABLE, again=again, after=error.retry_after)
    if status >= 500 or status in _RETRIED_STATUS:
        detail = f"{model} failed with status {status}. Try again later."
        return Failure(detail=detail, code=UNAVAILABLE, again=True, after=error.retry_after)
    detail = f"{model} rejected the request ({status}): {_cause(error)}"
    return Failure(detail=detail, code=REFUSED, again=False)


def _cause(error: Exception) -> str:
    """The error's first line, short: it may quote what the server sent."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]
