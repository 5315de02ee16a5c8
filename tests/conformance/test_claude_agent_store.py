"""The Claude Agent SDK's own conformance suite for session stores, against ours over HTTP."""

import asyncio
import uuid
from contextlib import AsyncExitStack
from importlib.metadata import version

import pytest

from mnemon_client import Mnemon
from support.served import Served
from support.tally import counted

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(300)]
pytest.importorskip("claude_agent_sdk", reason="comes with `make conformance`")


async def test_every_contract_of_a_session_store_holds(server: Served) -> None:
    from claude_agent_sdk.testing import run_session_store_conformance

    from mnemon_client.integrations.claude_agent import MnemonSessionStore

    key = await asyncio.to_thread(server.key)
    async with AsyncExitStack() as clients:

        async def make() -> MnemonSessionStore:
            client = Mnemon(server.url, key, user_id=uuid.uuid4().hex)
            return MnemonSessionStore(await clients.enter_async_context(client))

        await run_session_store_conformance(make)
    counted("Claude Agent SDK session store conformance (contracts)", version("claude-agent-sdk"), passed=14)
