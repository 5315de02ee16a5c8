"""An export is of one moment, however many statements its connection has prepared before."""

from mnemon.custody.export import export_file
from mnemon.db.database import Database
from mnemon.db.prepared import MOST
from mnemon.scope import person
from mnemon.sessions.people import ensure_person


async def test_an_export_works_on_a_connection_that_has_to_drop_a_statement_first(db: Database, org: str) -> None:
    async with db.tx(org) as tx:
        await ensure_person(tx, org, "ann")
    async with db.tx(org) as tx:
        for number in range(MOST + 10):
            await tx.all(f"select {number} as number")
    with await export_file(db, person(org, "ann")) as file:
        assert b'"end":true' in file.read()
