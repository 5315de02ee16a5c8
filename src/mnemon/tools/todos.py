"""`list_todos`: what the person still has to do with this persona."""

import numpy as np

from mnemon.clock import iso
from mnemon.db.tx import Tx
from mnemon.memory.todos.store import open_todos
from mnemon.tool import Arguments, Caller, NoArguments, ToolReply


class ListTodos:
    """Reads the open todos."""

    name = "list_todos"
    description = "What the person promised, repeats, left open or struggles with, as far as it is still open."
    arguments: type[Arguments] = NoArguments
    needs = "memory:read"

    def text_to_embed(self, arguments: Arguments) -> str | None:
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """The open todos, oldest first."""
        found = await open_todos(tx, caller.scope)
        shown = [
            {"id": one.id, "kind": one.kind, "content": one.content, "since": iso(one.created_at)} for one in found
        ]
        return ToolReply(
            content={"todos": shown}, ids=tuple(one.id for one in found), types=("todo",), count=len(found)
        )
