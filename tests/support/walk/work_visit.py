"""Work with one statement failing: whether the worker goes on, and the work is done once in the end."""

import asyncio

import psycopg
from structlog.testing import capture_logs

from mnemon.errors import Unavailable
from mnemon.jobs.runner import Runner
from support.faulty_connection import Fault
from support.walk.contents import Table, comparable, difference
from support.walk.house import House, Stage
from support.walk.patience import LEASE_S, within
from support.walk.scenario import Played, WorkScenario
from support.walk.verdicts import Verdict, Wrong, contents_wrong, work_log_wrong

_ROUNDS = 4
"""How often the clock is moved past leases and backoffs and the worker goes on."""


class WorkVisits:
    """Plays work on a house."""

    def __init__(self, house: House, table: Table) -> None:
        self._house = house
        self._table = table

    async def play(self, scenario: WorkScenario) -> Played:
        """The work without a fault: what it sends and leaves."""
        stage = await self._house.new_stage()
        await scenario.arrange(stage)
        runner = stage.runner(scenario.kind)
        self._house.faults.arm()
        await within(runner.drain())
        statements = self._house.faults.take_statements()
        await self._go_on(stage, runner)
        contents = await self._table.read(stage.org)
        return Played(statements=statements, contents=contents, beside=_beside(scenario, stage))

    async def visit(self, scenario: WorkScenario, played: Played, fault: Fault) -> list[Wrong]:
        """The work with this fault; what is wrong after it."""
        stage = await self._house.new_stage()
        await scenario.arrange(stage)
        runner = stage.runner(scenario.kind)
        with capture_logs() as logs:
            raised, stopped = await self._drain_with(runner, fault)
            finished = not await self._is_waiting(stage, scenario.kind)
            if self._house.faults.struck is None:
                return [Wrong(Verdict.STUCK, "the statement never came")]
            self._house.faults.heal()
            await self._go_on(stage, stage.runner(scenario.kind) if stopped else runner)
        wrong = work_log_wrong(logs, fault, raised=raised is not None, finished=finished)
        if raised is not None and not isinstance(raised, Unavailable):
            wrong.append(Wrong(Verdict.ANSWER, f"the claim raises {type(raised).__name__}"))
        wrong += await self._rows_wrong(stage)
        wrong += contents_wrong(difference(await self._table.read(stage.org), played.contents))
        if (left := _beside(scenario, stage)) != played.beside:
            wrong.append(Wrong(Verdict.LOST, f"beside the database: {left!r}, not {played.beside!r}"))
        return wrong

    async def _drain_with(self, runner: Runner, fault: Fault) -> tuple[Exception | None, bool]:
        """What the runner's own loop raised, for its supervisor to log; and whether the worker was stopped."""
        draining = asyncio.ensure_future(runner.drain())
        stopping: list[asyncio.Future[None]] = []

        def stop() -> None:
            draining.cancel()
            stopping.append(asyncio.ensure_future(runner.stop(grace_s=0)))

        self._house.faults.arm(fault, cancel=stop)
        raised: Exception | None = None
        try:
            await within(draining)
        except asyncio.CancelledError:
            if not stopping:
                raise
        except (Unavailable, psycopg.Error) as error:
            raised = error
        for one in stopping:
            await within(one)
        return raised, bool(stopping)

    async def _go_on(self, stage: Stage, runner: Runner) -> None:
        """The worker goes on after every lease and backoff has run out."""
        for _ in range(_ROUNDS):
            stage.advance(seconds=LEASE_S)
            await within(runner.drain())

    async def _is_waiting(self, stage: Stage, kind: str) -> bool:
        """Whether work that was tried is to be tried again."""
        cursor = await self._house.admin.execute(
            "select 1 from work where org_id = %s and kind = %s and (attempts > 0 or lease_until is not null)",
            (stage.org, kind),
        )
        return await cursor.fetchone() is not None

    async def _rows_wrong(self, stage: Stage) -> list[Wrong]:
        """Work that stays leased, and work that is parked although it has tries left."""
        cursor = await self._house.admin.execute(
            "select kind, lease_until is not null, parked_at is not null, error from work where org_id = %s",
            (stage.org,),
        )
        rows = await cursor.fetchall()
        wrong = [Wrong(Verdict.STUCK, f"{kind} stays leased") for kind, leased, _, _ in rows if leased]
        return wrong + [Wrong(Verdict.STUCK, f"{kind} is parked: {error}") for kind, _, parked, error in rows if parked]


def _beside(scenario: WorkScenario, stage: Stage) -> str:
    return str(comparable(scenario.beside(stage), stage.org))
