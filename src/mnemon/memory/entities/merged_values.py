"""What a merge does to the facts of the entities that it makes one, and how its split gives them back.

Two entities that are one have one home: of an attribute with one value the later statement stays, unless the earlier is
trusted more or pinned, and the other is set aside as outdated, under the id of the merge. The split of that merge makes
exactly those active again.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from mnemon.db.tx import Tx
from mnemon.memory import store as memories
from mnemon.memory.attributes import Holds
from mnemon.memory.entities import store
from mnemon.memory.entities.aliases import Aliases, AliasLink
from mnemon.memory.lifecycle import ArchiveReason, note_before_merge, set_aside_note
from mnemon.memory.memory import StoredMemory
from mnemon.memory.plan import MemoryChange, MemoryOutcome
from mnemon.memory.slots import has_same_value, read_memory
from mnemon.memory.trust import trust_rank
from mnemon.scope import Scope


async def store_link(
    tx: Tx, scope: Scope, link: AliasLink, reasons: tuple[str, ...], aliases: Aliases, *, revision: int
) -> None:
    """Insert an alias, write the merge to the log with its reasons, and set aside the values that it leaves behind."""
    await store.add_link(tx, scope, link)
    await store.log_merge(tx, scope, link, reasons)
    await _set_values_aside(tx, scope, link, aliases, revision=revision)


async def remove_link(tx: Tx, scope: Scope, link: AliasLink, *, revision: int) -> None:
    """Delete an alias, write the split to the log, and give back the values that the merge set aside."""
    await store.delete_link(tx, scope, link)
    await store.log_split(tx, scope, link.merge_id)
    await _give_values_back(tx, scope, link, revision=revision)


async def _set_values_aside(tx: Tx, scope: Scope, link: AliasLink, aliases: Aliases, *, revision: int) -> None:
    """Archive the values that a merge leaves beside a better one of the same attribute; `aliases` include its link."""
    held = await memories.about_keys(tx, scope, aliases.member_keys(link.target))
    aside = [
        replace(
            one.as_archived(ArchiveReason.OUTDATED, tx.now, note=set_aside_note(link.merge_id, one.note)),
            revision=revision,
        )
        for one in values_beside(held, aliases)
    ]
    await memories.write_changes(tx, scope, [MemoryChange(outcome=MemoryOutcome.UPDATED, memory=one) for one in aside])


async def _give_values_back(tx: Tx, scope: Scope, link: AliasLink, *, revision: int) -> None:
    """Make the memories active again that this merge set aside, each as it was."""
    aside = await memories.set_aside_by(tx, scope, set_aside_note(link.merge_id, None))
    back = [replace(one.as_active(note=note_before_merge(one.note)), revision=revision) for one in aside]
    await memories.write_changes(tx, scope, [MemoryChange(outcome=MemoryOutcome.UPDATED, memory=one) for one in back])


def values_beside(held: Iterable[StoredMemory], aliases: Aliases) -> list[StoredMemory]:
    """Return the active memories that another one of the same attribute of the same entity outweighs."""
    values: dict[tuple[str | None, str, str], list[StoredMemory]] = defaultdict(list)
    for one in held:
        reading = read_memory(one)
        if reading.attribute is not None and reading.attribute.holds is Holds.ONE and one.claim_of is None:
            key, _, attribute = reading.slot.partition("|")
            values[one.persona_id, aliases.resolve(key), attribute].append(one)
    return [beside for rivals in values.values() for beside in _outweighed(rivals)]


def _outweighed(rivals: list[StoredMemory]) -> list[StoredMemory]:
    """Return the memories with another value than the best of them; a pinned one is never set aside."""
    best = max(rivals, key=lambda one: (trust_rank(one.trust), one.pinned, one.stated_at, one.id))
    reading = read_memory(best)
    return [one for one in rivals if not one.pinned and not has_same_value(read_memory(one), reading)]
