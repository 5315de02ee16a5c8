"""Aliases: which entity keys mean the same entity. Stored keys never change; they are resolved when read.

merge(from, into)   root of `from` ──► root of `into`
split(key, from)    removes exactly that link, so everything reads as before the merge
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class AliasLink:
    """One merge that is in force."""

    alias: str
    """The key that gave way: the root it was at the time."""
    target: str
    """The key it reads as: a root at the time."""
    asked_from: str
    """The key the merge named, which may lie under `alias`."""
    merge_id: str
    """The log entry that made it; later ones sort after."""
    made_by: Literal["person", "rule"] = "person"


@dataclass(frozen=True)
class Aliases:
    """All links of one person: a forest whose roots are the entities."""

    links: Mapping[str, AliasLink] = field(default_factory=lambda: MappingProxyType({}))
    """By alias."""

    @staticmethod
    def from_links(links: Iterable[AliasLink]) -> "Aliases":
        return Aliases(MappingProxyType({link.alias: link for link in links}))

    def resolve(self, key: str) -> str:
        """The entity that a stored key means."""
        while key in self.links:
            key = self.links[key].target
        return key

    def member_keys(self, key: str) -> tuple[str, ...]:
        """Every stored key that reads as the same entity, the root first, then by name."""
        root = self.resolve(key)
        known = set(self.links) | {link.target for link in self.links.values()}
        return (root, *sorted(one for one in known if one != root and self.resolve(one) == root))

    def link_for(self, source: str, into: str, merge_id: str, made_by: Literal["person", "rule"]) -> AliasLink | None:
        """The link that a merge would make; None when the two are one already."""
        alias, target = self.resolve(source), self.resolve(into)
        if alias == target:
            return None
        return AliasLink(alias=alias, target=target, asked_from=source, merge_id=merge_id, made_by=made_by)

    def with_link(self, link: AliasLink) -> "Aliases":
        """The aliases after the merge that made this link."""
        return Aliases.from_links((*self.links.values(), link))

    def link_to_undo(self, key: str, source: str) -> AliasLink | None:
        """The merge that made the two one: of those without which they would be two, the latest that named `source`."""
        if key == source or self.resolve(source) != self.resolve(key):
            return None
        between = {link.alias: link for link in self._link_path(source)}
        for link in self._link_path(key):
            if between.pop(link.alias, None) is None:
                between[link.alias] = link
        named = [link for link in between.values() if source in {link.asked_from, link.alias}]
        return max(named or between.values(), key=lambda link: link.merge_id, default=None)

    def _link_path(self, key: str) -> list[AliasLink]:
        path = []
        while key in self.links:
            path.append(self.links[key])
            key = self.links[key].target
        return path

    def without_link(self, link: AliasLink) -> "Aliases":
        """The aliases as if this link had never been made."""
        return Aliases.from_links(one for one in self.links.values() if one != link)
