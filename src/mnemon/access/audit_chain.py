"""The audit log's hash chains: what each entry's hash covers, and where a chain that was tampered with breaks.

An organization's log has several chains, its lanes, so that concurrent writers do not wait for one another. An entry's
hash covers the entry before it in its lane and the last entry of another lane, so that cutting off the end of one lane
shows in another. A head is the number of a lane's entries and the last hash; heads can be exported as text and kept
elsewhere. `audit_hash` in migration 0097 computes the same hash in PostgreSQL, where entries are appended.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from mnemon.errors import Invalid

EMPTY_LOG = "empty"
"""The text of a log without entries."""
_AFTER_RESTORE = (
    "`mnemon restore` of a backup older than the head does the same and is no tampering: the log then has an entry "
    "`mnemon restore` that somebody can account for."
)
_LANE_PATTERN = re.compile(r"(?P<lane>[0-9]{1,5}):(?P<seq>[1-9][0-9]{0,17}):(?P<hash>[0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True)
class ChainHead:
    """The end of one lane: the number of its entries and the last one's hash."""

    seq: int = 0
    hash: bytes = b""


@dataclass(frozen=True, kw_only=True)
class LogHead:
    """The end of an organization's log: the heads of its lanes."""

    lanes: Mapping[int, ChainHead] = field(default_factory=dict)

    @property
    def entry_count(self) -> int:
        """Return how many entries the audit log has up to this head, over all lanes."""
        return sum(head.seq for head in self.lanes.values())

    @property
    def filled_lanes(self) -> dict[int, ChainHead]:
        """Return the heads of the audit lanes that have entries, sorted by lane number."""
        # Sorted, so that the same log always has the same text and fingerprint.
        return {lane: head for lane, head in sorted(self.lanes.items()) if head.seq}

    @property
    def fingerprint(self) -> str:
        """Return the SHA-256 of the log head's text, short enough for people to compare."""
        return hashlib.sha256(str(self).encode()).hexdigest()

    def __str__(self) -> str:
        """Return `LANE:NUMBER:HASH,…`, the text that `mnemon audit head` prints and `parse_head` reads."""
        return ",".join(f"{lane}:{head.seq}:{head.hash.hex()}" for lane, head in self.filled_lanes.items()) or EMPTY_LOG


def parse_head(text: str) -> LogHead:
    """Return the audit log head that `mnemon audit head` printed as this text; raise Invalid for any other text."""
    if text.strip() == EMPTY_LOG:
        return LogHead()
    lanes: dict[int, ChainHead] = {}
    for part in text.split(","):
        found = _LANE_PATTERN.fullmatch(part.strip())
        if found is None or int(found["lane"]) in lanes:
            raise Invalid(
                "A head is LANE:NUMBER:HASH, one for each lane and commas between, as `mnemon audit head` prints it.",
                code="bad_audit_head",
            )
        lanes[int(found["lane"])] = ChainHead(seq=int(found["seq"]), hash=bytes.fromhex(found["hash"]))
    return LogHead(lanes=lanes)


@dataclass(frozen=True, kw_only=True)
class AuditLink:
    """One entry of the audit log with its place in its chain, as the database holds it."""

    org_id: str
    lane: int
    seq: int
    id: str
    at_us: int | None
    """Microseconds since 1970; None for `infinity`, which no entry is written with."""
    actor: str
    action: str
    target: str | None
    hash: bytes
    linked_lane: int | None
    """With the next two, another lane's last entry when this one was written; None where no other lane had any."""
    linked_seq: int | None
    linked_hash: bytes | None


@dataclass(frozen=True, kw_only=True)
class ChainBreak:
    """The first entry at which a chain does not hold."""

    lane: int
    seq: int
    """The place in the lane, from 1."""
    id: str | None
    """The entry at that place; None where there is none."""
    meaning: str
    """What must have happened, as a sentence."""
    against_saved_head: bool = False
    """Whether the log holds in itself up to here and only differs from the head that it was compared with."""


