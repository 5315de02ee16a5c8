"""Aliases: which entity keys mean the same entity. Stored keys never change; they are resolved when read.

merge(from, into)   root of `from` ──► root of `into`
split(key, from)    removes exactly that link, so everything reads as before the merge
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class AliasLink:
    """One merge in force."""

    alias: str
    """The key that was merged into another; a root at the time."""
    target: str
    """The key it is resolved to; a root at the time."""
    asked_from: str
    """The key that the merge named, which may lie below `alias`."""
    merge_id: str
    """The log entry of the merge; later ones sort after earlier ones."""
    made_by: Literal["person", "rule"] = "person"


@dataclass(frozen=True)
class Aliases:
    """All links of one person: a forest whose roots are the entities."""

    links: Mapping[str, AliasLink] = field(default_factory=lambda: MappingProxyType({}))
    """Links by alias."""

    @staticmethod
    def from_links(links: Iterable[AliasLink]) -> "Aliases":
        """Return the aliases that consist of these links."""
        return Aliases(MappingProxyType({link.alias: link for link in links}))

    def resolve(self, key: str) -> str:
        """Return the entity key that a stored key is resolved to, through all merges."""
        return self._roots.get(key, key)

    @cached_property
    def _roots(self) -> Mapping[str, str]:
        """Return the root of every alias, found in one pass over the links: a chain of merges may be long."""
        roots: dict[str, str] = {}
        for alias in self.links:
            path, key = [], alias
            while key in self.links and key not in roots:
                roots[key] = key  # while it is on the path, so that links in a circle, which no merge makes, end too
                path.append(key)
                key = self.links[key].target
            roots.update(dict.fromkeys(path, roots.get(key, key)))
        return roots

    def member_keys(self, key: str) -> tuple[str, ...]:
        """Return every stored key that means the same entity as this key: the root first, then by name."""
        root = self.resolve(key)
        return (root, *self._members.get(root, ()))

    @cached_property
    def _members(self) -> Mapping[str, tuple[str, ...]]:
        """Return the other keys of every root, by root, in the order of their names."""
        members: dict[str, list[str]] = {}
        known = set(self.links) | {link.target for link in self.links.values()}
        for key in sorted(known):
            if (root := self.resolve(key)) != key:
                members.setdefault(root, []).append(key)
        return {root: tuple(keys) for root, keys in members.items()}

    def link_for(self, source: str, into: str, merge_id: str, made_by: Literal["person", "rule"]) -> AliasLink | None:
        """Return the link that merging two entity keys would add; None if both are one entity already."""
        # Roots are linked, never members: the forest stays free of cycles, and removing one link splits it exactly.
        alias, target = self.resolve(source), self.resolve(into)
        if alias == target:
            return None
        return AliasLink(alias=alias, target=target, asked_from=source, merge_id=merge_id, made_by=made_by)

    def with_link(self, link: AliasLink) -> "Aliases":
        """Return the person's aliases with one more link, that of a merge."""
        return Aliases.from_links((*self.links.values(), link))

    def link_to_undo(self, key: str, source: str) -> AliasLink | None:
        """Return the link whose removal splits two entity keys: the latest that named `source`, else the latest.

        None if the two are not merged.
        """
        if key == source or self.resolve(source) != self.resolve(key):
            return None
        # Links on both paths are above the common ancestor; only the others connect the two.
        between = {link.alias: link for link in self._link_path(source)}
        for link in self._link_path(key):
            if between.pop(link.alias, None) is None:
                between[link.alias] = link
        named = [link for link in between.values() if source in {link.asked_from, link.alias}]
        return max(named or between.values(), key=lambda link: link.merge_id, default=None)

    def _link_path(self, key: str) -> list[AliasLink]:
        """Return the links from an entity key up to its root."""
        path: dict[str, AliasLink] = {}
        while key in self.links and key not in path:
            path[key] = self.links[key]
            key = self.links[key].target
        return list(path.values())

    def without_link(self, link: AliasLink) -> "Aliases":
        """Return the person's aliases as if this link had never been made."""
        return Aliases.from_links(one for one in self.links.values() if one != link)
