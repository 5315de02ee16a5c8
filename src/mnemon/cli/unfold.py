"""`mnemon unfold` undoes a fold of the curator."""

from typing import TYPE_CHECKING, Annotated

import typer

from mnemon.cli.safe_text import safe_text
from mnemon.cli.terminal import JsonOption, OrgOption, out, print_json, run, settings_from_flags

if TYPE_CHECKING:
    from mnemon.memory.upkeep.curator_job import UnfoldedMemory


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("unfold")(unfold)


def unfold(
    memory: Annotated[str, typer.Argument(help="The id of the fold, such as `mem_01…`.")],
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Undo a fold: make the memories it was made from active again, and archive the fold."""
    undone = run(_unfold_memory(memory, org))
    if as_json:
        print_json({"fold": undone.fold_id, "restored": [one.id for one in undone.restored]})
        return
    out.print(f"Unfolded {undone.fold_id}. Active again: {len(undone.restored)}", markup=False)
    for one in undone.restored:
        out.print(f"{one.id}  {safe_text(one.content)}", markup=False, soft_wrap=True)


async def _unfold_memory(memory_id: str, org: str) -> "UnfoldedMemory":
    from mnemon.access.audit import record_command
    from mnemon.cli.services import open_services, require_organization
    from mnemon.memory.browse import scope_of_memory
    from mnemon.memory.upkeep.curator_job import unfold_memory
    from mnemon.scope import Scope

    async with open_services(settings_from_flags(), migrated=True) as services:
        await require_organization(services, org)
        async with services.db.tx(org) as tx:
            scope = await scope_of_memory(tx, Scope(org_id=org), memory_id)
            undone = await unfold_memory(tx, scope, memory_id)
            record_command(tx, scope, "unfold", memory_id, scope.user_id)
            return undone
