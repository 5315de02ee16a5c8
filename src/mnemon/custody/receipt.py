"""What was removed, counted: the answer to every forgetting."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

UNCHANGEABLE = "The result of a run that succeeded stands as it was made; deleting its agent removes it."
ONLY_A_NAME = "The person's name is an ordinary word there and may mean somebody else; look at these rows yourself."


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
    """Rows that were left as they are, per table or `table.column`; `reasons` says why."""

    @property
    def total(self) -> int:
        return sum(self.removed.values())

    @property
    def reasons(self) -> dict[str, str]:
        """Why something was kept, for each entry of `kept`."""
        return {name: UNCHANGEABLE if "." in name else ONLY_A_NAME for name in self.kept}

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
