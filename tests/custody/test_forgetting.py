"""Forgetting over real rows: derived text goes with its source, what is said elsewhere stays, nothing comes back."""

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from mnemon.api.custody import IMPORTED_TABLES
from mnemon.clock import ManualClock
from mnemon.custody import ledger
from mnemon.custody.export import export_lines
from mnemon.custody.forget_memory import forget_memory
from mnemon.custody.forget_person import forget_person
from mnemon.custody.import_person import import_person
from mnemon.custody.ledger import Receipt
from mnemon.custody.replay import replay_entries
from mnemon.custody.tables import owned_tables, personal_tables
from mnemon.db.database import Database
from mnemon.errors import NotFound
from mnemon.memory import store as memories
from mnemon.memory.curator import CuratorPlan, FoldAnswer
from mnemon.memory.fact import EntityType, Fact, FactEntity, FactType, MemoryType, QuoteLocation
from mnemon.memory.plan import MemoryOutcome
from mnemon.memory.remember import remember_facts
from mnemon.memory.spine import SpineLine, SpinePart, SpineVersion
from mnemon.memory.upkeep import store as upkeep
from mnemon.memory.upkeep.curator_job import apply_plan
from mnemon.memory.upkeep.curator_report import load_curator_reports
from mnemon.memory.upkeep.seed import apply_seed, parse_profile, seed_entries
from mnemon.scope import Scope
from mnemon.sessions.boundary import SessionBoundary
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.people import ensure_person
from mnemon.sessions.record import NewTurn, store_turn
from mnemon.settings import Settings
from mnemon.turn import Role, Turn

BOUNDARY = SessionBoundary(idle=Settings().session_boundary, resume=Settings().resume_window)


@pytest.fixture
async def ann(db: Database, org: str) -> Scope:
    async with db.tx(org) as tx:
        return await ensure_person(tx, org, "ann")


async def said(db: Database, scope: Scope, text: str, reply: str = "Noted.") -> Turn:
    messages = (NewMessage(role=Role.USER, content=text), NewMessage(role=Role.ASSISTANT, content=reply))
    async with db.tx(scope.org_id) as tx:
        return await store_turn(tx, scope, NewTurn(user_name="ann", messages=messages), BOUNDARY)


def grounded(turn: Turn, content: str, quote: str, **more: Any) -> Fact:
    message = turn.messages[0]
    start = message.content.index(quote)
    ground = QuoteLocation(
        turn_id=turn.id,
        session_id=turn.session_id,
        message_id=message.message_id,
        start=start,
        end=start + len(quote),
        quote=quote,
        at=turn.at,
    )
    return Fact(type=MemoryType.PROFILE, content=content, ground=ground, source="shadow_extraction", **more)


async def held(db: Database, scope: Scope, *facts: Fact) -> list[str]:
    async with db.tx(scope.org_id) as tx:
        return [one.memory.id for one in await remember_facts(tx, scope, facts, extracted=True)]


async def forget(db: Database, scope: Scope, memory_id: str) -> Receipt:
    async with db.tx(scope.org_id) as tx:
        return await forget_memory(tx, scope, memory_id)


async def exported(db: Database, scope: Scope) -> str:
    async with db.tx(scope.org_id) as tx:
        return b"".join([line async for line in export_lines(tx, scope)]).decode()


async def test_only_the_quoted_words_of_the_message_are_covered(db: Database, ann: Scope) -> None:
    turn = await said(
        db, ann, "I live in Leeds. The alarm word is marmalade. I ski.", "Leeds! And marmalade it is. Nice."
    )
    (secret, _) = await held(
        db,
        ann,
        grounded(turn, "Alarm word is marmalade", "The alarm word is marmalade"),
        grounded(turn, "Skis", "I ski"),
    )
    receipt = await forget(db, ann, secret)
    async with db.tx(ann.org_id) as tx:
        rows = await tx.fetch_all("select content from messages where org_id = 'acme' order by place")
    assert [row["content"] for row in rows] == [
        f"I live in Leeds. {'█' * 27}. I ski.",
        f"Leeds!{'█' * 21} Nice.",
    ]
    assert receipt.removed["memories"] == 1
    assert receipt.redacted["messages"] == 2


