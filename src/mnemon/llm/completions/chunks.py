"""A reply put together from its chunks: text as it comes, calls once they are whole, the end where it is said."""

import json
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from mnemon.llm.completions.rejection import told
from mnemon.llm.completions.whole import first, read, text_in, tokens
from mnemon.llm.protocol import Finished, Json, Text, ToolRequest, Usage
from mnemon.llm.vendor import Piece

_REASONS = {
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "content_filter",
}
"""By what servers say; any other reason is a plain end."""
_THINKS, _THOUGHT = "<think>", "</think>"
"""Single tokens of the models that have them, so each comes as a piece of its own."""
_NOTHING: tuple[Piece, ...] = ()
_AT_WORK: tuple[Piece, ...] = (None,)


@dataclass
class _Call:
    """A call in the making."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    place: Any = None
    """Its index, where the server numbers them."""


class Chunks:
    """One reply in the making."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._usage = Usage()
        self._begun = False
        self._reason: str | None = None
        self._refused = False
        self._thinks = False
        self._thought = False
        self._blank: list[str] | None = []
        """White space before the first word: it goes out with the word, or not at all. None once there was one."""

    def take(self, data: bytes) -> tuple[Piece, ...]:
        """What this chunk adds to the reply."""
        chunk = read(data)
        if chunk.get("error"):
            raise told(chunk["error"])
        if chunk.get("usage"):
            # Servers that tell it in every chunk tell the sum so far.
            self._usage = tokens(chunk["usage"])
        choice = first(chunk.get("choices"))
        if choice is None:
            return _NOTHING
        self._begun = True
        self._reason = choice.get("finish_reason") or self._reason
        delta = choice.get("delta")
        return self._added(delta) if isinstance(delta, dict) else _NOTHING

    def end(self, *, marked: bool) -> list[Piece]:
        """The calls and the end. Nothing where the server named no reason and did not mark the end of anything."""
        if not (self._reason or self._refused or (marked and self._begun)):
            return []
        calls = [_made(call) for call in self._calls if call.name]
        reason = "content_filter" if self._refused else _REASONS.get(str(self._reason), "stop")
        return [*calls, Finished(usage=self._usage, reason="tool_calls" if calls else reason)]

    def _added(self, delta: Json) -> tuple[Piece, ...]:
        if delta.get("refusal"):
            self._refused = True
            return _NOTHING
        calls = delta.get("tool_calls") or ()
        for piece in calls:
            self._put(piece)
        if content := delta.get("content"):
            return self._spoken(content if isinstance(content, str) else text_in(content))
        if delta.get("reasoning_content") or delta.get("reasoning"):
            self._thought = True
            return _AT_WORK
        return _AT_WORK if calls else _NOTHING

    def _spoken(self, text: str) -> tuple[Piece, ...]:
        if self._thinks or text == _THINKS:
            self._thinks, self._thought = text != _THOUGHT, True
            return _AT_WORK
        if self._blank is not None:
            if not text.strip():
                # Between a thought and the first word it only parts the two.
                if not self._thought:
                    self._blank.append(text)
                return _NOTHING
            text, self._blank = "".join([*self._blank, text]), None
        return (Text(text=text),)

    def _put(self, piece: Any) -> None:
        """A piece of a call goes where it belongs: id and name come once, the arguments bit by bit, or all at once."""
        if not isinstance(piece, dict):
            raise ValueError("a piece of a call is no JSON object")
        function = piece.get("function")
        said: Json = function if isinstance(function, dict) else {}
        call_id, name, arguments = str(piece.get("id") or ""), str(said.get("name") or ""), said.get("arguments")
        call = self._meant(piece.get("index"), call_id, name)
        call.id = call.id or call_id
        # A server that says the name again with every bit means the same name.
        call.name += name if name != call.name else ""
        if arguments:
            call.arguments.append(arguments if isinstance(arguments, str) else json.dumps(arguments))

    def _meant(self, place: Any, call_id: str, name: str) -> _Call:
        """The call that a piece continues, or a new one."""
        if place is None:
            known = None if name or not self._calls else self._calls[-1]
        else:
            known = next((call for call in reversed(self._calls) if call.place == place), None)
        # Some give every call the same number, and ids that differ.
        if known is None or (call_id and known.id and call_id != known.id and name):
            known = _Call(place=place)
            self._calls.append(known)
        return known


def _made(call: _Call) -> ToolRequest:
    try:
        arguments = json.loads("".join(call.arguments) or "{}")
    except (ValueError, RecursionError):
        raise ValueError(f"the arguments of its call to {call.name} are no JSON") from None
    if arguments is not None and not isinstance(arguments, dict):
        raise ValueError(f"the arguments of its call to {call.name} are no JSON object")
    return ToolRequest(id=call.id or f"call_{uuid4().hex}", name=call.name, arguments=arguments or {})
