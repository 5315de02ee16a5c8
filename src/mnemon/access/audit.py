"""The audit log: who wrote what through which door. Ids only, so that forgetting someone leaves the log as it is."""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from mnemon.access.chain import AuditLink, ChainBreak, ChainCheck, ChainHead
from mnemon.access.store import SQL
from mnemon.db.tx import Tx
from mnemon.ids import has_id_form
from mnemon.scope import Scope

CLI = "cli"
"""The actor of a command; its user has the database itself."""
MOST_TARGETS = 10
PAGE = 5_000
"""Entries read at a time when a chain is verified."""


def record_write(tx: Tx, scope: Scope, *, actor: str, action: str, targets: Iterable[str | None] = ()) -> None:
    """Append an entry to the organization's log when this transaction commits.

    Of the targets only ids of ours are kept: any other text may be somebody's word, and the log is never redacted.
    """
    tx.at_commit(
        SQL["append_audit"],
        org_id=scope.org_id,
        id=tx.new_id("aud"),
        now=tx.now,
        actor=actor,
        action=action,
        target=target_text(targets),
    )


def record_command(tx: Tx, scope: Scope, command: str, *targets: str | None) -> None:
    """Append a command of `mnemon` to the organization's log when this transaction commits."""
    record_write(tx, scope, actor=CLI, action=f"mnemon {command}", targets=targets)


def target_text(targets: Iterable[str | None]) -> str | None:
    """The ids among the targets, each once, in their order; beyond ten, how many more there were."""
    ids = list(dict.fromkeys(one for one in targets if one is not None and has_id_form(one)))
    more = [f"+{len(ids) - MOST_TARGETS}"] if len(ids) > MOST_TARGETS else []
    return " ".join([*ids[:MOST_TARGETS], *more]) or None


def ids_in(answer: Any) -> list[str]:
    """The ids that an answer's JSON names at its top: `id` and `…Id`, of each element where it is a list."""
    if isinstance(answer, list):
        return [found for one in answer for found in ids_in(one)]
    if not isinstance(answer, dict):
        return []
    named = [(name, value) for name, value in answer.items() if name == "id" or name.endswith("Id")]
    return [value for _, value in named if isinstance(value, str) and has_id_form(value)]


async def audit_head(tx: Tx, scope: Scope) -> ChainHead | None:
    """The head that is stored; None before the first entry."""
    row = await tx.maybe(SQL["audit_head"], org_id=scope.org_id)
    return None if row is None else ChainHead(seq=row["seq"], hash=bytes(row["hash"]))


async def verify_log(
    tx: Tx, scope: Scope, *, exported: ChainHead | None = None, page: int = PAGE
) -> tuple[ChainHead, ChainBreak | None]:
    """Follow the organization's whole chain; give how far it holds and its first break. The transaction is new."""
    # One snapshot: entries that are appended meanwhile are seen in neither the head nor the pages.
    await tx.run("set transaction isolation level repeatable read")
    check = ChainCheck(exported=exported)
    async for links in _pages(tx, scope, page):
        broken = check.follow(links)
        if broken is not None:
            return check.reached, broken
    return check.reached, check.finish(await audit_head(tx, scope))


async def _pages(tx: Tx, scope: Scope, page: int) -> AsyncIterator[Sequence[AuditLink]]:
    seq, last = None, ""
    while rows := await tx.all(SQL["audit_links"], org_id=scope.org_id, seq=seq, id=last, most=page):
        yield [AuditLink(**{**row, "hash": bytes(row["hash"])}) for row in rows]
        seq, last = rows[-1]["seq"], rows[-1]["id"]