async def test_earlier_versions_go_too(db: Database, ann: Scope) -> None:
    first = await said(db, ann, "My bank is Wobblebank.")
    second = await said(db, ann, "My bank is Stablebank now.")
    (one,) = await held(db, ann, grounded(first, "Banks at Wobblebank", "My bank is Wobblebank", attribute="bank"))
    await held(db, ann, grounded(second, "Banks at Stablebank", "My bank is Stablebank", attribute="bank"))
    receipt = await forget(db, ann, one)
    assert receipt.removed["memory_versions"] == 1
    text = await exported(db, ann)
    assert "Wobblebank" not in text
    assert "Stablebank" not in text


async def test_a_fold_made_from_it_goes_and_the_other_fragments_stand_again(db: Database, ann: Scope) -> None:
    john = FactEntity(type=EntityType.PERSON, label="John")
    facts = [
        Fact(type=MemoryType.PEOPLE, content="John plays chess", entity=john, fact_type=FactType.HABIT),
        Fact(type=MemoryType.PEOPLE, content="John hides marmalade", entity=john, fact_type=FactType.FRICTION),
    ]
    ids = await held(db, ann, *facts)
    async with db.tx(ann.org_id) as tx:
        fold = FoldAnswer(memories=ids, content="John plays chess and hides marmalade")
        run = await apply_plan(tx, ann, CuratorPlan(folds=[fold]), made_by="test")
        assert len(run.folded) == 1
    await forget(db, ann, ids[1])
    async with db.tx(ann.org_id) as tx:
        left = await upkeep.global_memories(tx, ann, most=10)
    assert [(one.id, one.content, one.status) for one in left] == [(ids[0], "John plays chess", "ACTIVE")]
    assert "marmalade" not in await exported(db, ann)


async def test_a_fold_of_a_fold_goes_with_every_word_of_its_fragments(db: Database, ann: Scope) -> None:
    john = FactEntity(type=EntityType.PERSON, label="John")
    facts = [
        Fact(type=MemoryType.PEOPLE, content=text, entity=john, fact_type=kind)
        for text, kind in (
            ("John plays chess", FactType.HABIT),
            ("John hides marmalade", FactType.FRICTION),
            ("John drinks tea", FactType.PREFERENCE),
        )
    ]
    turn = await said(db, ann, "What about John?", "He hides marmalade. He drinks tea.")
    ids = await held(db, ann, *facts)
    async with db.tx(ann.org_id) as tx:
        one = FoldAnswer(memories=ids[:2], content="John plays chess and hides marmalade")
        first = await apply_plan(tx, ann, CuratorPlan(folds=[one]), made_by="test")
        two = FoldAnswer(memories=[*first.folded, ids[2]], content="John plays chess and drinks tea")
        await apply_plan(tx, ann, CuratorPlan(folds=[two]), made_by="test")
    await forget(db, ann, ids[1])
    async with db.tx(ann.org_id) as tx:
        left = await upkeep.global_memories(tx, ann, most=10)
        (reply,) = await tx.fetch_all("select content from messages where org_id = 'acme' and role = 'assistant'")
    assert {one.content for one in left} == {"John plays chess", "John drinks tea"}
    assert reply["content"] == f"{'█' * 19} He drinks tea."
    assert turn.id


async def test_nothing_of_a_forgotten_fragment_stays_in_any_fold_and_the_runs_are_still_told(
    db: Database, ann: Scope
) -> None:
    zoe = FactEntity(type=EntityType.PERSON, label="Zoe")
    facts = [
        Fact(type=MemoryType.PEOPLE, content=text, entity=zoe, attribute=text)
        for text in ("Zoe was treated in Xanadu", "Zoe was treated", "Zoe likes jazz", "Zoe likes opera")
    ]
    ids = await held(db, ann, *facts)
    async with db.tx(ann.org_id) as tx:
        one = FoldAnswer(memories=ids[:2], content="Zoe was treated in Xanadu")
        two = FoldAnswer(memories=ids[2:], content="Zoe likes jazz; Zoe likes opera")
        first = await apply_plan(tx, ann, CuratorPlan(folds=[one]), made_by="test")
        second = await apply_plan(tx, ann, CuratorPlan(folds=[two]), made_by="test")
        both = FoldAnswer(
            memories=[*first.folded, *second.folded],
            content="Zoe was treated in Xanadu; Zoe likes jazz; Zoe likes opera",
        )
        third = await apply_plan(tx, ann, CuratorPlan(folds=[both]), made_by="test")
    await forget(db, ann, ids[0])
    assert "Xanadu" not in await exported(db, ann)
    async with db.tx(ann.org_id) as tx:
        left = await upkeep.global_memories(tx, ann, most=10)
        reports = {one.id: one for one in await load_curator_reports(tx, ann, most=10)}
    assert {one.content for one in left} == {"Zoe was treated", "Zoe likes jazz; Zoe likes opera"}
    assert [fold.memory.id for fold in reports[second.id].folds] == list(second.folded)
    for run in (first, third):
        report = reports[run.id]
        assert (report.folds, report.forgotten, report.changed_nothing) == ((), 1, False)


