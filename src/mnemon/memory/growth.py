"""Importance grows with use: what comes up again in further sessions matters more than what came up once."""

from mnemon.memory.importance import SIGNIFICANT, STANDARD

GROWS_AFTER_SESSIONS = 3
"""Distinct sessions that mention a fact before it counts as significant."""


def grown(importance: int, *, sessions: int) -> int:
    """The importance of a fact that this many distinct sessions mention: 1 becomes 2, nothing else moves.

    Only identity and pins are critical, so use alone never makes a 3; what was judged trivial stays so until it is said
    in words that are not in passing.
    """
    return SIGNIFICANT if importance == STANDARD and sessions >= GROWS_AFTER_SESSIONS else importance
