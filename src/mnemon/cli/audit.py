"""`mnemon audit head` and `mnemon audit verify`: show that nobody changed the audit log."""

from typing import TYPE_CHECKING, Annotated

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import JsonOption, OrgOption, err, out, print_json, report_errors, run, settings_from_flags

if TYPE_CHECKING:
    from mnemon.access.audit_chain import ChainBreak, LogHead

audit = typer.Typer(no_args_is_help=True, help="Verify the audit log, whose hash chains show tampering.")

HeadOption = Annotated[str | None, typer.Option("--head", help="A head that `mnemon audit head` printed before.")]
HeadFileOption = Annotated[
    typer.FileText | None,
    typer.Option("--head-file", metavar="PATH", help="A file with such a head; - reads standard input."),
]


def register(app: typer.Typer) -> None:
    """Add the command group `audit` to the Typer app."""
    app.add_typer(audit, name="audit")


@audit.command("head")
def head(org: OrgOption = "local", as_json: JsonOption = False) -> None:
    """Print the head of the audit log. Keep it elsewhere; `mnemon audit verify --head` compares the log with it."""
    from mnemon.access.audit import log_head
    from mnemon.cli.services import open_services, require_organization

    async def load_head() -> "LogHead":
        """Return the head of the organization's audit log."""
        async with open_services(settings_from_flags()) as services:
            scope = await require_organization(services, org)
            async with services.db.tx(org) as tx:
                return await log_head(tx, scope)

    found = run(load_head())
    if as_json:
        print_json({"org": org, **_head_json(found)})
    else:
        out.print(str(found), soft_wrap=True)


@audit.command("verify")
def verify(
    head: HeadOption = None,
    head_file: HeadFileOption = None,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Verify that no entry was edited, removed, inserted, moved or swapped. Exits with 1 if one was."""
    from mnemon.access.audit import verify_log
    from mnemon.cli.checkup.audit_log import WHAT_TO_DO, describe_break, head_summary
    from mnemon.cli.services import open_services, require_organization

    exported = _parse_head_options(head, head_file)

    async def verify_chains() -> "tuple[LogHead, ChainBreak | None]":
        """Verify the hash chains of the audit log; return how far they hold, and the first break or None."""
        async with open_services(settings_from_flags()) as services:
            scope = await require_organization(services, org)
            async with services.db.tx(org) as tx:
                return await verify_log(tx, scope, exported=exported)

    reached, broken = run(verify_chains())
    if as_json:
        place = {"lane": broken.lane, "seq": broken.seq, "id": broken.id} if broken else {}
        shown = {**place, "meaning": broken.meaning} if broken else None
        print_json({"org": org, "ok": broken is None, **_head_json(reached), "broken": shown})
    elif broken is not None:
        out.print(safe_markup(describe_break(org, broken)), soft_wrap=True)
        err.print(f"[dim]What to do:[/] {safe_markup(WHAT_TO_DO)}", soft_wrap=True)
    else:
        out.print(f"The log is intact: {safe_markup(head_summary(reached))}.", soft_wrap=True)
    raise typer.Exit(0 if broken is None else 1)


def _parse_head_options(head: str | None, head_file: typer.FileText | None) -> "LogHead | None":
    """Return the head to compare with, from the option or the file; None when neither was given."""
    from mnemon.access.audit_chain import parse_head
    from mnemon.errors import Invalid

    with report_errors():
        if head is not None and head_file is not None:
            raise Invalid("Give --head or --head-file, not both.", code="two_audit_heads")
        if head_file is not None:
            try:
                head = head_file.read()
            except UnicodeDecodeError:
                raise Invalid("The head's file is not text.", code="bad_audit_head") from None
        return None if head is None else parse_head(head)


def _head_json(found: "LogHead") -> dict[str, object]:
    """Return the head of an audit log as JSON: entry count, each lane's last hash, the whole head, its fingerprint."""
    lanes = [{"lane": lane, "entries": one.seq, "hash": one.hash.hex()} for lane, one in found.filled_lanes.items()]
    return {"entries": found.entry_count, "lanes": lanes, "head": str(found), "fingerprint": found.fingerprint}
