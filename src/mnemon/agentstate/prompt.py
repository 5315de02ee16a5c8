"""What the reflection asks for the agent state: instructions, a worked example, and the schema of the answer as sent.

The schema is flatter than the shape in which an answer is read (`proposal.py`), to which `expand_answer` turns it.
"""

from typing import Any

from mnemon.agentstate.state import ItemKind, ItemStatus
from mnemon.llm.answer_schema import (
    OPTIONAL_INTEGER,
    OPTIONAL_TEXT,
    TEXT,
    closed_object,
    list_of,
    one_of,
    one_or_none_of,
    optional,
)

AGENT_STATE_SCHEMA = optional(
    closed_object(
        entities=list_of(closed_object(id=TEXT, kind=TEXT, name=OPTIONAL_TEXT)),
        dependencies=list_of(closed_object(**{"from": TEXT}, to=TEXT, rel=OPTIONAL_TEXT)),
        claims=list_of(
            closed_object(id=OPTIONAL_TEXT, claim=TEXT, evidence=list_of(TEXT), contradicted_by=list_of(TEXT))
        ),
        expectations=list_of(
            closed_object(
                action=TEXT,
                expected_outcome=TEXT,
                expected_ids=list_of(TEXT),
                expected_type=OPTIONAL_TEXT,
                expected_count=OPTIONAL_INTEGER,
            )
        ),
        items=list_of(
            closed_object(
                op=one_of(("add", "update", "remove")),
                id=OPTIONAL_TEXT,
                kind=one_or_none_of(tuple(ItemKind)),
                title=OPTIONAL_TEXT,
                details=OPTIONAL_TEXT,
                status=one_or_none_of(tuple(ItemStatus)),
            )
        ),
    )
)
"""The section `agent_state` as it is sent."""

INSTRUCTIONS = """\
What the agent works with in this session. Give only what this turn changes; null if nothing does.
- entities, dependencies: what the messages or tool results name; keep the ids they use.
- claims: what the agent now takes to be true, one claim each, in the words of the messages or tool results that say \
it; evidence: their handles, like M1 or R1. What may be true but nothing shows yet has no evidence, and no figures. \
id: the handle of the claim held (A1, G1) if this is about it, else null. When something speaks against one, repeat \
it with the handles in contradicted_by.
- expectations: what an action still to come should do, as exactly as it can be checked.
- items: a task, doc, note, idea or open question. op add: kind and title; update: its id (I1) and what changes, like \
the status resolved or discarded; remove: its id, if it was a mistake.
Use nothing but the messages, the tool results and what is held. Add no fact, number or name that they do not contain.
Example. Held: "I1 question: Which report is final?". M1 from user: "Report r7 is final. Now share it with Kim."
{"agent_state": {"entities": [{"id": "r7", "kind": "report", "name": null}], "dependencies": [], "claims": [{"id": \
null, "claim": "Report r7 is final", "evidence": ["M1"], "contradicted_by": []}], "expectations": [], "items": \
[{"op": "update", "id": "I1", "kind": null, "title": null, "details": null, "status": "resolved"}, {"op": "add", \
"id": null, "kind": "task", "title": "Share report r7 with Kim", "details": null, "status": null}]}}"""
"""The section's instructions."""

_FLAT_FIELDS = ("entities", "dependencies", "claims", "expectations", "items")
"""Fields of the answer as it is asked for; an answer in the shape of the contract has none of them."""


def expand_answer(given: Any) -> Any:
    """Return a model's flat answer in the nested shape that is validated; any other value unchanged."""
    if not isinstance(given, dict) or not any(name in given for name in _FLAT_FIELDS):
        return given
    claims = _objects_in(given.get("claims"))
    update = {
        "current_understanding": {name: given.get(name) for name in ("entities", "dependencies")},
        "assumptions": [_nested_assumption(one) for one in claims if _has_evidence(one)],
        "tentative_hypotheses": [
            {"id": one.get("id"), "hypothesis": one.get("claim")} for one in claims if not _has_evidence(one)
        ],
        # No ids means that none are expected by name, and an empty list would mean that there must be none.
        "expectations": [
            {**one, "expected_ids": one.get("expected_ids") or None} for one in _objects_in(given.get("expectations"))
        ],
    }
    return {
        "agent_state_updates": update,
        "agent_state_item_updates": [_nested_item_update(one) for one in _objects_in(given.get("items"))],
    }


def _objects_in(given: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; an empty list for any other value."""
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def _has_evidence(claim: dict[str, Any]) -> bool:
    """Say whether a claim cites evidence, which makes it an assumption rather than a tentative hypothesis."""
    return bool(claim.get("evidence") or claim.get("contradicted_by"))


def _nested_assumption(claim: dict[str, Any]) -> dict[str, Any]:
    """Return a flat claim that cites evidence in the nested shape of an assumption."""
    return {**{name: value for name, value in claim.items() if name != "claim"}, "hypothesis": claim.get("claim")}


def _nested_item_update(given: dict[str, Any]) -> dict[str, Any]:
    """Return a flat change of an item in the nested shape that is validated, without nulls."""
    fields = {name: value for name, value in given.items() if name not in ("op", "id") and value is not None}
    match given.get("op"):
        case "add":
            return {"op": "add", "item": fields}
        case "update":
            return {"op": "update", "id": given.get("id"), "patch": fields}
        case _:
            return {"op": given.get("op"), "id": given.get("id")}
