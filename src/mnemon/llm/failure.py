"""What went wrong with a request to a model: the error for the caller, the outcome for the log, whether to retry.

A server's own sentence is never passed on: it may quote the prompt, with a person's words in it or with what the caller
may not read, and a sentence that is stored outlives the words that were forgotten. Only its status and its error code
are.
"""

import re
from dataclasses import replace

import httpx2

from mnemon.llm.outcome import CallOutcome, ModelFailure

UNAVAILABLE_CODE = "model_unavailable"
UNUSABLE_CODE = "model_answer_unusable"
REFUSED_CODE = "model_refused"
OVERRUN_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"})
"""Error codes of servers whose model cannot read a text of that length."""
_RETRIED_STATUSES = {408, 409, 425, 429}
"""HTTP statuses below 500 after which the same request may succeed."""


_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,59}")


class VendorRejected(Exception):
    """The server responded with an error, by status or inside a stream that had begun well.

    Its text is the server's error code, if that is an identifier, and otherwise empty.
    """

    def __init__(self, status: int, code: str = "", *, after: float | None = None, spent: bool = False) -> None:
        super().__init__(error_identifier(code))
        self.status = status
        self.after = after
        """Seconds the server asked to wait."""
        self.spent = spent
        """Whether the quota is used up, so that waiting does not help."""


class AnswerDeclined(Exception):
    """The vendor's content filter stopped the answer."""


class UnsupportedRequest(Exception):
    """The model does not support such a request; the message says why."""


class UnusableAnswer(ValueError):
    """The answer cannot be used; the message says why, in Mnemon's words."""


class NotAModel(UnusableAnswer):
    """The response is a web page, so the server at that address is no model."""


REQUEST_ERRORS: tuple[type[Exception], ...] = (
    VendorRejected,
    AnswerDeclined,
    UnsupportedRequest,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    OSError,
    TimeoutError,
    # A malformed answer: the vendors' libraries read fields without checking that they exist.
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
)
"""Everything that a request may raise, with any vendor."""


def classify_failure(error: Exception, model: str, timeout: float) -> ModelFailure:
    """Return the ModelFailure for a request's exception: what to tell the caller, what to log, whether to retry."""
    # The order matters: a ConnectTimeout is a TimeoutException, and timeouts are TransportErrors or OSErrors.
    match error:
        case httpx2.ConnectTimeout():
            return _unreachable_failure(model, "it did not accept the connection")
        case TimeoutError() | httpx2.TimeoutException():
            return timeout_failure(model, timeout)
        case httpx2.TransportError() | OSError():
            return _unreachable_failure(model, describe_cause(error))
        case VendorRejected():
            return _status_failure(error, model)
        case AnswerDeclined():
            detail = f"{model} declined to answer: its content filter stopped it. Rephrase, or use another model."
            return _refused_failure(detail, "use another model if its content filter stops this often")
        case UnsupportedRequest():
            return _refused_failure(
                f"{model} does not support this request: {error}", "check the options that the caller sent"
            )
        case NotAModel():
            return not_a_model_failure(model)
        case _:
            return unusable_failure(model, describe_cause(error))


def timeout_failure(model: str, timeout: float) -> ModelFailure:
    """Return the failure for a model that did not answer in time, which may be retried."""
    detail = f"{model} did not answer within {timeout:g} s. Try again, or raise MNEMON_MODEL_TIMEOUT_S."
    step = "raise MNEMON_MODEL_TIMEOUT_S, use a faster model, or check that the model's server answers at all"
    return ModelFailure(detail=detail, code=UNAVAILABLE_CODE, outcome=CallOutcome.TIMEOUT, next_step=step, again=True)


def cut_answer_failure(model: str) -> ModelFailure:
    """Return the failure for an answer that was cut at the length limit, which is not retried."""
    return replace(unusable_failure(model, "it was cut at the length limit"), overrun=True)


def unusable_failure(model: str, why: str) -> ModelFailure:
    """Return the failure for an answer that cannot be used, which is not retried."""
    detail = f"{model} gave an answer that cannot be used: {why}. Ask again, or use another model."
    step = "nothing if it is rare; otherwise use a model that keeps to a JSON schema"
    return ModelFailure(detail=detail, code=UNUSABLE_CODE, outcome=CallOutcome.BAD_ANSWER, next_step=step, again=False)


def not_a_model_failure(model: str) -> ModelFailure:
    """Return the failure for a web page in place of an answer, which is not retried."""
    step = "check MNEMON_MODEL_BASE_URL: the server there is not a model"
    detail = f"{model} gave an answer that cannot be used: it is a web page. {step[0].upper()}{step[1:]}."
    return ModelFailure(detail=detail, code=UNUSABLE_CODE, outcome=CallOutcome.BAD_ANSWER, next_step=step, again=False)


