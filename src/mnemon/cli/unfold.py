"""`mnemon unfold` undoes a fold of the curator."""

from typing import Annotated
from urllib.parse import quote

import typer

from mnemon.cli.safe_text import safe_text
from mnemon.cli.server_choice import ServerOptions, takes_server
from mnemon.cli.terminal import JsonOption, out, print_json


def register(app: typer.Typer) -> None:
    """Add the command `unfold` to the program."""
    app.command("unfold")(takes_server(unfold))


def unfold(
    server: ServerOptions,
    memory: Annotated[str, typer.Argument(help="The id of the fold, such as `mem_01…`.")],
    as_json: JsonOption = False,
) -> None:
    """Undo a fold: make the memories it was made from active again, and archive the fold."""
    from mnemon.cli.connect import call_server

    path = f"/api/memories/{quote(memory, safe='')}/unfold"
    undone = call_server(server, lambda client: client.request("POST", path))
    if as_json:
        print_json(undone)
        return
    restored = undone["restored"]
    out.print(f"Unfolded {memory}. Active again: {len(restored)}", markup=False)
    for one in restored:
        out.print(f"{one['id']}  {safe_text(one['content'])}", markup=False, soft_wrap=True)
