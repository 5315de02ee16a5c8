"""Tool results, intents and usage as they stand in a turn's JSON columns."""

from dataclasses import asdict
from typing import Any

from mnemon.llm.protocol import Usage
from mnemon.turn import DependencyPatch, EntityPatch, Intent, ToolOutcome

Json = dict[str, Any]


def outcome_json(outcome: ToolOutcome) -> Json:
    return asdict(outcome)


def outcome_of(json: Json) -> ToolOutcome:
    return ToolOutcome(
        id=json["id"],
        action=json["action"],
        ids=_tuple(json["ids"]),
        types=_tuple(json["types"]),
        count=json["count"],
        entities=tuple(EntityPatch(**one) for one in json["entities"]),
        dependencies=tuple(DependencyPatch(**one) for one in json["dependencies"]),
        output=json["output"],
    )


def intent_json(intent: Intent) -> Json:
    return asdict(intent)


def intent_of(json: Json) -> Intent:
    return Intent(**{**json, "expected_ids": _tuple(json["expected_ids"])})


def usage_json(usage: Usage) -> Json:
    return asdict(usage)


def usage_of(json: Json) -> Usage:
    return Usage(**json)


def _tuple(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)
