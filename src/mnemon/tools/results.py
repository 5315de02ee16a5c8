"""`report_result`: tells what an action did, so that what was expected of it is verified."""

import numpy as np
from pydantic import Field

from mnemon.db.tx import Tx
from mnemon.errors import Invalid
from mnemon.tool import Arguments, Caller, ToolReply
from mnemon.turn import EntityPatch


class EntityReported(Arguments):
    """An entity that the result names."""

    id: str = Field(min_length=1, max_length=500)
    kind: str = Field(min_length=1, max_length=200)
    name: str | None = Field(None, max_length=500)


class Reported(Arguments):
    """The result of an action."""

    action: str = Field(min_length=1, max_length=200, description="The action, as it was named to `expect`.")
    ids: list[str] | None = Field(None, max_length=1000, description="Ids of what it made, changed or found.")
    types: list[str] | None = Field(None, max_length=1000, description="Their types.")
    count: int | None = Field(None, ge=0, le=2**31 - 1, description="How many they are.")
    entities: list[EntityReported] = Field(default_factory=list, max_length=1000)
    output: str | None = Field(None, max_length=20_000, description="What else it said.")


class ReportResult:
    """Verifies expectations against a result."""

    name = "report_result"
    description = (
        "After an action, tell what it did. What you expected of it is confirmed or marked as failed by ids, type "
        "and count."
    )
    arguments: type[Arguments] = Reported
    needs = "chat"

    def text_to_embed(self, arguments: Arguments) -> str | None:
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """The result is told; serving it verifies what was expected."""
        assert isinstance(arguments, Reported)
        if caller.session_id is None:
            raise Invalid("A result belongs to a session. Name one.", code="no_session")
        return ToolReply(
            content={"reported": arguments.action, "output": arguments.output},
            action=arguments.action,
            ids=None if arguments.ids is None else tuple(arguments.ids),
            types=None if arguments.types is None else tuple(arguments.types),
            count=arguments.count,
            entities=tuple(EntityPatch(id=one.id, kind=one.kind, name=one.name) for one in arguments.entities),
        )
