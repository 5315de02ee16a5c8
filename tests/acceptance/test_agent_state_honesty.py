"""What a lying model cannot put into an agent state, through the doors."""

import re
from typing import Any

import httpx2
import pytest

from mnemon.llm.scripted.script import ScriptedRequest
from support.served import Served

pytestmark = pytest.mark.scripted


def answer(*assumptions: dict[str, Any], tentative: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    updates = {"assumptions": list(assumptions), "tentative_hypotheses": tentative or []}
    return {"agent_state": {"agent_state_updates": updates}}


def heard(asked: ScriptedRequest, role: str = "user") -> str:
    """The handle of the turn's message, as the prompt shows it."""
    found = re.search(rf"message (M\d+) from {role}", asked.prompt)
    assert found is not None
    return found[1]


class Talk:
    """One session with a model that answers as the test says."""

    def __init__(self, server: Served, client: httpx2.Client) -> None:
        self.server, self.client, self.session = server, client, ""

    def say(self, text: str, answers: Any, reply: str | None = None, **more: Any) -> list[str]:
        """Return why the reflection rejected what it did."""
        self.server.script.add_answers("Reflection", answers)
        messages = [{"role": "user", "content": text}]
        messages += [{"role": "assistant", "content": reply}] if reply else []
        body = {"userId": "dana", "messages": messages, **more}
        made = self.client.post("/api/turns", json=body | ({"sessionId": self.session} if self.session else {}))
        assert made.status_code == 202, made.text
        self.session = made.json()["data"]["sessionId"]
        self.server.settled(self.client)
        told = self.client.get(f"/api/turns/{made.json()['data']['turnId']}").json()["data"]["reflection"]
        return [f"{one['what']}: {one['why']}" for one in told["rejected"]]

    def assumed(self) -> list[tuple[str, float]]:
        state = self.client.get(f"/api/sessions/{self.session}/agent-state").json()["data"]
        return [(one["hypothesis"], one["confidence"]) for one in state["assumptions"]]


@pytest.fixture
def talk(server: Served, client: httpx2.Client) -> Talk:
    return Talk(server, client)


LIE = {"id": "a1", "hypothesis": "Revenue is $99M and the CEO is Bob", "confidence": 0.95}


def test_made_up_evidence_is_rejected_by_name(talk: Talk) -> None:
    [why] = talk.say("I met the team today.", answer({**LIE, "evidence": ["msg_made_up"]}))
    assert why == "assumption a1: there is no message or tool result msg_made_up in this session"
    assert talk.assumed() == []


def test_a_claim_that_its_evidence_does_not_say_may_only_be_tentative(talk: Talk) -> None:
    [why] = talk.say("I met the team today.", lambda asked: answer({**LIE, "evidence": [heard(asked)]}))
    assert "“$99M” does not occur" in why
    assert "propose it as a tentative hypothesis" in why
    assert talk.assumed() == []
    [why] = talk.say("Nothing new.", answer(tentative=[{"hypothesis": "Revenue is $99M"}]))
    assert "“$99M” does not occur" in why
    assert talk.say("Nothing new.", answer(tentative=[{"hypothesis": "Revenue is growing"}])) == []


def test_a_claim_without_evidence_is_rejected(talk: Talk) -> None:
    [why] = talk.say("I met the team today.", answer({"hypothesis": "I met the team today", "confidence": 0.95}))
    assert "it cites no message or tool result" in why


def test_another_claim_under_a_held_id_inherits_nothing(talk: Talk) -> None:
    def honest(asked: ScriptedRequest) -> dict[str, Any]:
        return answer({"id": "a1", "hypothesis": "The cluster is in Frankfurt", "evidence": [heard(asked)]})

    assert talk.say("The cluster is in Frankfurt.", honest) == []
    [why] = talk.say("Fine.", answer(LIE))
    assert "it cites no message" in why
    assert talk.assumed() == [("The cluster is in Frankfurt", 0.65)]

    def other(asked: ScriptedRequest) -> dict[str, Any]:
        return answer({"id": "a1", "hypothesis": "The cluster is in Dublin", "evidence": [heard(asked)]})

    [why] = talk.say("No, the cluster is in Dublin.", other)
    assert re.fullmatch(r"id a1: it keeps its own claim; the new one is assumption asm_\w+", why)
    assert talk.assumed() == [("The cluster is in Frankfurt", 0.65), ("The cluster is in Dublin", 0.65)]


def test_a_patch_under_a_held_id_with_another_claim_makes_a_record_of_its_own(talk: Talk) -> None:
    talk.say("Hello.", answer())
    path = f"/api/sessions/{talk.session}/agent-state"
    first = {"assumptions": [{"id": "a1", "hypothesis": "The quota is 40", "confidence": 0.9, "evidence": ["crm-7"]}]}
    assert talk.client.patch(path, json=first, headers={"If-Match": "*"}).json()["data"]["reported"] == []
    other = {"assumptions": [{"id": "a1", "hypothesis": "The quota is 400"}]}
    [told] = talk.client.patch(path, json=other, headers={"If-Match": "*"}).json()["data"]["reported"]
    assert told["what"] == "id a1"
    assert talk.assumed() == [("The quota is 40", 0.9), ("The quota is 400", 0.5)]


def test_confidence_follows_from_distinct_sources_and_the_assistant_proves_nothing(talk: Talk) -> None:
    claim = {"id": "a1", "hypothesis": "The cluster is in Frankfurt", "confidence": 0.95}

    def citing(role: str) -> Any:
        return lambda asked: answer({**claim, "evidence": [heard(asked, role)]})

    talk.say("Where is it?", citing("assistant"), reply="The cluster is in Frankfurt.")
    assert talk.assumed() == [("The cluster is in Frankfurt", 0.5)]
    talk.say("Right, the cluster is in Frankfurt.", citing("user"))
    assert talk.assumed() == [("The cluster is in Frankfurt", 0.65)]
    talk.say("As I said, the cluster is in Frankfurt.", citing("user"))
    assert talk.assumed() == [("The cluster is in Frankfurt", 0.71)]
    talk.say("Again: the cluster is in Frankfurt.", citing("user"))
    assert talk.assumed() == [("The cluster is in Frankfurt", 0.71)]
    result = {"id": "res_1", "action": "describe", "output": {"cluster": {"region": "Frankfurt"}}}
    talk.say("Look it up.", answer({**claim, "evidence": ["res_1"]}), toolResults=[result])
    assert talk.assumed() == [("The cluster is in Frankfurt", 0.82)]


def test_a_result_of_mnemons_own_tools_shows_nothing(talk: Talk) -> None:
    result = {"id": "res_1", "action": "mnemon_recall", "output": "The cluster is in Frankfurt."}
    claim = {"hypothesis": "The cluster is in Frankfurt", "evidence": ["res_1"]}
    [why] = talk.say("Where is it?", answer(claim), toolResults=[result])
    assert "Mnemon's own tools" in why
    assert talk.assumed() == []


def test_only_known_pieces_contradict(talk: Talk) -> None:
    def honest(asked: ScriptedRequest) -> dict[str, Any]:
        return answer({"id": "a1", "hypothesis": "The cluster is in Frankfurt", "evidence": [heard(asked)]})

    talk.say("The cluster is in Frankfurt.", honest)
    [why] = talk.say("Hm.", answer({"id": "a1", "contradicted_by": ["msg_none"]}))
    assert "msg_none" in why
    assert talk.assumed() == [("The cluster is in Frankfurt", 0.65)]
    talk.say("No, it is in Dublin.", lambda asked: answer({"id": "a1", "contradicted_by": [heard(asked)]}))
    assert talk.assumed() == [("The cluster is in Frankfurt", 0.5)]


def test_the_id_of_another_persons_message_is_unknown(server: Served, client: httpx2.Client) -> None:
    dana = Talk(server, client)
    dana.say("The cluster is in Frankfurt.", answer())
    shown = client.get(f"/api/sessions/{dana.session}/messages", params={"userId": "dana"}).json()["data"]
    ids = [one["id"] for one in shown if one["role"] == "user"]
    [why] = Talk(server, client).say(
        "Hello.",
        lambda _: answer({"hypothesis": "The cluster is in Frankfurt", "evidence": ids}),
        userId="eve",
    )
    assert ids[0] in why
