"""The heads of an audit log's chains, and the text in which they are kept elsewhere."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from mnemon.errors import Invalid

EMPTY = "empty"
"""The text of a log without entries."""
_LANE = re.compile(r"(?P<lane>[0-9]{1,5}):(?P<seq>[1-9][0-9]{0,17}):(?P<hash>[0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True)
class ChainHead:
    """How far one lane goes: the number of its entries and the last one's hash."""

    seq: int = 0
    hash: bytes = b""


@dataclass(frozen=True, kw_only=True)
class LogHead:
    """How far an organization's log goes: the heads of its lanes."""

    lanes: Mapping[int, ChainHead] = field(default_factory=dict)

    @property
    def entries(self) -> int:
        """How many entries the log has."""
        return sum(head.seq for head in self.lanes.values())

    @property
    def filled(self) -> dict[int, ChainHead]:
        """The lanes that have entries, by number."""
        return {lane: head for lane, head in sorted(self.lanes.items()) if head.seq}

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the text, for people to compare."""
        return hashlib.sha256(str(self).encode()).hexdigest()

    def __str__(self) -> str:
        return ",".join(f"{lane}:{head.seq}:{head.hash.hex()}" for lane, head in self.filled.items()) or EMPTY


def parse_head(text: str) -> LogHead:
    """Read a head as `mnemon audit head` prints it."""
    if text.strip() == EMPTY:
        return LogHead()
    lanes: dict[int, ChainHead] = {}
    for part in text.split(","):
        found = _LANE.fullmatch(part.strip())
        if found is None or int(found["lane"]) in lanes:
            raise Invalid(
                "A head is LANE:NUMBER:HASH, one for each lane and commas between, as `mnemon audit head` prints it.",
                code="bad_audit_head",
            )
        lanes[int(found["lane"])] = ChainHead(seq=int(found["seq"]), hash=bytes.fromhex(found["hash"]))
    return LogHead(lanes=lanes)
