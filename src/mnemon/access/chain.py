"""The audit log's hash chain: what each entry's hash covers, and where a chain that was tampered with breaks.

`audit_hash` in migration 0097 computes the same hash in PostgreSQL, where entries are appended.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from mnemon.errors import Invalid

_HEAD = re.compile(r"(?P<seq>[0-9]{1,18}):(?P<hash>[0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True)
class AuditLink:
    """One entry of the audit log with its place in the chain, as the database holds it."""

    org_id: str
    seq: int
    id: str
    at_us: int | None
    """Microseconds since 1970; None for a time that is no moment, which no entry is written with."""
    actor: str
    action: str
    target: str | None
    hash: bytes


@dataclass(frozen=True, kw_only=True)
class ChainHead:
    """How far a chain goes: the number of its entries and the last one's hash."""

    seq: int = 0
    hash: bytes = b""

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash.hex()}"


@dataclass(frozen=True, kw_only=True)
class ChainBreak:
    """The first entry at which a chain does not hold."""

    seq: int
    """The place in the chain, from 1."""
    id: str | None
    """The entry that stands there; None where none does."""
    meaning: str
    """What must have happened, in a sentence."""


@dataclass(kw_only=True)
class ChainCheck:
    """Follows one organization's chain, page by page."""

    exported: ChainHead | None = None
    """A head that was kept elsewhere, which the chain must have passed through."""
    reached: ChainHead = field(default_factory=ChainHead)

    def follow(self, links: Iterable[AuditLink]) -> ChainBreak | None:
        """Go on with the next entries, in the order of the chain; give the first that does not follow."""
        for link in links:
            broken = _break_at(link, self.reached) or self._beside_exported(link)
            if broken is not None:
                return broken
            self.reached = ChainHead(seq=link.seq, hash=link.hash)
        return None

    def finish(self, head: ChainHead | None) -> ChainBreak | None:
        """Compare where the entries end with the head that is stored, and with the one that was exported."""
        at = self.reached
        if self.exported is not None and at.seq < self.exported.seq:
            words = f"The exported head has {self.exported.seq} entries, the log only {at.seq}: its end was removed."
            return ChainBreak(seq=at.seq + 1, id=None, meaning=words)
        if head is None:
            words = "The log has entries and no head: the head was removed."
            return ChainBreak(seq=at.seq, id=None, meaning=words) if at.seq else None
        if at.seq < head.seq:
            words = f"The head counts {head.seq} entries, the log ends after {at.seq}: its end was removed."
            return ChainBreak(seq=at.seq + 1, id=None, meaning=words)
        if at != head:
            words = f"The head says {head.seq} entries and another hash than the last of {at.seq}: the head was edited."
            return ChainBreak(seq=at.seq, id=None, meaning=words)
        return None

    def _beside_exported(self, link: AuditLink) -> ChainBreak | None:
        kept = self.exported
        if kept is None or kept.seq != link.seq or kept.hash == link.hash:
            return None
        words = "The exported head has another hash for this entry: the log was rewritten up to here or earlier."
        return ChainBreak(seq=link.seq, id=link.id, meaning=words)


def verify_chain(
    links: Iterable[AuditLink], head: ChainHead | None, *, exported: ChainHead | None = None
) -> ChainBreak | None:
    """Give the first break of a whole chain, None where it holds."""
    check = ChainCheck(exported=exported)
    return check.follow(links) or check.finish(head)


def link_hash(previous: bytes, link: AuditLink) -> bytes:
    """The hash that the entry must have after this one; in the text form that PostgreSQL gives a JSON array."""
    fields = [link.org_id, link.seq, link.id, link.at_us, link.actor, link.action, link.target]
    return hashlib.sha256(previous + json.dumps(fields, ensure_ascii=False).encode()).digest()


def parse_head(text: str) -> ChainHead:
    """Read a head as `mnemon audit head` prints it."""
    found = _HEAD.fullmatch(text.strip())
    if found is None:
        raise Invalid("A head is NUMBER:HASH, as `mnemon audit head` prints it.", code="bad_audit_head")
    return ChainHead(seq=int(found["seq"]), hash=bytes.fromhex(found["hash"]))


def _break_at(link: AuditLink, before: ChainHead) -> ChainBreak | None:
    expected = before.seq + 1
    if link.seq > expected:
        words = f"Entry {expected} is missing; the next one there is {link.seq}. It was removed or renumbered."
        return ChainBreak(seq=expected, id=None, meaning=words)
    if link.seq < expected:
        words = f"A second entry says it is number {link.seq}: it was inserted or renumbered."
        return ChainBreak(seq=link.seq, id=link.id, meaning=words)
    if link_hash(before.hash, link) != link.hash:
        words = "The entry does not have the hash it was written with: it was edited, inserted or swapped."
        return ChainBreak(seq=link.seq, id=link.id, meaning=words)
    return None
