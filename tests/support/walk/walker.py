"""Visits pairs of a statement and an error over scenarios, and counts them."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from support.faulty_connection import Fault, FaultClass
from support.walk.contents import Table
from support.walk.house import House
from support.walk.patience import Hung, until_idle
from support.walk.request_visit import RequestVisits
from support.walk.scenario import Played, Scenario, WorkScenario
from support.walk.verdicts import Finding, Verdict, Wrong
from support.walk.work_visit import WorkVisits

Choice = Callable[[str, Sequence[str]], Iterable[Fault]]
"""Which faults are visited of a scenario's name and its statements."""
_SAMPLE = 4


@dataclass
class Walked:
    """What a walk has counted."""

    scenarios: int = 0
    statements: int = 0
    pairs: int = 0
    findings: list[Finding] = field(default_factory=list)

    def told(self, most: int = 40) -> str:
        """The findings as text, the first of them in full."""
        lines = [str(one) for one in self.findings[:most]]
        return "\n".join([f"{len(self.findings)} findings in {self.pairs} pairs", *lines])

    def number(self, verdict: Verdict) -> int:
        return sum(one.wrong.verdict is verdict for one in self.findings)


class Walker:
    """Walks over scenarios on one house."""

    def __init__(self, house: House, table: Table) -> None:
        self._house = house
        self._requests = RequestVisits(house, table)
        self._work = WorkVisits(house, table)

    @classmethod
    async def on(cls, house: House) -> "Walker":
        """A walker who knows the house's tables."""
        return cls(house, await Table.of(house.admin))

    async def walk(self, scenarios: Iterable[Scenario], choose: Choice) -> Walked:
        """Every chosen fault of every scenario is visited."""
        walked = Walked()
        for scenario in scenarios:
            played = await self.play(scenario)
            walked.scenarios += 1
            walked.statements += len(played.statements)
            for fault in choose(scenario.name, played.statements):
                walked.pairs += 1
                walked.findings += await self.visit(scenario, played, fault)
        return walked

    async def play(self, scenario: Scenario) -> Played:
        """The scenario without a fault."""
        if isinstance(scenario, WorkScenario):
            return await self._work.play(scenario)
        return await self._requests.play(scenario)

    async def visit(self, scenario: Scenario, played: Played, fault: Fault) -> list[Finding]:
        """The scenario with this fault; what is wrong after it."""
        try:
            if isinstance(scenario, WorkScenario):
                wrong = await self._work.visit(scenario, played, fault)
            else:
                wrong = await self._requests.visit(scenario, played, fault)
        except Hung:
            wrong = [Wrong(Verdict.STUCK, "it hangs")]
        finally:
            self._house.faults.heal()
        wrong += await self._pool_wrong()
        statement = played.statements[fault.at - 1]
        return [Finding(scenario=scenario.name, fault=fault, statement=statement, wrong=one) for one in wrong]

    async def _pool_wrong(self) -> list[Wrong]:
        """Whether all connections came back to the pool and none of them is in a transaction."""
        busy = await until_idle(self._house)
        return [Wrong(Verdict.STUCK, busy)] if busy else []


def every_fault(name: str, statements: Sequence[str]) -> Iterator[Fault]:
    """Every class of error at every statement."""
    for at in range(1, len(statements) + 1):
        for kind in FaultClass:
            yield Fault(at=at, kind=kind)


def sampled_faults(name: str, statements: Sequence[str]) -> Iterator[Fault]:
    """A few faults, always the same for the same name and number of statements; one of them loses a COMMIT's answer."""
    commits = [at for at, sql in enumerate(statements, 1) if sql == "COMMIT"]
    classes = list(FaultClass)
    first = _number(name, 0)
    yield Fault(at=commits[first % len(commits)], kind=FaultClass.LOST_AFTER)
    for turn in range(1, _SAMPLE + 1):
        # The classes go round from a place of the scenario's own, so that all of them meet many statements.
        kind = classes[(first + turn * 5) % len(classes)]
        yield Fault(at=_number(name, turn) % len(statements) + 1, kind=kind)


def _number(name: str, turn: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{name} {turn}".encode()).digest()[:8], "big")
