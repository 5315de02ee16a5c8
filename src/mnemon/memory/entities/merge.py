"""Merge and split entities: an alias and a log entry, which can be undone exactly.

A person may ask for a merge or a split; a job merges clear cases some time after new entities were mentioned.
"""

import asyncio
from dataclasses import dataclass

from mnemon.db.tx import Tx
from mnemon.errors import Conflict, Invalid, NotFound
from mnemon.jobs.kind import Attempt, JobKind
from mnemon.memory.entities import store
from mnemon.memory.entities.aliases import Aliases, AliasLink
from mnemon.memory.entities.matching import PairVerdict, judge_pair
from mnemon.memory.entities.merged_values import remove_link, store_link
from mnemon.memory.entities.overview import match_candidates
from mnemon.memory.entities.proposals import MergeProposal, propose_merges
from mnemon.memory.upkeep.schedule import MATCH_ENTITIES
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.sessions.people import bump_revision, lock_person


@dataclass(frozen=True, kw_only=True)
class MergeResult:
    """The result of a merge."""

    key: str
    """The key that both are resolved to now."""
    aliases: tuple[str, ...]
    changed: bool
    """False if they were one entity already."""


async def merge_entities(tx: Tx, scope: Scope, source: str, into: str) -> MergeResult:
    """Merge two entities by hand under the key `into` if possible.

    Nothing stored changes except the alias, and of two values of one attribute the earlier is set aside.

    Raises Invalid if both keys are the same, NotFound if one is not known.
    """
    if source == into:
        raise Invalid("An entity cannot be merged with itself. Name two different keys.", code="same_entity")
    revision = await bump_revision(tx, scope)
    aliases = await _load_aliases_for(tx, scope, source, into)
    existing = aliases.links.get(into)
    if existing and existing.made_by == "rule" and aliases.resolve(source) == existing.target:
        # The rule merged the same two in the other direction; the person's choice of the remaining key has precedence.
        await remove_link(tx, scope, existing, revision=revision)
        aliases = aliases.without_link(existing)
    link = aliases.link_for(source, into, tx.new_id("mrg"), "person")
    if link:
        aliases = aliases.with_link(link)
        await store_link(tx, scope, link, ("asked for",), aliases, revision=revision)
        await store.allow_together(tx, scope, source, into)
    key, *others = aliases.member_keys(into)
    return MergeResult(key=key, aliases=tuple(others), changed=link is not None)


async def split_entities(tx: Tx, scope: Scope, key: str, other: str) -> AliasLink:
    """Take back the merge of two entity keys, for good, and the values it set aside; return the removed link.

    Raises Conflict if they are not merged, NotFound if a key is not known.
    """
    revision = await bump_revision(tx, scope)
    aliases = await _load_aliases_for(tx, scope, other, key)
    link = aliases.link_to_undo(key, other)
    if link is None:
        raise Conflict(
            f"{other} is not merged with {key}. `GET /api/entities/{key}` lists its aliases.", code="not_merged"
        )
    await remove_link(tx, scope, link, revision=revision)
    # Otherwise the job would merge the pair again at the next mention.
    await _remember_split(tx, scope, link)
    return link


async def merge_clear_cases(tx: Tx, scope: Scope, proposals: list[MergeProposal]) -> int:
    """Merge every proposal that is a clear case and return how many; skip what changed in the meantime.

    Nothing is merged for a person who was forgotten in the meantime.
    """
    clear = [one for one in proposals if one.judgement.verdict is PairVerdict.MERGE]
    if not clear or await lock_person(tx, scope) is None:
        return 0
    revision = await bump_revision(tx, scope)
    aliases = await store.load_aliases(tx, scope)
    apart = await store.pairs_kept_apart(tx, scope)
    merged = 0
    for proposal in clear:
        link = aliases.link_for(proposal.source, proposal.into, tx.new_id("mrg"), "rule")
        if link is None or _is_kept_apart(link, aliases, apart):
            continue
        aliases = aliases.with_link(link)
        await store_link(tx, scope, link, proposal.judgement.reasons, aliases, revision=revision)
        merged += 1
    return merged


def _is_kept_apart(link: AliasLink, aliases: Aliases, apart: frozenset[frozenset[str]]) -> bool:
    """Say whether a person has split any of the keys that the link would make one."""
    groups = aliases.member_keys(link.alias), aliases.member_keys(link.target)
    return any(frozenset({one, two}) in apart for one in groups[0] for two in groups[1])


async def _load_aliases_for(tx: Tx, scope: Scope, *keys: str) -> Aliases:
    """Return the person's aliases; raise NotFound for an entity key that neither a memory nor a link has."""
    aliases = await store.load_aliases(tx, scope)
    linked = set(aliases.links) | {link.target for link in aliases.links.values()}
    mentioned = {ref for one in await store.all_entity_refs(tx, scope) for ref in one}
    if any(key not in mentioned and key not in linked for key in keys):
        raise NotFound("entity")
    return aliases


async def _remember_split(tx: Tx, scope: Scope, link: AliasLink) -> None:
    """Record the split pairs that the rule would merge again as kept apart."""
    known = {one.key: one for one in match_candidates(await store.list_mentions(tx, scope))}
    for one in {link.alias, link.asked_from}:
        pair = known.get(one), known.get(link.target)
        merges = pair[0] and pair[1] and judge_pair(pair[0], pair[1]).verdict is PairVerdict.MERGE
        if merges or link.made_by == "rule":
            await store.keep_apart(tx, scope, one, link.target)


def open_proposals(
    mentions: list[store.EntityMention], aliases: Aliases, apart: frozenset[frozenset[str]]
) -> list[MergeProposal]:
    """Return the proposed merges of entities that were not made yet, best first."""
    return [
        proposal
        for proposal in propose_merges(match_candidates(mentions), apart)
        if aliases.resolve(proposal.source) != aliases.resolve(proposal.into)
    ]


def job_kinds(services: Services) -> tuple[JobKind, ...]:
    """Return the job that merges a person's entities where the case is clear."""

    async def run(attempt: Attempt) -> None:
        """Merge the clear cases of the person whose id is the work's key."""
        # No persona: what was said to one in private must not decide what all of them see.
        scope = Scope(org_id=attempt.scope.org_id, user_id=attempt.key)
        async with services.db.tx(scope.org_id) as tx:
            mentions = await store.list_mentions(tx, scope)
            aliases = await store.load_aliases(tx, scope)
            apart = await store.pairs_kept_apart(tx, scope)
        proposals = await asyncio.to_thread(open_proposals, mentions, aliases, apart)
        async with services.db.tx(scope.org_id) as tx:
            # Lock the person's row before the job's, as every writer does; the opposite order could deadlock.
            await merge_clear_cases(tx, scope, proposals)
            await attempt.lock_work(tx)
            await attempt.settle(tx)

    return (JobKind(name=MATCH_ENTITIES, run=run),)
