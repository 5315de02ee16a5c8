"""Reading proposals: a model's answer is sifted, a request's body is taken whole or not at all."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mnemon.agentstate.delta import AddItem, RemoveItem, StateDelta, UpdateItem, delta_from_proposal, list_unreadable
from mnemon.agentstate.proposal import AgentStateDeltas, AgentStatePatch
from mnemon.agentstate.state import ItemKind, ItemStatus

NOW = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)


def strict(body: Any) -> AgentStatePatch:
    return AgentStatePatch.model_validate(body, context={"strict": True})


def delta(deltas: AgentStateDeltas | AgentStatePatch) -> StateDelta:
    return delta_from_proposal(deltas, now=NOW, new_id=lambda prefix: f"{prefix}_1")


def test_the_specifications_spelling_is_read() -> None:
    body = {
        "current_understanding": {
            "entities": [{"id": "t1", "kind": "task", "name": "Write"}],
            "dependencies": [{"from": "t1", "to": "p1", "rel": "part_of"}],
        },
        "assumptions": [{"id": "h", "hypothesis": "x", "confidence": 0.4, "evidence": ["m"]}],
        "expectations": [{"action": "a", "expected_outcome": "o", "expected_ids": [], "expected_count": 0}],
        "tentative_hypotheses": [{"id": "t", "hypothesis": "y", "reason": "z"}],
    }
    read = delta(strict(body))
    assert read.entities[0].name == "Write"
    assert read.dependencies[0].key == ("t1", "p1", "part_of")
    assert read.assumptions[0].evidence == ("m",)
    assert read.expectations[0].expected_ids == ()
    assert read.expectations[0].expected_count == 0
    assert read.tentative_hypotheses[0].reason == "z"
    assert delta(strict({"agent_state_updates": body})) == read


def test_items_are_read_with_what_they_leave_out_filled_in() -> None:
    ops = [
        {"op": "add", "item": {"kind": "question", "title": "Which region?", "relatedEntityIds": ["t1"]}},
        {"op": "update", "id": "i", "patch": {"status": "resolved", "id": "i", "updatedAt": "2026-01-01T00:00:00Z"}},
        {"op": "remove", "id": "j"},
    ]
    added, updated, removed = delta(strict({"agent_state_item_updates": ops})).items
    assert isinstance(added, AddItem)
    assert (added.item.id, added.item.kind, added.item.created_at) == ("itm_1", ItemKind.QUESTION, NOW)
    assert isinstance(updated, UpdateItem)
    assert updated.patch.status is ItemStatus.RESOLVED
    assert removed == RemoveItem(id="j")


def expecting(**fields: Any) -> dict[str, Any]:
    return {"expectations": [{"action": "a", "expected_outcome": "o", **fields}]}


def adding(**fields: Any) -> dict[str, Any]:
    return {"agent_state_item_updates": [{"op": "add", "item": {"kind": "task", "title": "t", **fields}}]}


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"assumption": []}, "assumption"),
        ({"assumptions": [{"id": "h", "hypothesis": "x", "confidence": 1.5}]}, "assumptions.0.confidence"),
        ({"assumptions": [{"id": "h", "hypotesis": "x"}]}, "assumptions.0.hypotesis"),
        (expecting(expected_count=-1), "expectations.0.expected_count"),
        (expecting(action="a\0"), "expectations.0.action"),
        (expecting(action="\ud800"), "expectations.0.action"),
        ({"current_understanding": {"entities": [{"id": "e"}]}}, "current_understanding.entities.0.kind"),
        ({"agent_state_item_updates": [{"op": "rename", "id": "x"}]}, "agent_state_item_updates.0"),
        (adding(kind="x"), "agent_state_item_updates.0.add.item.kind"),
        (adding(createdAt="0001-01-01T00:00:00+14:00"), "agent_state_item_updates.0.add.item.createdAt"),
        ([], ""),
    ],
)
def test_a_request_with_a_fault_is_refused_with_its_place(body: Any, place: str) -> None:
    with pytest.raises(ValidationError) as caught:
        strict(body)
    assert place in [".".join(map(str, error["loc"])) for error in caught.value.errors()]


def test_a_model_answer_loses_only_its_unreadable_members_and_says_which() -> None:
    answer = AgentStateDeltas.model_validate(
        {
            "agent_state_item_updates": [
                {"op": "remove", "id": "x"},
                {"op": "explode"},
                7,
                {"op": "add", "item": {"kind": "task", "title": "t", "x": 1}},
            ],
            "agent_state_updates": {
                "current_understanding": {"entities": [{"id": "e"}, {"id": "f", "kind": "k", "colour": "red"}]},
                "assumptions": [{"hypothesis": "x", "confidence": "high"}, {"hypothesis": "y"}],
                "mood": "fine",
            },
            "mood": "fine",
        }
    )
    read = delta(answer)
    assert [e.id for e in read.entities] == ["f"]
    assert [a.hypothesis for a in read.assumptions] == ["y"]
    assert len(read.items) == 2
    assert [rejection.what for rejection in list_unreadable(answer)] == [
        "agent_state_item_updates[1]",
        "agent_state_item_updates[2]",
        "assumptions[0] confidence",
        "entities[0] kind",
    ]


@pytest.mark.parametrize("answer", [{}, {"agent_state_updates": None}, {"agent_state_item_updates": None}])
def test_an_answer_may_leave_everything_out(answer: dict[str, Any]) -> None:
    read = AgentStateDeltas.model_validate(answer)
    assert list_unreadable(read) == ()
    assert delta(read).items == ()


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
LISTS = ["assumptions", "expectations", "tentative_hypotheses"]


@given(st.dictionaries(st.sampled_from(LISTS), st.lists(json_values, max_size=4)), st.lists(json_values, max_size=4))
def test_any_members_can_be_sifted(updates: dict[str, list[Any]], items: list[Any]) -> None:
    answer = AgentStateDeltas.model_validate({"agent_state_updates": updates, "agent_state_item_updates": items})
    update = answer.agent_state_updates
    assert update is not None
    kept = sum(len(getattr(update, name) or ()) for name in LISTS) + len(answer.agent_state_item_updates or ())
    assert kept + len(list_unreadable(answer)) == sum(map(len, updates.values())) + len(items)
