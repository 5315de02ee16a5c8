"""What was removed, counted: the answer to every forgetting."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

UNCHANGEABLE = "The result of a run that succeeded stands as it was made; deleting its agent removes it."
ONLY_A_NAME = (
    "The person's name is an ordinary word there and may mean somebody else; look at these rows yourself: `keptIds` "
    "names them."
)
MOST_IDS = 100
"""Ids of kept rows that a receipt names, per table."""


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
    kept_ids: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Which ones, the first of them: the columns of a row's key, without its organization, joined by `/`."""

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
        self._kept_ids: dict[str, list[str]] = {}

    def keep(self, place: str, key: Sequence[object]) -> None:
        """Count a row that stays as it is, and remember which one."""
        self.kept[place] += 1
        named = self._kept_ids.setdefault(place, [])
        if len(named) < MOST_IDS:
            named.append("/".join(map(str, key)))

    def receipt(self, entry_id: str, at: datetime) -> Receipt:
        return Receipt(
            id=entry_id,
            at=at,
            removed=dict(sorted(self.removed.items())),
            redacted={table: n for table, n in sorted(self.redacted.items()) if n},
            kept={table: n for table, n in sorted(self.kept.items()) if n},
            kept_ids={place: tuple(ids) for place, ids in sorted(self._kept_ids.items())},
        )
