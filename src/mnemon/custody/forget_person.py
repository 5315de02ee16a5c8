"""Forgetting a person: every row of theirs in every table, and what the organization kept of them."""

import re
from collections.abc import Collection

import structlog

from mnemon.custody import ledger, tables
from mnemon.custody.ledger import ForgetTally, LedgerEntry, Receipt
from mnemon.custody.redaction import blank_replies, redact_organization
from mnemon.custody.tables import PERSON_TABLE, SQL, personal_tables
from mnemon.db.tx import Tx
from mnemon.engagement import forget as engagement
from mnemon.errors import NotFound
from mnemon.memory.recall.index_cache import IndexCache
from mnemon.scope import Scope

log = structlog.get_logger(__name__)

_ID_PATTERN = re.compile(r"[\w-]+")


async def forget_person(tx: Tx, scope: Scope, *, entry_id: str | None = None) -> Receipt:
    """Nothing of the person is left but an entry in the ledger; the receipt counts what went, table by table."""
    tx.defer(SQL["await_holders"], **_owner_params(scope))
    row = await tx.fetch_one_or_none(SQL["lock_person"], **_owner_params(scope))
    if row is None:
        raise NotFound("user")
    tally = ForgetTally()
    ids = [str(one["id"]) for one in await tx.fetch_all(SQL["person_ids"], **_owner_params(scope))]
    names = {*ids, scope.user}
    for table, number in (await engagement.forget_person(tx, scope, tx.now)).items():
        tally.removed[table] += number
    tally.removed["work"] += await _delete_work(tx, scope, names)
    await blank_replies(tx, scope, sorted({*names, row["external_id"]}), tally)
    said = [str(one["content"]) for one in await tx.fetch_all(SQL["person_facts"], **_owner_params(scope))]
    await redact_organization(tx, scope, row["external_id"], said, tally)
    everything = await personal_tables(tx)
    # Children before parents, so that a row is counted where it stood and not lost in a cascade.
    for one in reversed(everything):
        tally.removed[one.name] += await tables.delete_person_rows(tx, scope, one)
    tally.removed[PERSON_TABLE] += await tx.execute(SQL["drop_person"], **_owner_params(scope))
    entry = LedgerEntry(
        org_id=scope.org_id, id=entry_id or tx.new_id("fgt"), kind="person", subject=scope.user, at=tx.now
    )
    receipt = tally.make_receipt(entry.id, tx.now)
    await ledger.add_entry(tx, entry, receipt)
    log.info("person_forgotten", user=scope.user, receipt=receipt.id, removed=receipt.total)
    await ledger.enqueue_ledger_copy(tx, scope)
    tx.attached.get_or_create(IndexCache).forget_person(scope)
    return receipt


async def _delete_work(tx: Tx, scope: Scope, names: Collection[str]) -> int:
    """Work that names the person or anything of theirs is gone; one that runs finds nothing to finish."""
    gone = 0
    for row in await tx.fetch_all(SQL["work"], org_id=scope.org_id):
        if any(name in names for name in _ID_PATTERN.findall(f"{row['key']} {row['lane'] or ''}")):
            gone += await tx.execute(SQL["drop_work"], org_id=scope.org_id, kind=row["kind"], key=row["key"])
    return gone


def _owner_params(scope: Scope) -> dict[str, str]:
    return {"org_id": scope.org_id, "user_id": scope.user}