@dataclass(kw_only=True)
class ChainCheck:
    """The check of one lane, entry by entry."""

    lane: int
    exported: ChainHead | None = None
    """A head that was exported earlier, which the chain must have passed through."""
    reached: ChainHead = field(default_factory=ChainHead)

    def check_link(self, link: AuditLink) -> ChainBreak | None:
        """Check the lane's next audit entry; return the break where it does not follow the one before, else None."""
        broken = _link_break(link, self.reached) or self._exported_break(link)
        if broken is None:
            self.reached = ChainHead(seq=link.seq, hash=link.hash)
        return broken

    def check_head(self, head: ChainHead | None) -> ChainBreak | None:
        """Compare an audit lane's last entry with the stored head and the exported one; return the break or None."""
        at = self.reached
        if self.exported is not None and at.seq < self.exported.seq:
            cause = (
                f"The head that you saved has {self.exported.seq} entries, the log only {at.seq}: its end was removed."
            )
            broken = self._missing_entry_break(at.seq + 1, f"{cause} {_AFTER_RESTORE}")
            return replace(broken, against_saved_head=True)
        if head is None:
            return (
                self._missing_entry_break(at.seq, "The lane has entries and no head: the head was removed.")
                if at.seq
                else None
            )
        if at.seq < head.seq:
            cause = f"The head counts {head.seq} entries, the log ends after {at.seq}: its end was removed."
            return self._missing_entry_break(at.seq + 1, cause)
        if at != head:
            cause = f"The head says {head.seq} entries and another hash than the last of {at.seq}: the head was edited."
            return self._missing_entry_break(at.seq, cause)
        return None

    # Whoever rewrites all lanes and heads can make them fit; only a head that was exported before shows that.
    def _exported_break(self, link: AuditLink) -> ChainBreak | None:
        """Return the break where this entry's hash is not the one in the exported head; None where it is."""
        kept = self.exported
        if kept is None or kept.seq != link.seq or kept.hash == link.hash:
            return None
        cause = "The head that you saved has another hash for this entry: the log was rewritten up to here or earlier."
        meaning = f"{cause} {_AFTER_RESTORE}"
        return ChainBreak(lane=link.lane, seq=link.seq, id=link.id, meaning=meaning, against_saved_head=True)

    def _missing_entry_break(self, seq: int, meaning: str) -> ChainBreak:
        """Return the break of this lane at a position that has no entry, with its cause as a sentence."""
        return ChainBreak(lane=self.lane, seq=seq, id=None, meaning=meaning)


@dataclass(kw_only=True)
class LogCheck:
    """The check of all lanes of one organization, page by page."""

    exported: LogHead = field(default_factory=LogHead)
    """The head that was exported earlier; empty where none was."""
    _lanes: dict[int, ChainCheck] = field(default_factory=dict)

    @property
    def reached_head(self) -> LogHead:
        """Return the head up to which each lane of the audit log was checked without a break."""
        return LogHead(lanes={lane: check.reached for lane, check in self._lanes.items()})

    def check_links(self, links: Iterable[AuditLink]) -> ChainBreak | None:
        """Check the next audit entries, in their order; return the first break, None where they all follow."""
        for link in links:
            broken = self._lane_check(link.lane).check_link(link)
            if broken is not None:
                return broken
        return None

    def check_heads(self, head: LogHead) -> ChainBreak | None:
        """Compare the end of every audit lane with the stored and exported heads; return the first break or None."""
        for lane in sorted({*self._lanes, *head.lanes, *self.exported.lanes}):
            broken = self._lane_check(lane).check_head(head.lanes.get(lane))
            if broken is not None:
                return broken
        return None

    def _lane_check(self, lane: int) -> ChainCheck:
        """Return the running check of this lane, started at its first use."""
        if lane not in self._lanes:
            self._lanes[lane] = ChainCheck(lane=lane, exported=self.exported.lanes.get(lane))
        return self._lanes[lane]


def verify_chains(links: Iterable[AuditLink], head: LogHead, *, exported: LogHead | None = None) -> ChainBreak | None:
    """Return the first break of a whole audit log's hash chains, None where they hold."""
    check = LogCheck(exported=exported or LogHead())
    return check.check_links(links) or check.check_heads(head)


def lost_end_break(*, lane: int, seq: int, gone: bool, named_by: str) -> ChainBreak:
    """Return the break of a lane whose chain holds but whose last entry, named by another lane's entry, is missing."""
    happened = "is gone: the lane lost its end" if gone else "has another hash: the lane was rewritten"
    cause = f"{named_by} was written after this entry, which {happened}, and its head was changed to fit."
    return ChainBreak(lane=lane, seq=seq, id=None, meaning=cause)


def link_hash(previous: bytes, link: AuditLink) -> bytes:
    """Return the SHA-256 that an audit entry must have if it follows the hash `previous`."""
    # Must stay byte for byte what `audit_hash` builds: the same order, and no spaces other than json.dumps writes.
    entry = [link.org_id, link.lane, link.seq, link.id, link.at_us, link.actor, link.action, link.target]
    other = [link.linked_lane, link.linked_seq, None if link.linked_hash is None else link.linked_hash.hex()]
    return hashlib.sha256(previous + json.dumps([*entry, *other], ensure_ascii=False).encode()).digest()


def _link_break(link: AuditLink, before: ChainHead) -> ChainBreak | None:
    """Return the break where an audit entry does not follow this head (number or hash); None where it does."""
    expected = before.seq + 1
    if link.seq > expected:
        cause = f"Entry {expected} is missing; the next one there is {link.seq}. It was removed, moved or renumbered."
        return ChainBreak(lane=link.lane, seq=expected, id=None, meaning=cause)
    if link.seq < expected:
        cause = f"A second entry says it is number {link.seq}: it was inserted, moved or renumbered."
        return ChainBreak(lane=link.lane, seq=link.seq, id=link.id, meaning=cause)
    if link_hash(before.hash, link) != link.hash:
        cause = "The entry does not have the hash it was written with: it was edited, inserted, moved or swapped."
        return ChainBreak(lane=link.lane, seq=link.seq, id=link.id, meaning=cause)
    return None
