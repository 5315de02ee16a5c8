"""The events of a stream, and the verifications derived from them.

The server sends no `expectation_verified`: it follows from `agent_state_update`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mnemon_client.sse import SseEvent


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event of a stream."""

    kind: str
    """`turn`, `delta`, `tool_call`, `tool_result`, `agent_state_update`, `done`, `error`, …"""
    data: Any
    id: str | None = None
    """The value of `Last-Event-ID` with which a new stream continues after this event."""


def decode_event(event: SseEvent) -> Event:
    """Return the event with its data parsed, or as text when it is no JSON."""
    text = event.data.decode("utf-8", "replace")
    try:
        data: Any = json.loads(text)
    except ValueError:
        data = text
    return Event(kind=event.name, data=data, id=event.id)


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
