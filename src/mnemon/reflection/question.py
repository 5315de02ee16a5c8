"""One question to the model for the sections that are due, and parsing its answer section by section."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError

from mnemon.input_checks import describe_validation_error
from mnemon.llm.answer_schema import closed_object, titled
from mnemon.llm.protocol import Json, LlmQuestion, Purpose
from mnemon.reflection.handles import resolve_names, turn_names
from mnemon.reflection.prompt import (
    DEFAULT_BUDGET,
    NO_CORRECTION,
    Correction,
    DueSection,
    system_prompt,
    user_prompt,
)
from mnemon.reflection.sight import Sight
from mnemon.tokens import estimate_tokens
from mnemon.turn import Turn

QUESTION_TITLE = "Reflection"
_MOST_ENTRIES = 50
"""Entries that a section's answer may have."""
_LEAST_ENTRIES = 3
_CHARS_PER_ENTRY = 40
"""Characters of a turn in which one thing is said that is worth an entry."""
_BASE_TOKENS = 150
_LEAST_ENTRY_TOKENS = 120


@dataclass(frozen=True, kw_only=True)
class ParsedAnswer:
    """An answer, section by section."""

    valid: Mapping[str, BaseModel]
    """The parts by section name; a section the model left out and that cannot be empty is in neither mapping."""
    faults: Mapping[str, str]
    """Why a section's part cannot be used, in words that help the model correct it."""


def build_question(
    turn: Turn,
    due: Sequence[DueSection],
    correction: Correction = NO_CORRECTION,
    *,
    sight: Sight | None = None,
    budget: int = DEFAULT_BUDGET,
    whole: bool = True,
    limited: bool = True,
) -> LlmQuestion:
    """Return the question to the model for all due sections; with a correction, for those to be corrected only.

    A correction repeats the whole prompt before it, which the model's server still holds. A `limited` answer is cut
    where it is longer than its sections can need.
    """
    wanted = [one for one in due if not correction.sections or one.section.name in correction.sections]

    def by_rule() -> Json:
        """Return the answer that each section's own rules give, for the offline mode."""
        return {
            one.section.name: _as_json(one.section.answer_by_rule(turn, one.brief), one.section.name) for one in wanted
        }

    system = system_prompt(due)
    room = budget - estimate_tokens(system)
    return LlmQuestion(
        title=QUESTION_TITLE,
        schema=answer_schema(wanted),
        system=system,
        prompt=user_prompt(turn, due, sight or Sight(), correction, budget=room, whole=whole),
        purpose=Purpose.REFLECTION,
        by_rule=by_rule,
        max_tokens=answer_limit(turn, wanted) if limited else None,
        # What was said does not vary. A second answer may: the likeliest words were refused.
        temperature=None if correction.sections else 0.0,
    )


def answer_limit(turn: Turn, due: Sequence[DueSection]) -> int:
    """Return the tokens that an answer for these sections can need: so many entries for so long a turn."""
    entries = min(_MOST_ENTRIES, _LEAST_ENTRIES + turn.size // _CHARS_PER_ENTRY)
    return sum(_BASE_TOKENS + entries * _entry_tokens(_SchemaRef(one.section.schema)) for one in due)


@lru_cache(maxsize=64)
def _entry_tokens(ref: "_SchemaRef") -> int:
    """Return the tokens that one entry of an answer takes, written with spaces and line breaks, by its schema."""
    size = estimate_tokens(json.dumps(ref.schema))
    # Of a list every entry has all fields; of an object each entry stands in one of several lists.
    return max(_LEAST_ENTRY_TOKENS, size * 2 // 3 if ref.schema.get("type") == "array" else size // 4)


def answer_schema(due: Sequence[DueSection]) -> Json:
    """Return the JSON schema that is sent: one property per section, all required."""
    return _build_schema(tuple(one.section.name for one in due), tuple(_SchemaRef(one.section.schema) for one in due))


class _SchemaRef:
    """A section's schema, compared by its identity: sections keep theirs for the life of the process."""

    def __init__(self, schema: Json) -> None:
        """Keep the schema, so that its identity stays its own."""
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        """Say whether both references are to the same schema object."""
        return isinstance(other, _SchemaRef) and other.schema is self.schema

    def __hash__(self) -> int:
        """Return the hash of the schema object's identity."""
        return id(self.schema)


@lru_cache(maxsize=64)
def _build_schema(names: tuple[str, ...], schemas: tuple[_SchemaRef, ...]) -> Json:
    """Return the answer's JSON schema, cached, so that the same object is encoded only once."""
    properties = {name: ref.schema for name, ref in zip(names, schemas, strict=True)}
    return titled(QUESTION_TITLE, closed_object(**properties))


def resolve_answer(turn: Turn, due: Sequence[DueSection], answer: Json) -> Json:
    """Return the answer with the prompt's handles (M1, H2) replaced by the ids they stand for."""
    names = turn_names(turn)
    briefs = {one.section.name: one.brief for one in due}
    return {
        name: resolve_names(name, part, briefs[name], names) if name in briefs else part
        for name, part in answer.items()
    }


def parse_answer(due: Sequence[DueSection], answer: Json) -> ParsedAnswer:
    """Validate each section's part of the model's answer by itself; return the valid parts and the faults."""
    valid: dict[str, BaseModel] = {}
    faults: dict[str, str] = {}
    # Such an answer is of another shape altogether; taking it for "nothing found" would lose the turn.
    if answer and not any(one.section.name in answer for one in due):
        fault = "the answer has none of the properties asked for"
        return ParsedAnswer(valid={}, faults={one.section.name: fault for one in due})
    for one in due:
        name = one.section.name
        given = answer.get(name)
        try:
            valid[name] = one.section.answer.model_validate({} if given is None else {name: given})
        except ValidationError as error:
            # A section that was left out has nothing to correct.
            if given is not None:
                faults[name] = describe_validation_error(error)
    return ParsedAnswer(valid=valid, faults=faults)


def _as_json(answer: BaseModel, name: str) -> Any:
    """Return a section's answer as the JSON of its one property."""
    return answer.model_dump(mode="json", by_alias=True)[name]