async def test_forgetting_a_fold_forgets_what_it_was_folded_from(db: Database, ann: Scope) -> None:
    john = FactEntity(type=EntityType.PERSON, label="John")
    facts = [
        Fact(type=MemoryType.PEOPLE, content=text, entity=john, fact_type=kind)
        for text, kind in (("John plays chess", FactType.HABIT), ("John drinks tea", FactType.PREFERENCE))
    ]
    ids = await held(db, ann, *facts)
    async with db.tx(ann.org_id) as tx:
        fold = FoldAnswer(memories=ids, content="John plays chess and drinks tea")
        run = await apply_plan(tx, ann, CuratorPlan(folds=[fold]), made_by="test")
    receipt = await forget(db, ann, run.folded[0])
    assert receipt.removed["memories"] == 3
    async with db.tx(ann.org_id) as tx:
        assert await memories.by_ids(tx, ann, [*ids, *run.folded]) == []


async def test_spine_lines_made_from_it_go_in_every_version(db: Database, ann: Scope) -> None:
    ids = await held(
        db,
        ann,
        Fact(type=MemoryType.PROFILE, content="Hides marmalade"),
        Fact(type=MemoryType.PROFILE, content="Lives in Leeds"),
    )
    async with db.tx(ann.org_id) as tx:
        for version in (1, 2):
            profile_lines = (
                SpineLine(text="Has a thing about jam", sources=(ids[0],)),
                SpineLine(text="Lives in Leeds", sources=(ids[1],)),
            )
            spine = SpineVersion(
                version=version,
                lines={SpinePart.PROFILE: profile_lines},
                message_count=21,
                total_messages=21 * version,
                at=tx.now,
                made_by="test",
            )
            await upkeep.add_spine(tx, ann, spine, [])
    await forget(db, ann, ids[0])
    async with db.tx(ann.org_id) as tx:
        kept = await upkeep.list_spines(tx, ann, most=5)
    assert [[line.text for line in one.lines[SpinePart.PROFILE]] for one in kept] == [["Lives in Leeds"]] * 2


