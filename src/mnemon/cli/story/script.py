"""What the scripted model answers in the story: the answers of each step, and defaults for background jobs."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeVar

from mnemon.cli.story.steps import StepData
from mnemon.clock import ManualClock
from mnemon.llm.scripted.script import Script, ScriptedRequest

SECTIONS = ("memories", "todos", "engagement", "agent_state")
_CONTRADICTION_LINE = re.compile(r"- (E\d+) contradicts, .*?\): (.+)")
_GISTS_KEPT = 4
R = TypeVar("R")


class DemoScript:
    """Fill the model's script step by step. Each answer moves the story's clock on by a few seconds."""

    def __init__(self, clock: ManualClock, turns: Sequence[StepData]) -> None:
        self.script = Script()
        self._clock = clock
        self._turns = turns
        self._said: dict[tuple[str, str], list[str]] = {}
        self._spoken: dict[str, str] = {}
        self.script.set_default_reply(self._agent_reply)
        self.script.set_default_answer("SessionSummary", self._summary_answer)
        self.script.set_default_answer("Spine", {})

    def prepare_turn(self, data: StepData) -> None:
        """Script the reply to this turn and the answer of its reflection."""
        gists = self._said.setdefault((data["who"], data["persona"]), [])
        gists.append(data["gist"])
        if not data.get("tools"):
            self.script.add_replies(lambda request: self._answer_after(3, data["reply"]))
        self.script.add_answers("Reflection", lambda request: self._reflection_answer(request, data, gists))

    def prepare_run(self, data: StepData, by: str) -> None:
        """Script what the agent and its specialists say in this run, and its card or its failure."""
        self._spoken = {by: data.get("says", "The levels are clear enough to say so."), **data.get("reports", {})}
        if data.get("fails"):
            self.script.add_fault("error", on="chat")
        else:
            self.script.add_answers("Card", lambda request: self._answer_after(4, data["card"]))

    def prepare_chat(self, data: StepData, by: str) -> None:
        """Script the scripted model's reply to this chat message to an agent."""
        self._spoken = {by: data["reply"]}

    def _reflection_answer(self, request: ScriptedRequest, data: StepData, gists: list[str]) -> dict[str, Any]:
        """Return the step's answer to a reflection, with a rolling summary of the gists if one is asked for."""
        answer: dict[str, Any] = {name: data[name] for name in SECTIONS if name in data}
        if "engagement" in answer:
            answer["engagement"] = _insert_evidence_ids(answer["engagement"], request.prompt)
        if "rolling_summary" in (request.schema or {}).get("properties", {}):
            answer["rolling_summary"] = " ".join(gists[-_GISTS_KEPT:])
        return self._answer_after(2, answer)

    def _summary_answer(self, request: ScriptedRequest) -> dict[str, Any]:
        """Return a session's summary made from the gists of its turns."""
        inside = [turn for turn in self._turns if turn["says"] in request.prompt]
        gists = [turn["gist"] for turn in inside] or ["A short conversation."]
        todos = [todo for turn in inside for todo in turn.get("todos", ()) if todo["op"] == "add"]
        return {
            "one_liner": gists[-1],
            "what_mattered": gists,
            "open_loops": [todo["content"] for todo in todos if todo["kind"] == "thread"],
            "commitments": [todo["content"] for todo in todos if todo["kind"] == "commitment"],
            "people": sorted(
                {
                    memory["entity"]["label"]
                    for turn in inside
                    for memory in turn.get("memories", ())
                    if memory.get("entity", {}).get("type") == "person"
                }
            ),
            "tone": "warm" if inside and inside[0]["persona"] == "juno" else "matter-of-fact",
        }

    def _agent_reply(self, request: ScriptedRequest) -> str:
        """Return the scripted words of the agent whose skill is at the start of the system prompt."""
        heading = request.system.split("\n", 1)[0].strip("# ")
        return self._answer_after(3, self._spoken.get(heading, "Understood."))

    def _answer_after(self, seconds: int, answer: R) -> R:
        """Move the demo's clock on by these seconds, as if the model had needed them, and return the answer."""
        self._clock.advance(timedelta(seconds=seconds))
        return answer


def _insert_evidence_ids(engagement: dict[str, Any], prompt: str) -> dict[str, Any]:
    """Return the proposal with the contradictions it resolves named by the handles that the prompt shows."""
    shown = {line.strip(): evidence_id for evidence_id, line in _CONTRADICTION_LINE.findall(prompt)}
    evidence = [
        {**one, "resolves": [shown.get(line, line) for line in one.get("resolves", ())]}
        for one in engagement.get("evidence", ())
    ]
    return {**engagement, "evidence": evidence}
