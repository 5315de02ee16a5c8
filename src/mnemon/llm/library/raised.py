"""The library's exceptions, in the words that `failure` knows."""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic_ai import exceptions as library

from mnemon.llm.failure import Declined, Rejected, Unaskable


@contextmanager
def translated() -> Iterator[None]:
    """Whatever the library raises inside comes out as one of `failure.RAISED`."""
    try:
        yield
    except (library.AgentRunError, library.UserError, AssertionError) as error:
        raise _ours(error) from error


def _ours(error: Exception) -> Exception:
    match error:
        case library.ModelRequestTimeout() | library.ModelTimeoutError():
            return TimeoutError(str(error))
        case library.ModelConnectionError():
            return ConnectionError(str(error))
        case library.ModelHTTPError():
            spent = isinstance(error, library.ModelQuotaExceededError)
            return Rejected(error.status_code, str(error), after=error.retry_after, spent=spent)
        case library.ContentFilterError():
            return Declined(str(error))
        case library.UserError():
            return Unaskable(str(error))
        case _:
            return ValueError(str(error))
