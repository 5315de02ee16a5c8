"""Import of a person's exported data: ids stay as they were, and the rows belong to the person imported for."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from mnemon.custody import ledger
from mnemon.custody.forget_memory import reapply_forgettings
from mnemon.custody.import_lines import read_heading, read_rows
from mnemon.custody.import_rows import ImportTable, check_rows, store_rows
from mnemon.custody.import_rules import AdmitRow, admit_any_row
from mnemon.custody.tables import SQL, is_exported, personal_tables
from mnemon.db.tx import Tx
from mnemon.event_loop import run_off_loop
from mnemon.imported_table import ImportedTable
from mnemon.jobs.store import enqueue_work
from mnemon.memory.upkeep.schedule import enqueue_after_write
from mnemon.scope import Scope
from mnemon.sessions.people import bump_revision, ensure_person
from mnemon.sessions.record import CLOSE_SESSION
from mnemon.vectors.text_vectors import enqueue_embedding

log = structlog.get_logger(__name__)

KEPT_STEP = (
    "What was there already stays as it was, with all that belongs to it: a memory with its versions and quotes, a "
    "session with its turns and its agent state. To load a newer export whole, forget the person first "
    "(`mnemon forget --user NAME`), or import it into another organization."
)
"""What a caller can do where rows were kept."""


@dataclass(frozen=True, kw_only=True)
class ImportResult:
    """What an import stored."""

    user_id: str
    """The application's name for the person."""
    stored: dict[str, int]
    """New rows, per table."""
    kept: dict[str, int]
    """Rows that were not stored because what they belong to existed already, per table."""
    forgotten: dict[str, int]
    """Rows that were left out because they had been forgotten in this database, per table."""

    @property
    def next_step(self) -> str | None:
        """Return what to do if the kept rows were to be replaced; None if nothing was kept."""
        return KEPT_STEP if self.kept else None


async def import_person(
    tx: Tx,
    org_id: str,
    body: bytes,
    *,
    rooms: Sequence[ImportedTable],
    user_id: str | None = None,
    admit: Callable[[str], object] = lambda name: name,
    admit_row: AdmitRow = admit_any_row,
) -> ImportResult:
    """Insert an export's rows for its person or `user_id`, except aggregates that exist already or were forgotten.

    The person is created if needed, and vectors and entity matching are queued. Raises Conflict for ids of another
    person; after an error the transaction must be rolled back. `rooms` are the tables as their rooms read them. `admit`
    raises for a person the caller may not write, `admit_row` for a row that they may not bring in.
    """
    name = await run_off_loop(len(body) // 16, partial(read_heading, body, user_id))
    admit(name)
    # All lines are read before a row is stored: an export is sorted by table name, and inserts go by foreign keys.
    gathered = await run_off_loop(len(body) // 16, partial(read_rows, body, admit_row))
    scope = await ensure_person(tx, org_id, name)
    revision = await bump_revision(tx, scope)
    rules = {rule.name: rule for rule in rooms}
    known = {
        one.name: ImportTable(owned=one, rule=rules[one.name]) for one in await personal_tables(tx) if is_exported(one)
    }
    await run_off_loop(len(body) // 16, partial(check_rows, known, gathered))
    stored = await store_rows(tx, scope, known, gathered, revision=revision)
    # In the same transaction, so that nobody can read what was forgotten.
    forgotten = await _reapply_forgettings(tx, scope)
    if any(gathered.values()):
        await _enqueue_follow_ups(tx, scope)
    kept = {table: len(found) - stored[table] for table, found in gathered.items()}
    # A row that was there already is counted as kept, so only new ones can have been left out.
    left_out = {table: min(stored[table], forgotten[table]) for table in gathered}
    stored.subtract(left_out)
    log.info("person_imported", user=scope.user, stored=stored.total(), kept=sum(kept.values()))
    return ImportResult(
        user_id=name,
        stored={table: stored[table] for table, found in sorted(gathered.items()) if found},
        kept={table: number for table, number in sorted(kept.items()) if number},
        forgotten={table: number for table, number in sorted(left_out.items()) if number},
    )


async def _enqueue_follow_ups(tx: Tx, scope: Scope) -> None:
    """Queue the jobs that follow an import: vectors, matching of entities, closing of open sessions."""
    await enqueue_embedding(tx, scope)
    await enqueue_after_write(tx, scope)
    for row in await tx.fetch_all(SQL["open_sessions"], org_id=scope.org_id, user_id=scope.user):
        await enqueue_work(tx, scope, CLOSE_SESSION, row["id"])


async def _reapply_forgettings(tx: Tx, scope: Scope) -> Counter[str]:
    """Forget again what the ledger lists, so that an older export does not bring it back; return the rows by table."""
    entries = await ledger.list_entries(tx, scope.org_id, subject=scope.user)
    return await reapply_forgettings(tx, scope, [entry for entry in entries if entry.kind == "memory"])
