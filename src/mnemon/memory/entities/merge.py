"""Merging and splitting entities: an alias and a log entry, undone exactly."""

from dataclasses import dataclass

from mnemon.db.tx import Tx
from mnemon.errors import Conflict, Invalid, NotFound
from mnemon.memory.entities import store
from mnemon.memory.entities.aliases import Aliases, Link
from mnemon.memory.entities.matching import Verdict, judge
from mnemon.memory.entities.overview import candidates
from mnemon.memory.entities.pairing import Proposal, propose
from mnemon.scope import Scope
from mnemon.sessions.people import bump_revision, hold_person


@dataclass(frozen=True, kw_only=True)
class Merged:
    """What a merge did."""

    key: str
    """The entity both read as now."""
    aliases: tuple[str, ...]
    changed: bool
    """False when they were one already."""


async def merge(tx: Tx, scope: Scope, source: str, into: str) -> Merged:
    """Both keys read as one entity, `into` where it may be chosen; nothing stored has changed but the alias."""
    if source == into:
        raise Invalid("An entity cannot be merged with itself. Name two different keys.", code="same_entity")
    await bump_revision(tx, scope)
    aliases = await _with_known(tx, scope, source, into)
    given_way = aliases.links.get(into)
    if given_way and given_way.made_by == "rule" and aliases.resolve(source) == given_way.target:
        # The rule merged the same two the other way round; the person's choice of the key that stays goes first.
        await _undo(tx, scope, given_way)
        aliases = aliases.without(given_way)
    link = aliases.link_for(source, into, tx.new_id("mrg"), "person")
    if link:
        await _make(tx, scope, link, ("asked for",))
        await store.allow_together(tx, scope, source, into)
        aliases = aliases.with_link(link)
    key, *others = aliases.members(into)
    return Merged(key=key, aliases=tuple(others), changed=link is not None)


async def split(tx: Tx, scope: Scope, key: str, source: str) -> Link:
    """Everything reads as before the merge that made the two one; they are not merged by rule again."""
    await bump_revision(tx, scope)
    aliases = await _with_known(tx, scope, source, key)
    link = aliases.link_to_undo(key, source)
    if link is None:
        raise Conflict(
            f"{source} is not merged with {key}. `GET /api/entities/{key}` lists its aliases.", code="not_merged"
        )
    await _undo(tx, scope, link)
    await _remember_split(tx, scope, link)
    return link


async def merge_clear_cases(tx: Tx, scope: Scope, proposals: list[Proposal]) -> int:
    """Every clear case is merged; what became one or was split meanwhile is left alone. Gives how many.

    Nothing is merged for a person who was forgotten meanwhile.
    """
    clear = [one for one in proposals if one.judgement.verdict is Verdict.MERGE]
    if not clear or await hold_person(tx, scope) is None:
        return 0
    await bump_revision(tx, scope)
    aliases = await store.load_aliases(tx, scope)
    apart = await store.kept_apart(tx, scope)
    made = 0
    for proposal in clear:
        link = aliases.link_for(proposal.source, proposal.into, tx.new_id("mrg"), "rule")
        if link is None or _crosses(link, aliases, apart):
            continue
        await _make(tx, scope, link, proposal.judgement.reasons)
        aliases = aliases.with_link(link)
        made += 1
    return made


def _crosses(link: Link, aliases: Aliases, apart: frozenset[frozenset[str]]) -> bool:
    groups = aliases.members(link.alias), aliases.members(link.target)
    return any(frozenset({one, two}) in apart for one in groups[0] for two in groups[1])


async def _with_known(tx: Tx, scope: Scope, *keys: str) -> Aliases:
    aliases = await store.load_aliases(tx, scope)
    linked = set(aliases.links) | {link.target for link in aliases.links.values()}
    spoken = {ref for one in await store.every_ref(tx, scope) for ref in one}
    if any(key not in spoken and key not in linked for key in keys):
        raise NotFound("entity")
    return aliases


async def _make(tx: Tx, scope: Scope, link: Link, reasons: tuple[str, ...]) -> None:
    await store.add_link(tx, scope, link)
    await store.log_merge(tx, scope, link, reasons)


async def _undo(tx: Tx, scope: Scope, link: Link) -> None:
    await store.drop_link(tx, scope, link)
    await store.log_split(tx, scope, link.merge_id)


async def _remember_split(tx: Tx, scope: Scope, link: Link) -> None:
    """What the rule would merge again is kept apart; for any other pair the split alone is enough."""
    known = {one.key: one for one in candidates(await store.spoken_of(tx, scope))}
    for one in {link.alias, link.asked_from}:
        pair = known.get(one), known.get(link.target)
        if pair[0] and pair[1] and judge(pair[0], pair[1]).verdict is Verdict.MERGE:
            await store.keep_apart(tx, scope, one, link.target)


def open_proposals(spoken: list[store.Spoken], aliases: Aliases, apart: frozenset[frozenset[str]]) -> list[Proposal]:
    """What could be merged and is not yet, best first."""
    return [
        proposal
        for proposal in propose(candidates(spoken), apart)
        if aliases.resolve(proposal.source) != aliases.resolve(proposal.into)
    ]
