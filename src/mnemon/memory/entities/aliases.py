"""Aliases: which entity keys mean the same entity. Stored keys never change; they are resolved when read.

merge(from, into)   root of `from` ──► root of `into`
split(key, from)    removes exactly that link, so everything reads as before the merge
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Link:
    """One merge that is in force."""

    alias: str
    """The key that gave way: the root it was at the time."""
    target: str
    """The key it reads as: a root at the time."""
    asked_from: str
    """The key the merge named, which may lie under `alias`."""
    merge_id: str
    """The log entry that made it; later ones sort after."""


@dataclass(frozen=True)
class Aliases:
    """All links of one person: a forest whose roots are the entities."""

    links: Mapping[str, Link] = field(default_factory=lambda: MappingProxyType({}))
    """By alias."""

    @staticmethod
    def of(links: Iterable[Link]) -> "Aliases":
        return Aliases(MappingProxyType({link.alias: link for link in links}))

    def resolve(self, key: str) -> str:
        """The entity that a stored key means."""
        while key in self.links:
            key = self.links[key].target
        return key

    def members(self, key: str) -> tuple[str, ...]:
        """Every stored key that reads as the same entity, the root first, then by name."""
        root = self.resolve(key)
        known = set(self.links) | {link.target for link in self.links.values()}
        return (root, *sorted(one for one in known if one != root and self.resolve(one) == root))

    def merged(self, source: str, into: str, merge_id: str) -> "Aliases | None":
        """The aliases after a merge; None when the two are one already."""
        alias, target = self.resolve(source), self.resolve(into)
        if alias == target:
            return None
        link = Link(alias=alias, target=target, asked_from=source, merge_id=merge_id)
        return Aliases.of((*self.links.values(), link))

    def link_to_undo(self, key: str, source: str) -> Link | None:
        """The merge that brought `source` under `key`: the latest that named it, else its own link."""
        if self.resolve(source) != self.resolve(key):
            return None
        named = [link for link in self.links.values() if source in {link.asked_from, link.alias}]
        above = [link for link in named if self.resolve(link.target) == self.resolve(key)]
        return max(above, key=lambda link: link.merge_id, default=None)

    def without(self, link: Link) -> "Aliases":
        """The aliases as if this link had never been made."""
        return Aliases.of(one for one in self.links.values() if one != link)
