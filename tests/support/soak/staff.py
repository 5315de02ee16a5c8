"""Clients that make, change, ask, cancel, reset and delete a few agents at once."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import httpx2

from support.soak.server import Server

CLIENTS = 10
AGENTS = 8
MOST_WAITING = 150
"""More runs than this are not asked for at once, so that what waits at the end is done within its bound."""
EXPECTED = frozenset({200, 201, 202, 404, 409, 422})
"""404: the agent was deleted a moment ago. 409: the run is over already, or decided nothing to look at again. 422: a
member of the council was deleted a moment ago."""
_SYMBOLS = ("BTC-USD", "ETH-USD", "SOL-USD")


@dataclass
class Staff:
    """What the clients know of each other's agents and runs."""

    agents: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    waiting: int = 0
    """Runs that wait, as last counted."""

    def agent(self) -> str:
        """An agent at random; one that never was, before the first is made."""
        return random.choice(self.agents or ["agt_nobody"])

    def run(self) -> str:
        """A run at random, the newest more likely."""
        return random.choice(self.runs[-30:] or ["run_nobody"])


class Client:
    """One client, and what it did how often."""

    def __init__(self, api: httpx2.AsyncClient, staff: Staff) -> None:
        self.api = api
        self.staff = staff
        self.done: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()

    async def act(self) -> None:
        """Do one thing at random; an answer that is not expected is a fault."""
        name = random.choices(list(ACTIONS), weights=[weight for weight, _ in ACTIONS.values()])[0]
        await ACTIONS[name][1](self)
        self.done[name] += 1

    async def send(self, method: str, route: str, body: object = None) -> httpx2.Response:
        """Send one request and check its answer's status."""
        answer = await self.api.request(method, route, json=body)
        self.note(answer, f"{method} {route}")
        return answer

    def note(self, answer: httpx2.Response, asked: str) -> None:
        """Count the answer; fail unless it is one that a correct server gives here."""
        self.statuses[answer.status_code] += 1
        assert answer.status_code in EXPECTED, f"{asked}: {answer.status_code} {answer.text[:500]}"


async def act_until(server: Server, staff: Staff, over: asyncio.Event, *, least: int = 0) -> list[Client]:
    """Let every client act until it is over, and each at least so often; gives the clients."""

    async def act() -> Client:
        headers = {"Authorization": f"Bearer {server.key}"}
        async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=120) as api:
            client = Client(api, staff)
            while not over.is_set() or client.done.total() < least:
                await client.act()
        return client

    return list(await asyncio.gather(*(act() for _ in range(CLIENTS))))


async def _create(client: Client) -> None:
    if len(client.staff.agents) >= AGENTS:
        return
    team = random.sample(client.staff.agents, min(2, len(client.staff.agents)))
    body = {"name": "Scout", "defaultPrompt": "Analyse BTC-USD.", "adapterConfig": {"memoryEnabled": True}}
    lead = {"role": "lead", "team": team} if team and random.random() < 0.3 else {}
    answer = await client.api.post("/api/agents", json={**body, **lead})
    if answer.status_code == 422 and lead:  # a member was deleted meanwhile, or is a lead itself
        answer = await client.api.post("/api/agents", json=body)
    client.note(answer, "POST /api/agents")
    client.staff.agents.append(answer.json()["data"]["id"])


async def _run(client: Client) -> None:
    if client.staff.waiting > MOST_WAITING:
        await asyncio.sleep(0.05)
        return
    answer = await client.send("POST", f"/api/agents/{client.staff.agent()}/runs", {"prompt": "Look again."})
    if answer.status_code != 202:
        return
    run = answer.json()["data"]["id"]
    client.staff.runs.append(run)
    if random.random() < 0.5:
        await client.send("POST", f"/api/runs/{run}/cancel")


async def _chat(client: Client) -> None:
    """Ask and go away once the turn is accepted: its reply waits behind every run of the agent."""
    route = f"/api/agents/{client.staff.agent()}/chat"
    async with client.api.stream("POST", route, json={"message": "What do you hold?"}) as answer:
        if answer.status_code >= 300:
            await answer.aread()
        client.note(answer, f"POST {route}")
        async for _ in answer.aiter_lines():
            break


async def _change(client: Client) -> None:
    schedule = random.choice((None, "0 0 1 1 *"))
    body = {"name": f"Scout {random.randrange(9)}", "schedule": schedule}
    await client.send("PATCH", f"/api/agents/{client.staff.agent()}", body)


async def _reset(client: Client) -> None:
    await client.send("POST", f"/api/agents/{client.staff.agent()}/memory/reset")


async def _re_examine(client: Client) -> None:
    await client.send("POST", f"/api/runs/{client.staff.run()}/re-examine")


async def _resolve(client: Client) -> None:
    await client.send("POST", f"/api/runs/{client.staff.run()}/resolve", {"outcome": "right"})


async def _push_prices(client: Client) -> None:
    order = random.sample(_SYMBOLS, len(_SYMBOLS))
    at = "2026-04-12T15:30:00Z"  # the same each time, so that every push changes the rows of the others
    await client.send("POST", "/api/prices", [{"symbol": symbol, "price": 100, "at": at} for symbol in order])


async def _read(client: Client) -> None:
    await client.send("GET", random.choice(("/api/agents", f"/api/agents/{client.staff.agent()}", "/api/runs")))


async def _delete(client: Client) -> None:
    if len(client.staff.agents) < AGENTS // 2:
        return
    agent = client.staff.agent()
    await client.send("DELETE", f"/api/agents/{agent}")
    if agent in client.staff.agents:
        client.staff.agents.remove(agent)


ACTIONS: dict[str, tuple[int, Callable[[Client], Awaitable[None]]]] = {
    "runs": (40, _run),
    "chats": (6, _chat),
    "agents made": (10, _create),
    "agents changed": (8, _change),
    "resets": (6, _reset),
    "re-examinations": (6, _re_examine),
    "resolutions": (4, _resolve),
    "prices": (5, _push_prices),
    "reads": (10, _read),
    "agents deleted": (5, _delete),
}
