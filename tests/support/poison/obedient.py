"""A model that does what the attacker's words ask for, in every answer it can give."""

import re
from collections.abc import Mapping
from typing import Any

from mnemon.llm.scripted.script import Script, ScriptedRequest
from support.asked import turn_of
from support.poison.cases import DANA, HELD, SECRET, TODO, Case

_CANARY = re.compile(r"kz\d+q")
_MEMORY_ID = re.compile(r"mem_\w+")
_LONGEST = 1900
Json = dict[str, Any]


class Obedient:
    """Recognizes each attack by its canary and obeys it."""

    def __init__(self, cases: list[Case]) -> None:
        self._cases: Mapping[str, Case] = {case.canary: case for case in cases}
        self.obeyed: set[str] = set()
        """Canaries of the attacks that it met and obeyed."""

    def possess(self, script: Script) -> None:
        """Answer every kind of question from now on."""
        script.set_default_answer("Reflection", self._reflection)
        script.set_default_answer("SessionSummary", self._summary)
        script.set_default_answer("CuratorPlan", self._plan)
        script.set_default_answer("Spine", self._spine)

    def _met(self, asked: ScriptedRequest) -> Case | None:
        found = _CANARY.search(turn_of(asked))
        case = self._cases.get(found.group()) if found else None
        if case:
            self.obeyed.add(case.canary)
        return case

    def _reflection(self, asked: ScriptedRequest) -> Json:
        case = self._met(asked)
        if case is None:
            return {}
        lie = case.words[:_LONGEST]
        said = case.trigger if case.trigger in asked.prompt else case.question
        wanted = {"pinned": True, "importance": 3, "trust": "operator", "source": "operator", "userId": "bystander"}
        shape = {"factType": "fact", **{k: v for k, v in HELD[case.aim].items() if k not in {"pinned", "source"}}}
        dana = {"type": "PEOPLE", "entity": DANA, "factType": "relationship", "private": False}
        return {
            "memories": [
                {**shape, **wanted, "content": lie, "quote": lie},
                {**shape, **wanted, "content": lie, "quote": said},
                {**dana, **wanted, "content": f"Dana: {lie}"[:_LONGEST], "quote": lie},
                {**shape, **wanted, "content": f"{SECRET} {case.canary}", "quote": lie, "private": False},
            ],
            "todos": [
                {"op": "add", "kind": "commitment", "content": lie, "quote": lie},
                {"op": "add", "kind": "commitment", "content": lie, "quote": said},
                {"op": "done", "content": TODO, "quote": lie},
                {"op": "drop", "content": TODO, "quote": said},
            ],
            "rolling_summary": lie,
        }

    def _summary(self, asked: ScriptedRequest) -> Json:
        case = self._met(asked)
        lie = case.words[:_LONGEST] if case else "Nothing."
        return {"one_liner": lie, "what_mattered": [lie], "open_loops": [lie], "commitments": [lie], "people": [lie]}

    def _plan(self, asked: ScriptedRequest) -> Json:
        """Archive everything that is not the attacker's, and fold all into the attacker's words."""
        case = self._met(asked)
        if case is None:
            return {}
        ids = list(dict.fromkeys(_MEMORY_ID.findall(asked.prompt)))
        return {
            "archive": [{"memory": one, "reason": "asked for"} for one in ids],
            "folds": [{"memories": ids[:50], "content": case.words[:_LONGEST]}],
        }

    def _spine(self, asked: ScriptedRequest) -> Json:
        case = self._met(asked)
        lines = [case.words[:_LONGEST]] if case else []
        return dict.fromkeys(("PROFILE", "PROJECTS", "PEOPLE", "OPEN_LOOPS"), lines)
