"""The seam between patience and a vendor: one request, asked once. What fails, fails with one of `failure.RAISED`."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from mnemon.llm.protocol import ChatRequest, Finished, Question, Text, ToolRequest, Usage


@dataclass(frozen=True, kw_only=True)
class Said:
    """A structured answer as it came, not yet looked at."""

    text: str
    usage: Usage
    """The tokens; how long it took and whose they are is put in above."""
    cut: bool = False
    """Whether it ends where the limit of its length was."""


Piece = Text | ToolRequest | Finished | None
"""A piece of a reply. None: the model is at work, thinking or writing a call, and says nothing yet."""


class Vendor(Protocol):
    """One model, as its vendor's wire reaches it."""

    async def said(self, question: Question) -> Said:
        """The answer to one request."""
        ...

    def pieces(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """One request's reply. `Finished` comes last, and only where the server itself ended the reply."""
        ...

    async def close(self) -> None:
        """Its connections are closed."""
        ...
