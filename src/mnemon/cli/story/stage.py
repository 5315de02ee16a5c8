"""The stage: a whole house in this process, without a socket, on which the story is played step by step."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import httpx2

from mnemon.access.keys import create_key, revoke_key
from mnemon.app import database_of, kinds, make_app
from mnemon.basement import Basement
from mnemon.cli.story.prompter import Prompter
from mnemon.cli.story.steps import Step, Story, Told
from mnemon.clock import ManualClock, iso
from mnemon.db.attached import Attached
from mnemon.errors import MnemonError
from mnemon.jobs.runner import Runner
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.memory.recall.shelf import Shelf
from mnemon.scope import Scope

LEAD_SCHEDULE = "0 7 1 * *"


class OffScript(MnemonError):
    """The house answered a step of the story with an error."""

    code = "off_script"


class Stage:
    """Plays steps through the HTTP doors and runs whatever work they make due, as of the story's time."""

    def __init__(self, story: Story, prompter: Prompter, clock: ManualClock, runner: Runner, http: httpx2.AsyncClient):
        self._story = story
        self._prompter = prompter
        self._clock = clock
        self._runner = runner
        self._http = http
        self._agents: dict[str, Told] = {}
        self._runs: dict[str, str] = {}
        self._play: dict[str, Callable[[Told], Awaitable[None]]] = {
            "turn": self._turn,
            "morning": self._morning,
            "market": self._market,
            "run": self._run,
            "again": self._again,
            "resolve": self._resolve,
            "chat": self._chat,
        }

    async def introduce(self) -> None:
        """Personas and agents exist."""
        for persona in self._story.personas:
            body = {name: persona[name] for name in ("name", "prompt", "engagement")}
            await self._ask("PUT", f"/api/personas/{persona['id']}", body)
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
            made = await self._ask("POST", "/api/agents", body)
            self._agents[told["key"]] = {**told, "id": made["id"]}
            self._clock.advance(timedelta(minutes=1))  # listed in the order they came

    async def play(self, step: Step, begin: datetime) -> None:
        """The step has happened, and everything it set going."""
        at = begin + step.after
        if step.kind != "morning":  # a morning's heartbeat is itself what becomes due
            await self._until(at)
        await self._play[step.kind](step.told | {"when": at})
        await self._runner.drain()

    async def close(self, now: datetime) -> None:
        """The story has caught up with the present; no agent wakes after its last step, when the script is gone."""
        await self._ask("PATCH", f"/api/agents/{self._agents['kestrel']['id']}", {"schedule": None})
        await self._until(now)
        await self._ask("PATCH", f"/api/agents/{self._agents['meridian']['id']}", {"schedule": LEAD_SCHEDULE})

    async def _until(self, at: datetime) -> None:
        if at > self._clock.now():
            self._clock.set(at)
        await self._runner.drain()

    async def _turn(self, told: Told) -> None:
        self._prompter.before_turn(told)
        who = {"userId": told["who"], "personaId": told["persona"]}
        if not told.get("tools"):
            await self._ask("POST", "/api/chat", {**who, "message": told["says"], "stream": False})
            return
        messages = [
            {"role": "user", "content": told["says"]},
            {"role": "assistant", "content": told["reply"]},
        ]
        body = {**who, "messages": messages, "toolResults": told["tools"], "expectations": told.get("expects", [])}
        await self._ask("POST", "/api/turns", body)

    async def _morning(self, told: Told) -> None:
        agent = self._agents["kestrel"]
        self._prompter.before_run(told, agent["name"])
        await self._until(told["when"])
        self._prompter.script.heals()
        await self._remember_run(told, agent["id"])

    async def _market(self, told: Told) -> None:
        await self._ask("POST", "/api/prices", [{**told["bar"], "at": iso(told["when"])}])

    async def _run(self, told: Told) -> None:
        agent = self._agents[told["agent"]]
        self._prompter.before_run(told, agent["name"])
        run = await self._ask("POST", f"/api/agents/{agent['id']}/runs", {"prompt": told["prompt"]})
        self._runs[told["key"]] = run["id"]

    async def _again(self, told: Told) -> None:
        parent = self._runs[told["of"]]
        agent_id = (await self._ask("GET", f"/api/runs/{parent}"))["agentId"]
        name = next(agent["name"] for agent in self._agents.values() if agent["id"] == agent_id)
        self._prompter.before_run(told, name)
        await self._ask("POST", f"/api/runs/{parent}/re-examine")

    async def _resolve(self, told: Told) -> None:
        body = {"outcome": told["outcome"], "note": told["note"]}
        await self._ask("POST", f"/api/runs/{self._runs[told['of']]}/resolve", body)

    async def _chat(self, told: Told) -> None:
        agent = self._agents[told["agent"]]
        self._prompter.before_chat(told, agent["name"])
        body = {"message": told["says"], "stream": False}
        asking = asyncio.create_task(self._ask("POST", f"/api/agents/{agent['id']}/chat", body))
        while not asking.done():
            await self._runner.drain()
            await asyncio.sleep(0.02)
        await asking

    async def _remember_run(self, told: Told, agent_id: str) -> None:
        if "key" in told:
            latest = await self._ask("GET", f"/api/agents/{agent_id}/runs?limit=1")
            self._runs[told["key"]] = latest[0]["id"]

    async def _ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = await self._http.request(method, path, json=body)
        if answer.is_error:
            raise OffScript(f"{method} {path} answered {answer.status_code}: {answer.json().get('detail', '')}")
        return answer.json()["data"]


@asynccontextmanager
async def staged(basement: Basement, url: str, org: str, story: Story, begin: datetime) -> AsyncIterator[Stage]:
    """A stage over this database, at the story's first hour; its key is revoked when the curtain falls."""
    clock = ManualClock(begin)
    prompter = Prompter(clock, [step.told for step in story.steps if step.kind == "turn"])
    index = Attached(Shelf(megabytes=basement.settings.index_memory_mb))
    db = database_of(basement.settings, url, clock, attached=index)
    llm = ScriptedLlm(prompter.script)
    settings = basement.settings.model_copy(update={"rate_limit_per_minute": 0})
    house = replace(basement, db=db, llm=llm, reflector=llm, clock=clock, settings=settings)
    scope = Scope(org_id=org)
    await db.open()
    try:
        async with db.tx(org) as tx:
            key, text = await create_key(tx, scope, name="demo")
        runner = Runner(db, clock, kinds(house), only=org)
        transport = httpx2.ASGITransport(app=make_app(house, worker=False))
        headers = {"Authorization": f"Bearer {text}"}
        async with httpx2.AsyncClient(transport=transport, base_url="http://demo", headers=headers, timeout=60) as http:
            yield Stage(story, prompter, clock, runner, http)
        async with db.tx(org) as tx:
            await revoke_key(tx, scope, key.id)
    finally:
        await db.close()
