"""The job that writes the next spine when enough was said since the last."""

from datetime import timedelta

from mnemon.db.tx import Tx
from mnemon.jobs.kind import Attempt, JobKind, model_time_limit
from mnemon.llm.protocol import Purpose
from mnemon.llm.structured_answer import request_structured_answer
from mnemon.memory import spine as rules
from mnemon.memory.spine import Spine, SpinePart, SpineSource, SpineVersion, ground_lines
from mnemon.memory.todos.store import open_todos
from mnemon.memory.trust import speaks_for_person
from mnemon.memory.upkeep import store
from mnemon.memory.upkeep.schedule import SPINE, messages_since_spine
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.sessions.people import count_forgettings, lock_person
from mnemon.sessions.state import count_all_messages

_MOST_MEMORIES = 200


async def spine_material(tx: Tx, scope: Scope) -> list[SpineSource]:
    """Return what every persona may know, as sources of a spine: global memories and todos of no persona."""
    global_scope = scope.with_persona(None)
    memories = await store.global_memories(tx, global_scope, most=_MOST_MEMORIES)
    own = [todo for todo in await open_todos(tx, global_scope) if speaks_for_person(todo.trust)]
    loops = [SpineSource(id=one.id, part=SpinePart.OPEN_LOOPS, text=one.content, weight=1.0) for one in own]
    return [source for one in memories if (source := rules.source_of_memory(one))] + loops


def job_kinds(services: Services) -> tuple[JobKind, ...]:
    """Return the job that writes the spines of people."""

    async def run(attempt: Attempt) -> None:
        """Write the next spine of the person whose id is in the work's key, if one is due or asked for."""
        user_id, _, rebuild = attempt.key.partition(" ")
        scope = Scope(org_id=attempt.scope.org_id, user_id=user_id)
        async with services.db.tx(scope.org_id) as tx:
            since = await messages_since_spine(tx, scope)
            last = await store.latest_spine(tx, scope)
            known = await spine_material(tx, scope)
            forgettings = await count_forgettings(tx, scope)
        if not rebuild and not rules.is_due(since):
            return
        # No transaction is open while the model works.
        answer = await request_structured_answer(
            services.reflector,
            Spine,
            schema=rules.SPINE_SCHEMA,
            system=rules.SYSTEM,
            prompt=rules.render_prompt(known),
            purpose=Purpose.SPINE,
            by_rule=lambda: rules.spine_by_rule(known),
        )
        async with services.db.tx(scope.org_id) as tx:
            # Lock the person's row before the job's, as every writer does; the opposite order could deadlock.
            same = await lock_person(tx, scope) == forgettings
            await attempt.lock_work(tx)
            # Something was forgotten while the model worked, and the new lines may contain it.
            if not same:
                await attempt.repeat(tx, after=timedelta(0))
                return
            await _write_spine(tx, scope, answer, last=last, since=since, made_by=services.reflector.name)
            await attempt.settle(tx)

    return (JobKind(name=SPINE, run=run, time_limit=model_time_limit(services.settings.model_timeout_s)),)


async def _write_spine(
    tx: Tx, scope: Scope, answer: Spine, *, last: SpineVersion | None, since: int, made_by: str
) -> None:
    """Store the lines of a model's answer that current sources support as the person's next spine."""
    # Read again: what was forgotten while the model worked must not be a source.
    checked = ground_lines(answer, await spine_material(tx, scope))
    version = SpineVersion(
        version=last.version + 1 if last else 1,
        lines=checked.lines,
        message_count=since,
        total_messages=await count_all_messages(tx, scope),
        at=tx.now,
        made_by=made_by,
    )
    await store.add_spine(tx, scope, version, checked.rejected)
