"""The ledger of forgetting: what it counts, what its file keeps, and that a torn line loses no other."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mnemon.custody import ledger
from mnemon.custody.ledger import ForgetTally, LedgerEntry, Receipt
from mnemon.custody.traces import TextSpan
from mnemon.db.database import Database
from mnemon.scope import Scope

AT = datetime(2026, 4, 12, tzinfo=UTC)


def entry(number: int, subject: str = "usr_1") -> LedgerEntry:
    return LedgerEntry(
        org_id="acme",
        id=f"fgt_{number:04}",
        kind="memory",
        subject=subject,
        at=AT + timedelta(seconds=number),
        memory_ids=("mem_1", "mem_2"),
        spans=(TextSpan(message_id="msg_1", start=3, end=9),),
        stones=(b"\x00\xff", b"stone"),
    )


def test_a_receipt_lists_what_was_searched_and_only_what_was_covered() -> None:
    tally = ForgetTally()
    tally.removed.update({"todos": 0, "memories": 2})
    tally.redacted.update({"messages": 3, "notes": 0})
    tally.kept["turns"] += 0
    tally.count_kept("runs.result", ["run_1", 2])
    receipt = tally.make_receipt("fgt_1", AT)
    assert receipt == Receipt(
        id="fgt_1",
        at=AT,
        removed={"memories": 2, "todos": 0},
        redacted={"messages": 3},
        kept={"runs.result": 1},
        kept_ids={"runs.result": ("run_1/2",)},
    )
    assert receipt.total == 2
    assert receipt.stored_counts() == {
        "removed": {"memories": 2, "todos": 0},
        "redacted": {"messages": 3},
        "kept": {"runs.result": 1},
    }


def test_a_receipt_says_why_something_was_kept() -> None:
    receipt = Receipt(id="fgt_1", at=AT, kept={"runs.result": 1, "agent_chats": 2})
    assert receipt.reasons == {
        "runs.result": ledger.UNCHANGEABLE_REASON,
        "agent_chats": ledger.COMMON_NAME_REASON,
    }


def test_a_receipt_names_a_hundred_kept_rows_and_counts_them_all() -> None:
    tally = ForgetTally()
    for number in range(101):
        tally.count_kept("agent_chats", [number])
    receipt = tally.make_receipt("fgt_1", AT)
    assert receipt.kept == {"agent_chats": 101}
    assert receipt.kept_ids == {"agent_chats": tuple(map(str, range(100)))}


def test_the_file_keeps_every_entry_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / ledger.LEDGER_FILE
    assert ledger.load_file(path) == []
    assert ledger.append_to_file(path, []) == 0
    assert not path.exists()
    assert ledger.append_to_file(path, [entry(1), entry(2)]) == 2
    assert ledger.append_to_file(path, [entry(2), entry(3)]) == 1
    assert ledger.load_file(path) == [entry(1), entry(2), entry(3)]


@pytest.mark.parametrize("torn", ['{"org": "acme", "id"', "{}", "[]"])
def test_a_line_that_a_crash_cut_short_loses_no_other(tmp_path: Path, torn: str) -> None:
    path = tmp_path / ledger.LEDGER_FILE
    ledger.append_to_file(path, [entry(1)])
    with path.open("a") as file:
        file.write(f"{torn}\n")
    ledger.append_to_file(path, [entry(2)])
    assert ledger.load_file(path) == [entry(1), entry(2)]


async def test_the_database_keeps_every_entry_once_in_order(
    db: Database, org: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "_PAGE_ENTRIES", 2)
    made = [entry(number, f"usr_{number % 2}") for number in range(1, 6)]
    async with db.tx("acme") as tx:
        for one in (*reversed(made), made[0]):
            await ledger.add_entry(tx, one, Receipt(id=one.id, at=AT))
        assert await ledger.list_entries(tx, "acme") == made
        assert await ledger.list_entries(tx, "acme", after=made[2].id) == made[3:]
        assert await ledger.list_entries(tx, "acme", subject="usr_1") == made[::2]
        assert await ledger.list_entries(tx, "globex") == []
    assert made[0].scope == Scope(org_id="acme", user_id="usr_1")
