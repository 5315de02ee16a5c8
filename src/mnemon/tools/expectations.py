"""`expect` and `report_result`: state what an action should do before it is done, and verify it by the result."""

import numpy as np
from pydantic import Field

from mnemon.db.tx import Tx
from mnemon.errors import Invalid
from mnemon.tool import Arguments, Caller, ToolReply
from mnemon.turn import DependencyPatch, EntityPatch, Intent

NAME_SESSION = (
    "Name it in the MCP server's address (`/mcp?userId=…&sessionId=…`), or start `mnemon mcp` with `--session`."
)
"""What to do where a tool needs a session and none is named."""


class ExpectArguments(Arguments):
    """One expectation."""

    action: str = Field(min_length=1, max_length=200, description="The tool or action you are about to use.")
    expected_outcome: str = Field(min_length=1, max_length=2000, description="What it should do, in a sentence.")
    expected_ids: list[str] | None = Field(None, max_length=200, description="Ids the result must contain.")
    expected_type: str | None = Field(None, max_length=200, description="A type the result must contain.")
    expected_count: int | None = Field(None, ge=0, le=2**31 - 1, description="How many there must be.")
    invariant: str | None = Field(
        None,
        max_length=2000,
        description="What must stay true. Checked if it is like `count >= 2`, `status = done` (a field of the output) "
        "or `ids subset of t1, t2`; anything else is only kept as an assumption.",
    )
    tool_call_id: str | None = Field(None, max_length=200, description="The id of the call that will do it, if known.")

    def as_intent(self) -> Intent:
        """Return the arguments of `expect` as an intent of the agent state."""
        return Intent(
            action=self.action,
            expected_outcome=self.expected_outcome,
            expected_ids=None if self.expected_ids is None else tuple(self.expected_ids),
            expected_type=self.expected_type,
            expected_count=self.expected_count,
            invariant=self.invariant,
            tool_call_id=self.tool_call_id,
        )


class Expect:
    """The tool that adds an expectation to the session's agent state."""

    name = "expect"
    description = (
        "Before you act, say what the action should do: the ids, type or count its result must have. The result of "
        "that action is checked against it, and you are told whether it is confirmed or failed."
    )
    arguments: type[Arguments] = ExpectArguments
    needs = "chat"

    def text_to_embed(self, arguments: Arguments) -> str | None:
        """Return None: the tool `expect` needs no embedding."""
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """Return a reply with the expectation as an intent, which the caller stores; raise Invalid without a session.

        `run_tool` writes it to the agent state with the id of the call.
        """
        assert isinstance(arguments, ExpectArguments)
        if caller.session_id is None:
            raise Invalid(f"An expectation belongs to a session. {NAME_SESSION}", code="no_session")
        content = {"expecting": arguments.expected_outcome, "of": arguments.action}
        # Not reported as a result: the expectation must not be checked against its own announcement.
        return ToolReply(content=content, intents=(arguments.as_intent(),), reports=False)


class ReportedEntity(Arguments):
    """An entity that the result names."""

    id: str = Field(min_length=1, max_length=500)
    kind: str = Field(min_length=1, max_length=200)
    name: str | None = Field(None, max_length=500)


class ReportedDependency(Arguments):
    """A relation that the result names."""

    source: str = Field(min_length=1, max_length=500, alias="from")
    target: str = Field(min_length=1, max_length=500, alias="to")
    rel: str | None = Field(None, max_length=200)


class ReportResultArguments(Arguments):
    """The result of an action."""

    action: str = Field(min_length=1, max_length=200, description="The action, as it was named to `expect`.")
    ids: list[str] | None = Field(None, max_length=1000, description="Ids of what it made, changed or found.")
    types: list[str] | None = Field(None, max_length=1000, description="Their types.")
    count: int | None = Field(None, ge=0, le=2**31 - 1, description="How many they are.")
    entities: list[ReportedEntity] = Field(default_factory=list, max_length=1000)
    dependencies: list[ReportedDependency] = Field(default_factory=list, max_length=1000)
    output: str | None = Field(None, max_length=20_000, description="What else it said, as text or JSON.")
    error: str | None = Field(None, max_length=2000, description="What went wrong, if the action failed.")
    expectation_id: str | None = Field(
        None, max_length=200, description="The `expectation_id` that `expect` gave, if the result belongs to that one."
    )
    tool_call_id: str | None = Field(
        None, max_length=200, description="The id of the call it answers. The same call reported twice counts once."
    )


class ReportResult:
    """The tool that verifies expectations against a result."""

    name = "report_result"
    description = (
        "After an action, tell what it did, or its error. What you expected of it is confirmed or marked as failed, "
        "and `expectation` in the reply says which, `discrepancy` what came instead; null if nothing could be compared."
    )
    arguments: type[Arguments] = ReportResultArguments
    needs = "chat"

    def text_to_embed(self, arguments: Arguments) -> str | None:
        """Return None: the tool `report_result` needs no embedding."""
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """Return the reported result of an action; raise Invalid without a session.

        `run_tool` verifies the session's expectations with it, and adds to the reply what came of that.
        """
        assert isinstance(arguments, ReportResultArguments)
        if caller.session_id is None:
            raise Invalid(f"A result belongs to a session. {NAME_SESSION}", code="no_session")
        return ToolReply(
            content={"reported": arguments.action, "expectation": None},
            action=arguments.action,
            output=arguments.output,
            ids=None if arguments.ids is None else tuple(arguments.ids),
            types=None if arguments.types is None else tuple(arguments.types),
            count=arguments.count,
            entities=tuple(EntityPatch(id=one.id, kind=one.kind, name=one.name) for one in arguments.entities),
            dependencies=tuple(
                DependencyPatch(source=one.source, target=one.target, rel=one.rel) for one in arguments.dependencies
            ),
            error=arguments.error,
            expectation_id=arguments.expectation_id,
            tool_call_id=arguments.tool_call_id,
        )
