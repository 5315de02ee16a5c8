"""Server-Sent Events, line by line."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event of a stream."""

    kind: str
    """`turn`, `delta`, `tool_call`, `tool_result`, `agent_state_update`, `done`, `error`, …"""
    data: Any
    id: str | None = None
    """What to send as `Last-Event-ID` to go on from here."""


class Reader:
    """Collects lines until an event is complete."""

    def __init__(self) -> None:
        self._kind = "message"
        self._data: list[str] = []
        self._id: str | None = None

    def take(self, line: str) -> Event | None:
        """The event that this line completes, if any."""
        if not line:
            return self._complete()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        elif name == "id":
            self._id = value
        return None

    def _complete(self) -> Event | None:
        kind, data = self._kind, "\n".join(self._data)
        self._kind, self._data = "message", []
        if not data:
            return None
        try:
            parsed: Any = json.loads(data)
        except ValueError:
            parsed = data
        return Event(kind=kind, data=parsed, id=self._id)
