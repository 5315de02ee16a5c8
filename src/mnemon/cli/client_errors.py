"""The client's errors as sentences for the terminal: what happened, and the next step."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from mnemon import errors
from mnemon.errors import Misconfigured, MnemonError, NotFound, Unauthenticated, Unavailable
from mnemon_client import ApiError, Unreachable
from mnemon_client.errors import ClientError, UnexpectedAnswer

_ERROR_BY_STATUS: dict[int, type[MnemonError]] = {
    400: errors.Invalid,
    403: errors.NotAllowed,
    409: errors.Conflict,
    412: errors.Stale,
    413: errors.TooLarge,
    415: errors.Invalid,
    422: errors.Invalid,
    429: errors.Unavailable,
    503: errors.Unavailable,
}
_GATEWAY_STATUSES = (502, 503, 504)


@contextmanager
def explain_client_errors(url: str) -> Iterator[None]:
    """Raise an error of the client in this block as a MnemonError, with a sentence and an exit code."""
    try:
        yield
    except ClientError as error:
        raise explained_error(error, url) from error


def explained_error(error: ClientError, url: str) -> MnemonError:
    """Return the client's error as a MnemonError, with what is wrong and the next step."""
    if isinstance(error, ApiError):
        return _explain_problem(error, url)
    if isinstance(error, UnexpectedAnswer):
        moved = f" It redirects to {error.location}." if error.location else ""
        return Misconfigured(f"{_not_mnemon(url, error.status)}{moved}", code="not_mnemon")
    if isinstance(error, Unreachable):
        return _explain_silence(error, url)
    return Unavailable(f"{url}: {error}")


def _explain_problem(error: ApiError, url: str) -> MnemonError:
    """Return an error response of the server as the CLI's error: what is wrong, and the next step."""
    if error.code == "unknown":  # not a problem of ours: another program, or a proxy in front of the server
        if error.status in _GATEWAY_STATUSES:
            return Unavailable(
                f"{url} answered {error.status}: the server behind it is not available. Try again later."
            )
        return Misconfigured(_not_mnemon(url, error.status), code="not_mnemon")
    if error.status == 401:
        step = "Name another key with --key or MNEMON_KEY, or store one with `mnemon login`."
        return Unauthenticated(f"{error.detail} {step}", code=error.code)
    if error.status == 404:
        known = error.code != "no_such_route"
        detail = error.detail if known else f"{url} does not know this request: it runs another version of Mnemon."
        return NotFound("", code=error.code, detail=detail)
    faults = "; ".join(f"{_field_name(one)} {one.get('detail', '')}" for one in error.errors)
    kind = _ERROR_BY_STATUS.get(error.status, MnemonError)
    detail = faults and f"The server refused {faults}." if error.code == "invalid_request" else error.detail
    request = f" (request {error.request_id})" if error.status == 500 else ""
    return kind(f"{detail or f'{url} answered {error.status}.'}{request}", code=error.code)


def _field_name(fault: object) -> str:
    """Return the name of the field that a validation error points to, as "`name`:"."""
    pointer = str(fault.get("pointer", "")) if isinstance(fault, dict) else ""
    return f"`{pointer.lstrip('/?')}`:"


def _explain_silence(error: Unreachable, url: str) -> MnemonError:
    """Return Unavailable with the reason why no response came: TLS, an unknown host, a refused connection."""
    cause = _root_cause(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Unavailable(
            f"The TLS certificate of {url} is not trusted: {cause.verify_message}. Check the host name in the address; "
            "for an authority of your own, set SSL_CERT_FILE to its certificate."
        )
    if isinstance(cause, ssl.SSLError):
        return Unavailable(
            f"{url} does not answer with TLS ({cause.reason or 'handshake failed'}). "
            "If it serves plain HTTP, write http:// in the address."
        )
    if isinstance(cause, socket.gaierror):
        return Unavailable(f"The host of {url} is not known. Check the address in --url, MNEMON_URL or your profile.")
    reason = (cause.strerror if isinstance(cause, OSError) else None) or "no answer"
    return Unavailable(
        f"{url} cannot be reached: {reason}. Check the address, and that the server runs: `mnemon serve` starts one."
    )


def _root_cause(error: BaseException) -> BaseException:
    """Return the most specific error of the operating system or of TLS that caused this one; without any, this one."""
    found, inner = error, error.__cause__ or error.__context__
    for _ in range(20):
        if inner is None:
            break
        if isinstance(inner, OSError):
            found = inner
        inner = inner.__cause__ or inner.__context__
    return found


def _not_mnemon(url: str, status: int) -> str:
    """Return the error sentence for a response that cannot come from a Mnemon server."""
    return (
        f"{url} answered {status}, but not as a Mnemon server does. Check the address: it is the one that "
        "`mnemon serve` prints."
    )
