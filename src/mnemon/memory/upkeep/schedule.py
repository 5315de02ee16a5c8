"""When upkeep is queued: after memories were written, after a turn was stored, after something was forgotten."""

from mnemon.db.tx import Tx
from mnemon.jobs.store import enqueue_work
from mnemon.memory import spine as spine_rules
from mnemon.memory import store as memories
from mnemon.memory.upkeep import store
from mnemon.scope import Scope
from mnemon.sessions.state import count_all_messages, load_session_state

MATCH_ENTITIES = "match_entities"
CURATE = "curate"
SPINE = "spine"
REBUILD = "rebuild"
"""The suffix of the job key of a spine that is to be written no matter how much was said since the last."""
_SMALLEST_CURATOR_AFTER = 2
"""The smallest value that the setting `curator_after` may have."""


async def enqueue_after_write(tx: Tx, scope: Scope) -> None:
    """Queue the jobs that memories just written need: matching of entities, and the curator."""
    await enqueue_work(tx, scope, MATCH_ENTITIES, scope.user)
    new = await memories.count_active(tx, scope) - (await count_at_last_run(tx, scope) or 0)
    # A cheap test against needless jobs; the job itself compares with the configured number.
    if new >= _SMALLEST_CURATOR_AFTER:
        await enqueue_work(tx, scope, CURATE, scope.user)


async def enqueue_after_turn(tx: Tx, scope: Scope) -> None:
    """Queue the writing of a person's spine if enough was said since the last."""
    if spine_rules.is_due(await messages_since_spine(tx, scope)):
        await enqueue_work(tx, scope, SPINE, scope.user)


async def enqueue_after_forgetting(tx: Tx, scope: Scope) -> None:
    """Queue the writing of a new spine from what is left, if there is a spine."""
    if await store.latest_spine(tx, scope):
        await enqueue_work(tx, scope, SPINE, f"{scope.user} {REBUILD}")


async def count_at_last_run(tx: Tx, scope: Scope) -> int | None:
    """Return how many memories there were when the curator last ran; None before its first run."""
    # The curator runs per person, so its state is kept with no persona.
    state = await load_session_state(tx, scope.with_persona(None))
    return state.curator.last_memory_count_at_run if state else None


async def messages_since_spine(tx: Tx, scope: Scope) -> int:
    """Return how many messages the person has sent to any persona since the last spine."""
    last, total = await tx.gather(store.latest_spine(tx, scope), count_all_messages(tx, scope))
    return total - (last.total_messages if last else 0)
