"""`expect`: says what an action should do before it is done, so that its result can be checked."""

import numpy as np
from pydantic import Field

from mnemon.db.tx import Tx
from mnemon.errors import Invalid
from mnemon.tool import Arguments, Caller, ToolReply
from mnemon.turn import Intent


class Expected(Arguments):
    """One expectation."""

    action: str = Field(min_length=1, max_length=200, description="The tool or action you are about to use.")
    expected_outcome: str = Field(min_length=1, max_length=2000, description="What it should do, in a sentence.")
    expected_ids: list[str] | None = Field(None, max_length=200, description="Ids the result must contain.")
    expected_type: str | None = Field(None, max_length=200, description="A type the result must contain.")
    expected_count: int | None = Field(None, ge=0, le=2**31 - 1, description="How many there must be.")
    invariant: str | None = Field(None, max_length=2000, description="What must stay true.")

    def as_intent(self) -> Intent:
        return Intent(
            action=self.action,
            expected_outcome=self.expected_outcome,
            expected_ids=None if self.expected_ids is None else tuple(self.expected_ids),
            expected_type=self.expected_type,
            expected_count=self.expected_count,
            invariant=self.invariant,
        )


class Expect:
    """Holds an expectation in the session's agent state."""

    name = "expect"
    description = (
        "Before you act, say what the action should do. The next result of that action is checked against it by "
        "ids, type and count, and you are told when it turned out otherwise."
    )
    arguments: type[Arguments] = Expected
    needs = "chat"

    def text_to_embed(self, arguments: Arguments) -> str | None:
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """The expectation is pending; whoever serves the tool writes it, with the call it came by."""
        assert isinstance(arguments, Expected)
        if caller.session_id is None:
            raise Invalid("An expectation belongs to a session. Name one.", code="no_session")
        content = {"expecting": arguments.expected_outcome, "of": arguments.action}
        return ToolReply(content=content, intents=(arguments.as_intent(),), reports=False)
