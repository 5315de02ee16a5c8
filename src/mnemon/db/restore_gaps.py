"""What a restored database cannot know: kept in it, so that a later restore over it does not claim to know better.

A restore that replaces a database takes along what that one knew: forgettings, revoked keys, withdrawn sources. One
that replaces none cannot, and says so. It is also written down here, since the next restore finds a database to
replace, which knows as little.
"""

from datetime import datetime
from typing import Literal

import psycopg

from mnemon.db.tx import Tx

GapSubject = Literal["forgettings", "revocations", "withdrawals"]


async def gap_since(connection: psycopg.AsyncConnection, subject: GapSubject) -> datetime | None:
    """When the database was restored without this knowledge; None for one that has it all."""
    there = await (await connection.execute("select to_regclass('restore_gaps')")).fetchone()
    if there is None or there[0] is None:
        return None
    found = await connection.execute("select since from restore_gaps where subject = %s", (subject,))
    row = await found.fetchone()
    return None if row is None else row[0]


async def restored_gap(tx: Tx, subject: GapSubject) -> datetime | None:
    """The same of the database that was restored: its backup may have been made of one with a gap."""
    row = await tx.maybe("select since from restore_gaps where subject = %(subject)s", subject=subject)
    return None if row is None else row["since"]


async def keep_gap(tx: Tx, subject: GapSubject, since: datetime) -> None:
    """Write down that the restored database lacks this knowledge; what it says already stays."""
    await tx.run(
        "insert into restore_gaps (subject, since) values (%(subject)s, %(since)s) on conflict (subject) do nothing",
        subject=subject,
        since=since,
    )


async def close_gap(tx: Tx, subject: GapSubject) -> None:
    """The knowledge came along after all."""
    await tx.run("delete from restore_gaps where subject = %(subject)s", subject=subject)
