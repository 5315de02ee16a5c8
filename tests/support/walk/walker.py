"""Plays a scenario with one statement failing, and tells what is not as it must be afterwards."""

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
import psycopg
from structlog.testing import capture_logs
from structlog.typing import EventDict

from mnemon.errors import Unavailable
from mnemon.jobs.runner import Runner
from support.faulty_connection import Fault, FaultClass
from support.walk.contents import Contents, comparable, difference, read_contents, table_names
from support.walk.house import POOL, Call, House, Stage
from support.walk.scenario import RequestScenario, Scenario, WorkScenario

T = TypeVar("T")
HANGS_S = 20.0
"""Longer than anything here takes on any machine: what is not over by then never is."""
LEASE_S = 62.0
"""Longer than every lease and every first backoff."""
REPEATS = 8
ROUNDS = 4
"""How often the clock is moved past leases and backoffs and the worker goes on."""


class Hung(Exception):
    """It was not over in time."""


@dataclass(frozen=True, kw_only=True)
class Played:
    """What came of a scenario that nothing disturbed."""

    statements: tuple[str, ...]
    contents: Contents
    beside: str = ""
    status: int = 0
    body: Any = None


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that must not be."""

    scenario: str
    fault: Fault
    statement: str
    what: str

    def __str__(self) -> str:
        statement = " ".join(self.statement.split())[:90]
        return f"{self.scenario} · {self.fault.at} · {self.fault.kind} · `{statement}` → {self.what}"


class Walker:
    """Visits pairs of statement and error."""

    def __init__(self, house: House, documented: Mapping[str, frozenset[int]], names: list[str]) -> None:
        self._house = house
        self._documented = documented
        self._names = names

    @classmethod
    async def over(cls, house: House) -> "Walker":
        """A walker of this house, who knows its tables and its OpenAPI document."""
        document = house.app.openapi()
        documented = {
            f"{method.upper()} {path}": frozenset(int(code) for code in operation["responses"])
            for path, item in document["paths"].items()
            for method, operation in item.items()
        }
        return cls(house, documented, await table_names(house.admin))

    async def play(self, scenario: Scenario) -> Played:
        """The scenario without a fault: what it sends, answers and leaves."""
        stage = await self._house.new_stage()
        if isinstance(scenario, WorkScenario):
            await scenario.arrange(stage)
            self._house.faults.arm()
            await stage.drain(scenario.kind)
            statements = self._sent()
            await self._go_on(stage, stage.runner(scenario.kind))
            return Played(
                statements=statements, contents=await self._contents(stage), beside=comparable_text(scenario, stage)
            )
        call = _as_sent(scenario, await scenario.arrange(stage))
        self._house.faults.arm()
        answer = await within(stage.send(call))
        await self._quiet()
        statements = self._sent()
        assert answer.status_code < 400, f"{scenario.name}: {answer.status_code} {answer.text[:500]}"
        if scenario.keyed:
            answer = await within(stage.send(call))  # what a repetition is answered
        await self._end(scenario, stage)
        return Played(
            statements=statements,
            contents=await self._contents(stage),
            status=answer.status_code,
            body=_body(answer, stage.org),
        )

    async def visit(self, scenario: Scenario, played: Played, fault: Fault) -> list[Finding]:
        """The scenario with this fault; what is wrong after it."""
        stage = await self._house.new_stage()
        statement = played.statements[fault.at - 1]
        try:
            if isinstance(scenario, WorkScenario):
                wrong = await self._visit_work(scenario, played, fault, stage)
            else:
                wrong = await self._visit_request(scenario, played, fault, stage)
        except Hung:
            wrong = ["it hangs"]
        finally:
            self._house.faults.heal()
        wrong += await self._pool_faults()
        return [Finding(scenario=scenario.name, fault=fault, statement=statement, what=what) for what in wrong]

    async def _visit_work(self, scenario: WorkScenario, played: Played, fault: Fault, stage: Stage) -> list[str]:
        await scenario.arrange(stage)
        wrong: list[str] = []
        with capture_logs() as logs:
            runner = stage.runner(scenario.kind)
            raised, stopped = await self._drain_with(runner, fault)
            finished = not await self._is_waiting(stage, scenario.kind)
            if self._house.faults.struck is None:
                return ["the statement never came"]
            self._house.faults.heal()
            if raised is not None and not isinstance(raised, Unavailable):
                wrong.append(f"the runner would die of {type(raised).__name__}")
            if stopped:
                runner = stage.runner(scenario.kind)
            await self._go_on(stage, runner)
        wrong += _logged_work(logs, fault, raised, finished)
        wrong += await self._rows_left(stage)
        if lines := difference(await self._contents(stage), played.contents):
            wrong.append(f"other contents:\n{lines}")
        if (left := comparable_text(scenario, stage)) != played.beside:
            wrong.append(f"left beside the database: {left!r}, not {played.beside!r}")
        return wrong

    async def _drain_with(self, runner: Runner, fault: Fault) -> tuple[BaseException | None, bool]:
        """What the runner's own loop raised, and whether the worker was stopped."""
        draining = asyncio.ensure_future(runner.drain())
        stopping: list[asyncio.Future[None]] = []

        def stop() -> None:
            draining.cancel()
            stopping.append(asyncio.ensure_future(runner.stop(grace_s=0)))

        self._house.faults.arm(fault, cancel=stop)
        raised: BaseException | None = None
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
        for _ in range(ROUNDS):
            stage.advance(seconds=LEASE_S)
            await within(runner.drain())

    async def _is_waiting(self, stage: Stage, kind: str) -> bool:
        """Whether work that was tried is to be tried again."""
        cursor = await self._house.admin.execute(
            "select 1 from work where org_id = %s and kind = %s and (attempts > 0 or lease_until is not null)",
            (stage.org, kind),
        )
        return await cursor.fetchone() is not None

    async def _rows_left(self, stage: Stage) -> list[str]:
        cursor = await self._house.admin.execute(
            "select kind, key, lease_until is not null, parked_at is not null, error from work where org_id = %s",
            (stage.org,),
        )
        rows = await cursor.fetchall()
        wrong = [f"{kind} stays leased" for kind, _, leased, _, _ in rows if leased]
        return wrong + [f"{kind} is parked: {error}" for kind, _, _, parked, error in rows if parked]

    async def _visit_request(self, scenario: RequestScenario, played: Played, fault: Fault, stage: Stage) -> list[str]:
        call = _as_sent(scenario, await scenario.arrange(stage))
        before = None if scenario.keyed else await self._contents(stage)
        with capture_logs() as logs:
            answer = await self._send_with(stage, call, fault)
        if self._house.faults.struck is None:
            return ["the statement never came"]
        self._house.faults.heal()
        await self._quiet()
        wrong = self._answered(scenario, answer, fault)
        wrong += _logged_request(logs, answer)
        if before is not None:
            after = await self._contents(stage)
            if answer is not None and _succeeded(scenario, answer) and difference(after, played.contents):
                return [*wrong, f"acknowledged, but:\n{difference(after, played.contents)}"]
            if not difference(after, played.contents):
                return wrong
            if lines := difference(after, before):
                return [*wrong, f"neither done nor undone:\n{lines}"]
        again = await self._send_again(scenario, stage, call)
        if not _succeeded(scenario, again):
            return [*wrong, f"sent again: {again.status_code} {again.text[:200]}"]
        if again.status_code != played.status or _body(again, stage.org) != played.body:
            wrong.append(f"sent again: another answer: {again.status_code} {again.text[:300]}")
        await self._end(scenario, stage)
        if lines := difference(await self._contents(stage), played.contents):
            wrong.append(f"other contents:\n{lines}")
        return wrong

    async def _send_with(self, stage: Stage, call: Call, fault: Fault) -> httpx2.Response | None:
        """The answer, or None when the caller was cancelled."""
        sending = asyncio.ensure_future(stage.send(call))

        def cancel() -> None:
            sending.cancel()

        self._house.faults.arm(fault, cancel=cancel)
        try:
            return await within(sending)
        except asyncio.CancelledError:
            if fault.kind is not FaultClass.CANCELLED:
                raise
            return None

    async def _send_again(self, scenario: RequestScenario, stage: Stage, call: Call) -> httpx2.Response:
        """The answer to the same request, once the first one does not run any more."""
        for number in range(REPEATS):
            answer = await within(stage.send(call))
            await self._quiet()
            if "idempotency_in_progress" not in answer.text:
                break
            if number < REPEATS // 2:  # the server ends a transaction whose client is gone soon, not at once
                await asyncio.sleep(0.05)
            else:  # a turn whose reply is not being made any more is given up when its lease has run out
                stage.advance(seconds=LEASE_S)
                for kind in scenario.kinds:
                    await stage.drain(kind)
        return answer

    async def _end(self, scenario: RequestScenario, stage: Stage) -> None:
        """The server's own work that follows the request is done."""
        stage.advance(minutes=scenario.ends_after_minutes)
        for kind in scenario.kinds:
            await stage.drain(kind)

    def _answered(self, scenario: RequestScenario, answer: httpx2.Response | None, fault: Fault) -> list[str]:
        if answer is None:
            return []
        if _succeeded(scenario, answer):
            return []
        if scenario.operation.startswith("MCP ") and answer.status_code == 200:
            return [] if '"isError":true' in answer.text and "_unavailable)" in answer.text else [f"says {answer.text}"]
        known = self._documented.get(scenario.operation, frozenset({200, 303, 401, 403, 404, 409, 422, 503}))
        # A statement that was lost is sent again on another connection while the server still ends the first one.
        running = answer.status_code == 409 and "idempotency_in_progress" in answer.text
        if (answer.status_code == 503 or running) and answer.status_code in known:
            return []
        return [f"answers {answer.status_code} {answer.text[:160]}"]

    async def _quiet(self) -> None:
        """No reply is in the making any more."""
        for _ in range(int(HANGS_S / 0.01)):
            if not self._house.streams:
                return
            await asyncio.sleep(0.01)
        raise Hung

    async def _pool_faults(self) -> list[str]:
        """Why the pool is not as it was: connections that did not come back, transactions that are open."""
        pool = self._house.basement.db._pool
        for _ in range(500):
            stats = pool.get_stats()
            cursor = await self._house.admin.execute(
                "select state, query from pg_stat_activity where datname = current_database() "
                "and pid <> pg_backend_pid() and backend_type = 'client backend' and state <> 'idle'"
            )
            busy = await cursor.fetchall()
            size, free = stats.get("pool_size", 0), stats.get("pool_available", 0)
            if size == free and 0 < size <= POOL and not busy and not stats.get("requests_waiting", 0):
                return []
            await asyncio.sleep(0.01)
        return [f"the pool has {free} of {size} connections; at work: {busy}"]

    async def _contents(self, stage: Stage) -> Contents:
        return await read_contents(self._house.admin, self._names, stage.org)

    def _sent(self) -> tuple[str, ...]:
        sent = tuple(self._house.faults.statements)
        self._house.faults.heal()
        return sent