async def test_a_seeded_fact_leaves_the_seed_as_well(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        await apply_seed(tx, ann, parse_profile("Hides marmalade\nLives in Leeds"))
        (found,) = [one for one in await upkeep.global_memories(tx, ann, most=5) if "marmalade" in one.content]
    await forget(db, ann, found.id)
    async with db.tx(ann.org_id) as tx:
        assert [entry.content for entry in await seed_entries(tx, ann)] == ["Lives in Leeds"]


async def test_what_another_memory_says_stays(db: Database, ann: Scope) -> None:
    turn = await said(db, ann, "Anna lives in Leeds. Anna hides marmalade.", "Anna of Leeds, I see.")
    ids = await held(
        db,
        ann,
        grounded(turn, "Anna lives in Leeds", "Anna lives in Leeds", attribute="a"),
        grounded(turn, "Anna hides marmalade", "Anna hides marmalade", attribute="b"),
    )
    await forget(db, ann, ids[1])
    text = await exported(db, ann)
    assert "Anna of Leeds, I see." in text
    assert "Anna lives in Leeds" in text
    assert "marmalade" not in text


async def test_a_forgotten_fact_is_refused_from_old_turns_and_taken_from_new_ones(
    db: Database, ann: Scope, clock: ManualClock
) -> None:
    turn = await said(db, ann, "The alarm word is marmalade.")
    fact = grounded(turn, "Alarm word is marmalade", "The alarm word is marmalade")
    (one,) = await held(db, ann, fact)
    await forget(db, ann, one)
    async with db.tx(ann.org_id) as tx:
        (again,) = await remember_facts(tx, ann, [fact], extracted=True)
    assert (again.outcome, again.why) == (MemoryOutcome.SKIPPED, "forgotten")
    clock.set_time(clock.now().replace(hour=20))
    later = await said(db, ann, "The alarm word is marmalade.")
    async with db.tx(ann.org_id) as tx:
        said_anew = grounded(later, "Alarm word is marmalade", "The alarm word is marmalade")
        (anew,) = await remember_facts(tx, ann, [said_anew], extracted=True)
    assert anew.outcome is MemoryOutcome.CREATED


async def test_an_export_from_before_does_not_bring_it_back(db: Database, ann: Scope) -> None:
    turn = await said(db, ann, "I ski. The alarm word is marmalade.", "Fine.")
    ids = await held(
        db,
        ann,
        grounded(turn, "Alarm word is marmalade", "The alarm word is marmalade"),
        grounded(turn, "Skis", "I ski"),
    )
    before = await exported(db, ann)
    await forget(db, ann, ids[0])
    after = await exported(db, ann)
    async with db.tx(ann.org_id) as tx:
        await import_person(tx, ann.org_id, before.encode(), rooms=IMPORTED_TABLES)
    assert await exported(db, ann) == after
    async with db.tx(ann.org_id) as tx:
        await forget_person(tx, ann)
        await import_person(tx, ann.org_id, before.encode(), rooms=IMPORTED_TABLES)
    text = await exported(db, ann)
    assert "Skis" in text
    assert "marmalade" not in text


async def test_a_restored_backup_is_brought_up_to_the_ledger(
    db: Database, ann: Scope, clock: ManualClock, tmp_path: Path
) -> None:
    turn = await said(db, ann, "I ski. The alarm word is marmalade.", "Fine.")
    fact = grounded(turn, "Alarm word is marmalade", "The alarm word is marmalade")
    ids = await held(db, ann, fact, grounded(turn, "Skis", "I ski"))
    backup = await exported(db, ann)
    await forget(db, ann, ids[0])
    forgotten = await exported(db, ann)
    async with db.tx(ann.org_id) as tx:
        entries = await ledger.list_entries(tx, ann.org_id)
    path = tmp_path / ledger.LEDGER_FILE
    assert ledger.append_to_file(path, entries) == 1
    assert ledger.append_to_file(path, entries) == 0
    assert ledger.load_file(path) == entries
    assert "marmalade" not in path.read_text()
    # The backup comes back: everything as it was, no ledger.
    async with db.tx(ann.org_id) as tx:
        await forget_person(tx, ann)
        await tx.execute("delete from forgotten where org_id = 'acme'")
        await import_person(tx, ann.org_id, backup.encode(), rooms=IMPORTED_TABLES)
    assert await exported(db, ann) == backup
    assert await replay_entries(db, ledger.load_file(path)) == 1
    assert await exported(db, ann) == forgotten
    assert await replay_entries(db, ledger.load_file(path)) == 0
    async with db.tx(ann.org_id) as tx:
        (again,) = await remember_facts(tx, ann, [fact], extracted=True)
    assert again.why == "forgotten"


async def test_a_person_forgotten_since_the_backup_is_forgotten_again(db: Database, ann: Scope) -> None:
    await held(db, ann, Fact(type=MemoryType.PROFILE, content="Hides marmalade"))
    backup = await exported(db, ann)
    async with db.tx(ann.org_id) as tx:
        await forget_person(tx, ann)
        entries = await ledger.list_entries(tx, ann.org_id)
        await tx.execute("delete from forgotten where org_id = 'acme'")
        await import_person(tx, ann.org_id, backup.encode(), rooms=IMPORTED_TABLES)
    assert await replay_entries(db, entries) == 1
    with pytest.raises(NotFound):
        await exported(db, ann)


async def test_a_new_table_of_a_person_is_covered_by_itself(db: Database, ann: Scope, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(
            "create table keepsakes (org_id text, user_id text, id text, words text, "
            "primary key (org_id, user_id, id)); "
            "grant select, insert, update, delete on keepsakes to mnemon_app"
        )
    (one,) = await held(db, ann, Fact(type=MemoryType.PROFILE, content="Alarm word is marmalade"))
    async with db.tx(ann.org_id) as tx:
        await tx.execute("insert into keepsakes values ('acme', %(user)s, 'n1', 'it is marmalade')", user=ann.user)
    assert '{"table":"keepsakes","row":{"id": "n1", "words": "it is marmalade"}}' in await exported(db, ann)
    receipt = await forget(db, ann, one)
    assert receipt.redacted["keepsakes"] == 1
    async with db.tx(ann.org_id) as tx:
        gone = await forget_person(tx, ann)
    assert gone.removed["keepsakes"] == 1


async def test_every_table_with_a_person_has_a_key_that_begins_with_them(db: Database) -> None:
    async with db.tx("acme") as tx:
        for table in await personal_tables(tx):
            assert table.key[:2] == ("org_id", "user_id"), table.name
        names = [table.name for table in await owned_tables(tx)]
    assert names.index("memories") < names.index("memory_versions")


async def test_an_organizations_tables_that_name_a_person_are_known(db: Database) -> None:
    """A column that names a person in a table without `user_id` needs a rule of its own; these have one."""
    async with db.tx("acme") as tx:
        loose = {
            (table.name, column)
            for table in await owned_tables(tx)
            if not table.is_personal
            for column in table.columns
            if "user" in column
        }
    assert loose <= {
        ("engagement_journal", "subject_user_id"),
        ("engagement_turns", "subject_user_id"),
        ("keys", "bound_user"),
    }


async def test_the_ledger_holds_no_word_of_what_was_forgotten(db: Database, ann: Scope) -> None:
    (one,) = await held(db, ann, Fact(type=MemoryType.PROFILE, content="Hides marmalade"))
    await forget(db, ann, one)
    async with db.tx(ann.org_id) as tx:
        rows = await tx.fetch_all("select * from forgotten where org_id = 'acme'")
    assert len(rows) == 1
    assert "marmalade" not in json.dumps(rows, default=str).lower()


_AGENT = """
insert into agents (org_id, agent_id, name, adapter, skill, default_prompt, role, team, card_type, config, created_at,
  updated_at)
values ('acme', 'agt_1', 'Desk', 'model', '', '', 'solo', '{}', 'note', '{}', now(), now())
"""
_EXCHANGE = """
insert into exchanges (org_id, turn_id, agent_id, status, usage, created_at)
values ('acme', 'xch_1', 'agt_1', 'succeeded', '{}', now())
"""
_MESSAGE = """
insert into agent_messages (org_id, message_id, agent_id, turn_id, role, content, at)
values ('acme', 'msg_1', 'agt_1', 'xch_1', 'user', %s, now())
"""
_RUN = """
insert into runs (org_id, run_id, agent_id, kind, status, prompt, card_type, result, usage, created_at)
values ('acme', 'run_1', 'agt_1', 'run', 'succeeded', %(text)s, 'note', jsonb_build_object('reason', %(text)s::text),
  '{}', now())
"""


@pytest.mark.parametrize(
    ("name", "covered", "kept"),
    [
        ("ann.miller@example.com", True, {"runs.result": 1}),
        # An ordinary word may be anybody's: the rows are counted and left.
        ("ann", False, {"agent_messages": 1, "runs": 1, "runs.result": 1}),
    ],
)
async def test_what_agents_kept_of_a_forgotten_person_is_covered_or_counted(
    db: Database, org: str, database_url: str, name: str, covered: bool, kept: dict[str, int]
) -> None:
    async with db.tx(org) as tx:
        scope = await ensure_person(tx, org, name)
    turn = await said(db, scope, "My daughter plays the cello on Tuesdays.")
    fact = "Her daughter plays the cello on Tuesdays"
    await held(db, scope, grounded(turn, fact, "My daughter plays the cello on Tuesdays"))
    text = f"Asked by {name}. {fact}. Nothing else."
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(_AGENT)
        connection.execute(_EXCHANGE)
        connection.execute(_MESSAGE, (text,))
        connection.execute(_RUN, {"text": text})
        async with db.tx(org) as tx:
            receipt = await forget_person(tx, scope)
        (message,) = connection.execute("select content from agent_messages").fetchone() or ("",)
        prompt, result = connection.execute("select prompt, result::text from runs").fetchone() or ("", "")
    for shown in (message, prompt):
        assert fact not in shown
        assert (name not in shown) == covered
        assert "Nothing else." in shown
    assert fact in result  # a decision stands as it was made
    assert receipt.redacted["agent_messages"] == 1
    assert receipt.redacted["runs"] == 1
    assert receipt.kept == kept
    assert set(receipt.reasons) == set(kept)
