"""`mnemon audit head` and `mnemon audit verify`."""

from typing import TYPE_CHECKING, Annotated

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import AsJson, Org, chosen, err, out, print_json, run, told

if TYPE_CHECKING:
    from mnemon.access.chain import ChainBreak
    from mnemon.access.heads import LogHead

audit = typer.Typer(no_args_is_help=True, help="The audit log: who wrote what, in chains that show tampering.")

Head = Annotated[str | None, typer.Option("--head", help="A head that `mnemon audit head` printed before.")]
HeadFile = Annotated[
    typer.FileText | None,
    typer.Option("--head-file", metavar="PATH", help="The same in a file; - reads it from standard input."),
]


def register(app: typer.Typer) -> None:
    """The commands stand in the program."""
    app.add_typer(audit, name="audit")


@audit.command("head")
def head(org: Org = "local", as_json: AsJson = False) -> None:
    """Print the heads of the log's lanes, to be kept elsewhere: `mnemon audit verify --head` compares them."""
    from mnemon.access.audit import log_head
    from mnemon.cli.house import opened_house, organization

    async def work() -> "LogHead":
        async with opened_house(chosen()) as house:
            scope = await organization(house, org)
            async with house.db.tx(org) as tx:
                return await log_head(tx, scope)

    found = run(work())
    if as_json:
        print_json({"org": org, **_as_json(found)})
    else:
        out.print(str(found), soft_wrap=True)


@audit.command("verify")
def verify(
    head: Head = None,
    head_file: HeadFile = None,
    org: Org = "local",
    as_json: AsJson = False,
) -> None:
    """Verify that no entry was edited, removed, inserted, moved or swapped; exits with 1 where one was."""
    from mnemon.access.audit import verify_log
    from mnemon.cli.checkup.audit_log import WHAT_TO_DO, in_words, short_form
    from mnemon.cli.house import opened_house, organization

    exported = _exported(head, head_file)

    async def work() -> "tuple[LogHead, ChainBreak | None]":
        async with opened_house(chosen()) as house:
            scope = await organization(house, org)
            async with house.db.tx(org) as tx:
                return await verify_log(tx, scope, exported=exported)

    reached, broken = run(work())
    if as_json:
        place = {"lane": broken.lane, "seq": broken.seq, "id": broken.id} if broken else {}
        shown = {**place, "meaning": broken.meaning} if broken else None
        print_json({"org": org, "ok": broken is None, **_as_json(reached), "broken": shown})
    elif broken is not None:
        out.print(safe_markup(in_words(org, broken)), soft_wrap=True)
        err.print(f"[dim]What to do:[/] {safe_markup(WHAT_TO_DO)}", soft_wrap=True)
    else:
        out.print(f"The log holds: {safe_markup(short_form(reached))}.", soft_wrap=True)
    raise typer.Exit(0 if broken is None else 1)


def _exported(head: str | None, head_file: typer.FileText | None) -> "LogHead | None":
    """The head that was kept elsewhere; None where none was given."""
    from mnemon.access.heads import parse_head
    from mnemon.errors import Invalid

    with told():
        if head is not None and head_file is not None:
            raise Invalid("Give --head or --head-file, not both.", code="two_audit_heads")
        if head_file is not None:
            try:
                head = head_file.read()
            except UnicodeDecodeError:
                raise Invalid("The head's file is not text.", code="bad_audit_head") from None
        return None if head is None else parse_head(head)


def _as_json(found: "LogHead") -> dict[str, object]:
    lanes = [{"lane": lane, "entries": one.seq, "hash": one.hash.hex()} for lane, one in found.filled.items()]
    return {"entries": found.entries, "lanes": lanes, "head": str(found), "fingerprint": found.fingerprint}