async def within(work: Awaitable[T]) -> T:
    """What the work gives; Hung when it is not over in time."""
    doing = asyncio.ensure_future(work)
    done, _ = await asyncio.wait({doing}, timeout=HANGS_S)
    if not done:
        doing.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await asyncio.wait_for(asyncio.shield(doing), 5)
        raise Hung
    return doing.result()


def comparable_text(scenario: WorkScenario, stage: Stage) -> str:
    return str(comparable(scenario.beside(stage), stage.org))


def _as_sent(scenario: RequestScenario, call: Call) -> Call:
    if not scenario.keyed:
        return call
    headers = {"Idempotency-Key": "the-walk", **call.headers}
    return Call(**{**call.__dict__, "headers": headers})


def _succeeded(scenario: RequestScenario, answer: httpx2.Response) -> bool:
    if scenario.operation.startswith("MCP "):
        return answer.status_code == 200 and '"isError":true' not in answer.text
    return answer.status_code < 400


def _body(answer: httpx2.Response, org: str) -> Any:
    """The answer without what differs from request to request; None for a page."""
    if "json" not in answer.headers.get("content-type", ""):
        return None
    body = answer.json()
    if isinstance(body, dict):
        body.pop("meta", None)
    return comparable(body, org)


def _warnings(logs: list[EventDict]) -> list[str]:
    return [str(one["event"]) for one in logs if one["log_level"] in {"warning", "error", "critical"}]


def _logged_work(logs: list[EventDict], fault: Fault, raised: BaseException | None, finished: bool) -> list[str]:
    """An error is logged once: by the attempt, or by whoever supervises the loop that raised it.

    One that cost nothing but another connection need not be.
    """
    said = _warnings(logs)
    if fault.kind is FaultClass.CANCELLED:
        return [f"a stopped worker logs {said}"] if said else []
    times = len(said) + (raised is not None)
    if times == 1 or (times == 0 and finished) or (times > 1 and fault.kind is FaultClass.AWAY):
        return []
    return [f"logged {times} times: {said}"]


def _logged_request(logs: list[EventDict], answer: httpx2.Response | None) -> list[str]:
    return []
