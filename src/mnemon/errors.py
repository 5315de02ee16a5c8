"""Every error Mnemon raises on purpose.

    MnemonError
    ├── Invalid            the request cannot be understood or breaks a rule      422
    │   └── Malformed      not even well-formed (bad JSON, bad cursor)            400
    ├── Unauthenticated    no key, or one that is not valid                       401
    ├── NotAllowed         a good key without the scope                           403
    ├── NotFound           no such thing for this caller                          404
    ├── Conflict           the current state does not allow it                    409
    ├── Stale              the version named is no longer current                 412
    ├── TooLarge           more than the door takes                               413
    ├── WrongMediaType     a body that is not of the kind the door reads          415
    ├── Misdirected        the request names a host that this server is not       421
    ├── RateLimited        too many requests; says when to come back              429
    ├── Unavailable        something below is down; trying again may help         503
    │   ├── DatabaseDown
    │   ├── Contended      writers blocked each other and one had to give way
    │   └── ModelDown      the language model or the embedder did not answer
    └── Misconfigured      the operator has to change something; says what

The statuses stand here for the reader; the HTTP door owns the mapping.
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
        super().__init__(detail)
        self.detail = detail
        self.code = code or type(self).code
        self.faults = faults


class Invalid(MnemonError):
    code = "invalid"


class Malformed(Invalid):
    code = "malformed"


class Unauthenticated(MnemonError):
    code = "unauthenticated"


class NotAllowed(MnemonError):
    code = "not_allowed"


class NotFound(MnemonError):
    """Says the same for an id that never existed and for one of another organization."""

    code = "not_found"

    def __init__(self, noun: str, *, code: str | None = None, detail: str | None = None) -> None:
        said = detail or f"There is no such {noun}. Check the id, and that the key belongs to its organization."
        super().__init__(said, code=code)


class Conflict(MnemonError):
    code = "conflict"


class Stale(MnemonError):
    code = "stale"


class TooLarge(MnemonError):
    code = "too_large"


class WrongMediaType(MnemonError):
    code = "wrong_media_type"


class Misdirected(MnemonError):
    code = "foreign_host"


class RateLimited(MnemonError):
    code = "rate_limited"

    def __init__(self, detail: str, *, retry_after: int) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class Unavailable(MnemonError):
    code = "unavailable"


class DatabaseDown(Unavailable):
    code = "database_unavailable"


class Contended(Unavailable):
    code = "contended"


class ModelDown(Unavailable):
    code = "model_unavailable"


class Misconfigured(MnemonError):
    code = "misconfigured"
