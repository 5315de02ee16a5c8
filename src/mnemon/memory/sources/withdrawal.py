"""Taking back what one source said: a pure rule for one memory, and the whole source in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.errors import NotAllowed
from mnemon.memory import store
from mnemon.memory.importance import CRITICAL
from mnemon.memory.lifecycle import ArchiveReason, Status
from mnemon.memory.memory import Memory, Version
from mnemon.memory.plan import Change, Outcome, version_of
from mnemon.memory.remember import keep_vectors
from mnemon.memory.sources.names import no_such_source
from mnemon.memory.sources.overview import source_names
from mnemon.memory.trust import Trust, highest, outranks, trust_of
from mnemon.memory.upkeep.enqueue import after_forgetting
from mnemon.scope import Scope
from mnemon.sessions.people import bump_revision

SQL = statements("mnemon.memory.sources")
log = structlog.get_logger(__name__)
WITHDRAWN = "withdrawn"
"""Why a version or an archived memory no longer holds."""


@dataclass(frozen=True, kw_only=True)
class Withdrawal:
    """The receipt: what one withdrawal did; all empty when nothing of the source was left."""

    id: str
    at: datetime
    origin: str
    archived: tuple[str, ...]
    """Memories that only this source stated."""
    restored: tuple[str, ...]
    """Memories that say again what they said before the source replaced it."""
    versions: int
    """Past versions that count as never held."""
    todos: int
    """Open todos that were dropped."""
    people: int = 1
    """People of whom something was looked for; 0 where nothing of the source was left with anybody."""

    @property
    def total(self) -> int:
        return len(self.archived) + len(self.restored) + self.versions + self.todos


def withdrawn_change(
    held: Memory, past: Sequence[Version], origin: str, *, at: datetime, revision: int
) -> Change | None:
    """What taking the source back does to one memory; None when nothing of it is left there."""
    moved = {
        one.number: (None, one.valid_from)
        for one in past
        if one.origin == origin and one.valid_to is not None and one.valid_to > one.valid_from
    }
    if held.origin != origin or _is_withdrawn(held):
        kept = replace(held, revision=revision)
        return Change(outcome=Outcome.UPDATED, memory=kept, moved=moved) if moved else None
    others = [one for one in past if one.origin != origin]
    if not others:
        gone = _archived(replace(held, note=WITHDRAWN, pinned=False, revision=revision, updated_at=at), at)
        return Change(outcome=Outcome.UPDATED, memory=gone, moved=moved)
    return _with_version_back(held, others, moved, at=at, revision=revision)


def _is_withdrawn(held: Memory) -> bool:
    return held.status is Status.ARCHIVED and held.note == WITHDRAWN


def _archived(held: Memory, at: datetime) -> Memory:
    since = held.archived_at or at
    return replace(
        held,
        status=Status.ARCHIVED,
        archive_reason=ArchiveReason.WRONG,
        archived_at=since,
        valid_to=held.valid_to or since,
    )


def _with_version_back(
    held: Memory,
    others: Sequence[Version],
    moved: dict[int, tuple[None, datetime]],
    *,
    at: datetime,
    revision: int,
) -> Change:
    """The most trusted earlier version, the latest of those, is what is held again, with the pin that was on it."""
    back = others[0]
    for one in others[1:]:
        later = (one.valid_from, one.number) > (back.valid_from, back.number)
        if outranks(one.trust, back.trust) or (later and not outranks(back.trust, one.trust)):
            back = one
    since = min(held.valid_from, at)
    for one in others:
        if one.valid_to is not None and one.valid_to > max(since, one.valid_from):
            moved[one.number] = (None, max(since, one.valid_from))
    memory = replace(
        held,
        content=back.content,
        importance=CRITICAL if held.pinned else back.importance,
        confidence=back.confidence,
        source=back.source,
        origin=back.origin,
        trust=back.trust,
        note=None,
        valid_from=since,
        stated_at=since,
        updated_at=at,
        version=held.versions + 1,
        versions=held.versions + 1,
        revision=revision,
    )
    taken = version_of(held, number=held.version, until=held.valid_from, reason=WITHDRAWN)
    return Change(outcome=Outcome.UPDATED, memory=memory, versions=(taken,), moved=moved, displaced=held.version)


async def withdraw_source(
    tx: Tx, scope: Scope, origin: str, *, at_most: Trust = Trust.OPERATOR, receipt_id: str | None = None
) -> Withdrawal:
    """Take back everything the source said about the person, over all personas. Doing it again changes nothing.

    Raises NotFound for a source that never spoke about them, NotAllowed for one that is trusted above `at_most`.
    """
    revision = await bump_revision(tx, scope, asked_for="user")
    await _refuse(tx, scope, origin, at_most)
    ids = [str(row["id"]) for row in await tx.all(SQL["touched_memories"], **_owner(scope), origin=origin)]
    past = await store.past_versions(tx, scope, ids)
    changes: list[Change] = []
    archived: list[str] = []
    for held in await store.by_ids(tx, scope, ids):
        change = withdrawn_change(held, past.get(held.id, ()), origin, at=tx.now, revision=revision)
        if change is not None:
            changes.append(change)
            archived += [held.id] if _is_withdrawn(change.memory) and not _is_withdrawn(held) else []
    await store.write(tx, scope, changes)
    await keep_vectors(tx, scope, changes, None, revision=revision)
    todos = await tx.run(SQL["drop_todos"], **_owner(scope), origin=origin, now=tx.now)
    if changes or todos:
        await after_forgetting(tx, scope)
    done = Withdrawal(
        id=receipt_id or tx.new_id("wdr"),
        at=tx.now,
        origin=origin,
        archived=tuple(archived),
        restored=tuple(one.memory.id for one in changes if one.displaced is not None),
        versions=sum(one_past.origin == origin for one in changes for one_past in _moved(one, past)),
        todos=todos,
    )
    await tx.run(SQL["keep_withdrawal"], **_owner(scope), id=done.id, origin=origin, at=done.at)
    log.info("source_withdrawn", user=scope.user, receipt=done.id, changed=done.total)
    return done


async def _refuse(tx: Tx, scope: Scope, origin: str, at_most: Trust) -> None:
    """Raise unless the source spoke about the person, with no more trust than the caller may take back."""
    rows = await tx.all(SQL["levels_of_source"], **_owner(scope), origin=origin)
    if not rows:
        raise no_such_source(origin, await source_names(tx, scope), "this person")
    levels = [trust_of(row["source"]) if row["kind"] == "todo" else store.trust_in(row) for row in rows]
    if outranks(highest(levels), at_most):
        raise NotAllowed(
            "This key speaks for one person and cannot take back what the operator laid down. Use a key that is not "
            "bound to a person.",
            code="key_bound_to_user",
        )


def _moved(change: Change, past: dict[str, tuple[Version, ...]]) -> list[Version]:
    return [one for one in past.get(change.memory.id, ()) if one.number in change.moved]


def _owner(scope: Scope) -> dict[str, str]:
    return {"org_id": scope.org_id, "user_id": scope.user}
