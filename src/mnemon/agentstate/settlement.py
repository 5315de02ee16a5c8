"""Which result settles which expectation: by the link that the caller gives, else by what fits.

Results that come together may come in any order: as many expectations as possible are confirmed before one is failed.
Each result settles at most one expectation, and so does the same result when it is sent again.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from mnemon.agentstate.state import ExpectationStatus, StateExpectation
from mnemon.agentstate.verification import (
    Comparison,
    MatchVerdict,
    Settlement,
    compare_result,
    discrepancy_text,
    parse_output,
    result_key,
)
from mnemon.turn import ToolOutcome


def settle_results(expectations: Sequence[StateExpectation], results: Sequence[ToolOutcome]) -> tuple[Settlement, ...]:
    """Return, for each tool result in order, which expectation it settles and how it compares with it."""
    batch = _ResultBatch(expectations, results)
    settled = batch.settle_linked()
    settled |= batch.settle_matching(settled)
    settled |= batch.settle_mismatching(settled)
    return tuple(
        Settlement(result=result, expectation=expectation, comparison=comparison)
        for place, result in enumerate(results)
        for expectation, comparison in [settled.get(place, (None, None))]
    )


_Settled = dict[int, tuple[StateExpectation, Comparison]]
"""By the place of the result."""


class _ResultBatch:
    """Results that came together, and the expectations they may settle."""

    def __init__(self, expectations: Sequence[StateExpectation], results: Sequence[ToolOutcome]) -> None:
        """Parse the outputs of the results, and leave out results that settled an expectation before."""
        self._expectations = expectations
        self._results = [parse_output(result) for result in results]
        seen = {expectation.settled_by for expectation in expectations}
        self._fresh: list[int] = []
        for place, result in enumerate(self._results):
            if result_key(result) not in seen:
                seen.add(result_key(result))
                self._fresh.append(place)

    def settle_linked(self) -> _Settled:
        """Settle the expectations that results name by id or call id; leave those out that cannot be compared."""
        settled: _Settled = {}
        taken: set[str] = set()
        for place, expectation in self._linked_expectations.items():
            if expectation is None or expectation.status is not ExpectationStatus.PENDING or expectation.id in taken:
                continue
            taken.add(expectation.id)
            settled[place] = (expectation, compare_result(expectation, self._results[place]))
        return settled

    def settle_matching(self, settled: _Settled) -> _Settled:
        """Match the other results with expectations that they meet, as many as possible; return the settled ones."""
        open_ = self._open_expectations(settled)
        fitting = {
            place: [e.id for e in self._candidates(place, open_) if self._compare_with(place, e) is MatchVerdict.MATCH]
            for place in self._unlinked_places
        }
        return {
            place: (open_[id_], compare_result(open_[id_], self._results[place]))
            for id_, place in _largest_matching(fitting).items()
        }

    def settle_mismatching(self, settled: _Settled) -> _Settled:
        """Fail, for each result that meets no expectation, the first comparable expectation of its action."""
        open_ = self._open_expectations(settled)
        failed: _Settled = {}
        for place in self._unlinked_places:
            if place in settled:
                continue
            for expectation in self._candidates(place, open_):
                comparison = compare_result(expectation, self._results[place])
                if comparison.verdict is MatchVerdict.MISMATCH:
                    failed[place] = (open_.pop(expectation.id), comparison)
                    break
        return failed

    @cached_property
    def _linked_expectations(self) -> Mapping[int, StateExpectation | None]:
        """Return, by position of a linked result, the expectation it names; None if there is none with that id."""
        by_id = {expectation.id: expectation for expectation in self._expectations}
        by_call = {e.tool_call_id: e for e in self._expectations if e.tool_call_id is not None}
        pending = {e.tool_call_id for e in self._expectations if e.status is ExpectationStatus.PENDING}
        links: dict[int, StateExpectation | None] = {}
        for place in self._fresh:
            result = self._results[place]
            call = result.tool_call_id or result.id
            if result.expectation_id is not None:
                links[place] = by_id.get(result.expectation_id)
            # With a key of its own, the id of a call is one of this turn: a settled expectation's is an earlier one.
            elif call in by_call and (call in pending or result.key is None):
                links[place] = by_call[call]
        return links

    @property
    def _unlinked_places(self) -> list[int]:
        """Return the positions of the results that name no expectation."""
        return [place for place in self._fresh if place not in self._linked_expectations]

    def _open_expectations(self, settled: _Settled) -> dict[str, StateExpectation]:
        """Return the pending expectations, by id, that no result names and that are not among the settled ones."""
        named = {expectation.id for expectation in self._linked_expectations.values() if expectation is not None}
        named |= {expectation.id for expectation, _ in settled.values()}
        return {e.id: e for e in self._expectations if e.status is ExpectationStatus.PENDING and e.id not in named}

    def _candidates(self, place: int, open_: Mapping[str, StateExpectation]) -> Iterator[StateExpectation]:
        """Yield the open expectations that the result may answer: of the same action, and of no other call."""
        result = self._results[place]
        for expectation in list(open_.values()):
            other_call = expectation.tool_call_id is not None and result.tool_call_id is not None
            if expectation.action == result.action and not other_call:
                yield expectation

    def _compare_with(self, place: int, expectation: StateExpectation) -> MatchVerdict:
        """Return whether one of the results meets an expectation: match, mismatch or skip."""
        return compare_result(expectation, self._results[place]).verdict


def _largest_matching(fitting: Mapping[int, Sequence[str]]) -> dict[str, int]:
    """Return a largest bipartite matching of ids to positions, earlier positions with earlier ids where possible."""
    held: dict[str, int] = {}
    for place in fitting:
        _augment_matching(place, fitting, held)
    return held


def _augment_matching(start: int, fitting: Mapping[int, Sequence[str]], held: dict[str, int]) -> None:
    """Assign an id to the position by one augmenting path, reassigning others if needed; do nothing if none exists.

    One augmenting path of a bipartite matching, searched breadth first.
    """
    came_from: dict[str, int] = {}
    queue = [start]
    for place in queue:
        for id_ in fitting[place]:
            if id_ in came_from:
                continue
            came_from[id_] = place
            if id_ not in held:
                _reassign_along_path(id_, came_from, held, start)
                return
            queue.append(held[id_])


def _reassign_along_path(free: str, came_from: Mapping[str, int], held: dict[str, int], start: int) -> None:
    """Reassign the positions along the augmenting path that ends in the free id."""
    ids_of = {place: id_ for id_, place in held.items()}
    id_: str | None = free
    while id_ is not None:
        place = came_from[id_]
        before = ids_of.get(place) if place != start else None
        held[id_] = place
        id_ = before


def verdict_json(settlement: Settlement) -> dict[str, Any]:
    """Return a settlement as JSON for the API: the expectation that a result settled, and the actual outcome.

    `expectation` is null where nothing was settled; `note` then says why, if the result names an expectation.
    """
    expectation, status, comparison = settlement.expectation, settlement.status, settlement.comparison
    if expectation is None or comparison is None:
        linked = settlement.result.expectation_id is not None
        note = {"note": f"{settlement.result.expectation_id} is not pending in this session."} if linked else {}
        return {"expectation": None, **note}
    if status is None:
        return {
            "expectation": None,
            "note": f"Nothing here can be compared with {expectation.id}, which stays pending. Tell ids, types, a "
            "count or an error.",
        }
    told: dict[str, Any] = {"id": expectation.id, "expected": expectation.expected_outcome, "status": status.value}
    if expectation.invariant is not None and comparison.invariant is not None:
        told["invariant"] = {"text": expectation.invariant, "check": comparison.invariant.value}
    failed = status is ExpectationStatus.FAILED
    return {"expectation": told, **({"discrepancy": discrepancy_text(expectation, settlement)} if failed else {})}
