"""`expectation_verified`, derived from `agent_state_update`: the server sends no such event, because none is needed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mnemon.client.sse import Event

_VERDICTS = ("confirmed", "failed")


@dataclass(frozen=True, kw_only=True)
class Verified:
    """An expectation that was pending met its result."""

    session_id: str
    expectation: Mapping[str, Any]
    confirmed: bool
    version: int


class Verifications:
    """Remembers which expectations were settled, so that each is told once."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def of(self, event: Event) -> list[Verified]:
        """What this event verifies; nothing for events of another kind."""
        if event.kind != "agent_state_update":
            return []
        session = str(event.data["sessionId"])
        found: list[Verified] = []
        for expectation in (event.data.get("update") or {}).get("expectations") or ():
            known = (session, str(expectation.get("id")))
            if expectation.get("status") in _VERDICTS and known not in self._told:
                self._told.add(known)
                confirmed = expectation["status"] == "confirmed"
                version = int(event.data["version"])
                found.append(
                    Verified(session_id=session, expectation=expectation, confirmed=confirmed, version=version)
                )
        return found
