"""Assemble a streamed chat completion: the data of its events into pieces of the reply.

Text is passed on as it comes, a tool call when it is complete, and the end when the server says so.
"""

import json
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from mnemon.llm.completions.response import (
    content_text,
    first_choice,
    parse_json_object,
    parse_stream_error,
    parse_usage,
)
from mnemon.llm.failure import UnusableAnswer
from mnemon.llm.protocol import Json, ReplyFinished, TextPiece, ToolRequest, Usage
from mnemon.llm.vendor import ReplyPiece

_FINISH_REASONS = {
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "content_filter",
}
"""Mnemon's finish reasons by the servers'; any other is `stop`."""
_THINK_START, _THINK_END = "<think>", "</think>"
"""A single token each in the models that use them, so each comes as a piece of its own."""
_NO_PIECES: tuple[ReplyPiece, ...] = ()
_KEEP_ALIVE: tuple[ReplyPiece, ...] = (None,)
"""Tells the caller that the model is working although there is no text yet."""


@dataclass
class _PartialToolCall:
    """A tool call whose pieces are still arriving."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    place: Any = None
    """Its index, on servers that number calls."""


class ReplyAssembler:
    """Assembles one reply from its chunks."""

    def __init__(self) -> None:
        """Begin a model's reply of which no chunk has arrived."""
        self._calls: list[_PartialToolCall] = []
        self._usage = Usage()
        self._begun = False
        self._reason: str | None = None
        self._refused = False
        self._thinks = False
        self._thought = False
        self._blank: list[str] | None = []
        """White space before the first word, sent together with it or not at all; None after the first word."""

    def add_chunk(self, data: bytes) -> tuple[ReplyPiece, ...]:
        """Return the pieces of the reply that this chunk of the stream completes; raise the error that it carries."""
        chunk = parse_json_object(data)
        if chunk.get("error"):
            raise parse_stream_error(chunk["error"])
        if chunk.get("usage"):
            # Servers that send usage in every chunk send the total so far, so the last one counts.
            self._usage = parse_usage(chunk["usage"])
        choice = first_choice(chunk.get("choices"))
        if choice is None:
            return _NO_PIECES
        self._begun = True
        self._reason = choice.get("finish_reason") or self._reason
        delta = choice.get("delta")
        return self._add_delta(delta) if isinstance(delta, dict) else _NO_PIECES

    def finish_reply(self, *, marked: bool) -> list[ReplyPiece]:
        """Return the reply's tool calls and `ReplyFinished`; nothing when the stream broke off.

        It broke off when the server sent neither a finish reason nor, as `marked` says, `[DONE]`.
        """
        # Any finish reason ends a reply, also one that is not OpenAI's, such as `eos`.
        if not (self._reason or self._refused or (marked and self._begun)):
            return []
        calls = [_finish_call(call) for call in self._calls if call.name]
        reason = "content_filter" if self._refused else _FINISH_REASONS.get(str(self._reason), "stop")
        return [*calls, ReplyFinished(usage=self._usage, reason="tool_calls" if calls else reason)]

    def _add_delta(self, delta: Json) -> tuple[ReplyPiece, ...]:
        """Return the pieces of a chunk's delta: text, or a keep-alive for thinking and parts of tool calls."""
        if delta.get("refusal"):
            self._refused = True
            return _NO_PIECES
        calls = delta.get("tool_calls") or ()
        for piece in calls:
            self._add_call_piece(piece)
        if content := delta.get("content"):
            return self._add_text(content if isinstance(content, str) else content_text(content))
        if delta.get("reasoning_content") or delta.get("reasoning"):
            self._thought = True
            return _KEEP_ALIVE
        return _KEEP_ALIVE if calls else _NO_PIECES

    def _add_text(self, text: str) -> tuple[ReplyPiece, ...]:
        """Return the delta's text without thinking and leading white space, or a keep-alive while the model thinks."""
        if self._thinks or text == _THINK_START:
            self._thinks, self._thought = text != _THINK_END, True
            return _KEEP_ALIVE
        if self._blank is not None:
            if not text.strip():
                # After thinking, white space only separates it from the reply, and is dropped.
                if not self._thought:
                    self._blank.append(text)
                return _NO_PIECES
            text, self._blank = "".join([*self._blank, text]), None
        return (TextPiece(text=text),)

    def _add_call_piece(self, piece: Any) -> None:
        """Add a part of a tool call to its call: id and name come once, the arguments in pieces or all at once."""
        if not isinstance(piece, dict):
            raise UnusableAnswer("a piece of a tool call is not a JSON object")
        function = piece.get("function")
        parts: Json = function if isinstance(function, dict) else {}
        call_id, name, arguments = str(piece.get("id") or ""), str(parts.get("name") or ""), parts.get("arguments")
        call = self._find_or_add_call(piece.get("index"), call_id, name)
        call.id = call.id or call_id
        # Some servers repeat the whole name with every piece.
        call.name += name if name != call.name else ""
        if arguments:
            call.arguments.append(arguments if isinstance(arguments, str) else json.dumps(arguments))

    def _find_or_add_call(self, place: Any, call_id: str, name: str) -> _PartialToolCall:
        """Return the tool call that an arriving part continues, or a new one."""
        if place is None:
            known = None if name or not self._calls else self._calls[-1]
        else:
            known = next((call for call in reversed(self._calls) if call.place == place), None)
        # Some servers give every call the same index and tell them apart by their ids.
        if known is None or (call_id and known.id and call_id != known.id and name):
            known = _PartialToolCall(place=place)
            self._calls.append(known)
        return known


def _finish_call(call: _PartialToolCall) -> ToolRequest:
    """Return the complete tool call. Raise UnusableAnswer when its arguments are no JSON object."""
    try:
        arguments = json.loads("".join(call.arguments) or "{}")
    except (ValueError, RecursionError):
        raise UnusableAnswer("the arguments of a tool call are not JSON") from None
    if arguments is not None and not isinstance(arguments, dict):
        raise UnusableAnswer("the arguments of a tool call are not a JSON object")
    return ToolRequest(id=call.id or f"call_{uuid4().hex}", name=call.name, arguments=arguments or {})
