"""The sections `memories` and `todos`: what a model proposes, and what passes."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.memory import browse, store
from mnemon.memory.memory import StoredMemory
from mnemon.memory.reflect import NO_PERSONA, NOT_SAID, MemoriesSection
from mnemon.memory.todos import store as todo_store
from mnemon.memory.todos.reflect import OF_THE_OPERATOR, TodosSection
from mnemon.memory.todos.store import NewTodo
from mnemon.memory.todos.todo import Todo, TodoKind, TodoStatus
from mnemon.memory.trust import Trust
from mnemon.scope import person_scope
from mnemon.section import SectionResult
from mnemon.sessions.people import ensure_person
from mnemon.turn import Role, ToolOutcome, Turn, TurnMessage


@dataclass
class Talk:
    """A conversation whose turns are reflected with given answers."""

    db: Database
    org: str
    clock: ManualClock
    persona: str | None = "coach"
    count: int = field(default=0)

    def turn(self, said: str, reply: str = "", tools: tuple[ToolOutcome, ...] = (), **more: Any) -> Turn:
        self.count += 1
        at = more.pop("at", self.clock.now())
        messages = [(Role.USER, said), (Role.ASSISTANT, reply)]
        return Turn(
            id=f"trn_{self.count}",
            session_id=more.pop("session", "ses_1"),
            seq=self.count,
            scope=person_scope(self.org, "anna", self.persona),
            user_name="anna",
            at=at,
            messages=tuple(
                TurnMessage(message_id=f"msg_{self.count}_{role}", role=role, content=text, name=None, at=at)
                for role, text in messages
            ),
            tool_results=tools,
        )

    async def reflect(self, turn: Turn, *memories: dict[str, Any]) -> SectionResult:
        section = MemoriesSection()
        answer = section.answer.model_validate({"memories": list(memories)})
        async with self.db.tx(self.org) as tx:
            await ensure_person(tx, self.org, "anna")
            return await section.apply_answer(tx, turn, answer)

    async def reflect_todos(self, turn: Turn, *todos: dict[str, Any]) -> SectionResult:
        section = TodosSection()
        answer = section.answer.model_validate({"todos": list(todos)})
        async with self.db.tx(self.org) as tx:
            await ensure_person(tx, self.org, "anna")
            return await section.apply_answer(tx, turn, answer)

    async def held(self, persona: str | None = None) -> list[StoredMemory]:
        async with self.db.tx(self.org) as tx:
            return await browse.list_memories(
                tx, person_scope(self.org, "anna", persona), store.MemoryFilter(), most=500
            )

    async def todos(self, persona: str | None = "coach") -> list[Todo]:
        async with self.db.tx(self.org) as tx:
            return await todo_store.list_todos(tx, person_scope(self.org, "anna", persona), most=50)


@pytest.fixture
def talk(db: Database, org: str, clock: ManualClock) -> Talk:
    return Talk(db, org, clock)


def memory(content: str, quote: str, **more: Any) -> dict[str, Any]:
    return {"type": "PROFILE", "content": content, "quote": quote, "factType": "fact", **more}


async def test_a_quoted_fact_is_stored_with_where_it_was_said(talk: Talk) -> None:
    turn = talk.turn("Hi! I live in Austin, Texas.")
    report = await talk.reflect(turn, memory("Lives in Austin", "I live in Austin", attribute="city"))
    assert report == SectionResult(stored=1)
    kept = (await talk.held())[0]
    assert kept.source == "shadow_extraction"
    assert (kept.importance, kept.confidence, kept.trust) == (2, 0.9, Trust.PERSON)
    assert [(one.turn_id, one.message_id, one.quote) for one in kept.provenance] == [
        (turn.id, "msg_1_user", "I live in Austin")
    ]


async def test_no_quote_no_entry(talk: Talk) -> None:
    turn = talk.turn("I like tea.", reply="You live in Austin and own a boat.")
    report = await talk.reflect(
        turn,
        memory("Owns a boat", "own a boat"),
        memory("Lives in Austin", "You live in Austin"),
        memory("Likes tea", "I like tea"),
        memory("Likes coffee", "I like coffee"),
    )
    assert report.stored == 1
    assert [(one.what, one.why) for one in report.rejected] == [
        ("Owns a boat", NOT_SAID),
        ("Lives in Austin", NOT_SAID),
        ("Likes coffee", NOT_SAID),
    ]


async def test_a_tools_words_count_for_less_and_say_so(talk: Talk) -> None:
    tool = ToolOutcome(id="call_1", action="crm", output={"note": "Anna owns a boat"})
    await talk.reflect(talk.turn("look me up", tools=(tool,)), memory("Owns a boat", "Anna owns a boat"))
    kept = (await talk.held())[0]
    assert (kept.trust, kept.confidence) == (Trust.TOOL, 0.6)


async def test_what_mnemons_own_tools_gave_back_is_never_a_source(talk: Talk) -> None:
    tool = ToolOutcome(id="call_1", action="recall", output={"memories": ["Anna owns a boat"]})
    report = await talk.reflect(
        talk.turn("what do you know?", tools=(tool,)), memory("Owns a boat", "Anna owns a boat")
    )
    assert report.stored == 0
    assert len(report.rejected) == 1


async def test_two_hundred_turns_that_repeat_memories_create_none(talk: Talk) -> None:
    await talk.reflect(talk.turn("I live in Austin."), memory("Lives in Austin", "I live in Austin", attribute="city"))
    before = await talk.held()
    for number in range(200):
        reply = f"As I recall, you live in Austin. (reminder {number})"
        turn = talk.turn("What do you remember about me?", reply=reply)
        report = await talk.reflect(
            turn,
            memory("Lives in Austin", "you live in Austin", attribute="city"),
            memory(f"Was reminded {number} times", reply),
        )
        assert (report.stored, report.updated, len(report.rejected)) == (0, 0, 2)
    assert await talk.held() == before


async def test_just_between_us_stays_with_the_persona(talk: Talk) -> None:
    turn = talk.turn("Just between us, I am looking for another job.")
    fact = memory("Looks for another job", "I am looking for another job")
    assert (await talk.reflect(turn, fact)).stored == 1
    assert [one.content for one in await talk.held("coach")] == ["Looks for another job"]
    assert await talk.held("boss") == []
    assert await talk.held() == []


async def test_confided_outside_any_persona_is_not_made_global(talk: Talk) -> None:
    talk.persona = None
    turn = talk.turn("Just between us, I am looking for another job.")
    report = await talk.reflect(turn, memory("Looks for another job", "I am looking for another job"))
    assert [one.why for one in report.rejected] == [NO_PERSONA]
    assert await talk.held() == []


async def test_applying_the_same_answer_twice_changes_nothing(talk: Talk) -> None:
    turn = talk.turn("I like tea and jazz.")
    answer = (
        memory("Likes tea", "I like tea", attribute="drink"),
        memory("Likes jazz", "I like tea and jazz", attribute="music"),
    )
    assert await talk.reflect(turn, *answer) == SectionResult(stored=2)
    before = await talk.held()
    assert await talk.reflect(turn, *answer) == SectionResult(skipped=2)
    assert await talk.held() == before


async def test_an_older_turn_reflected_late_never_replaces_a_newer_value(talk: Talk, clock: ManualClock) -> None:
    older = talk.turn("I live in Austin.", at=clock.now() - timedelta(days=9))
    newer = talk.turn("I live in Denver.", at=clock.now() - timedelta(days=1))
    await talk.reflect(newer, memory("Lives in Denver", "I live in Denver", attribute="city"))
    await talk.reflect(older, memory("Lives in Austin", "I live in Austin", attribute="city"))
    kept = (await talk.held())[0]
    assert (kept.content, kept.updated_at) == ("Lives in Denver", newer.at)


async def test_a_fact_said_in_three_sessions_becomes_significant(talk: Talk) -> None:
    for session in ("ses_1", "ses_1", "ses_2", "ses_3"):
        turn = talk.turn("I play chess.", session=session)
        await talk.reflect(turn, memory("Plays chess", "I play chess", attribute="chess"))
        kept = (await talk.held())[0]
        assert kept.importance == (2 if session == "ses_3" else 1)
    assert kept.mentions == 4


async def test_the_brief_shows_what_is_held_and_nothing_private_to_others(talk: Talk) -> None:
    await talk.reflect(talk.turn("I live in Austin."), memory("Lives in Austin", "I live in Austin", attribute="city"))
    secret = talk.turn("Just between us, I gamble.")
    await talk.reflect(secret, memory("Gambles", "I gamble", attribute="secret habit"))
    talk.persona = "boss"
    async with talk.db.tx(talk.org) as tx:
        brief = await MemoriesSection().prepare_brief(tx, talk.turn("hello"))
    assert brief is not None
    assert [item.text for item in brief.items] == ["- the person, city: Lives in Austin"]


def todo(op: str, content: str, quote: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "content": content, "quote": quote, **more}


async def test_a_promise_is_kept_with_its_persona_and_done_when_the_person_says_so(talk: Talk) -> None:
    promised = talk.turn("I'll go for a walk tomorrow.")
    report = await talk.reflect_todos(promised, todo("add", "Go for a walk", "I'll go for a walk", kind="commitment"))
    assert report == SectionResult(stored=1)
    assert await talk.todos("boss") == []
    assert [one.status for one in await talk.todos()] == [TodoStatus.OPEN]
    talk.clock.advance(timedelta(days=1))
    walked = talk.turn("I went on that walk!", reply="You went for a walk, well done.")
    unsaid = await talk.reflect_todos(walked, todo("done", "Go for a walk", "You went for a walk"))
    assert len(unsaid.rejected) == 1
    assert await talk.reflect_todos(walked, todo("done", "the walk", "I went on that walk")) == SectionResult(updated=1)
    closed = (await talk.todos())[0]
    assert (closed.status, closed.closed_at) == (TodoStatus.DONE, walked.at)


async def test_reflecting_a_promise_again_neither_doubles_nor_reopens_it(talk: Talk) -> None:
    promised = talk.turn("I'll call mom.")
    answer = todo("add", "Call mom", "I'll call mom", kind="commitment")
    await talk.reflect_todos(promised, answer)
    called = talk.turn("I called mom.")
    await talk.reflect_todos(called, todo("done", "Call mom", "I called mom"))
    assert await talk.reflect_todos(promised, answer) == SectionResult(skipped=1)
    assert await talk.reflect_todos(called, todo("done", "Call mom", "I called mom")) == SectionResult(skipped=1)
    assert [one.status for one in await talk.todos()] == [TodoStatus.DONE]


async def test_nothing_clearly_meant_closes_nothing(talk: Talk) -> None:
    await talk.reflect_todos(talk.turn("I'll call mom."), todo("add", "Call mom", "I'll call mom"))
    report = await talk.reflect_todos(talk.turn("I painted."), todo("drop", "Paint the fence", "I painted"))
    assert len(report.rejected) == 1
    assert [one.status for one in await talk.todos()] == [TodoStatus.OPEN]


async def test_what_the_person_says_does_not_close_the_operators_todo(talk: Talk) -> None:
    said = talk.turn("I'll call mom.")
    await talk.reflect_todos(said, todo("add", "Call mom", "I'll call mom"))
    async with talk.db.tx(talk.org) as tx:
        draft = NewTodo(kind=TodoKind.COMMITMENT, content="Renew the insurance", source="operator")
        await todo_store.add_todo(tx, said.scope, draft, at=said.at)
    renewed = talk.turn("I renewed the insurance.")
    report = await talk.reflect_todos(renewed, todo("done", "Renew the insurance", "I renewed the insurance"))
    assert [one.why for one in report.rejected] == [OF_THE_OPERATOR]
    assert {one.status for one in await talk.todos()} == {TodoStatus.OPEN}


async def test_offline_the_person_is_remembered_by_rule(talk: Talk, clock: ManualClock) -> None:
    section = MemoriesSection()
    turn = talk.turn("My name is Anna and I live in Austin. Do you live in Boston?")
    async with talk.db.tx(talk.org) as tx:
        await ensure_person(tx, talk.org, "anna")
        brief = await section.prepare_brief(tx, turn)
        assert brief is not None
        report = await section.apply_answer(tx, turn, section.answer_by_rule(turn, brief))
    assert report.stored == 2
    assert report.rejected == ()
