"""`list_todos`: what the person still has to do with this persona."""

import numpy as np
from pydantic import BaseModel, ConfigDict

from mnemon.clock import iso
from mnemon.db.tx import Tx
from mnemon.memory.todos.store import open_todos
from mnemon.tool import Caller, ToolReply


class NoArguments(BaseModel):
    """Nothing is needed."""

    model_config = ConfigDict(extra="forbid")


class ListTodos:
    """Reads the open todos."""

    name = "list_todos"
    description = "What the person promised, repeats, left open or struggles with, as far as it is still open."
    arguments: type[BaseModel] = NoArguments
    needs = "memory:read"

    def text_to_embed(self, arguments: BaseModel) -> str | None:
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: BaseModel, vector: np.ndarray | None) -> ToolReply:
        """The open todos, oldest first."""
        found = await open_todos(tx, caller.scope)
        shown = [
            {"id": one.id, "kind": one.kind, "content": one.content, "since": iso(one.created_at)} for one in found
        ]
        return ToolReply(
            content={"todos": shown}, ids=tuple(one.id for one in found), types=("todo",), count=len(found)
        )
