"""What rules read from a turn without a model: only what is said in so many words."""

from datetime import UTC, datetime

import pytest

from mnemon.agentstate.proposal import AgentStateDeltas, AgentStateUpdate, ProposedAddItem, ProposedUpdateItem
from mnemon.agentstate.reflect import read_deltas
from mnemon.agentstate.state import AgentState, ItemKind, ItemStatus, StateItem
from mnemon.scope import Scope
from mnemon.turn import Role, Turn, TurnMessage

NOW = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)
OPEN = StateItem(id="i1", kind=ItemKind.QUESTION, title="Which region?", created_at=NOW, updated_at=NOW)


def turn(text: str, role: Role = Role.USER) -> Turn:
    said = TurnMessage(message_id="msg_1", role=role, content=text, name=None, at=NOW)
    scope = Scope(org_id="acme", user_id="usr_1")
    return Turn(id="trn", session_id="ses", seq=1, scope=scope, user_name="ann", at=NOW, messages=(said,))


def of(text: str, role: Role = Role.USER, *items: StateItem) -> AgentStateDeltas:
    answer = read_deltas(turn(text, role), AgentState(session_id="ses", items=items))
    assert answer.agent_state_updates is not None
    return answer


def update(text: str, role: Role = Role.USER) -> AgentStateUpdate:
    made = of(text, role).agent_state_updates
    assert made is not None
    return made


@pytest.mark.parametrize(
    "text",
    [
        "Assumption: the cluster is in Frankfurt",
        "Let's assume the cluster is in Frankfurt",
        "We assume that the cluster is in Frankfurt",
        "ok then\n- I'm assuming that the cluster is in Frankfurt",
    ],
)
def test_a_stated_assumption_is_taken_with_its_message_as_evidence(text: str) -> None:
    [assumption] = update(text).assumptions or []
    assert assumption.hypothesis == "the cluster is in Frankfurt"
    assert assumption.confidence == 0.5
    assert assumption.evidence == ["msg_1"]


@pytest.mark.parametrize(
    "text",
    [
        "I assume you are joking",
        "You should not assume that everything works",
        "Is that an assumption: yes or no",
        "We talked about the open question",
        "Don't write 'Assumption: x'",
        "",
    ],
)
def test_nothing_is_read_into_other_words(text: str) -> None:
    assert update(text).assumptions == []
    assert of(text).agent_state_item_updates == []


def test_a_tool_speaks_for_nobody() -> None:
    assert update("Assumption: all is well", Role.TOOL).assumptions == []


def test_open_questions_and_tasks_become_items_once() -> None:
    added = of("Open question: Which region?\nNext step: call Ann", Role.ASSISTANT).agent_state_item_updates or []
    titles = [(op.item.kind, op.item.title) for op in added if isinstance(op, ProposedAddItem)]
    assert len(titles) == len(added)
    assert titles == [("question", "Which region?"), ("task", "call Ann")]
    assert of("Open question: which region", Role.USER, OPEN).agent_state_item_updates == []


@pytest.mark.parametrize(
    ("text", "status"), [("Resolved: which region", "resolved"), ("Dropped: Which region?", "discarded")]
)
def test_an_open_item_is_closed_by_its_title(text: str, status: str) -> None:
    [op] = of(text, Role.USER, OPEN).agent_state_item_updates or []
    assert isinstance(op, ProposedUpdateItem)
    assert (op.id, op.patch.status) == ("i1", ItemStatus(status))


def test_a_title_that_two_items_have_closes_neither() -> None:
    twin = StateItem(id="i2", kind=ItemKind.TASK, title="Which region?", created_at=NOW, updated_at=NOW)
    assert of("Resolved: Which region?", Role.USER, OPEN, twin).agent_state_item_updates == []


def test_a_hypothesis_is_tentative() -> None:
    [guess] = update("Hypothesis: the disk is full").tentative_hypotheses or []
    assert guess.hypothesis == "the disk is full"
