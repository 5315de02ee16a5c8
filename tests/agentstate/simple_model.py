"""The reducer's rules once more, as plainly as they can be said: dictionaries, no limits, nothing frozen."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from mnemon.agentstate.delta import AddItem, AssumptionProposal, ExpectationProposal, RemoveItem, StateDelta
from mnemon.agentstate.state import AgentState
from mnemon.turn import Intent, ToolOutcome

Held = TypeVar("Held")


def plain(text: str) -> str:
    return " ".join(text.lower().split())


def lowered(confidence: float, times: int) -> float:
    for _ in range(times):
        confidence = min(confidence, 0.99)
        odds = (confidence / (1 - confidence)) * math.exp(-0.6) if confidence else 0.0
        confidence = odds / (1 + odds)
    return confidence


class SimpleModel:
    """What a session's state should be."""

    def __init__(self) -> None:
        self.entities: dict[str, tuple[str, str | None]] = {}
        self.dependencies: set[tuple[str, str, str | None]] = set()
        self.assumptions: dict[str, dict[str, Any]] = {}
        self.tentative: dict[str, str] = {}
        self.expectations: dict[str, dict[str, Any]] = {}
        self.items: dict[str, dict[str, Any]] = {}
        self.made = 0

    def new_id(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}_{self.made}"

    def apply(self, delta: StateDelta) -> None:
        for guess in delta.tentative_hypotheses:
            self._guess(guess.id, guess.hypothesis)
        for proposal in delta.assumptions:
            self._assume(proposal)
        for entity in delta.entities:
            known = self.entities.get(entity.id, ("", None))
            self.entities[entity.id] = (entity.kind, known[1] if entity.name is None else entity.name)
        self.dependencies |= {d.key for d in delta.dependencies}
        whole = [p for p in delta.expectations if p.action is not None and p.expected_outcome is not None]
        for expected in (*whole, *(p for p in delta.expectations if p not in whole)):
            self._expect(expected)
        self._change_items(delta)

    def plan(self, intents: tuple[Intent, ...]) -> None:
        for i in intents:
            self.expectations[self.new_id("exp")] = {
                "action": i.action, "expected_outcome": i.expected_outcome, "expected_ids": i.expected_ids,
                "expected_type": None, "expected_count": i.expected_count, "status": "pending",
                "settled_by": None,
            }  # fmt: skip

    def result(self, r: ToolOutcome) -> None:
        answered = [
            (x, fits)
            for x in self.expectations.values()
            if x["status"] == "pending" and x["action"] == r.action and (fits := self._fits(x, r)) is not None
        ]
        repeated = any(x["settled_by"] == r.id for x in self.expectations.values())
        # The first that it fits, or else the first that it can be compared with.
        for x, fits in [] if repeated else sorted(answered, key=lambda one: not one[1])[:1]:
            x["settled_by"] = r.id
            opening = f'Expected "{x["expected_outcome"]}" but got "'
            if fits:
                x["status"] = "confirmed"
                for a in self.assumptions.values():
                    if a["hypothesis"].startswith(opening):
                        self._against(a, [r.id])
            else:
                x["status"] = "failed"
                self.assumptions[self.new_id("asm")] = {
                    "hypothesis": opening, "confidence": 0.7, "evidence": {r.id}, "against": set(),
                }  # fmt: skip
        for entity in r.entities:
            known = self.entities.get(entity.id, ("", None))
            self.entities[entity.id] = (entity.kind, known[1] if entity.name is None else entity.name)
        self.dependencies |= {(d.source, d.target, d.rel) for d in r.dependencies}

    @staticmethod
    def _fits(x: dict[str, Any], r: ToolOutcome) -> bool | None:
        """Whether the result is what was expected; None where nothing of it can be compared."""
        names = [e.id for e in r.entities]
        ids = r.ids if r.ids is not None else names or None
        types = r.types if r.types is not None else [e.kind for e in r.entities] or None
        counted = r.ids if r.ids is not None else names or None
        amount = r.count if r.count is not None else None if counted is None else len(set(counted))
        checks = []
        if x["expected_ids"] and (ids is not None or types is not None or amount is not None):
            checks.append(all(i in (ids or ()) for i in x["expected_ids"]))
        if x["expected_type"] is not None and types is not None:
            checks.append(x["expected_type"] in types)
        if x["expected_count"] is not None and amount is not None:
            checks.append(x["expected_count"] == amount)
        return None if not checks else all(checks)

    def agrees_with(self, state: AgentState) -> None:
        """Fails where the state differs."""
        understanding = state.current_understanding
        assert {e.id: (e.kind, e.name) for e in understanding.entities} == self.entities
        assert len(understanding.entities) == len(self.entities)
        assert {d.key for d in understanding.dependencies} == self.dependencies
        assert len(understanding.dependencies) == len(self.dependencies)
        assert {t.id: t.hypothesis for t in state.tentative_hypotheses} == self.tentative
        assert [x.id for x in state.expectations] == list(self.expectations)
        for expectation in state.expectations:
            want = self.expectations[expectation.id]
            assert {name: getattr(expectation, name) for name in want} == want
            assert (expectation.last_checked_at is None) == (want["status"] == "pending")
        assert {a.id for a in state.assumptions} == set(self.assumptions)
        for assumption in state.assumptions:
            want = self.assumptions[assumption.id]
            assert assumption.hypothesis.startswith(want["hypothesis"])
            assert math.isclose(assumption.confidence, want["confidence"], abs_tol=1e-4)
            assert set(assumption.evidence) == want["evidence"]
            assert set(assumption.contradicted_by or ()) == want["against"]
        assert {i.id: (i.title, i.details, i.status.value, i.related_entity_ids) for i in state.items} == {
            id_: (i["title"], i["details"], i["status"], i["related_entity_ids"]) for id_, i in self.items.items()
        }

    def _guess(self, id_: str | None, text: str) -> None:
        if self._claims_another(id_, text):
            id_ = None
        if id_ is None:
            if any(plain(a["hypothesis"]) == plain(text) for a in self.assumptions.values()):
                return
            same = [t for t, held in self.tentative.items() if plain(held) == plain(text)]
            id_ = same[0] if same else self.new_id("ten")
        if id_ not in self.assumptions:
            self.tentative[id_] = text

    def _claims_another(self, id_: str | None, text: str | None) -> bool:
        """Whether the id is taken by another claim; the texts of these tests say the same only in the same words."""
        held = self.assumptions[id_]["hypothesis"] if id_ in self.assumptions else self.tentative.get(id_ or "")
        return held is not None and text is not None and plain(held) != plain(text)

    def _assume(self, p: AssumptionProposal) -> None:
        if self._claims_another(p.id, p.hypothesis):
            p = replace(p, id=None)
        pieces = [*p.evidence, *p.contradicted_by]
        held = self._find(self.assumptions, p.id, p.hypothesis, lambda a: a["hypothesis"], by_text=p.id is None)
        if held is not None:
            assumption = self.assumptions[held]
            lower = p.confidence is not None and p.confidence < round(assumption["confidence"], 2)
            against = [*p.contradicted_by, *(e for e in p.evidence if lower and e not in assumption["evidence"])]
            assumption["hypothesis"] = p.hypothesis or assumption["hypothesis"]
            assumption["evidence"] |= set(p.evidence)
            self._against(assumption, against)
            return
        guess = self._find(self.tentative, p.id, p.hypothesis, lambda t: t, by_text=True)
        if guess is None and p.hypothesis is None:
            return
        if guess is not None and not pieces:
            return
        text = p.hypothesis or self.tentative[guess or ""]
        id_ = p.id or guess or self.new_id("asm")
        self.tentative.pop(guess or "", None)
        start = 0.5 if p.confidence is None else p.confidence
        made = {"hypothesis": text, "confidence": start, "evidence": set(pieces), "against": set()}
        self._against(made, list(p.contradicted_by))
        self.assumptions[id_] = made

    def _against(self, assumption: dict[str, Any], pieces: list[str]) -> None:
        new = set(pieces) - assumption["against"]
        assumption["confidence"] = lowered(assumption["confidence"], len(new))
        assumption["against"] |= new
        assumption["evidence"] |= new

    @staticmethod
    def _find(
        held: dict[str, Held], id_: str | None, text: str | None, wording: Callable[[Held], str], by_text: bool
    ) -> str | None:
        if id_ in held:
            return id_
        if not by_text or text is None:
            return None
        return next((key for key, value in held.items() if plain(wording(value)) == plain(text)), None)

    def _expect(self, p: ExpectationProposal) -> None:
        names = ("action", "expected_outcome", "expected_ids", "expected_type", "expected_count", "status")
        given = {name: getattr(p, name) for name in names if getattr(p, name) is not None}
        if p.id in self.expectations:
            if self.expectations[p.id]["status"] == "pending":
                self.expectations[p.id].update(given)
        elif p.action is not None and p.expected_outcome is not None:
            blank = dict.fromkeys(names) | {"status": "pending", "settled_by": None}
            self.expectations[p.id or self.new_id("exp")] = blank | given

    def _change_items(self, delta: StateDelta) -> None:
        gone: set[str] = set()
        for op in delta.items:
            if isinstance(op, AddItem):
                if op.item.id not in self.items and op.item.id not in gone:
                    fields = ("title", "details", "related_entity_ids")
                    self.items[op.item.id] = {name: getattr(op.item, name) for name in fields}
                    self.items[op.item.id]["status"] = op.item.status.value
            elif op.id not in self.items:
                continue
            elif isinstance(op, RemoveItem):
                del self.items[op.id]
                gone.add(op.id)
            else:
                item = self.items[op.id]
                if op.patch.status in (None, item["status"]) or item["status"] == "active":
                    for name in ("title", "details", "status", "related_entity_ids"):
                        if getattr(op.patch, name) is not None:
                            item[name] = getattr(op.patch, name)
