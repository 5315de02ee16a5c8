"""The job that runs the curator when enough memories are new, and the undoing of a fold."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from mnemon.db.tx import Tx
from mnemon.errors import Conflict, NotFound
from mnemon.jobs.kind import Attempt, JobKind, model_time_limit
from mnemon.llm.protocol import Purpose
from mnemon.llm.structured_answer import request_structured_answer
from mnemon.memory import curator as rules
from mnemon.memory import store as memories
from mnemon.memory.curator import CuratorPlan, Fold, GatedPlan
from mnemon.memory.edit import archive_memories, restore_memory
from mnemon.memory.entities.store import load_aliases
from mnemon.memory.fact import CURATED_FOLD, Fact, FactEntity
from mnemon.memory.keys import content_hash
from mnemon.memory.lifecycle import ArchiveReason, ArchiveStatus, folded_note
from mnemon.memory.memory import StoredMemory
from mnemon.memory.remember import remember_facts
from mnemon.memory.trust import Trust, speaks_for_person
from mnemon.memory.upkeep import store
from mnemon.memory.upkeep.schedule import CURATE, count_at_last_run
from mnemon.memory.upkeep.store import CuratorRun
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.sessions.people import lock_person
from mnemon.sessions.state import record_curator_run
from mnemon.vectors.text_vectors import TextVectors, embed_texts

_MOST_MEMORIES = 500


def job_kinds(services: Services) -> tuple[JobKind, ...]:
    """Return the job that runs the curator over a person's memories."""

    async def run(attempt: Attempt) -> None:
        """Run the curator for the person whose id is the work's key, if enough memories are new."""
        # Global memories only: what is private to a persona must not be combined with anything else.
        scope = Scope(org_id=attempt.scope.org_id, user_id=attempt.key)
        async with services.db.tx(scope.org_id) as tx:
            now = tx.now
            count = await memories.count_active(tx, scope)
            last = await count_at_last_run(tx, scope)
            held = await store.global_memories(tx, scope, most=_MOST_MEMORIES)
            aliases = await load_aliases(tx, scope)
        if not rules.is_due(count=count, count_at_last_run=last, after=services.settings.curator_after):
            return
        # No transaction is open while the model works.
        plan = await request_structured_answer(
            services.reflector,
            CuratorPlan,
            schema=rules.PLAN_SCHEMA,
            system=rules.SYSTEM,
            prompt=rules.render_prompt(held),
            purpose=Purpose.CURATOR,
            by_rule=lambda: rules.plan_by_rule(held, now, aliases.resolve),
        )
        # Model and embedder are called with no transaction open.
        vectors = await embed_texts(services.embedder, [fold.content.strip() for fold in plan.folds])
        async with services.db.tx(scope.org_id) as tx:
            # Lock the person's row before the job's, as every writer does; the opposite order could deadlock.
            await lock_person(tx, scope)
            await attempt.lock_work(tx)
            await apply_plan(tx, scope, plan, made_by=services.reflector.name, vectors=vectors)
            await attempt.settle(tx)

    return (JobKind(name=CURATE, run=run, time_limit=model_time_limit(services.settings.model_timeout_s)),)


async def apply_plan(
    tx: Tx, scope: Scope, plan: CuratorPlan, *, made_by: str, vectors: TextVectors | None = None
) -> CuratorRun:
    """Apply and record the parts of the curator's plan that pass the gates, checked against the current memories."""
    aliases = await load_aliases(tx, scope)
    # Read again under the lock: memories may have changed while the model worked.
    gated = rules.gate_plan(plan, await store.global_memories(tx, scope, most=_MOST_MEMORIES), tx.now, aliases.resolve)
    folded = [await _fold_fragments(tx, scope, fold, vectors) for fold in gated.folds]
    archived = await _archive_outdated(tx, scope, gated)
    run = CuratorRun(
        id=tx.new_id("cur"),
        folded=tuple(one.id for one in folded),
        archived=archived,
        rejected=gated.rejected,
        made_by=made_by,
        at=tx.now,
    )
    await store.add_curator_run(tx, scope, run)
    await record_curator_run(tx, scope, await memories.count_active(tx, scope))
    return run


