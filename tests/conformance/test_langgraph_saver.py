"""LangGraph's own conformance suite for checkpoint savers, against ours over HTTP."""

from collections.abc import AsyncIterator
from importlib.metadata import version

import pytest

from mnemon_client import Mnemon
from support.served import Served
from support.tally import counted

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(300)]
pytest.importorskip("langgraph.checkpoint.conformance", reason="comes with `make conformance`")


async def test_every_capability_is_there_and_passes(server: Served) -> None:
    import asyncio

    from langgraph.checkpoint.conformance import checkpointer_test, validate

    from mnemon_client.integrations.langgraph_saver import MnemonSaver

    key = await asyncio.to_thread(server.key)

    async def ours() -> AsyncIterator[MnemonSaver]:
        async with Mnemon(server.url, key, user_id="ann") as client:
            yield MnemonSaver(client)

    report = await validate(checkpointer_test(name="MnemonSaver")(ours))
    failures = {name: result.failures for name, result in report.results.items() if result.failures}
    assert failures == {}
    assert all(result.detected and result.passed for result in report.results.values())
    passed = sum(result.tests_passed for result in report.results.values())
    assert passed == 81
    counted("LangGraph checkpoint conformance", version("langgraph-checkpoint-conformance"), passed=passed)
