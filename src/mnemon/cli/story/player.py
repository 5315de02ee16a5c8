"""Play the demo's story step by step against a server in this process, without a socket."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import httpx2

from mnemon.access.keys import create_key, revoke_key
from mnemon.app import all_job_kinds, make_app, make_database
from mnemon.cli.story.script import DemoScript
from mnemon.cli.story.steps import DemoStep, DemoStory, StepData
from mnemon.clock import ManualClock, format_time
from mnemon.db.tx import SharedObjects
from mnemon.errors import MnemonError
from mnemon.jobs.runner import Runner
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.memory.recall.index_cache import IndexCache
from mnemon.scope import Scope
from mnemon.services import Services

LEAD_SCHEDULE = "0 7 1 * *"


class DemoStepFailed(MnemonError):
    """The server answered a step of the story with an error."""

    code = "off_script"


class DemoPlayer:
    """Send steps to the HTTP API and run the jobs that they make due, at the story's time."""

    def __init__(
        self, story: DemoStory, script: DemoScript, clock: ManualClock, runner: Runner, http: httpx2.AsyncClient
    ):
        self._story = story
        self._script = script
        self._clock = clock
        self._runner = runner
        self._http = http
        self._agents: dict[str, StepData] = {}
        self._runs: dict[str, str] = {}
        self._play: dict[str, Callable[[StepData], Awaitable[None]]] = {
            "turn": self._play_turn,
            "morning": self._play_morning,
            "market": self._post_prices,
            "run": self._play_run,
            "again": self._play_re_examination,
            "resolve": self._play_resolution,
            "chat": self._play_chat,
        }

    async def create_participants(self) -> None:
        """Create the demo's personas and agents over the API."""
        for persona in self._story.personas:
            body = {name: persona[name] for name in ("name", "prompt", "engagement")}
            await self._request_json("PUT", f"/api/personas/{persona['id']}", body)
        for agent in self._story.agents:
            body = {
                "name": agent["name"],
                "skill": agent["skill"],
                "defaultPrompt": agent["prompt"],
                "role": agent.get("role", "solo"),
                "team": [self._agents[key]["id"] for key in agent.get("team", ())],
                "cardType": agent["card_type"],
                "schedule": agent.get("schedule"),
                "adapterConfig": agent.get("config", {}),
            }
            made = await self._request_json("POST", "/api/agents", body)
            self._agents[agent["key"]] = {**agent, "id": made["id"]}
            self._clock.advance(timedelta(minutes=1))  # ids sort by time: agents are listed in this order

    async def play_step(self, step: DemoStep, begin: datetime) -> None:
        """Play one step of the demo at its time, and run the jobs that it enqueued."""
        at = begin + step.after
        # A morning's run comes from the schedule: it becomes due when `_play_morning` moves the clock.
        if step.kind != "morning":
            await self._advance_to(at)
        await self._play[step.kind](step.told | {"when": at})
        await self._runner.drain()

    async def finish_story(self, now: datetime) -> None:
        """Move the demo's clock to the present, with the agents' schedules changed so that no run becomes due.

        Kestrel's schedule is removed first and Meridian's is set afterwards: a run that became due in between would
        find no script to answer with.
        """
        await self._request_json("PATCH", f"/api/agents/{self._agents['kestrel']['id']}", {"schedule": None})
        await self._advance_to(now)
        await self._request_json("PATCH", f"/api/agents/{self._agents['meridian']['id']}", {"schedule": LEAD_SCHEDULE})

    async def _advance_to(self, at: datetime) -> None:
        """Set the story's clock, which never goes back, and run what has become due."""
        if at > self._clock.now():
            self._clock.set_time(at)
        await self._runner.drain()

    async def _play_turn(self, data: StepData) -> None:
        """Script and play a chat turn, or record it as a turn of its own if it has tool results."""
        self._script.prepare_turn(data)
        who = {"userId": data["who"], "personaId": data["persona"]}
        if not data.get("tools"):
            await self._request_json("POST", "/api/chat", {**who, "message": data["says"], "stream": False})
            return
        messages = [
            {"role": "user", "content": data["says"]},
            {"role": "assistant", "content": data["reply"]},
        ]
        body = {**who, "messages": messages, "toolResults": data["tools"], "expectations": data.get("expects", [])}
        await self._request_json("POST", "/api/turns", body)

    async def _play_morning(self, data: StepData) -> None:
        """Script the agent Kestrel's scheduled run, move the clock to its time, and keep the run's id."""
        agent = self._agents["kestrel"]
        self._script.prepare_run(data, agent["name"])
        await self._advance_to(data["when"])
        self._script.script.clear_faults()
        await self._keep_latest_run_id(data, agent["id"])

    async def _post_prices(self, data: StepData) -> None:
        """Post one bar of prices (low, high, close) at the step's time."""
        await self._request_json("POST", "/api/prices", [{**data["bar"], "at": format_time(data["when"])}])

    async def _play_run(self, data: StepData) -> None:
        """Script and queue a run of the step's agent, and keep its id under the step's key."""
        agent = self._agents[data["agent"]]
        self._script.prepare_run(data, agent["name"])
        run = await self._request_json("POST", f"/api/agents/{agent['id']}/runs", {"prompt": data["prompt"]})
        self._runs[data["key"]] = run["id"]

    async def _play_re_examination(self, data: StepData) -> None:
        """Script and queue a re-examination of the run that the step names."""
        parent = self._runs[data["of"]]
        agent_id = (await self._request_json("GET", f"/api/runs/{parent}"))["agentId"]
        name = next(agent["name"] for agent in self._agents.values() if agent["id"] == agent_id)
        self._script.prepare_run(data, name)
        await self._request_json("POST", f"/api/runs/{parent}/re-examine")

    async def _play_resolution(self, data: StepData) -> None:
        """Resolve the run that the step names with the step's outcome and note."""
        body = {"outcome": data["outcome"], "note": data["note"]}
        await self._request_json("POST", f"/api/runs/{self._runs[data['of']]}/resolve", body)

    async def _play_chat(self, data: StepData) -> None:
        """Script and send a chat message to the step's agent, and wait for its reply."""
        agent = self._agents[data["agent"]]
        self._script.prepare_chat(data, agent["name"])
        body = {"message": data["says"], "stream": False}
        reply = asyncio.create_task(self._request_json("POST", f"/api/agents/{agent['id']}/chat", body))
        # The reply is a job, and this process is its only worker: run jobs while the request waits for it.
        while not reply.done():
            await self._runner.drain()
            await asyncio.sleep(0.02)
        await reply

    async def _keep_latest_run_id(self, data: StepData, agent_id: str) -> None:
        """Fetch the agent's latest run and keep its id under the step's key, if it has one."""
        if "key" in data:
            latest = await self._request_json("GET", f"/api/agents/{agent_id}/runs?limit=1")
            self._runs[data["key"]] = latest[0]["id"]

    async def _request_json(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request to the API and return the `data` of its response; raise DemoStepFailed for an error."""
        response = await self._http.request(method, path, json=body)
        if response.is_error:
            raise DemoStepFailed(
                f"{method} {path} answered {response.status_code}: {response.json().get('detail', '')}"
            )
        return response.json()["data"]


@asynccontextmanager
async def open_player(
    services: Services, url: str, org: str, story: DemoStory, begin: datetime
) -> AsyncIterator[DemoPlayer]:
    """Yield a player over this database at the story's first hour; its key is revoked at the end."""
    clock = ManualClock(begin)
    script = DemoScript(clock, [step.told for step in story.steps if step.kind == "turn"])
    index = SharedObjects(IndexCache(megabytes=services.settings.index_memory_mb))
    db = make_database(services.settings, url, clock, attached=index)
    llm = ScriptedLlm(script.script)
    settings = services.settings.model_copy(update={"rate_limit_per_minute": 0})  # 0: the story is not limited
    demo_services = replace(services, db=db, llm=llm, reflector=llm, clock=clock, settings=settings)
    scope = Scope(org_id=org)
    await db.open()
    try:
        async with db.tx(org) as tx:
            key, text = await create_key(tx, scope, name="demo")
        runner = Runner(db, clock, all_job_kinds(demo_services), only=org)
        transport = httpx2.ASGITransport(app=make_app(demo_services, worker=False))
        headers = {"Authorization": f"Bearer {text}"}
        async with httpx2.AsyncClient(transport=transport, base_url="http://demo", headers=headers, timeout=60) as http:
            yield DemoPlayer(story, script, clock, runner, http)
        async with db.tx(org) as tx:
            await revoke_key(tx, scope, key.id)
    finally:
        await db.close()
