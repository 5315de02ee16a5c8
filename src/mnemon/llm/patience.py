"""How long a model is waited for, how much of it is heard, and when it is asked again."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Bounds of one call. Times are in seconds."""

    timeout: float = 60.0
    """A structured answer, or the first piece of a reply, comes within this, all tries and waits included."""
    whole_reply: float = 600.0
    """A streamed reply is complete within this."""
    tries: int = 4
    """Most requests sent for one call."""
    longest_reply: int = 200_000
    """Characters of a streamed reply; what comes after them is not waited for."""
    first_wait: float = 0.5
    """Before the second try; doubles from there."""

    def wait(self, *, tried: int, remaining: float, asked: float | None, jitter: float) -> float | None:
        """Seconds to wait before trying again; None when there is no point.

        `asked` is what the server wants (Retry-After) and is honoured; `jitter` in [0, 1) spreads the rest.
        """
        if tried >= self.tries:
            return None
        wanted = asked if asked is not None else self.first_wait * 2 ** (tried - 1) * (0.75 + jitter / 2)
        return wanted if 0 <= wanted < remaining else None
