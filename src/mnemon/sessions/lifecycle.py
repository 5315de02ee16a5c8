"""The life of a turn.

                    ┌────────────► answered
                    │                 ▲  ▲
    answering ──────┼──► interrupted ─┘  │
        ▲           │        │           │
        │           └──► failed          │
        │                │   │           │
        └────────────────┴───┘           │
        (asked again)       recorded ────┘ (a turn run elsewhere begins as answered)

A reply is `answering` while it is made, under a lease. It ends `answered` when complete, `interrupted` when the
listener left or the process died (what was said so far is kept), `failed` when the model gave nothing usable. A
sweep that gave a turn up too early is corrected by the reply when it comes: interrupted → answered. A caller who
sends the very same message after a failure continues that turn: failed → answering; so does one whose turn was
interrupted before a word of the reply was stored: interrupted → answering.
"""

from enum import StrEnum

from mnemon.errors import Conflict


class TurnStatus(StrEnum):
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
    """Whether the step is drawn above."""
    return following in _TRANSITIONS[status]


def require_transition(status: TurnStatus, following: TurnStatus) -> TurnStatus:
    """The following status, if the step is drawn above."""
    if not may_become(status, following):
        raise Conflict(f"A turn that is {status} cannot become {following}.", code="turn_sealed")
    return following
