"""Clients that use everything the server offers, over a few people who are forgotten again and again."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2

from support.soak.batches import PEOPLE, batch
from support.soak.server import Server

PAGES = ("/", "/memories", "/entities", "/sessions", "/jobs", "/engagement", "/settings", "/recall", "/context")
EXPECTED = frozenset({200, 201, 202, 404})
"""404: the person was forgotten a moment ago."""

Action = Callable[["Visitor"], Awaitable[httpx2.Response]]


class Visitor:
    """One client with a key and a signed-in browser."""

    def __init__(self, api: httpx2.AsyncClient, browser: httpx2.AsyncClient) -> None:
        self.api = api
        self.browser = browser
        self.statuses: Counter[str] = Counter()

    async def act(self) -> None:
        """Do one thing at random and note how it was answered."""
        name = random.choices(list(ACTIONS), weights=[weight for weight, _ in ACTIONS.values()])[0]
        answer = await ACTIONS[name][1](self)
        assert answer.status_code in EXPECTED, f"{name}: {answer.status_code} {answer.text[:500]}"
        self.statuses[name] += 1


async def act_until(server: Server, over: asyncio.Event, *, visitors: int, least: int = 0) -> Counter[str]:
    """Let so many visitors act until it is over, and each at least so often; gives what was done how often."""

    async def visit() -> Counter[str]:
        headers = {"Authorization": f"Bearer {server.key}"}
        async with (
            httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=120) as api,
            httpx2.AsyncClient(base_url=server.url, timeout=120) as browser,
        ):
            signed_in = await browser.post("/sign-in", data={"key": server.key, "next": "/"})
            assert signed_in.status_code == 303, signed_in.text
            visitor = Visitor(api, browser)
            while not over.is_set() or visitor.statuses.total() < least:
                await visitor.act()
            return visitor.statuses

    done: Counter[str] = Counter()
    for one in await asyncio.gather(*(visit() for _ in range(visitors))):
        done += one
    return done


def _someone() -> str:
    return f"person-{random.randrange(PEOPLE)}"


def _words() -> str:
    return (
        f"My friend {random.choice(('Ann', 'Bob', 'Cleo'))} moved to Oslo and likes tea number {random.random():.9f}."
    )


async def _store_batch(visitor: Visitor) -> httpx2.Response:
    write = batch(0)
    return await visitor.api.post(write.route, json=write.body)


async def _post_turn(visitor: Visitor) -> httpx2.Response:
    said = [{"role": "user", "content": _words()}, {"role": "assistant", "content": "Noted."}]
    return await visitor.api.post("/api/turns", json={"userId": _someone(), "messages": said})


async def _chat(visitor: Visitor) -> httpx2.Response:
    return await visitor.api.post("/api/chat", json={"userId": _someone(), "message": _words()})


async def _search(visitor: Visitor) -> httpx2.Response:
    body = {"userId": _someone(), "query": _words(), "kinds": ["memories", "messages"]}
    return await visitor.api.post("/api/memories/search", json=body)


async def _get_context(visitor: Visitor) -> httpx2.Response:
    return await visitor.api.post("/api/context", json={"userId": _someone(), "query": _words()})


async def _see_page(visitor: Visitor) -> httpx2.Response:
    return await visitor.browser.get(random.choice(PAGES))


async def _call_tool(visitor: Visitor) -> httpx2.Response:
    tool: dict[str, Any] = random.choice(
        (
            {"name": "recall", "arguments": {"query": _words()}},
            {"name": "remember", "arguments": {"content": _words(), "type": "PROFILE"}},
            {"name": "get_context", "arguments": {"query": _words()}},
        )
    )
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}
    answer = await visitor.api.post(f"/mcp?userId={_someone()}", json=asked)
    assert '"isError":false' in answer.text, answer.text[:500]
    return answer


async def _export(visitor: Visitor) -> httpx2.Response:
    return await visitor.api.get(f"/api/users/{_someone()}/export")


async def _forget(visitor: Visitor) -> httpx2.Response:
    return await visitor.api.delete(f"/api/users/{_someone()}")


# Batches and forgetting are in balance: a person holds some dozens of memories when they are forgotten.
ACTIONS: dict[str, tuple[int, Action]] = {
    "batches": (6, _store_batch),
    "turns": (20, _post_turn),
    "chats": (10, _chat),
    "searches": (20, _search),
    "contexts": (10, _get_context),
    "console pages": (10, _see_page),
    "MCP calls": (10, _call_tool),
    "exports": (2, _export),
    "people forgotten": (4, _forget),
}
