"""The errors of the client.

ClientError
├── ApiError          the server answered with a problem: status, code, detail, request id
├── UnexpectedAnswer  something answered that is not a Mnemon server
└── Unreachable       no response came, after every retry
"""

from collections.abc import Mapping, Sequence
from typing import Any


class ClientError(Exception):
    """A call that did not succeed."""


class ApiError(ClientError):
    """A problem that the server answered with."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(problem.get("code", "unknown"))
        self.detail = str(problem.get("detail", ""))
        self.request_id = str(problem.get("requestId", ""))
        self.errors: Sequence[Mapping[str, str]] = problem.get("errors", ())
        super().__init__(f"{status} {self.code}: {self.detail}")


class UnexpectedAnswer(ClientError):
    """An answer that no Mnemon server gives: the address is another program's, or a proxy answered for the server."""

    def __init__(self, status: int, location: str | None = None) -> None:
        self.status = status
        self.location = location
        """Where a redirect leads."""
        super().__init__(f"{status}, and not the answer of a Mnemon server")


class Unreachable(ClientError):
    """No response from the server, after every retry."""
