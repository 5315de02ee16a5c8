"""What a reflection did, section by section: as a value, in its table, and in the log."""

from dataclasses import replace
from datetime import date, timedelta

import psycopg
from structlog.testing import capture_logs

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.llm.protocol import Usage
from mnemon.reflection import store
from mnemon.reflection.report import Reflection, ReflectionStatus, SectionReport, log_reflection
from mnemon.reflection.store import DailyReflectionUsage, ReflectionBacklog
from mnemon.scope import Scope
from mnemon.section import Rejection, SectionResult
from mnemon.turn import Turn
from support.reflecting import told

ACME = Scope(org_id="acme")
BLANK = Reflection(turn_id="trn_1", job_id="job_1", status=ReflectionStatus.RUNNING)
NO, NEVER = Rejection(what="a", why="no"), Rejection(what="b", why="never")


def test_a_blank_reflection_has_done_nothing_and_a_blank_section_everything() -> None:
    assert (BLANK.attempts, BLANK.sections, BLANK.rejected, BLANK.raw) == (0, {}, (), {})
    assert SectionReport() == SectionReport(stored=0, updated=0, skipped=0, rejected=0, due=True, applied=True)
    assert SectionReport().counts == {}
    assert not SectionReport().internal


def test_an_applied_section_is_counted_and_its_rejections_are_added() -> None:
    first = BLANK.with_section("memory", SectionResult(stored=1, updated=2, skipped=3, rejected=(NO,)))
    both = first.with_section("todos", SectionResult(rejected=(NEVER,)), due=False)
    assert both.sections == {
        "memory": SectionReport(stored=1, updated=2, skipped=3, rejected=1),
        "todos": SectionReport(rejected=1, due=False),
    }
    assert both.rejected == (replace(NO, section="memory"), replace(NEVER, section="todos"))
    assert both.sections["memory"].counts == {"stored": 1, "updated": 2, "skipped": 3, "rejected": 1}
    assert BLANK.sections == {}, "the copy is another one"
    mended = BLANK.with_section("memory", SectionResult(stored=2), repaired=1)
    assert mended.sections["memory"].counts == {"stored": 2, "repaired": 1}


def test_a_section_is_open_until_it_is_applied() -> None:
    failed = BLANK.with_fault("memory", "too long").with_fault("todos", "internal: KeyError", internal=True)
    assert failed.sections["memory"] == SectionReport(applied=False, error="too long")
    assert failed.sections["todos"].internal
    assert failed.open_sections == {"memory": "too long", "todos": "internal: KeyError"}
    assert not failed.is_applied("memory")
    assert not failed.is_applied("agentState")
    done = failed.with_section("memory", SectionResult())
    assert done.is_applied("memory")
    assert done.open_sections == {"todos": "internal: KeyError"}
    nameless = replace(BLANK, sections={"memory": SectionReport(applied=False)})
    assert nameless.open_sections == {"memory": "not done yet"}


def test_the_log_names_counts_and_kinds_of_errors_and_never_an_answer() -> None:
    made = BLANK.with_section("memory", SectionResult(stored=1, rejected=(NO,)))
    made = made.with_section("todos", SectionResult(), due=False)
    made = made.with_fault("engagement", "the person said marmalade").with_fault(
        "agentState", "internal: X", internal=True
    )
    with capture_logs() as lines:
        log_reflection(made, Usage(input_tokens=3, output_tokens=4, cached_tokens=2, calls=2), seconds=0.25012)
        log_reflection(replace(made, status=ReflectionStatus.DONE), None, seconds=0.0)
    first, second = lines
    assert first == {
        "event": "reflection",
        "log_level": "warning",
        "status": "running",
        "sections": {"memory": {"stored": 1, "rejected": 1}, "engagement": "bad_answer", "agentState": "internal: X"},
        "rejected": 1,
        "calls": 2,
        "input_tokens": 3,
        "output_tokens": 4,
        "cached_tokens": 2,
        "ms": 250.1,
    }
    assert (second["log_level"], second["calls"], second["input_tokens"]) == ("info", 0, 0)


async def found(db: Database, turn: Turn) -> Reflection | None:
    async with db.tx("acme") as tx:
        return await store.find(tx, turn.scope, turn.id)


