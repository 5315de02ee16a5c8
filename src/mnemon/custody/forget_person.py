"""Forgetting a person: every row of theirs in every table, and what the organization kept of them."""

import re
from collections.abc import Collection

import structlog

from mnemon.custody import ledger, outbox, rows
from mnemon.custody.catalog import PERSON, SQL, persons_tables
from mnemon.custody.ledger import Entry
from mnemon.custody.receipt import Receipt, Tally
from mnemon.custody.redaction import blank_replies, cover_organization
from mnemon.db.tx import Tx
from mnemon.engagement import forget as engagement
from mnemon.errors import NotFound
from mnemon.memory.recall.shelf import Shelf
from mnemon.scope import Scope

log = structlog.get_logger(__name__)

_NAMES = re.compile(r"[\w-]+")


async def forget_person(tx: Tx, scope: Scope, *, entry_id: str | None = None) -> Receipt:
    """Nothing of the person is left but an entry in the ledger; the receipt counts what went, table by table."""
    tx.later(SQL["await_holders"], **_owner(scope))
    row = await tx.maybe(SQL["lock_person"], **_owner(scope))
    if row is None:
        raise NotFound("user")
    tally = Tally()
    ids = [str(one["id"]) for one in await tx.all(SQL["person_ids"], **_owner(scope))]
    names = {*ids, scope.user}
    for table, number in (await engagement.forget_person(tx, scope, tx.now)).items():
        tally.removed[table] += number
    tally.removed["work"] += await _drop_work(tx, scope, names)
    await blank_replies(tx, scope, sorted({*names, row["external_id"]}), tally)
    said = [str(one["content"]) for one in await tx.all(SQL["person_facts"], **_owner(scope))]
    await cover_organization(tx, scope, row["external_id"], said, tally)
    everything = await persons_tables(tx)
    # Children before parents, so that a row is counted where it stood and not lost in a cascade.
    for one in reversed(everything):
        tally.removed[one.name] += await rows.count_and_delete(tx, scope, one)
    tally.removed[PERSON] += await tx.run(SQL["drop_person"], **_owner(scope))
    entry = Entry(org_id=scope.org_id, id=entry_id or tx.new_id("fgt"), kind="person", subject=scope.user, at=tx.now)
    receipt = tally.receipt(entry.id, tx.now)
    await ledger.add(tx, entry, receipt)
    log.info("person_forgotten", user=scope.user, receipt=receipt.id, removed=receipt.total)
    await outbox.enqueue_keeping(tx, scope)
    tx.attached.get(Shelf).forget(scope)
    return receipt


async def _drop_work(tx: Tx, scope: Scope, names: Collection[str]) -> int:
    """Work that names the person or anything of theirs is gone; one that runs finds nothing to finish."""
    gone = 0
    for row in await tx.all(SQL["work"], org_id=scope.org_id):
        if any(name in names for name in _NAMES.findall(f"{row['key']} {row['lane'] or ''}")):
            gone += await tx.run(SQL["drop_work"], org_id=scope.org_id, kind=row["kind"], key=row["key"])
    return gone


def _owner(scope: Scope) -> dict[str, str]:
    return {"org_id": scope.org_id, "user_id": scope.user}
