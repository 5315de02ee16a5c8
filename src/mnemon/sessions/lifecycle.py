"""The states of a turn and the transitions between them.

                    ┌────────────► answered
                    │                 ▲  ▲
    answering ──────┼──► interrupted ─┘  │
        ▲           │        │           │
        │           └──► failed          │
        │                │   │           │
        └────────────────┴───┘           │
        (asked again)       recorded ────┘ (a turn run elsewhere begins as answered)

A turn is `answering` while its reply is generated, under a lease. It ends `answered` when the reply is complete,
`interrupted` when the client disconnected or the process died (the text so far is kept), `failed` when the model gave
nothing usable. When a sweep gives a turn up too early, the reply corrects it on arrival: interrupted → answered. A
caller that sends the same message again after a failure continues that turn: failed → answering; likewise when the
turn was interrupted before any text of the reply was stored: interrupted → answering.
"""

from enum import StrEnum

from mnemon.errors import Conflict


class TurnStatus(StrEnum):
    """How far a turn has got."""

    ANSWERING = "answering"
    ANSWERED = "answered"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


_TRANSITIONS: dict[TurnStatus, frozenset[TurnStatus]] = {
    TurnStatus.ANSWERING: frozenset({TurnStatus.ANSWERED, TurnStatus.INTERRUPTED, TurnStatus.FAILED}),
    TurnStatus.ANSWERED: frozenset(),
    TurnStatus.INTERRUPTED: frozenset({TurnStatus.ANSWERED, TurnStatus.ANSWERING}),
    TurnStatus.FAILED: frozenset({TurnStatus.ANSWERING}),
}


def may_become(status: TurnStatus, following: TurnStatus) -> bool:
    """Say whether a turn of this status may change to the following one."""
    return following in _TRANSITIONS[status]


def require_transition(status: TurnStatus, following: TurnStatus) -> TurnStatus:
    """Return the following status of a turn; raise Conflict when it may not follow this one."""
    if not may_become(status, following):
        raise Conflict(f"A turn that is {status} cannot become {following}.", code="turn_sealed")
    return following
