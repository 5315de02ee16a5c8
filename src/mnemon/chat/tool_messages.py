"""Tool messages that a caller sends: read as results, and told apart from those sent before.

A message is text. Where it is JSON, its fields are read as agents' tools usually name them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mnemon.agentstate.state import AgentState, ExpectationStatus, StateExpectation
from mnemon.agentstate.verification import discrepancy_opening
from mnemon.errors import Invalid
from mnemon.input_checks import parse_json
from mnemon.llm.protocol import LlmMessage
from mnemon.sessions.messages import NewMessage
from mnemon.turn import DependencyPatch, EntityPatch, Role, ToolOutcome, Turn, error_text
from mnemon.untrusted_text import reads_outside_text

_MOST_PARTS = 1_000
"""Ids, entities and dependencies of one message that are read; further ones are left out."""
_MOST_CHARS = 500
"""Of an id or a name."""


def new_messages(turn: Turn, sent: Sequence[NewMessage]) -> list[NewMessage]:
    """Return those of the sent messages that the turn does not have yet, since a retry sends earlier ones again."""
    said = {(one.role, one.content) for one in turn.messages}
    # Two calls may have the same result, so what answers another call is new.
    answered = {result.id for result in turn.tool_results}
    return [
        message
        for message in sent
        if (message.role, message.content) not in said
        or (message.role is Role.TOOL and message.tool_id is not None and message.tool_id not in answered)
    ]


def tool_outcomes(messages: Sequence[NewMessage], turn: Turn) -> tuple[ToolOutcome, ...]:
    """Return the tool results among a turn's new messages, to be compared with expectations."""
    tools = [message for message in messages if message.role is Role.TOOL]
    return tuple(
        replace(
            read_tool_message(message.content),
            id=message.tool_id or message.name or "tool",
            action=message.name or "tool",
            tool_call_id=message.tool_id,
            key=f"{turn.id}/{place}/{message.tool_id or ''}",
        )
        for place, message in enumerate(tools, start=len(turn.tool_results))
    )


def without_output(outcome: ToolOutcome) -> ToolOutcome:
    """Return the result without its output, which the stored message has as text."""
    return replace(outcome, output=None)


@reads_outside_text
def read_tool_message(content: str) -> ToolOutcome:
    """Return a tool's message as a tool result: structured fields from its JSON, and all of it as the output.

    Of a list of objects, the objects are the entities. Text that is no JSON has no structured field.
    """
    value = _parse_json(content)
    if isinstance(value, list):
        value = {"count": len(value), "entities": value}
    given: dict[str, Any] = value if isinstance(value, dict) else {}
    count = given.get("count")
    return ToolOutcome(
        id="",
        action="",
        ids=_texts_in(given.get("ids")),
        types=_texts_in(given.get("types")),
        # In Python, True is an int.
        count=count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**31 else None,
        entities=_entities_in(given.get("entities")),
        dependencies=_dependencies_in(given.get("dependencies")),
        output=value if given else content,
        error=_error_in(given),
    )


def _error_in(given: dict[str, Any]) -> str | None:
    """Return the error that a tool's JSON reports, in `error` or by a flag; None if it reports none."""
    told = error_text(given.get("error"))
    failed = any(given.get(flag) is True for flag in ("isError", "is_error")) or any(
        given.get(flag) is False for flag in ("ok", "success")
    )
    if told is None and failed:
        return error_text(given.get("message")) or "error"
    return told


def _entities_in(value: Any) -> tuple[EntityPatch, ...]:
    """Return the entities in a JSON list; members without an id or a kind are left out."""
    found = []
    for one in value[:_MOST_PARTS] if isinstance(value, list) else ():
        if not isinstance(one, dict):
            continue
        id_, kind, name = (
            _bounded_text(one.get("id")),
            _bounded_text(one.get("kind") or one.get("type")),
            _bounded_text(one.get("name")),
        )
        if id_ and kind:
            found.append(EntityPatch(id=id_, kind=kind, name=name))
    return tuple(found)


def _dependencies_in(value: Any) -> tuple[DependencyPatch, ...]:
    """Return the dependencies in a JSON list; members without both ends are left out."""
    found = []
    for one in value[:_MOST_PARTS] if isinstance(value, list) else ():
        if not isinstance(one, dict):
            continue
        source, target = _bounded_text(one.get("from")), _bounded_text(one.get("to"))
        if source and target:
            found.append(DependencyPatch(source=source, target=target, rel=_bounded_text(one.get("rel"))))
    return tuple(found)


def _texts_in(value: Any) -> tuple[str, ...] | None:
    """Return a JSON list of texts or whole numbers as a tuple of texts; None for any other value."""
    if not isinstance(value, list):
        return None
    texts = [_bounded_text(one) for one in value[:_MOST_PARTS]]
    return None if None in texts else tuple(text for text in texts if text is not None)


def _bounded_text(value: Any) -> str | None:
    """Return a text or whole number as a text of bounded length; None for any other value."""
    if isinstance(value, str):
        return value[:_MOST_CHARS]
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _parse_json(text: str) -> Any:
    """Return the parsed JSON of the text; None if it is not JSON."""
    try:
        return parse_json(text)
    except Invalid:
        return None


def add_verdict_lines(conversation: tuple[LlmMessage, ...], lines: Mapping[str, str]) -> tuple[LlmMessage, ...]:
    """Return the conversation with a line for the model below the results of these calls."""
    last_said = max((place for place, one in enumerate(conversation) if one.role == "user"), default=-1)
    return tuple(
        # Models number their calls anew in each turn, so that an earlier turn may have the same id.
        replace(one, content=f"{one.content}\n\n{lines[one.tool_id]}")
        if one.role == "tool" and one.tool_id and one.tool_id in lines and place > last_said
        else one
        for place, one in enumerate(conversation)
    )


def verdict_lines(state: AgentState, turn_id: str) -> dict[str, str]:
    """Return, by call id, a line on each result of this turn that settled an expectation: confirmed or failed."""
    lines = {}
    for expectation in state.expectations:
        turn, _, placed = (expectation.settled_by or "").partition("/")
        call = placed.partition("/")[2]
        if turn != turn_id or not call:
            continue
        of = f"your expectation {expectation.id} of {expectation.action}"
        if expectation.status is ExpectationStatus.FAILED:
            lines[call] = f"[Checked: {of} FAILED. {_discrepancy_line(state, expectation)} Go by what happened.]"
        else:
            lines[call] = f"[Checked: {of} is confirmed.]"
    return lines


def _discrepancy_line(state: AgentState, expectation: StateExpectation) -> str:
    """Return the expected and the actual outcome of a failed expectation, as its assumption words them."""
    opening = discrepancy_opening(expectation)
    made = next((one.hypothesis for one in reversed(state.assumptions) if one.hypothesis.startswith(opening)), None)
    return f"{made}." if made else f'It was to be: "{expectation.expected_outcome}".'
