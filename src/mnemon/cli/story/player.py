"""The stage: a whole house in this process, without a socket, on which the story is played step by step."""

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
    """The house answered a step of the story with an error."""

    code = "off_script"


class DemoPlayer:
    """Plays steps through the HTTP doors and runs whatever work they make due, as of the story's time."""

    def __init__(
        self, story: DemoStory, prompter: DemoScript, clock: ManualClock, runner: Runner, http: httpx2.AsyncClient
    ):
        self._story = story
        self._prompter = prompter
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
        """Personas and agents exist."""
        for persona in self._story.personas:
            body = {name: persona[name] for name in ("name", "prompt", "engagement")}
            await self._request_json("PUT", f"/api/personas/{persona['id']}", body)
        for told in self._story.agents:
            body = {
                "name": told["name"],
                "skill": told["skill"],
                "defaultPrompt": told["prompt"],
                "role": told.get("role", "solo"),
                "team": [self._agents[key]["id"] for key in told.get("team", ())],
                "cardType": told["card_type"],
                "schedule": told.get("schedule"),
                "adapterConfig": told.get("config", {}),
            }
            made = await self._request_json("POST", "/api/agents", body)
            self._agents[told["key"]] = {**told, "id": made["id"]}
            self._clock.advance(timedelta(minutes=1))  # listed in the order they came

    async def play_step(self, step: DemoStep, begin: datetime) -> None:
        """The step has happened, and everything it set going."""
        at = begin + step.after
        if step.kind != "morning":  # a morning's heartbeat is itself what becomes due
            await self._advance_to(at)
        await self._play[step.kind](step.told | {"when": at})
        await self._runner.drain()

    async def finish_story(self, now: datetime) -> None:
        """The story has caught up with the present; no agent wakes after its last step, when the script is gone."""
        await self._request_json("PATCH", f"/api/agents/{self._agents['kestrel']['id']}", {"schedule": None})
        await self._advance_to(now)
        await self._request_json("PATCH", f"/api/agents/{self._agents['meridian']['id']}", {"schedule": LEAD_SCHEDULE})

    async def _advance_to(self, at: datetime) -> None:
        if at > self._clock.now():
            self._clock.set_time(at)
        await self._runner.drain()

    async def _play_turn(self, told: StepData) -> None:
        self._prompter.prepare_turn(told)
        who = {"userId": told["who"], "personaId": told["persona"]}
        if not told.get("tools"):
            await self._request_json("POST", "/api/chat", {**who, "message": told["says"], "stream": False})
            return
        messages = [
            {"role": "user", "content": told["says"]},
            {"role": "assistant", "content": told["reply"]},
        ]
        body = {**who, "messages": messages, "toolResults": told["tools"], "expectations": told.get("expects", [])}
        await self._request_json("POST", "/api/turns", body)

    async def _play_morning(self, told: StepData) -> None:
        agent = self._agents["kestrel"]
        self._prompter.prepare_run(told, agent["name"])
        await self._advance_to(told["when"])
        self._prompter.script.clear_faults()
        await self._remember_run(told, agent["id"])

    async def _post_prices(self, told: StepData) -> None:
        await self._request_json("POST", "/api/prices", [{**told["bar"], "at": format_time(told["when"])}])

    async def _play_run(self, told: StepData) -> None:
        agent = self._agents[told["agent"]]
        self._prompter.prepare_run(told, agent["name"])
        run = await self._request_json("POST", f"/api/agents/{agent['id']}/runs", {"prompt": told["prompt"]})
        self._runs[told["key"]] = run["id"]

    async def _play_re_examination(self, told: StepData) -> None:
        parent = self._runs[told["of"]]
        agent_id = (await self._request_json("GET", f"/api/runs/{parent}"))["agentId"]
        name = next(agent["name"] for agent in self._agents.values() if agent["id"] == agent_id)
        self._prompter.prepare_run(told, name)
        await self._request_json("POST", f"/api/runs/{parent}/re-examine")

    async def _play_resolution(self, told: StepData) -> None:
        body = {"outcome": told["outcome"], "note": told["note"]}
        await self._request_json("POST", f"/api/runs/{self._runs[told['of']]}/resolve", body)

    async def _play_chat(self, told: StepData) -> None:
        agent = self._agents[told["agent"]]
        self._prompter.prepare_chat(told, agent["name"])
        body = {"message": told["says"], "stream": False}
        asking = asyncio.create_task(self._request_json("POST", f"/api/agents/{agent['id']}/chat", body))
        while not asking.done():
            await self._runner.drain()
            await asyncio.sleep(0.02)
        await asking

    async def _remember_run(self, told: StepData, agent_id: str) -> None:
        if "key" in told:
            latest = await self._request_json("GET", f"/api/agents/{agent_id}/runs?limit=1")
            self._runs[told["key"]] = latest[0]["id"]

    async def _request_json(self, method: str, path: str, body: Any = None) -> Any:
        answer = await self._http.request(method, path, json=body)
        if answer.is_error:
            raise DemoStepFailed(f"{method} {path} answered {answer.status_code}: {answer.json().get('detail', '')}")
        return answer.json()["data"]


@asynccontextmanager
async def open_player(
    services: Services, url: str, org: str, story: DemoStory, begin: datetime
) -> AsyncIterator[DemoPlayer]:
    """A stage over this database, at the story's first hour; its key is revoked when the curtain falls."""
    clock = ManualClock(begin)
    prompter = DemoScript(clock, [step.told for step in story.steps if step.kind == "turn"])
    index = SharedObjects(IndexCache(megabytes=services.settings.index_memory_mb))
    db = make_database(services.settings, url, clock, attached=index)
    llm = ScriptedLlm(prompter.script)
    settings = services.settings.model_copy(update={"rate_limit_per_minute": 0})
    house = replace(services, db=db, llm=llm, reflector=llm, clock=clock, settings=settings)
    scope = Scope(org_id=org)
    await db.open()
    try:
        async with db.tx(org) as tx:
            key, text = await create_key(tx, scope, name="demo")
        runner = Runner(db, clock, all_job_kinds(house), only=org)
        transport = httpx2.ASGITransport(app=make_app(house, worker=False))
        headers = {"Authorization": f"Bearer {text}"}
        async with httpx2.AsyncClient(transport=transport, base_url="http://demo", headers=headers, timeout=60) as http:
            yield DemoPlayer(story, prompter, clock, runner, http)
        async with db.tx(org) as tx:
            await revoke_key(tx, scope, key.id)
    finally:
        await db.close()
