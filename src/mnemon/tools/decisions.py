"""`get_my_decisions`: what the calling agent decided lately. The run's own token decides whose."""

from dataclasses import asdict

import numpy as np
from pydantic import Field

from mnemon.clock import iso
from mnemon.db.tx import Tx
from mnemon.errors import NotAllowed
from mnemon.runs.decisions import decisions_for
from mnemon.tool import Arguments, Caller, ToolReply


class HowMany(Arguments):
    """How far to look back."""

    limit: int = Field(5, ge=1, le=50)


class GetMyDecisions:
    """Reads the agent's own decisions."""

    name = "get_my_decisions"
    description = "Your own last decisions, newest first, each in one line: when, what, and why."
    arguments: type[Arguments] = HowMany
    needs = "agents:read"

    def text_to_embed(self, arguments: Arguments) -> str | None:
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """The decisions of the agent whose token was used, nobody else's."""
        assert isinstance(arguments, HowMany)
        if caller.agent_id is None:
            raise NotAllowed(
                "Only an agent's own run can ask for its decisions: use the token of the run.", code="not_an_agent"
            )
        found = await decisions_for(tx, caller.scope, caller.agent_id, limit=arguments.limit)
        shown = [{**asdict(one), "at": iso(one.at)} for one in found]
        return ToolReply(content={"decisions": shown}, count=len(shown), ids=tuple(one.run_id for one in found))
