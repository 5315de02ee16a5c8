"""The reducer and a simple model agree over ten thousand steps; with small limits nothing that matters is lost."""

from itertools import count

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from agentstate.deltas import NOW, delta_from_result, deltas, few, intents, results
from agentstate.simple_model import SimpleModel
from mnemon.agentstate.change import CHANGE_ADAPTER, StateChange, fold_change
from mnemon.agentstate.delta import RemoveItem, StateDelta
from mnemon.agentstate.reducer import apply_delta
from mnemon.agentstate.state import STATE_ADAPTER, AgentState, ExpectationStatus, ItemStatus, StateLimits
from mnemon.agentstate.verification import delta_from_intents
from mnemon.turn import Intent, ToolOutcome

TEN_THOUSAND, STEPS = 10_000, 50
WIDE = StateLimits(**dict.fromkeys(StateLimits.__annotations__, 10_000))
NARROW = StateLimits(
    entities=3, dependencies=3, assumptions=2, expectations=3, tentative_hypotheses=2, items=3, evidence=2
)


class Reducing(RuleBasedStateMachine):
    """One state without limits, compared with the model; one with small limits, held to what must never break."""

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.model = SimpleModel()
        self.wide = AgentState(session_id="ses")
        self.narrow = AgentState(session_id="ses")
        self.journal: list[bytes] = []
        self.wide_ids, self.narrow_ids = count(1), count(1)

    @rule(delta=deltas)
    def somebody_proposes(self, delta: StateDelta) -> None:
        self.model.apply(delta)
        self._apply_both(delta, delta)

    @rule(planned_=few(intents, 2))
    def the_planner_expects(self, planned_: tuple[Intent, ...]) -> None:
        self.model.plan(planned_)
        self._apply_both(delta_from_intents(planned_), delta_from_intents(planned_))

    @rule(result=results)
    def a_tool_gives_a_result(self, result: ToolOutcome) -> None:
        self.model.result(result)
        self._apply_both(
            delta_from_result(self.wide, result, now=NOW, new_id=self._wide_id),
            delta_from_result(self.narrow, result, now=NOW, new_id=self._narrow_id),
        )

    @invariant()
    def the_model_agrees(self) -> None:
        self.model.agrees_with(self.wide)

    @invariant()
    def lists_are_bounded_and_without_duplicates(self) -> None:
        understanding = self.narrow.current_understanding
        for records, limit in (
            ([e.id for e in understanding.entities], NARROW.entities),
            ([d.key for d in understanding.dependencies], NARROW.dependencies),
            ([a.id for a in self.narrow.assumptions], NARROW.assumptions),
            ([x.id for x in self.narrow.expectations], NARROW.expectations),
            ([t.id for t in self.narrow.tentative_hypotheses], NARROW.tentative_hypotheses),
            ([i.id for i in self.narrow.items], NARROW.items),
        ):
            assert len(records) <= limit
            assert len(set(records)) == len(records)
        assert all(len(a.evidence) <= NARROW.evidence for a in self.narrow.assumptions)

    def teardown(self) -> None:
        """The journal, as stored, folds into the document, as stored."""
        state = AgentState(session_id="ses")
        for text in self.journal:
            state = fold_change(state, CHANGE_ADAPTER.validate_json(text))
        assert state == self.narrow
        assert STATE_ADAPTER.validate_json(STATE_ADAPTER.dump_json(state, by_alias=True, exclude_none=True)) == state

    def _apply_both(self, wide: StateDelta, narrow: StateDelta) -> None:
        Reducing.steps += 1
        applied = apply_delta(self.wide, wide, now=NOW, new_id=self._wide_id, limits=WIDE)
        assert fold_change(self.wide, applied.change) == applied.state
        assert applied.change.is_empty == (applied.state == self.wide)
        self.wide = applied.state
        before = self.narrow
        applied = apply_delta(before, narrow, now=NOW, new_id=self._narrow_id, limits=NARROW)
        assert fold_change(before, applied.change) == applied.state
        self._nothing_that_matters_is_lost(before, applied.state, narrow, applied.change)
        self.narrow = applied.state
        self.journal.append(CHANGE_ADAPTER.dump_json(applied.change, by_alias=True, exclude_none=True))

    def _nothing_that_matters_is_lost(
        self, before: AgentState, after: AgentState, delta: StateDelta, change: StateChange
    ) -> None:
        kept = {e.id for e in after.current_understanding.entities}
        named = before.open_entity_ids() & after.open_entity_ids()
        assert {e.id for e in before.current_understanding.entities} & named <= kept
        items = {item.id: item for item in after.items}
        removed = {op.id for op in delta.items if isinstance(op, RemoveItem)}
        summarized = {line.id for line in change.summarized or ()}
        for item in before.items:
            if item.id not in items:
                assert item.id in removed | summarized
            elif item.status is not ItemStatus.ACTIVE:
                assert items[item.id].status is item.status
        settled = {x.id: x for x in before.expectations if x.status is not ExpectationStatus.PENDING}
        assert all(settled.get(x.id, x) == x for x in after.expectations)

    def _wide_id(self, prefix: str) -> str:
        return f"{prefix}_{next(self.wide_ids)}"

    def _narrow_id(self, prefix: str) -> str:
        return f"{prefix}_{next(self.narrow_ids)}"


def test_reducer_agrees_with_the_simple_model_for_ten_thousand_steps() -> None:
    Reducing.steps = 0
    while Reducing.steps < TEN_THOUSAND:
        run_state_machine_as_test(
            Reducing,
            settings=settings(
                max_examples=120,
                stateful_step_count=STEPS,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                database=None,
                phases=(Phase.generate,),  # shrinking fifty steps takes longer than a test may
            ),
        )
