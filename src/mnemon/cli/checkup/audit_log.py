"""The audit log: every organization's hash chain holds from its first entry to its head."""

from collections.abc import AsyncIterator

from mnemon.access.audit import verify_log
from mnemon.access.chain import ChainBreak
from mnemon.access.organizations import organizations
from mnemon.cli.checkup.check import Check, fail, failed, ok
from mnemon.clock import Clock
from mnemon.db.database import Database
from mnemon.errors import MnemonError
from mnemon.scope import Scope

MOST_HEADS = 3
"""Organizations whose head is shown; `mnemon audit head` shows any of them."""


async def chains(url: str, clock: Clock, *, prepared: bool = True) -> AsyncIterator[Check]:
    """One check for each organization whose chain is broken, or one for all of them. The URL is the owner's."""
    db = Database(url, clock, pool_size=1, prepared=prepared, listen_url=url)
    await db.open()
    try:
        for check in await _examined(db):
            yield check
    except MnemonError as error:
        yield failed("audit log", error)
    finally:
        await db.close()


async def _examined(db: Database) -> list[Check]:
    async with db.owner_tx() as tx:
        everyone = [one.name for one in await organizations(tx)]
    bad, heads, entries = [], [], 0
    for name in everyone:
        async with db.owner_tx() as tx:
            reached, broken = await verify_log(tx, Scope(org_id=name))
        entries += reached.seq
        heads.append(f"{name} {reached}")
        if broken is not None:
            bad.append(fail("audit log", in_words(name, broken), f"mnemon audit verify --org {name}"))
    if bad:
        return bad
    shown = "; ".join(heads[:MOST_HEADS]) + (" …" if len(heads) > MOST_HEADS else "")
    words = f"{entries:,} entries of {len(everyone)} organizations follow from each other."
    return [ok("audit log", f"{words} Heads: {shown}" if heads else words)]


def in_words(org: str, broken: ChainBreak) -> str:
    """Where an organization's chain breaks, and what that means."""
    named = f" ({broken.id})" if broken.id else ""
    return f"The log of {org} was changed outside Mnemon. First at entry {broken.seq}{named}: {broken.meaning}"
