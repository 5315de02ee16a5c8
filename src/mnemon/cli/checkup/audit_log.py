"""Verify the hash chains of every organization's audit log."""

from collections.abc import AsyncIterator

from mnemon.access.audit import verify_log
from mnemon.access.audit_chain import ChainBreak, LogHead
from mnemon.access.organizations import list_organizations
from mnemon.access.store import SQL
from mnemon.cli.checkup.check import Check, fail, fail_from_error, ok, warn
from mnemon.clock import Clock
from mnemon.db.database import Database
from mnemon.errors import MnemonError
from mnemon.scope import Scope

MAX_HEADS_SHOWN = 3
"""How many organizations' heads are shown; `mnemon audit head` shows any of them."""
WHAT_TO_DO = 'docs/security.md, "When the audit log does not hold"'
"""Where the documentation says what to do about a log that was changed."""


async def check_chains(url: str, clock: Clock, *, prepared: bool = True) -> AsyncIterator[Check]:
    """Yield a failed check per organization with a broken chain, or one check for all; the URL is the owner's."""
    db = Database(url, clock, pool_size=1, prepared=prepared, listen_url=url)
    await db.open()
    try:
        for check in await _verify_organizations(db):
            yield check
    except MnemonError as error:
        yield fail_from_error("audit log", error)
    finally:
        await db.close()


async def _verify_organizations(db: Database) -> list[Check]:
    # Row-level security would hide rows from a login that is not the owner, which looks like an intact, empty log.
    async with db.owner_tx() as tx:
        seen = await tx.fetch_one(SQL["audit_sight"])
        if not seen["whole"]:
            return [_unreadable_log(seen["login"])]
        names = [one.name for one in await list_organizations(tx)]
    bad, heads, entries = [], [], 0
    for name in names:
        async with db.owner_tx() as tx:
            reached, broken = await verify_log(tx, Scope(org_id=name))
        entries += reached.entry_count
        heads.append(f"{name} {head_summary(reached)}")
        if broken is not None:
            fix = f"see {WHAT_TO_DO}; first: mnemon backup now.dump  # keeps what is there"
            bad.append(fail("audit log", describe_break(name, broken), fix))
    if bad:
        return bad
    shown = "; ".join(heads[:MAX_HEADS_SHOWN]) + (" …" if len(heads) > MAX_HEADS_SHOWN else "")
    many = f"{entries:,} {'entry' if entries == 1 else 'entries'}"
    orgs = f"{len(names)} {'organization' if len(names) == 1 else 'organizations'}"
    words = f"{many} of {orgs} {'is' if entries == 1 else 'are'} intact."
    return [ok("audit log", f"{words} {shown}" if heads else words)]


def _unreadable_log(login: str) -> Check:
    """Return the check for a login that row-level security binds, or that may not read the log at all."""
    words = f"The login {login} does not own the tables and cannot read every organization's log: not verified."
    fix = "set MNEMON_MIGRATION_URL to the owner's URL, or for each organization: mnemon audit verify --org NAME"
    return warn("audit log", words, fix)


def head_summary(head: LogHead) -> str:
    """Return how many entries and lanes a log has, with its fingerprint but not the hashes of its lanes."""
    entries, lanes = head.entry_count, len(head.filled_lanes)
    many = f"{entries:,} {'entry' if entries == 1 else 'entries'} in {lanes} {'lane' if lanes == 1 else 'lanes'}"
    return f"{many}, fingerprint {head.fingerprint}"


def describe_break(org: str, broken: ChainBreak) -> str:
    """Return a sentence that says where an organization's chain breaks and what that means."""
    named = f" ({broken.id})" if broken.id else ""
    place = f"entry {broken.seq} of lane {broken.lane}{named}"
    if broken.against_saved_head:
        return f"The log of {org} does not match the head that you saved. First at {place}: {broken.meaning}"
    return f"The log of {org} was changed outside Mnemon. First at {place}: {broken.meaning}"
