"""A reflection whose person forgot something after the turn was read is dropped, and the turn is read again."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from mnemon.clock import ManualClock
from mnemon.custody.forget_memory import forget_memory
from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.jobs.runner import Runner
from mnemon.llm.protocol import LlmAnswer, LlmQuestion
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.llm.scripted.script import Script
from mnemon.memory.fact import Fact, MemoryType
from mnemon.memory.remember import remember_facts
from mnemon.reflection import job, store
from mnemon.reflection.report import Reflection, ReflectionStatus
from mnemon.scope import person_scope
from mnemon.sessions.people import ensure_person
from mnemon.turn import Turn
from support.reflecting import Notes, basement_of, runner_of, told

Meanwhile = Callable[[], Awaitable[None]]
SECRET = "owns a hidden ferret"
"""What is forgotten, and what the first answer says."""


class InterruptedLlm(ScriptedLlm):
    """A model during whose first answer something else happens."""

    def __init__(self, script: Script, meanwhile: Meanwhile) -> None:
        super().__init__(script)
        self._meanwhile: Meanwhile | None = meanwhile

    async def answer(self, question: LlmQuestion) -> LlmAnswer:
        given = await super().answer(question)
        if self._meanwhile is not None:
            meanwhile, self._meanwhile = self._meanwhile, None
            await meanwhile()
        return given


class InterruptedDatabase(Database):
    """A database before whose n-th transaction something else happens."""

    number = -1
    meanwhile: Meanwhile

    @asynccontextmanager
    async def tx(self, org_id: str | None, *, within_s: float | None = None) -> AsyncIterator[Tx]:
        if self.number == 0:
            await self.meanwhile()
        self.number -= 1
        async with super().tx(org_id, within_s=within_s) as tx:
            yield tx


@pytest.fixture
def script() -> Script:
    made = Script()
    made.add_answers("Reflection", {"notes": [SECRET]}, {"notes": ["nothing of it"]})
    return made


async def forgetting(db: Database, user: str) -> Meanwhile:
    """What forgets a memory of this person's."""
    async with db.tx("acme") as tx:
        await ensure_person(tx, "acme", user)
        held = (await remember_facts(tx, person_scope("acme", user), [Fact(type=MemoryType.PROFILE, content=SECRET)]))[
            0
        ].memory

    async def forget() -> None:
        async with db.tx("acme") as tx:
            await forget_memory(tx, person_scope("acme", user), held.id)

    return forget


async def reflection_of(db: Database, turn: Turn) -> Reflection:
    async with db.tx("acme") as tx:
        found = await store.find(tx, turn.scope, turn.id)
    assert found is not None
    return found


@pytest.mark.parametrize(("whose", "asked", "noted"), [("ana", 2, "nothing of it"), ("bob", 1, SECRET)])
async def test_an_answer_during_which_its_person_forgot_something_is_dropped(
    db: Database, org: str, clock: ManualClock, script: Script, whose: str, asked: int, noted: str
) -> None:
    turn = await told(db, "hello", user="ana")
    notes = Notes()
    model = InterruptedLlm(script, await forgetting(db, whose))
    await runner_of(replace(basement_of(db, clock), reflector=model), [notes]).drain()
    assert [given for _, _, given in notes.applied] == [[noted]]
    assert len(script.asked) == asked
    done = await reflection_of(db, turn)
    assert done.status is ReflectionStatus.DONE
    assert done.raw == {"notes": [noted]}


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        pytest.param(0, True, id="before the turn is read"),
        pytest.param(1, False, id="before the answer is kept"),
        pytest.param(2, False, id="before the answer is applied"),
    ],
)
async def test_what_is_forgotten_between_two_transactions_is_not_learned_again(
    db: Database, org: str, database_url: str, clock: ManualClock, script: Script, before: int, kept: bool
) -> None:
    turn = await told(db, "hello", user="ana")
    interrupted = InterruptedDatabase(database_url, clock)
    interrupted.number, interrupted.meanwhile = before, await forgetting(db, "ana")
    await interrupted.open()
    notes = Notes()
    kinds = job.kinds_for_sections(basement_of(interrupted, clock, script), [notes])
    await Runner(db, clock, {kind.name: kind for kind in kinds}).drain()
    await interrupted.close()
    done = await reflection_of(db, turn)
    assert done.status is ReflectionStatus.DONE
    assert len(notes.applied) == 1
    assert (SECRET in notes.applied[0][2]) is kept
    assert (SECRET in str(done.raw)) is kept
