"""Every error Mnemon raises on purpose.

    MnemonError
    ├── Invalid            the request cannot be understood or breaks a rule      422
    │   └── Malformed      not even well-formed (bad JSON, bad cursor)            400
    ├── Unauthenticated    no key, or one that is not valid                       401
    ├── NotAllowed         a good key without the scope                           403
    ├── NotFound           no such thing for this caller                          404
    ├── Conflict           the current state does not allow it                    409
    ├── Stale              the version named is no longer current                 412
    ├── TooLarge           the body is larger than allowed                        413
    ├── WrongMediaType     the body's media type is not supported                 415
    ├── Misdirected        the request names a host that is not this server       421
    ├── RateLimited        too many requests; says how long to wait               429
    ├── Unavailable        a dependency is down; a retry may help                 503
    │   ├── DatabaseDown
    │   ├── Contended      writers blocked each other and one had to give way
    │   └── ModelDown      the language model or the embedder did not answer
    │       └── ModelOverrun   the question or its answer is longer than the model takes
    └── Misconfigured      the operator has to change something; says what

The statuses are listed for the reader; `api.problems` maps errors to them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FieldFault:
    """What is wrong with one field."""

    pointer: str
    """A JSON pointer into the body (`/messages/0/role`), or `?name` for a query parameter."""
    detail: str


class MnemonError(Exception):
    """An error with a stable code and a sentence that says the cause and the next step."""

    code = "error"

    def __init__(self, detail: str, *, code: str | None = None, faults: tuple[FieldFault, ...] = ()) -> None:
        """Keep the sentence for the caller, a code (else that of the class) and faults by field."""
        super().__init__(detail)
        self.detail = detail
        self.code = code or type(self).code
        self.faults = faults


class Invalid(MnemonError):
    """The request cannot be understood or breaks a rule."""

    code = "invalid"


class Malformed(Invalid):
    """The request is not well-formed."""

    code = "malformed"


class Unauthenticated(MnemonError):
    """There is no key, or it is not valid."""

    code = "unauthenticated"


class NotAllowed(MnemonError):
    """The key is valid but lacks the scope."""

    code = "not_allowed"


class NotFound(MnemonError):
    """There is no such thing for this caller. The message is the same for an unknown id and another organization's."""

    code = "not_found"

    def __init__(self, noun: str, *, code: str | None = None, detail: str | None = None) -> None:
        """Make the error that there is no such `noun` for this caller, or with `detail` as its sentence."""
        message = detail or f"There is no such {noun}. Check the id, and that the key belongs to its organization."
        super().__init__(message, code=code)


class Conflict(MnemonError):
    """The current state does not allow the request."""

    code = "conflict"


class Stale(MnemonError):
    """The version that the request names is no longer current."""

    code = "stale"


class TooLarge(MnemonError):
    """The body is larger than the server takes."""

    code = "too_large"


class WrongMediaType(MnemonError):
    """The body's media type is not supported."""

    code = "wrong_media_type"


class Misdirected(MnemonError):
    """The request names a host that is not this server."""

    code = "foreign_host"


class RateLimited(MnemonError):
    """The caller made too many requests; `retry_after` is the seconds to wait."""

    code = "rate_limited"

    def __init__(self, detail: str, *, retry_after: int) -> None:
        """Keep the number of seconds after which the caller may try again."""
        super().__init__(detail)
        self.retry_after = retry_after


class Unavailable(MnemonError):
    """A dependency is down; a retry may help."""

    code = "unavailable"


class DatabaseDown(Unavailable):
    """The database cannot be used now."""

    code = "database_unavailable"


class Contended(Unavailable):
    """Writers blocked each other, and this one was rolled back."""

    code = "contended"


class ModelDown(Unavailable):
    """The language model or the embedder did not answer."""

    code = "model_unavailable"


class ModelOverrun(ModelDown):
    """The question, or the answer to it, is longer than the model takes; a shorter question may be answered."""


class Misconfigured(MnemonError):
    """The operator has to change something; the message says what."""

    code = "misconfigured"
