"""A request with one statement failing: how it is answered, and what a repetition makes of it."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx2
from structlog.testing import capture_logs

from mnemon.db.outages import OUTAGES
from support.faulty_connection import Fault, FaultClass
from support.walk.contents import Table, comparable, difference
from support.walk.house import Call, House, Stage
from support.walk.patience import LEASE_S, Hung, until_idle, within
from support.walk.scenario import Played, RequestScenario
from support.walk.verdicts import Verdict, Wrong, contents_wrong, request_log_wrong

_REPEATS = 12
_CONSOLE = frozenset({200, 303, 503})
_OUTAGES = {one.code or one.kind.code for one in OUTAGES} | {"database_unavailable", "outcome_unknown"}
_TOOL_ERROR = re.compile(r"\((\w+)\)\"")
"""How a tool's error ends: with its code."""


class RequestVisits:
    """Plays requests on a house."""

    def __init__(self, house: House, table: Table) -> None:
        self._house = house
        self._table = table
        self._documented = _documented(house.app.openapi())

    async def play(self, scenario: RequestScenario) -> Played:
        """The request without a fault: what it sends, answers and leaves."""
        stage = await self._house.new_stage()
        call = _as_sent(scenario, await scenario.arrange(stage))
        self._house.faults.arm()
        answer = await within(stage.send(call))
        await self._quiet()
        statements = self._house.faults.take_statements()
        assert _succeeded(scenario, answer), f"{scenario.name}: {answer.status_code} {answer.text[:500]}"
        if scenario.keyed:
            answer = await within(stage.send(call))  # what a repetition is answered
        await self._end(scenario, stage)
        contents = await self._table.read(stage.org)
        return Played(
            statements=statements, contents=contents, status=answer.status_code, body=_body(answer, stage.org)
        )

    async def visit(self, scenario: RequestScenario, played: Played, fault: Fault) -> list[Wrong]:
        """The request with this fault; what is wrong after it."""
        stage = await self._house.new_stage()
        call = _as_sent(scenario, await scenario.arrange(stage))
        before = None if scenario.keyed else await self._table.read(stage.org)
        with capture_logs() as logs:
            answer = await self._send_with(stage, call, fault)
        if self._house.faults.struck is None:
            return [Wrong(Verdict.STUCK, "the statement never came")]
        self._house.faults.heal()
        await self._quiet()
        wrong = [] if answer is None else self._answer_wrong(scenario, answer)
        wrong += request_log_wrong(logs, fault, failed=answer is not None and _has_failed(scenario, answer))
        if before is not None:
            after = await self._table.read(stage.org)
            surplus_and_missing = difference(after, played.contents)
            if not surplus_and_missing:
                return wrong
            if answer is not None and _succeeded(scenario, answer):
                return wrong + contents_wrong(surplus_and_missing)
            if lines := difference(after, before):
                return [*wrong, Wrong(Verdict.TWICE, f"neither done nor undone:\n{lines}")]
        return wrong + await self._repetition_wrong(scenario, played, stage, call)

    async def _repetition_wrong(
        self, scenario: RequestScenario, played: Played, stage: Stage, call: Call
    ) -> list[Wrong]:
        """Whether the same request takes effect once, and is answered as it would have been."""
        again = await self._send_again(scenario, stage, call)
        said = f"sent again: {again.status_code} {again.text[:300]}"
        if not _succeeded(scenario, again):
            return [Wrong(Verdict.LOST, said)]
        same = again.status_code == played.status and _body(again, stage.org) == played.body
        await self._end(scenario, stage)
        wrong = [] if same else [Wrong(Verdict.ANSWER, f"another answer, {said}")]
        return wrong + contents_wrong(difference(await self._table.read(stage.org), played.contents))

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
        for number in range(_REPEATS):
            answer = await within(stage.send(call))
            await self._quiet()
            if "idempotency_in_progress" not in answer.text:
                break
            if number < _REPEATS // 2:  # the server ends a transaction whose client is gone soon, not at once
                await asyncio.sleep(0.02 * 2**number)
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

    def _answer_wrong(self, scenario: RequestScenario, answer: httpx2.Response) -> list[Wrong]:
        """Whether the answer is a success, or a documented one that says to try again."""
        if _succeeded(scenario, answer):
            return []
        if scenario.is_tool and answer.status_code == 200:
            code = _TOOL_ERROR.search(answer.text)
            return [] if code and code[1] in _OUTAGES else [Wrong(Verdict.ANSWER, f"says {answer.text[:300]}")]
        # A statement that was lost is sent again on another connection while the server still ends the first one.
        running = answer.status_code == 409 and "idempotency_in_progress" in answer.text
        known = self._documented.get(scenario.operation, _CONSOLE)
        if (answer.status_code == 503 or running) and answer.status_code in known:
            return []
        return [Wrong(Verdict.ANSWER, f"answers {answer.status_code} {answer.text[:160]}")]

    async def _quiet(self) -> None:
        """Nothing goes on that the request began, though its caller may have left."""
        if await until_idle(self._house):
            raise Hung


def _documented(document: Mapping[str, Any]) -> dict[str, frozenset[int]]:
    """By operation, the statuses that the OpenAPI document names."""
    return {
        f"{method.upper()} {path}": frozenset(int(code) for code in operation["responses"])
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }


def _as_sent(scenario: RequestScenario, call: Call) -> Call:
    if not scenario.keyed:
        return call
    return replace(call, headers={"Idempotency-Key": "the-walk", **call.headers})


def _succeeded(scenario: RequestScenario, answer: httpx2.Response) -> bool:
    if scenario.is_tool:
        return answer.status_code == 200 and '"isError":true' not in answer.text
    return answer.status_code < 400


def _has_failed(scenario: RequestScenario, answer: httpx2.Response) -> bool:
    """Whether the caller was told that something below is down."""
    return answer.status_code >= 500 or (scenario.is_tool and not _succeeded(scenario, answer))


def _body(answer: httpx2.Response, org: str) -> Any:
    """The answer without what differs from request to request; None for a page and for a stream."""
    if "json" not in answer.headers.get("content-type", ""):
        return None
    body = answer.json()
    if isinstance(body, dict):
        body.pop("meta", None)
    return comparable(body, org)
