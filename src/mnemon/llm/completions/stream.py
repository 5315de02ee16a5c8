"""A reply put together from its chunks: text as it comes, calls once they are whole, the end where it is said.

Server-sent events out of bytes, wherever the network cut them.
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
from mnemon.llm.protocol import Json, ReplyFinished, TextPiece, ToolRequest, Usage
from mnemon.llm.vendor import ReplyPiece

_FINISH_REASONS = {
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "content_filter",
}
"""By what servers say; any other reason is a plain end."""
_THINKS, _THOUGHT = "<think>", "</think>"
"""Single tokens of the models that have them, so each comes as a piece of its own."""
_NO_PIECES: tuple[ReplyPiece, ...] = ()
_KEEP_ALIVE: tuple[ReplyPiece, ...] = (None,)


@dataclass
class _PartialToolCall:
    """A call in the making."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    place: Any = None
    """Its index, where the server numbers them."""


class ReplyAssembler:
    """One reply in the making."""

    def __init__(self) -> None:
        self._calls: list[_PartialToolCall] = []
        self._usage = Usage()
        self._begun = False
        self._reason: str | None = None
        self._refused = False
        self._thinks = False
        self._thought = False
        self._blank: list[str] | None = []
        """White space before the first word: it goes out with the word, or not at all. None once there was one."""

    def add_chunk(self, data: bytes) -> tuple[ReplyPiece, ...]:
        """What this chunk adds to the reply."""
        chunk = parse_json_object(data)
        if chunk.get("error"):
            raise parse_stream_error(chunk["error"])
        if chunk.get("usage"):
            # Servers that tell it in every chunk tell the sum so far.
            self._usage = parse_usage(chunk["usage"])
        choice = first_choice(chunk.get("choices"))
        if choice is None:
            return _NO_PIECES
        self._begun = True
        self._reason = choice.get("finish_reason") or self._reason
        delta = choice.get("delta")
        return self._add_delta(delta) if isinstance(delta, dict) else _NO_PIECES

    def finish_reply(self, *, marked: bool) -> list[ReplyPiece]:
        """The calls and the end. Nothing where the server named no reason and did not mark the end of anything."""
        if not (self._reason or self._refused or (marked and self._begun)):
            return []
        calls = [_finish_call(call) for call in self._calls if call.name]
        reason = "content_filter" if self._refused else _FINISH_REASONS.get(str(self._reason), "stop")
        return [*calls, ReplyFinished(usage=self._usage, reason="tool_calls" if calls else reason)]

    def _add_delta(self, delta: Json) -> tuple[ReplyPiece, ...]:
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
        if self._thinks or text == _THINKS:
            self._thinks, self._thought = text != _THOUGHT, True
            return _KEEP_ALIVE
        if self._blank is not None:
            if not text.strip():
                # Between a thought and the first word it only parts the two.
                if not self._thought:
                    self._blank.append(text)
                return _NO_PIECES
            text, self._blank = "".join([*self._blank, text]), None
        return (TextPiece(text=text),)

    def _add_call_piece(self, piece: Any) -> None:
        """A piece of a call goes where it belongs: id and name come once, the arguments bit by bit, or all at once."""
        if not isinstance(piece, dict):
            raise ValueError("a piece of a call is no JSON object")
        function = piece.get("function")
        said: Json = function if isinstance(function, dict) else {}
        call_id, name, arguments = str(piece.get("id") or ""), str(said.get("name") or ""), said.get("arguments")
        call = self._find_or_add_call(piece.get("index"), call_id, name)
        call.id = call.id or call_id
        # A server that says the name again with every bit means the same name.
        call.name += name if name != call.name else ""
        if arguments:
            call.arguments.append(arguments if isinstance(arguments, str) else json.dumps(arguments))

    def _find_or_add_call(self, place: Any, call_id: str, name: str) -> _PartialToolCall:
        """The call that a piece continues, or a new one."""
        if place is None:
            known = None if name or not self._calls else self._calls[-1]
        else:
            known = next((call for call in reversed(self._calls) if call.place == place), None)
        # Some give every call the same number, and ids that differ.
        if known is None or (call_id and known.id and call_id != known.id and name):
            known = _PartialToolCall(place=place)
            self._calls.append(known)
        return known


def _finish_call(call: _PartialToolCall) -> ToolRequest:
    try:
        arguments = json.loads("".join(call.arguments) or "{}")
    except (ValueError, RecursionError):
        raise ValueError(f"the arguments of its call to {call.name} are no JSON") from None
    if arguments is not None and not isinstance(arguments, dict):
        raise ValueError(f"the arguments of its call to {call.name} are no JSON object")
    return ToolRequest(id=call.id or f"call_{uuid4().hex}", name=call.name, arguments=arguments or {})


_DATA_FIELD = b"data"


class SseParser:
    """Takes bytes as they come and gives the data of each event that is complete.

    Comments, which keep a connection alive, and fields other than `data` are passed over. Lines end as the standard
    allows: LF, CRLF or CR.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        """The pieces of the line that is not complete: added up at its end, for a line may come byte by byte."""
        self._data: list[bytes] = []
        self._after_cr = False

    def feed(self, piece: bytes) -> list[bytes]:
        """The events that this piece completed."""
        if self._after_cr and piece.startswith(b"\n"):
            # The other half of a line end that was taken for whole.
            piece, self._after_cr = piece[1:], False
        if piece:
            self._after_cr = piece.endswith(b"\r")
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, *lines = piece.split(b"\n")
        self._line.append(first)
        if not lines:
            return []
        lines, self._line = [b"".join(self._line), *lines[:-1]], [lines[-1]]
        complete: list[bytes] = []
        for line in lines:
            if line:
                self._read_line(line)
            elif self._data:
                complete.append(b"\n".join(self._data))
                self._data = []
        return complete

    def remaining_data(self) -> bytes:
        """What an event that was never completed holds."""
        self._read_line(b"".join(self._line))
        return b"\n".join(self._data)

    def _read_line(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        if field == _DATA_FIELD:
            self._data.append(value.removeprefix(b" "))
