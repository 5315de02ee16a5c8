"""What was removed, counted: the answer to every forgetting."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What one forgetting did."""

    id: str
    at: datetime
    removed: dict[str, int] = field(default_factory=dict)
    """Rows that are gone, per table; every table that was looked at is there, with 0 where there was nothing."""
    redacted: dict[str, int] = field(default_factory=dict)
    """Rows in which words were covered, per table."""
    kept: dict[str, int] = field(default_factory=dict)
    """Rows that may not be changed, per table: an agent's decision stands as it was made."""

    @property
    def total(self) -> int:
        return sum(self.removed.values())

    def plain(self) -> dict[str, Any]:
        """As stored in the ledger: numbers alone."""
        return {"removed": self.removed, "redacted": self.redacted, "kept": self.kept}


class Tally:
    """Counts while a forgetting goes on."""

    def __init__(self) -> None:
        self.removed: Counter[str] = Counter()
        self.redacted: Counter[str] = Counter()
        self.kept: Counter[str] = Counter()

    def receipt(self, entry_id: str, at: datetime) -> Receipt:
        return Receipt(
            id=entry_id,
            at=at,
            removed=dict(sorted(self.removed.items())),
            redacted={table: n for table, n in sorted(self.redacted.items()) if n},
            kept={table: n for table, n in sorted(self.kept.items()) if n},
        )
