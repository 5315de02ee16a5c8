"""Server-Sent Events, parsed line by line, and the verifications derived from them.

The server sends no `expectation_verified`: it follows from `agent_state_update`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event of a stream."""

    kind: str
    """`turn`, `delta`, `tool_call`, `tool_result`, `agent_state_update`, `done`, `error`, …"""
    data: Any
    id: str | None = None
    """The value of `Last-Event-ID` with which a new stream continues after this event."""


class Reader:
    """Parses a stream's lines into events."""

    def __init__(self) -> None:
        self._kind = "message"
        self._data: list[str] = []
        self._id: str | None = None

    def take(self, line: str) -> Event | None:
        """Add a line; return the event that it completes, or None."""
        if not line:
            return self._complete_event()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        elif name == "id":
            self._id = value
        return None

    def _complete_event(self) -> Event | None:
        kind, data = self._kind, "\n".join(self._data)
        # The id is not reset: by the specification it holds until another one is sent.
        self._kind, self._data = "message", []
        # A comment or a heartbeat ends without data; the specification says to ignore it.
        if not data:
            return None
        try:
            parsed: Any = json.loads(data)
        except ValueError:
            parsed = data
        return Event(kind=kind, data=parsed, id=self._id)


_FINAL_STATUSES = ("confirmed", "failed")


@dataclass(frozen=True, kw_only=True)
class Verified:
    """An expectation that was confirmed or failed."""

    session_id: str
    expectation: Mapping[str, Any]
    confirmed: bool
    version: int


class Verifications:
    """Finds settled expectations in a stream of events, each once."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def of(self, event: Event) -> list[Verified]:
        """Return the expectations that this event settles; none for events of another kind."""
        if event.kind != "agent_state_update":
            return []
        session = str(event.data["sessionId"])
        found: list[Verified] = []
        for expectation in (event.data.get("update") or {}).get("expectations") or ():
            known = (session, str(expectation.get("id")))
            if expectation.get("status") in _FINAL_STATUSES and known not in self._told:
                self._told.add(known)
                confirmed = expectation["status"] == "confirmed"
                version = int(event.data["version"])
                found.append(
                    Verified(session_id=session, expectation=expectation, confirmed=confirmed, version=version)
                )
        return found