def cut_off_failure(model: str, why: str) -> ModelFailure:
    """Return the failure for a reply that began and did not end, which is not retried."""
    detail = f"{model} broke off in the middle of its reply ({why}). Ask again."
    step = "nothing if it is rare; otherwise look at the network and the model's server"
    return ModelFailure(detail=detail, code=UNAVAILABLE_CODE, outcome=CallOutcome.CUT, next_step=step, again=False)


def error_identifier(code: object) -> str:
    """Return the server's error code if it is a short identifier such as `context_length_exceeded`, otherwise ""."""
    return code if isinstance(code, str) and _IDENTIFIER.fullmatch(code) else ""


def describe_cause(error: Exception) -> str:
    """Return what happened in words that quote nothing from the server."""
    match error:
        case VendorRejected():
            return _status_and_code(error)
        case UnusableAnswer():
            return str(error)
        case AnswerDeclined():
            return "its content filter stopped it"
        case TimeoutError() | httpx2.TimeoutException():
            return "it took too long"
        case httpx2.ConnectError():
            # Raised before the server has sent a byte of HTTP: the words are the operating system's or TLS's.
            return str(error).partition("\n")[0][:200] or "the connection failed"
        case OSError(strerror=str(reason)):
            return reason
        case httpx2.TransportError() | OSError():
            return "the connection broke off"
        case _:
            return f"it does not have the expected form ({type(error).__name__})"


def _status_and_code(error: VendorRejected) -> str:
    """Return the status, and the server's error code where it sent one."""
    return f"{error.status}, {error}" if str(error) else str(error.status)


def _unreachable_failure(model: str, cause: str) -> ModelFailure:
    """Return the failure for a model's server that cannot be reached, which may be retried."""
    detail = f"{model} cannot be reached ({cause}). Check MNEMON_MODEL_BASE_URL and that the server runs."
    step = "check MNEMON_MODEL_BASE_URL and that the model's server runs"
    return ModelFailure(
        detail=detail, code=UNAVAILABLE_CODE, outcome=CallOutcome.UNAVAILABLE, next_step=step, again=True
    )


def _refused_failure(detail: str, next_step: str, status: int | None = None) -> ModelFailure:
    """Return the failure for a request that the model's vendor refuses, which is not retried."""
    outcome = CallOutcome.REFUSED
    return ModelFailure(
        detail=detail, code=REFUSED_CODE, outcome=outcome, next_step=next_step, status=status, again=False
    )


def _busy_failure(detail: str, next_step: str, error: VendorRejected, *, again: bool) -> ModelFailure:
    """Return the failure for a server that is overloaded, broken or out of quota, with its Retry-After."""
    outcome, status, after = CallOutcome.UNAVAILABLE, error.status, error.after
    return ModelFailure(
        detail=detail,
        code=UNAVAILABLE_CODE,
        outcome=outcome,
        next_step=next_step,
        status=status,
        again=again,
        after=after,
    )


def _status_failure(error: VendorRejected, model: str) -> ModelFailure:
    """Return the failure for a response with an error status, by that status."""
    status = error.status
    if status in (401, 403):
        detail = f"{model} refused the key ({status}). Set MNEMON_MODEL_API_KEY to one that is valid."
        return _refused_failure(detail, "check MNEMON_MODEL_API_KEY", status)
    if status == 404:
        detail = f"{model} was not found (404). Check MNEMON_MODEL and MNEMON_MODEL_BASE_URL."
        return _refused_failure(detail, "check MNEMON_MODEL and MNEMON_MODEL_BASE_URL", status)
    if status == 429 or error.spent:
        detail = f"{model} accepts no more requests now (429). Wait, or raise the quota at its provider."
        return _busy_failure(detail, "wait, or raise the quota at the model's provider", error, again=not error.spent)
    if status >= 500 or status in _RETRIED_STATUSES:
        detail = f"{model} failed with status {status}. Try again later."
        return _busy_failure(detail, "look at the model's server, or its provider's status page", error, again=True)
    if status == 413 or str(error) in OVERRUN_CODES:
        step = "use a model with a larger context, or send shorter messages"
        detail = f"{model} cannot read so long a text ({_status_and_code(error)}). {step[0].upper()}{step[1:]}."
        return replace(_refused_failure(detail, step, status), overrun=True)
    step = "check that MNEMON_MODEL takes a JSON schema and this much text"
    if status < 400:
        step = "check MNEMON_MODEL_BASE_URL: redirects are not followed"
    detail = f"{model} rejected the request ({_status_and_code(error)}). {step[0].upper()}{step[1:]}."
    return _refused_failure(detail, step, status)
