"""What can go wrong on the way to the server and back.

ClientError
├── ApiError       the server answered with a problem: status, code, detail, request id
└── Unreachable    no answer came, after every retry
"""

from collections.abc import Mapping, Sequence
from typing import Any


class ClientError(Exception):
    """The call did not succeed."""


class ApiError(ClientError):
    """The server's own words on why not."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(problem.get("code", "unknown"))
        self.detail = str(problem.get("detail", ""))
        self.request_id = str(problem.get("requestId", ""))
        self.errors: Sequence[Mapping[str, str]] = problem.get("errors", ())
        super().__init__(f"{status} {self.code}: {self.detail}")


class Unreachable(ClientError):
    """Nobody answered."""
