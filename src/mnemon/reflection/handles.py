"""Short handles in the prompt for long ids: M1 for a message, H2 for a hypothesis.

A model copies two signs more reliably than twenty-six. Handles are resolved as soon as an answer arrives, so what is
stored and applied has full ids only; full ids in an answer stay as they are.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from mnemon.evidence.quote_gate import is_own_tool
from mnemon.section import Brief, number_handles
from mnemon.turn import Role, ToolOutcome, Turn, TurnMessage

_LONGEST_HANDLE = 8
_AROUND = " \t\n[](){}<>`'\".:,;#"
"""What a model may write around a handle."""


def shown_messages(turn: Turn) -> tuple[TurnMessage, ...]:
    """Return the turn's messages that a model sees: not the results of Mnemon's own tools, which came from memory."""
    # They are no source (docs/decisions/0006).
    return tuple(said for said in turn.messages if said.role is not Role.TOOL or not is_own_tool(said.name))


def shown_results(turn: Turn) -> tuple[ToolOutcome, ...]:
    """Return the turn's tool results that have content, without those of Mnemon's own tools."""
    return tuple(one for one in turn.tool_results if not is_own_tool(one.action) and _says_anything(one))


def turn_names(turn: Turn) -> dict[str, str]:
    """Return a map from handles, M1 and R1 on, to the ids of the turn's messages and tool results."""
    messages = [said.message_id for said in shown_messages(turn)]
    results = [one.id for one in shown_results(turn)]
    taken = {*messages, *results}
    return {**number_handles("M", messages, taken), **number_handles("R", results, taken)}


def resolve_names(name: str, part: Any, brief: Brief, names: Mapping[str, str]) -> Any:
    """Return a section's part of the answer with every handle (M1, H2) replaced by the id it stands for."""
    every = {**names, **brief.names}
    known = frozenset(every.values())
    return _replace_names(part, brief.name_fields, lambda text: _resolve_handle(text, every, known), name)


def shorten_names(name: str, part: Any, brief: Brief, names: Mapping[str, str]) -> Any:
    """Return a section's part of an answer with ids replaced by their handles (M1, H2)."""
    handles = {meant: handle for handle, meant in {**names, **brief.names}.items()}
    return _replace_names(part, brief.name_fields, lambda text: handles.get(text, text), name)


def _says_anything(one: ToolOutcome) -> bool:
    """Say whether a tool result has an output or structured fields."""
    given = (one.output, one.ids, one.types, one.count)
    return any(value is not None for value in given) or bool(one.entities or one.dependencies)


def _replace_names(value: Any, fields: Collection[str], replace_one: Callable[[str], str], within: str) -> Any:
    """Return a JSON value in which the texts of these fields, also in lists, are replaced."""
    if isinstance(value, list):
        return [_replace_names(one, fields, replace_one, within) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _replace_texts(one, replace_one)
        if f"{within}.{key}" in fields
        else _replace_names(one, fields, replace_one, key)
        for key, one in value.items()
    }


def _replace_texts(value: Any, replace_one: Callable[[str], str]) -> Any:
    """Return the replaced text, or a list with its texts replaced; any other value unchanged."""
    if isinstance(value, list):
        return [replace_one(one) if isinstance(one, str) else one for one in value]
    return replace_one(value) if isinstance(value, str) else value


def _resolve_handle(text: str, names: Mapping[str, str], known: Collection[str]) -> str:
    """Return the id that a handle stands for, in any case and with or without brackets; other texts unchanged."""
    if text in names:
        return names[text]
    if text in known or len(text) > _LONGEST_HANDLE:
        return text
    return names.get(text.strip(_AROUND).upper(), text)
