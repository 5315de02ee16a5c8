"""Taking back a fact: the memory is archived as outdated, with the words that ended it and when they were said."""

from dataclasses import replace

from mnemon.memory.ended import Ending, read_endings
from mnemon.memory.fact import Fact, FactOp
from mnemon.memory.lifecycle import ArchiveReason, ended_note
from mnemon.memory.memory import StoredMemory
from mnemon.memory.plan import MemoryChange, MemoryOutcome, WriteStamp
from mnemon.memory.reading import Reading
from mnemon.memory.slots import read_fact
from mnemon.memory.trust import outranks

NOTHING_ENDED = "nothing that is held says what is taken back"
SAID_SINCE = "it was stated again after it was taken back"


def may_end(fact: Fact) -> bool:
    """Say whether a fact may retract stored memories, so that these must be loaded."""
    return fact.op is FactOp.RETRACT or bool(read_endings(fact.content, fact.entity))


def endings_of_retraction(fact: Fact) -> tuple[Ending, ...]:
    """Return what a retracted fact says is over: its own statement, and what its retracting words say."""
    reading = read_fact(fact)
    state = (
        Reading(entity=reading.entity, attribute=reading.attribute, values=reading.values)
        if reading.attribute is not None
        else None
    )
    own = Ending(state=state, entity=fact.entity, words=fact.content)
    return (own, *(read_endings(fact.ending_words, fact.entity) if fact.ending_words != fact.content else ()))


def refuses_ending(held: StoredMemory, fact: Fact) -> bool:
    """Say whether a fact may not end a memory: because it is pinned, or of a more trusted source."""
    return held.pinned or outranks(held.trust, fact.effective_trust)


def end_memory(held: StoredMemory, fact: Fact, stamp: WriteStamp) -> MemoryChange:
    """Return the change that archives a memory as outdated from the fact's time, with the fact's words as a note."""
    at = fact.valid_from or stamp.at
    ended = held.as_archived(ArchiveReason.OUTDATED, max(at, held.valid_from), note=ended_note(fact.ending_words))
    memory = replace(ended, revision=stamp.revision, updated_at=max(held.updated_at, stamp.at))
    return MemoryChange(outcome=MemoryOutcome.UPDATED, memory=memory)
