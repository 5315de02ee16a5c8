"""Role words as names: "my wife" means Laura once the person has said so, and mom, mother and mum are one.

A link like any merge, in the log and taken back by a split. Only what the person tells every persona makes one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mnemon.db.tx import Tx
from mnemon.memory.entities import store
from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.entities.kinship import SINGLE_ROLES, kinship_slug
from mnemon.memory.entities.merged_values import store_link
from mnemon.memory.fact import EntityType, Fact
from mnemon.memory.keys import entity_key, make_slug, split_key
from mnemon.memory.plain_statement import LONGEST_READ, plain_statement
from mnemon.memory.slots import read_fact
from mnemon.memory.trust import speaks_for_person
from mnemon.scope import Scope


@dataclass(frozen=True, kw_only=True)
class RoleLink:
    """A role word and whom it means."""

    role: str
    """Its entity key: `person:wife`."""
    means: str
    """The key of the person it means: `person:laura`."""
    reason: str


def named_role(fact: Fact) -> RoleLink | None:
    """Return the role that a fact gives somebody by name, if one person at a time has it; None if it gives none."""
    reading = read_fact(fact)
    if reading.attribute is None or fact.private or not speaks_for_person(fact.effective_trust) or reading.denies:
        return None
    who = (
        reading.named if reading.entity is None else (reading.entity if reading.attribute.name == "relation" else None)
    )
    if who is None or who.type is not EntityType.PERSON:
        return None
    text = plain_statement(fact.content[:LONGEST_READ]) or ""
    own = {make_slug(word) for word in who.label.split()}
    roles = {kinship_slug(slug) for word in text.split() if (slug := make_slug(word)) not in own} & SINGLE_ROLES
    if len(roles) != 1 or not any(word in text.lower().split() for word in ("my", "our")):
        return None
    role = f"{EntityType.PERSON}:{roles.pop()}"
    means = entity_key(who)
    return RoleLink(role=role, means=means, reason=f"the person calls them their {split_key(role)[1]}")


def same_kin_links(keys: Iterable[str]) -> list[RoleLink]:
    """Return the links that make one entity of all words for the same kin among the keys, the first seen remaining."""
    first: dict[str, str] = {}
    links = []
    for key in keys:
        kind, slug = split_key(key)
        kin = kinship_slug(slug)
        if kind != EntityType.PERSON or (kin == slug and kin not in SINGLE_ROLES):
            continue
        known = first.setdefault(kin, key)
        if known != key:
            links.append(RoleLink(role=key, means=known, reason="two words for the same kin"))
    return links


async def link_roles(tx: Tx, scope: Scope, facts: Sequence[Fact], *, revision: int) -> None:
    """Make aliases of the role words that the facts give a name, and of words for the same kin."""
    named = [link for fact in facts if (link := named_role(fact)) is not None]
    kin = any(kinship_slug(make_slug(fact.entity.label)) in SINGLE_ROLES for fact in facts if fact.entity)
    if not named and not kin:
        return
    aliases = await store.load_aliases(tx, scope)
    apart = await store.pairs_kept_apart(tx, scope)
    refs = await store.global_entity_refs(tx, scope) if kin else []
    for link in (*same_kin_links(dict.fromkeys(ref for one in refs for ref in one)), *named):
        aliases = await _add_link(tx, scope, link, aliases, apart, revision=revision)


async def _add_link(
    tx: Tx, scope: Scope, wanted: RoleLink, aliases: Aliases, apart: frozenset[frozenset[str]], *, revision: int
) -> Aliases:
    """Return the aliases with the link, unless the two were split, or the role means somebody else already."""
    if frozenset({wanted.role, wanted.means}) in apart:
        return aliases
    now = aliases.resolve(wanted.role)
    # Who has had the role until now stays somebody else: a person decides whether the two are one.
    if now != wanted.role and kinship_slug(split_key(now)[1]) not in SINGLE_ROLES:
        return aliases
    link = aliases.link_for(wanted.role, wanted.means, tx.new_id("mrg"), "rule")
    if link is None:
        return aliases
    added = aliases.with_link(link)
    await store_link(tx, scope, link, (wanted.reason,), added, revision=revision)
    return added
