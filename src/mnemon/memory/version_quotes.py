"""Which quotes a version of a memory rests on: those that said its words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mnemon.memory.keys import content_hash
from mnemon.memory.memory import MemoryVersion, Provenance, StoredMemory


@dataclass(frozen=True, kw_only=True)
class RecordedQuote:
    """A quote with the hash of the text that was remembered from it."""

    content_hash: str
    provenance: Provenance


def with_own_quotes(memory: StoredMemory, quotes: Sequence[RecordedQuote]) -> StoredMemory:
    """Return the memory with only those of the quotes that said its current text."""
    # Most memories have one text, which all of their quotes said; hashing is left out for them.
    digest = content_hash(memory.content) if quotes and memory.versions > 1 else None
    own = [one.provenance for one in quotes if digest in (None, one.content_hash)]
    return replace(memory, provenance=tuple(own))


def versions_with_quotes(
    versions: Sequence[MemoryVersion], quotes: Sequence[RecordedQuote], *, most: int
) -> list[MemoryVersion]:
    """Return a memory's versions, each with up to `most` of the quotes that said its words.

    Where several versions have the same words, a quote is left out of those before the one that it was said in.
    """
    digests = [content_hash(one.content) for one in versions]
    shown: list[MemoryVersion] = []
    for version, digest in zip(versions, digests, strict=True):
        # Not by the version's own end: a quote of today can be about a time that was over long ago.
        again = [
            one.valid_from
            for one, other in zip(versions, digests, strict=True)
            if other == digest and one.valid_from > version.valid_from
        ]
        own = [one.provenance for one in quotes if one.content_hash == digest]
        said = [one for one in own if not any(one.at >= since for since in again)]
        shown.append(replace(version, provenance=tuple(said[:most])))
    return shown
