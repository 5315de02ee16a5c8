"""Changes by hand and by upkeep: text, importance, pin, archive, restore. Each keeps what was before."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mnemon.db.tx import Tx
from mnemon.errors import Conflict, NotFound
from mnemon.memory import store
from mnemon.memory.fact import API
from mnemon.memory.importance import CRITICAL
from mnemon.memory.lifecycle import ArchiveReason, Status, archive, restore
from mnemon.memory.memory import Memory, Version
from mnemon.memory.plan import Change, Outcome, rewritten
from mnemon.memory.remember import keep_vectors
from mnemon.memory.trust import Trust, lower_of, outranks, trust_of
from mnemon.scope import Scope
from mnemon.sessions.people import bump_revision
from mnemon.vectors.embed import Vectors


@dataclass(frozen=True, kw_only=True)
class Edit:
    """What is to change; None leaves it as it is."""

    content: str | None = None
    importance: int | None = None
    pinned: bool | None = None
    status: Status | None = None
    reason: str | None = None
    """Why; for archiving one of the archive reasons, else in words."""
    source: str = API
    """Who asks for it: nothing of a more trusted source is changed."""


async def change(tx: Tx, scope: Scope, memory_id: str, edit: Edit, *, vectors: Vectors | None = None) -> Memory:
    """The memory is as the edit says; a text it replaces is kept as a version."""
    revision = await bump_revision(tx, scope, asked_for="memory")
    held = await _held(tx, scope, memory_id)
    refuse_if_outranked(held, edit.source)
    if edit.pinned and held.claim_of is not None:
        raise Conflict(
            "A claim cannot be pinned: a more trusted source says otherwise. State it as the person's own fact first.",
            code="claim",
        )
    made = Change(outcome=Outcome.UPDATED, memory=held)
    if edit.content is not None and edit.content != held.content:
        made = rewritten(held, edit.content, at=tx.now, reason=edit.reason, revision=revision)
        made = replace(made, memory=_vouched(made.memory, edit.source))
    pinned = made.memory.pinned if edit.pinned is None else edit.pinned
    importance = made.memory.importance if edit.importance is None else edit.importance
    memory = replace(
        made.memory,
        pinned=pinned,
        importance=CRITICAL if pinned else importance,
        note=edit.reason or made.memory.note,
        revision=revision,
        updated_at=tx.now,
    )
    memory = _with_status(memory, edit, tx)
    made = replace(made, memory=memory)
    await store.write(tx, scope, [made])
    await keep_vectors(tx, scope, [made], vectors, revision=revision)
    return (await store.with_provenance(tx, scope, [memory]))[0]


def refuse_if_outranked(held: Memory, source: str) -> None:
    """Raise Conflict where the memory comes from a more trusted source than the change does."""
    if outranks(held.trust, trust_of(source)):
        raise Conflict(
            f"This memory comes from a more trusted source ({held.trust}) than the change ({trust_of(source)}). State "
            "the change with `POST /api/memories`: it is kept beside this one as a claim.",
            code="outranked",
        )


def _vouched(memory: Memory, source: str) -> Memory:
    """The memory with the trust of who wrote its text anew, at most the person's: they can still change it."""
    trust = lower_of(trust_of(source), Trust.PERSON)
    if memory.claim_of is not None or not outranks(trust, memory.trust):
        return memory
    named = API if trust_of(source) is Trust.OPERATOR else source
    return replace(memory, source=named, origin=named, trust=trust)


def _with_status(memory: Memory, edit: Edit, tx: Tx) -> Memory:
    if edit.status is Status.ACTIVE and memory.status is Status.ARCHIVED:
        return _active(memory)
    if edit.pinned and edit.status is None and memory.status is Status.ARCHIVED:
        raise Conflict("An archived memory cannot be pinned. Restore it first (`status: ACTIVE`).", code="archived")
    if edit.status is Status.ARCHIVED:
        return _archived(memory, archive_reason(edit.reason), tx)
    return memory


def archive_reason(reason: str | None) -> ArchiveReason:
    """The archive reason that is named; a reason in other words, or none, means it is unwanted."""
    known = (reason or "").strip().lower()
    return ArchiveReason(known) if known in set(ArchiveReason) else ArchiveReason.UNWANTED


def _archived(memory: Memory, reason: ArchiveReason, tx: Tx) -> Memory:
    status = archive(pinned=memory.pinned)
    since = memory.archived_at or tx.now
    return replace(memory, status=status, archive_reason=reason, archived_at=since, valid_to=since)


def _active(memory: Memory) -> Memory:
    status = restore(memory.status)
    return replace(memory, status=status, archive_reason=None, archived_at=None, valid_to=None)


async def archive_many(
    tx: Tx, scope: Scope, memory_ids: Sequence[str], reason: ArchiveReason, *, note: str | None = None
) -> list[Memory]:
    """The memories are archived for the reason; pinned and already archived ones are left as they are and not given."""
    revision = await bump_revision(tx, scope, asked_for="memory")
    held = await store.by_ids(tx, scope, memory_ids)
    done = [
        replace(_archived(one, reason, tx), note=note, revision=revision)
        for one in held
        if not one.pinned and one.status is Status.ACTIVE
    ]
    await store.write(tx, scope, [Change(outcome=Outcome.UPDATED, memory=one) for one in done])
    return done


async def bring_back(
    tx: Tx,
    scope: Scope,
    memory_id: str,
    *,
    version: int | None = None,
    reason: str | None = None,
    source: str = API,
    vectors: Vectors | None = None,
) -> Memory:
    """An archived memory is active again; with a version's number, its text is what is held."""
    revision = await bump_revision(tx, scope, asked_for="memory")
    held = await _held(tx, scope, memory_id)
    refuse_if_outranked(held, source)
    made = Change(outcome=Outcome.UPDATED, memory=held)
    if version is not None:
        earlier = await _version(tx, scope, held, version)
        if earlier is not None and earlier.content != held.content:
            made = rewritten(held, earlier.content, at=tx.now, reason=reason, revision=revision)
            if outranks(earlier.trust, held.trust):
                said = replace(made.memory, source=earlier.source, origin=earlier.origin, trust=earlier.trust)
                made = replace(made, memory=said)
    memory = made.memory
    if memory.status is Status.ARCHIVED or version is None:
        memory = _active(memory)
    memory = replace(memory, revision=revision, updated_at=tx.now, note=reason)
    made = replace(made, memory=memory)
    await store.write(tx, scope, [made])
    await keep_vectors(tx, scope, [made], vectors, revision=revision)
    return (await store.with_provenance(tx, scope, [memory]))[0]


async def _held(tx: Tx, scope: Scope, memory_id: str) -> Memory:
    held = await store.by_ids(tx, scope, [memory_id])
    if not held:
        raise NotFound("memory")
    return held[0]


async def _version(tx: Tx, scope: Scope, held: Memory, number: int) -> Version | None:
    """The past version of that number; None for the current one."""
    if number == held.version:
        return None
    past = (await store.past_versions(tx, scope, [held.id])).get(held.id, ())
    for one in past:
        if one.number == number:
            return one
    known = ", ".join(str(one.number) for one in past) or "none"
    raise Conflict(f"This memory has no version {number}. Earlier versions: {known}.", code="no_such_version")
