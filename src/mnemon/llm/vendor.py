"""The interface to a vendor, one request sent once, and the policy by which requests are retried.

A request that fails raises one of `failure.REQUEST_ERRORS`.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from mnemon.llm.protocol import LlmChatRequest, LlmQuestion, ReplyFinished, TextPiece, ToolRequest, Usage

ReplyPiece = TextPiece | ToolRequest | ReplyFinished | None
"""A piece of a reply. None means that the model is working, thinking or writing a call, without text yet."""


@dataclass(frozen=True, kw_only=True)
class RawAnswer:
    """A structured answer as received, not yet parsed."""

    text: str
    usage: Usage
    """The tokens only; the caller adds the duration and the model's name."""
    cut: bool = False
    """Whether it ends because it reached the length limit."""


class LlmVendor(Protocol):
    """One model, as reached over its vendor's API."""

    async def request_answer(self, question: LlmQuestion) -> RawAnswer:
        """Send one request for a structured answer and return it unparsed."""
        ...

    def stream_reply(self, request: LlmChatRequest) -> AsyncGenerator[ReplyPiece, None]:
        """Send one chat request and yield its reply; `ReplyFinished` comes last, only if the server ended the reply."""
        ...

    async def close(self) -> None:
        """Close the model's HTTP connections."""
        ...


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Limits of one call. Times are in seconds."""

    timeout: float = 60.0
    """Limit for a structured answer, or the first piece of a reply, with all tries and delays."""
    whole_reply: float = 600.0
    """Limit for a complete streamed reply."""
    tries: int = 4
    """Most requests for one call."""
    longest_reply: int = 200_000
    """Characters of a streamed reply; the rest is cut off."""
    first_wait: float = 0.5
    """Delay before the second try; doubles with each further one."""

    def next_delay(self, *, tried: int, remaining: float, asked: float | None, jitter: float) -> float | None:
        """Return the seconds to wait before a model is tried again, or None when no try is left or it would be late.

        `asked` is the server's Retry-After, which is followed exactly; `jitter` in [0, 1) spreads the other delays.
        """
        if tried >= self.tries:
            return None
        wanted = asked if asked is not None else self.first_wait * 2 ** (tried - 1) * (0.75 + jitter / 2)
        return wanted if 0 <= wanted < remaining else None