async def _archive_outdated(tx: Tx, scope: Scope, gated: GatedPlan) -> tuple[str, ...]:
    """Archive what the curator's plan calls outdated; return the ids of the archived memories."""
    archived: list[StoredMemory] = []
    for one in gated.outdated:
        archived += await archive_memories(tx, scope, [one.memory.id], ArchiveReason.OUTDATED, note=one.reason)
    return tuple(memory.id for memory in archived)


async def _fold_fragments(tx: Tx, scope: Scope, fold: Fold, vectors: TextVectors | None) -> StoredMemory:
    """Store several memories as one (a fold), archive them as folded, and return the new memory."""
    (remembered,) = await remember_facts(tx, scope, [_fact_of_fold(fold, tx.now)], vectors=vectors)
    fragments = [one.id for one in fold.memories]
    await archive_memories(tx, scope, fragments, ArchiveReason.FOLDED, note=folded_note(remembered.memory.id))
    return remembered.memory


def _fact_of_fold(fold: Fold, at: datetime) -> Fact:
    """Return the fact to be remembered in place of the fold's fragments."""
    first = fold.memories[0]
    origin = None if speaks_for_person(first.trust) else first.origin
    entity = FactEntity(type=first.entity_type, label=first.entity_label) if first.entity_label else None
    fact_types = Counter(one.fact_type for one in fold.memories)
    ids = tuple(one.id for one in fold.memories)
    return Fact(
        type=first.type,
        content=fold.content,
        entity=entity,
        fact_type=fact_types.most_common(1)[0][0],
        # A key of its own: under a shared one the next fold would replace this one, whose fragments nobody sees then.
        attribute=f"fold {content_hash(f'{at.isoformat()} {ids}')}",
        importance=max(one.importance for one in fold.memories),
        confidence=min(one.confidence for one in fold.memories),
        source=CURATED_FOLD,
        trust=first.trust,
        origin=origin,
        sources=ids,
    )


@dataclass(frozen=True, kw_only=True)
class UnfoldedMemory:
    """A fold that was undone."""

    fold_id: str
    restored: tuple[StoredMemory, ...]
    """The fragments that are active again; those that were active or forgotten are not among them."""


async def unfold_memory(tx: Tx, scope: Scope, fold_id: str) -> UnfoldedMemory:
    """Undo a fold: make its fragments active again, and archive the fold as unwanted.

    Raises NotFound, and Conflict if the memory is not an active fold or is pinned.
    """
    # Under the person's lock, so that of two calls at once the second finds the fold archived.
    await lock_person(tx, scope)
    found = await memories.by_ids(tx, scope, [fold_id])
    if not found:
        raise NotFound("memory")
    fold = found[0]
    if fold.source != CURATED_FOLD or not fold.sources:
        raise Conflict("This memory is not a fold; there is nothing to unfold.", code="not_a_fold")
    if fold.status is not ArchiveStatus.ACTIVE:
        raise Conflict(f"This fold is archived ({fold.note or fold.archive_reason}).", code="fold_not_active")
    if fold.pinned:
        raise Conflict("This fold is pinned. Unpin it first.", code="fold_pinned")
    folded = await store.fragments_of(tx, scope, [fold_id])
    # What was stated again since then is active under its key, and stands for the fragment.
    held = await memories.by_keys(tx, scope, [one.memory_key for one in folded])
    stated = {one.memory_key for one in held if one.status is ArchiveStatus.ACTIVE}
    await archive_memories(tx, scope, [fold_id], ArchiveReason.UNWANTED, note="unfolded")
    restored = [
        await restore_memory(tx, scope, one.id, reason="unfolded", source=Trust.OPERATOR)
        for one in folded
        if one.memory_key not in stated
    ]
    return UnfoldedMemory(fold_id=fold_id, restored=tuple(restored))
