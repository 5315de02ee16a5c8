"""The audit log: who wrote what, and how. It holds ids only, so that forgetting a person leaves the log as it is."""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from mnemon.access.audit_chain import AuditLink, ChainBreak, ChainHead, LogCheck, LogHead, lost_end_break
from mnemon.access.store import SQL
from mnemon.db.tx import Row, Tx
from mnemon.scope import Scope, is_any_id

CLI_ACTOR = "cli"
"""The actor of a command; whoever runs it can access the database itself."""
MAX_TARGETS = 10
LINKS_PER_PAGE = 5_000
"""Entries read at a time when a chain is verified."""


def record_write(tx: Tx, scope: Scope, *, actor: str, action: str, targets: Iterable[str | None] = ()) -> None:
    """Append an entry (who, what, which ids) to the organization's audit log when this transaction commits.

    Of the targets only ids made by Mnemon are kept: any other text may quote a person, and the log is never redacted.
    """
    # At the commit, because appending locks the lane's head, which concurrent writers wait for.
    tx.defer_to_commit(
        SQL["append_audit"],
        org_id=scope.org_id,
        id=tx.new_id("aud"),
        now=tx.now,
        actor=actor,
        action=action,
        target=target_text(targets),
    )


def record_command(tx: Tx, scope: Scope, command: str, *targets: str | None) -> None:
    """Append a run of a `mnemon` command to the organization's audit log when this transaction commits."""
    record_write(tx, scope, actor=CLI_ACTOR, action=f"mnemon {command}", targets=targets)


def target_text(targets: Iterable[str | None]) -> str | None:
    """Return an audit entry's target: the ids given, space-separated, each once; past ten, `+<how many more>`."""
    # Bounded below, since one request may write many rows.
    ids = list(dict.fromkeys(one for one in targets if one is not None and is_any_id(one)))
    more = [f"+{len(ids) - MAX_TARGETS}"] if len(ids) > MAX_TARGETS else []
    return " ".join([*ids[:MAX_TARGETS], *more]) or None


def ids_in(answer: Any) -> list[str]:
    """Return the ids at the top level of a JSON response: `id` and `…Id`, of each element where it is a list."""
    if isinstance(answer, list):
        return [found for one in answer for found in ids_in(one)]
    if not isinstance(answer, dict):
        return []
    named = [(name, value) for name, value in answer.items() if name == "id" or name.endswith("Id")]
    return [value for _, value in named if isinstance(value, str) and is_any_id(value)]


async def log_head(tx: Tx, scope: Scope) -> LogHead:
    """Return the stored head of each lane of the audit log (entry count and last hash); no lanes while it is empty."""
    rows = await tx.fetch_all(SQL["audit_heads"], org_id=scope.org_id)
    return LogHead(lanes={row["lane"]: ChainHead(seq=row["seq"], hash=bytes(row["hash"])) for row in rows})


async def verify_log(
    tx: Tx, scope: Scope, *, exported: LogHead | None = None, page: int = LINKS_PER_PAGE
) -> tuple[LogHead, ChainBreak | None]:
    """Verify the hash chains of the organization's audit log; return how far they hold, and the first break or None.

    The transaction must be new, since its isolation level is set here.
    """
    # One snapshot: entries that are appended meanwhile appear in neither the heads nor the pages.
    # Not prepared: preparing may send a DEALLOCATE first, and then the isolation level can no longer be set.
    await tx.fetch_unprepared("set transaction isolation level repeatable read")
    check = LogCheck(exported=exported or LogHead())
    async for links in _link_pages(tx, scope, page):
        broken = check.check_links(links)
        if broken is not None:
            return check.reached_head, broken
    return check.reached_head, check.check_heads(await log_head(tx, scope)) or await _find_lost_link(tx, scope)


async def _find_lost_link(tx: Tx, scope: Scope) -> ChainBreak | None:
    """Return the break of a lane whose end is gone though another lane's audit entry names it; None without one."""
    row = await tx.fetch_one_or_none(SQL["audit_lost_link"], org_id=scope.org_id)
    if row is None:
        return None
    named_by = f"Entry {row['seq']} of lane {row['lane']}"
    return lost_end_break(lane=row["linked_lane"], seq=row["linked_seq"], gone=row["gone"], named_by=named_by)


async def _link_pages(tx: Tx, scope: Scope, page: int) -> AsyncIterator[Sequence[AuditLink]]:
    """Yield the audit log's entries by lane and sequence number, at most `page` at a time."""
    lane, seq, last = None, 0, ""
    while rows := await tx.fetch_all(SQL["audit_links"], org_id=scope.org_id, lane=lane, seq=seq, id=last, most=page):
        yield [_link_from_row(row) for row in rows]
        lane, seq, last = rows[-1]["lane"], rows[-1]["seq"], rows[-1]["id"]


def _link_from_row(row: Row) -> AuditLink:
    """Return the audit entry of a database row, its hashes as bytes."""
    linked = row["linked_hash"]
    return AuditLink(**{**row, "hash": bytes(row["hash"]), "linked_hash": None if linked is None else bytes(linked)})
