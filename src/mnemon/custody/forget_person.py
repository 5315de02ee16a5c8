"""Forgetting a person: every row of theirs in every table, and what the organization's tables say of them."""

from collections.abc import Collection

import structlog

from mnemon.custody import ledger, tables
from mnemon.custody.ledger import ForgetTally, LedgerEntry, Receipt
from mnemon.custody.redaction import blank_replies, load_person_names, names_person, redact_organization
from mnemon.custody.tables import PERSON_TABLE, SQL, personal_tables
from mnemon.db.tx import Tx
from mnemon.engagement import forget as engagement
from mnemon.errors import NotFound
from mnemon.memory.recall.index_cache import IndexCache
from mnemon.scope import Scope

log = structlog.get_logger(__name__)


async def forget_person(tx: Tx, scope: Scope, *, entry_id: str | None = None) -> Receipt:
    """Delete everything of the person but an entry in the ledger; return a receipt that counts rows by table.

    Raises NotFound for an unknown person.
    """
    # Waits for transactions with a key-share lock on the person, which the update below does not conflict with.
    tx.defer(SQL["await_holders"], **scope.owner_params)
    row = await tx.fetch_one_or_none(SQL["lock_person"], **scope.owner_params)
    if row is None:
        raise NotFound("user")
    tally = ForgetTally()
    names = await load_person_names(tx, scope)
    for table, number in (await engagement.forget_person(tx, scope, tx.now)).items():
        tally.removed[table] += number
    tally.removed["work"] += await _delete_work(tx, scope, names)
    await blank_replies(tx, scope, sorted({*names, row["external_id"]}), tally)
    # And these texts are what is looked for in the organization's tables.
    facts = [str(one["content"]) for one in await tx.fetch_all(SQL["person_facts"], **scope.owner_params)]
    await redact_organization(tx, scope, row["external_id"], facts, tally)
    everything = await personal_tables(tx)
    # Children before parents, so that each row is counted in its table and not deleted unseen by a cascade.
    for one in reversed(everything):
        tally.removed[one.name] += await tables.delete_person_rows(tx, scope, one)
    tally.removed[PERSON_TABLE] += await tx.execute(SQL["drop_person"], **scope.owner_params)
    entry = LedgerEntry(
        org_id=scope.org_id, id=entry_id or tx.new_id("fgt"), kind="person", subject=scope.user, at=tx.now
    )
    receipt = tally.make_receipt(entry.id, tx.now)
    await ledger.add_entry(tx, entry, receipt)
    log.info("person_forgotten", user=scope.user, receipt=receipt.id, removed=receipt.total)
    await ledger.enqueue_ledger_copy(tx, scope)
    # The recall index of this process still holds the person's texts.
    tx.attached.get_or_create(IndexCache).forget_person(scope)
    return receipt


async def _delete_work(tx: Tx, scope: Scope, names: Collection[str]) -> int:
    """Delete the `work` rows that name one of the person's ids; return how many. The result of running work is lost."""
    gone = 0
    for row in await tx.fetch_all(SQL["work"], org_id=scope.org_id):
        if names_person(row, names):
            gone += await tx.execute(SQL["drop_work"], org_id=scope.org_id, kind=row["kind"], key=row["key"])
    return gone