async def test_what_is_stored_is_read_back(db: Database, org: str) -> None:
    turn = await told(db, "hello")
    usage = Usage(input_tokens=3, output_tokens=4, cached_tokens=1, latency_ms=2.5, calls=2, model="m")
    made = Reflection(turn_id=turn.id, job_id="job_1", status=ReflectionStatus.FAILED, error="todos: no")
    made = made.with_section("memory", SectionResult(stored=1, rejected=(NO,))).with_fault("todos", "no", internal=True)
    async with db.tx("acme") as tx:
        store.mark_started(tx, turn.scope, turn.id)
        store.store_raw_answer(tx, turn.scope, turn.id, {"notes": ["a"]}, usage)
        store.store_report(tx, turn.scope, made)
    read = await found(db, turn)
    assert read is not None
    assert read == replace(made, job_id=read.job_id, attempts=1, raw={"notes": ["a"]}, usage=usage)
    other = await told(db, "hello again")
    async with db.tx("acme") as tx:
        assert await store.find_for_turns(tx, turn.scope, [turn.id]) == {turn.id: read}
        assert set(await store.find_for_turns(tx, turn.scope, [turn.id, other.id, "trn_0"])) == {turn.id, other.id}
        assert await store.find(tx, turn.scope, "trn_0") is None


async def test_what_is_done_stays_done(db: Database, org: str) -> None:
    turn = await told(db, "hello")
    async with db.tx("acme") as tx:
        await store.mark_failed(tx, turn.scope, turn.id, "model_unavailable: away")
    failed = await found(db, turn)
    assert failed is not None
    assert (failed.status, failed.error) == (ReflectionStatus.FAILED, "model_unavailable: away")
    done = Reflection(turn_id=turn.id, job_id="job_1", status=ReflectionStatus.DONE)
    async with db.tx("acme") as tx:
        store.store_report(tx, turn.scope, done)
        await store.mark_failed(tx, turn.scope, turn.id, "late")
        await store.mark_parked(tx, ACME, turn.id, "late")
        store.mark_queued(tx, turn.scope, turn.id, "job_2")
    read = await found(db, turn)
    assert read is not None
    assert (read.status, read.error) == (ReflectionStatus.DONE, None)


async def test_the_backlog_is_what_waits_and_what_is_parked(db: Database, org: str, clock: ManualClock) -> None:
    first = clock.now()
    turns = []
    for number in range(4):
        turns.append(await told(db, f"turn {number}"))
        clock.advance(timedelta(minutes=1))
    async with db.tx("acme") as tx:
        done = Reflection(turn_id=turns[3].id, job_id="job_1", status=ReflectionStatus.DONE)
        store.store_report(tx, turns[3].scope, done)
        assert await store.reflection_backlog(tx, ACME) == ReflectionBacklog(waiting=3, parked=0, oldest=first)
        assert await store.count_reflected(tx, ACME) == (1, 4)
        await store.mark_parked(tx, ACME, turns[0].id, "broken")
        oldest = first + timedelta(minutes=1)
        assert await store.reflection_backlog(tx, ACME) == ReflectionBacklog(waiting=2, parked=1, oldest=oldest)
        assert await store.count_reflected(tx, ACME) == (1, 4)
    parked = await found(db, turns[0])
    assert parked is not None
    assert (parked.status, parked.error) == (ReflectionStatus.PARKED, "broken")


async def test_usage_is_summed_by_day(db: Database, org: str, clock: ManualClock) -> None:
    began = clock.now()
    for hours, tokens in ((0, 1), (1, 2), (24, 4)):
        clock.set_time(began + timedelta(hours=hours))
        turn = await told(db, f"after {hours} hours")
        async with db.tx("acme") as tx:
            store.store_raw_answer(tx, turn.scope, turn.id, {}, Usage(input_tokens=tokens, output_tokens=10 * tokens))
    await told(db, "without an answer")
    async with db.tx("acme") as tx:
        days = await store.daily_usage(tx, ACME, began)
        assert days == [
            DailyReflectionUsage(day=date(2026, 4, 12), input_tokens=3, output_tokens=30),
            DailyReflectionUsage(day=date(2026, 4, 13), input_tokens=4, output_tokens=40),
        ]
        assert await store.daily_usage(tx, ACME, began + timedelta(hours=2)) == days[1:]
    with psycopg.connect(db.url) as connection:
        kept = connection.execute("select count(*) from reflections where usage is null").fetchone()
    assert kept == (1,)
