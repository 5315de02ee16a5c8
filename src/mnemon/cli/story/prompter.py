"""What the scripted model says in the story: the answers of one step at a time, and standing ones for upkeep."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeVar

from mnemon.cli.story.steps import Told
from mnemon.clock import ManualClock
from mnemon.llm.scripted.script import Asked, Script

SECTIONS = ("memories", "todos", "engagement", "agent_state")
_LINE = re.compile(r"- (evd_\w+) contradicts, .*?\): (.+)")
_GISTS = 4
R = TypeVar("R")


class Prompter:
    """Holds the script up to date with the story. Every answer takes the model a few seconds of the story's time."""

    def __init__(self, clock: ManualClock, turns: Sequence[Told]) -> None:
        self.script = Script()
        self._clock = clock
        self._turns = turns
        self._said: dict[tuple[str, str], list[str]] = {}
        self._spoken: dict[str, str] = {}
        self.script.always_replies(self._by_agent)
        self.script.always_answers("SessionSummary", self._summary)
        self.script.always_answers("Spine", {})

    def before_turn(self, told: Told) -> None:
        """The model answers this turn and its reflection as told."""
        gists = self._said.setdefault((told["who"], told["persona"]), [])
        gists.append(told["gist"])
        if not told.get("tools"):
            self.script.replies(lambda asked: self._after(3, told["reply"]))
        self.script.answers("Reflection", lambda asked: self._reflection(asked, told, gists))

    def before_run(self, told: Told, by: str) -> None:
        """The model's agents speak as told, and the run's card is filled so."""
        self._spoken = {by: told.get("says", "The levels are clear enough to say so."), **told.get("reports", {})}
        if told.get("fails"):
            self.script.fails("error", on="chat")
        else:
            self.script.answers("Card", lambda asked: self._after(4, told["card"]))

    def before_chat(self, told: Told, by: str) -> None:
        """The agent replies as told."""
        self._spoken = {by: told["reply"]}

    def _reflection(self, asked: Asked, told: Told, gists: list[str]) -> dict[str, Any]:
        answer: dict[str, Any] = {name: told[name] for name in SECTIONS if name in told}
        if "engagement" in answer:
            answer["engagement"] = _with_ids(answer["engagement"], asked.prompt)
        if "rolling_summary" in (asked.schema or {}).get("properties", {}):
            answer["rolling_summary"] = " ".join(gists[-_GISTS:])
        return self._after(2, answer)

    def _summary(self, asked: Asked) -> dict[str, Any]:
        """The session in the gists of its turns."""
        inside = [turn for turn in self._turns if turn["says"] in asked.prompt]
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

    def _by_agent(self, asked: Asked) -> str:
        """What the agent whose skill opens the prompt has to say."""
        heading = asked.system.split("\n", 1)[0].strip("# ")
        return self._after(3, self._spoken.get(heading, "Understood."))

    def _after(self, seconds: int, said: R) -> R:
        self._clock.advance(timedelta(seconds=seconds))
        return said


def _with_ids(engagement: dict[str, Any], prompt: str) -> dict[str, Any]:
    """The proposal with the contradictions it settles named by the ids the prompt shows."""
    shown = {line.strip(): evidence_id for evidence_id, line in _LINE.findall(prompt)}
    landed = [
        {**one, "resolves": [shown.get(line, line) for line in one.get("resolves", ())]}
        for one in engagement.get("evidence", ())
    ]
    return {**engagement, "evidence": landed}
