"""Writing the next spine when enough was said since the last."""

from datetime import timedelta

from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.jobs.kind import Attempt, Kind, time_for_model_calls
from mnemon.llm.protocol import Purpose
from mnemon.llm.shaped import shaped
from mnemon.memory import spine as rules
from mnemon.memory.spine import Part, Source, Spine, SpineVersion, grounded
from mnemon.memory.todos.store import open_todos
from mnemon.memory.trust import speaks_for_person
from mnemon.memory.upkeep import store
from mnemon.memory.upkeep.enqueue import SPINE, messages_since_spine
from mnemon.scope import Scope
from mnemon.sessions.people import forgettings_of, hold_person
from mnemon.sessions.state import total_messages

_MOST = 200


async def material(tx: Tx, scope: Scope) -> list[Source]:
    """What every persona may know: global memories, and todos told to no persona."""
    plain = scope.with_persona(None)
    memories = await store.global_memories(tx, plain, most=_MOST)
    own = [todo for todo in await open_todos(tx, plain) if speaks_for_person(todo.trust)]
    loops = [Source(id=one.id, part=Part.OPEN_LOOPS, text=one.content, weight=1.0) for one in own]
    return [source for one in memories if (source := rules.of_memory(one))] + loops


def kinds(basement: Basement) -> tuple[Kind, ...]:
    """The work of this file."""

    async def run(attempt: Attempt) -> None:
        user_id, _, rebuild = attempt.key.partition(" ")
        scope = Scope(org_id=attempt.scope.org_id, user_id=user_id)
        async with basement.db.tx(scope.org_id) as tx:
            since = await messages_since_spine(tx, scope)
            last = await store.latest_spine(tx, scope)
            known = await material(tx, scope)
            forgettings = await forgettings_of(tx, scope)
        if not rebuild and not rules.due(since):
            return
        answer = await shaped(
            basement.reflector,
            Spine,
            system=rules.SYSTEM,
            prompt=rules.prompt(known),
            purpose=Purpose.SPINE,
            by_rule=lambda: rules.by_rule(known),
        )
        async with basement.db.tx(scope.org_id) as tx:
            same = await hold_person(tx, scope) == forgettings
            await attempt.hold(tx)
            if not same:  # something was forgotten while the model worked, and the lines may hold it
                await attempt.repeat(tx, after=timedelta(0))
                return
            await _write(tx, scope, answer, last=last, since=since, made_by=basement.reflector.name)
            await attempt.settle(tx)

    return (Kind(name=SPINE, run=run, time_limit=time_for_model_calls(basement.settings.model_timeout_s)),)


async def _write(tx: Tx, scope: Scope, answer: Spine, *, last: SpineVersion | None, since: int, made_by: str) -> None:
    # Read again: what was forgotten while the model thought is no source any more.
    checked = grounded(answer, await material(tx, scope))
    version = SpineVersion(
        version=last.version + 1 if last else 1,
        lines=checked.lines,
        message_count=since,
        total_messages=await total_messages(tx, scope),
        at=tx.now,
        made_by=made_by,
    )
    await store.add_spine(tx, scope, version, checked.rejected)
