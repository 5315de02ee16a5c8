"""`mnemon audit head` and `mnemon audit verify`."""

from typing import TYPE_CHECKING, Annotated

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import AsJson, Org, chosen, out, print_json, run, told

if TYPE_CHECKING:
    from mnemon.access.chain import ChainBreak, ChainHead

audit = typer.Typer(no_args_is_help=True, help="The audit log: who wrote what, in a chain that shows tampering.")


def register(app: typer.Typer) -> None:
    """The commands stand in the program."""
    app.add_typer(audit, name="audit")


@audit.command("head")
def head(org: Org = "local", as_json: AsJson = False) -> None:
    """Print the chain's head, to be kept elsewhere: `mnemon audit verify --head` compares the log with it."""
    from mnemon.access.audit import audit_head
    from mnemon.access.chain import ChainHead
    from mnemon.cli.house import opened_house, organization

    async def work() -> "ChainHead":
        async with opened_house(chosen()) as house:
            scope = await organization(house, org)
            async with house.db.tx(org) as tx:
                return await audit_head(tx, scope) or ChainHead()

    found = run(work())
    if as_json:
        print_json({"org": org, "entries": found.seq, "hash": found.hash.hex(), "head": str(found)})
    else:
        out.print(str(found), soft_wrap=True)


@audit.command("verify")
def verify(
    head: Annotated[str | None, typer.Option("--head", help="A head that `mnemon audit head` printed before.")] = None,
    org: Org = "local",
    as_json: AsJson = False,
) -> None:
    """Verify that no entry was edited, removed, inserted or swapped; exits with 1 where one was."""
    from mnemon.access.audit import verify_log
    from mnemon.access.chain import parse_head
    from mnemon.cli.checkup.audit_log import in_words
    from mnemon.cli.house import opened_house, organization

    with told():
        exported = parse_head(head) if head is not None else None

    async def work() -> "tuple[ChainHead, ChainBreak | None]":
        async with opened_house(chosen()) as house:
            scope = await organization(house, org)
            async with house.db.tx(org) as tx:
                return await verify_log(tx, scope, exported=exported)

    reached, broken = run(work())
    if as_json:
        shown = {"seq": broken.seq, "id": broken.id, "meaning": broken.meaning} if broken else None
        print_json({"org": org, "ok": broken is None, "head": str(reached), "broken": shown})
    elif broken is not None:
        out.print(safe_markup(in_words(org, broken)), soft_wrap=True)
    else:
        out.print(f"{reached.seq:,} entries follow from each other. Head: {safe_markup(reached)}", soft_wrap=True)
    raise typer.Exit(0 if broken is None else 1)
