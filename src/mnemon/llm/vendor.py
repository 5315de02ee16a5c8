"""The seam between patience and a vendor: one request, asked once. What fails, fails with one of `failure.RAISED`.

How long a model is waited for, how much of it is heard, and when it is asked again.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from mnemon.llm.protocol import LlmChatRequest, LlmQuestion, ReplyFinished, TextPiece, ToolRequest, Usage


@dataclass(frozen=True, kw_only=True)
class RawAnswer:
    """A structured answer as it came, not yet looked at."""

    text: str
    usage: Usage
    """The tokens; how long it took and whose they are is put in above."""
    cut: bool = False
    """Whether it ends where the limit of its length was."""


ReplyPiece = TextPiece | ToolRequest | ReplyFinished | None
"""A piece of a reply. None: the model is at work, thinking or writing a call, and says nothing yet."""


class LlmVendor(Protocol):
    """One model, as its vendor's wire reaches it."""

    async def request_answer(self, question: LlmQuestion) -> RawAnswer:
        """The answer to one request."""
        ...

    def stream_reply(self, request: LlmChatRequest) -> AsyncGenerator[ReplyPiece, None]:
        """One request's reply. `ReplyFinished` comes last, and only where the server itself ended the reply."""
        ...

    async def close(self) -> None:
        """Its connections are closed."""
        ...


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Bounds of one call. Times are in seconds."""

    timeout: float = 60.0
    """A structured answer, or the first piece of a reply, comes within this, all tries and waits included."""
    whole_reply: float = 600.0
    """A streamed reply is complete within this."""
    tries: int = 4
    """Most requests sent for one call."""
    longest_reply: int = 200_000
    """Characters of a streamed reply; what comes after them is not waited for."""
    first_wait: float = 0.5
    """Before the second try; doubles from there."""

    def next_delay(self, *, tried: int, remaining: float, asked: float | None, jitter: float) -> float | None:
        """Seconds to wait before trying again; None when there is no point.

        `asked` is what the server wants (Retry-After) and is honoured; `jitter` in [0, 1) spreads the rest.
        """
        if tried >= self.tries:
            return None
        wanted = asked if asked is not None else self.first_wait * 2 ** (tried - 1) * (0.75 + jitter / 2)
        return wanted if 0 <= wanted < remaining else None
