"""Play labelled scenes through a Mnemon in this process, and score what it keeps of each turn.

Every scene has an organization of its own, and the clock stands at the scene's time. Each turn is recorded over the
API as an application would, reflected by the configured model, and read back over the API.
"""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import httpx2

from mnemon.access.keys import create_key
from mnemon.access.organizations import create_organization
from mnemon.app import all_job_kinds, make_app, make_database
from mnemon.cli.evaluation.labels import LabelledTurn, Scene
from mnemon.cli.evaluation.scoring import Holdings, KeptEvidence, KeptFact, KeptTodo, Score, TurnCost, score_turn
from mnemon.clock import ManualClock, format_time
from mnemon.db.tx import SharedObjects
from mnemon.errors import MnemonError
from mnemon.jobs.runner import Runner
from mnemon.memory.recall.index_cache import IndexCache
from mnemon.scope import Scope
from mnemon.services import Services

PERSONA = "assistant"
MOST_TRIES = 3
"""Attempts at a turn's reflection before it counts as parked: enough for a hiccup, and a dead model ends soon."""
_BETWEEN_TURNS = timedelta(minutes=2)
_RETRY_PAUSE = timedelta(minutes=10)
"""How far the clock moves for another attempt: past every backoff of so few tries, and within the session."""
OnTurn = Callable[["PlayedTurn"], None]


class EvaluationFailed(MnemonError):
    """The server answered a turn of the evaluation with an error."""

    code = "evaluation_failed"


@dataclass(frozen=True, kw_only=True)
class PlayedTurn:
    """A turn that was played, what was held after it, and its score."""

    scene: Scene
    turn: LabelledTurn
    before: Holdings
    after: Holdings
    score: Score
    error: str | None
    """Why the reflection did not end well; None where it did."""


class ScenePlayer:
    """Plays the turns of one scene, one after the other."""

    def __init__(self, scene: Scene, clock: ManualClock, runner: Runner, http: httpx2.AsyncClient) -> None:
        """Take a scene, the clock that all of its turns go by, and the ways into its organization."""
        self._scene = scene
        self._clock = clock
        self._runner = runner
        self._http = http
        self._who = {"userId": scene.name, "personaId": PERSONA}
        self._sources: list[str] = []

    async def play_turns(self) -> AsyncIterator[PlayedTurn]:
        """Yield the turns of the scene as they have been played."""
        await self._request_json("PUT", f"/api/personas/{PERSONA}", {"name": "Assistant"})
        before = Holdings()
        for number, turn in enumerate(self._scene.turns):
            played = await self._play_turn(turn, self._scene.at + number * _BETWEEN_TURNS, before)
            before = played.after
            yield played

    async def _play_turn(self, turn: LabelledTurn, at: datetime, before: Holdings) -> PlayedTurn:
        """Record a turn, wait for its reflection, and score what is held then."""
        self._clock.set_time(at)
        messages = [{"role": "user", "content": turn.says, "at": format_time(at)}]
        if turn.reply:
            messages.append({"role": "assistant", "content": turn.reply, "at": format_time(at)})
        body = {**self._who, "messages": messages, "toolResults": list(turn.tool_results)}
        self._sources += [turn.says, *(str(one.get("output", "")) for one in turn.tool_results)]
        began = time.perf_counter()
        recorded = await self._request_json("POST", "/api/turns", body)
        reflection = await self._wait_for_reflection(recorded["turnId"])
        seconds = time.perf_counter() - began
        after = await self._load_holdings(recorded["sessionId"])
        cost = _cost_of(reflection, seconds)
        score = score_turn(turn, before, after, cost, self._sources)
        error = None if cost.done else str(reflection["error"])
        return PlayedTurn(scene=self._scene, turn=turn, before=before, after=after, score=score, error=error)

    async def _wait_for_reflection(self, turn_id: str) -> dict[str, Any]:
        """Run what is due until the turn's reflection is done or parked, and return it."""
        for _ in range(MOST_TRIES):
            await self._runner.drain()
            reflection = await self._load_reflection(turn_id)
            if reflection["status"] in ("done", "parked"):
                break
            self._clock.advance(_RETRY_PAUSE)
        return reflection

    async def _load_reflection(self, turn_id: str) -> dict[str, Any]:
        """Return the turn's reflection as the API reports it."""
        found: dict[str, Any] = (await self._request_json("GET", f"/api/turns/{turn_id}"))["reflection"]
        return found

    async def _load_holdings(self, session_id: str) -> Holdings:
        """Return what is held of the person and of the organization now."""
        facts = await self._request_json("GET", "/api/memories", query={**self._who, "limit": "200"})
        todos = await self._request_json("GET", "/api/todos", query={**self._who, "limit": "200"})
        state = await self._request_json("GET", f"/api/sessions/{session_id}/agent-state")
        engagement = await self._request_json("GET", "/api/engagement", query={"expand": "evidence"}) or {}
        claims = [*engagement.get("hypotheses", ()), *engagement.get("findings", ())]
        return Holdings(
            facts=tuple(map(_fact_of, facts)),
            todos=tuple(
                KeptTodo(id=one["id"], kind=one["kind"], content=one["content"], open=one["status"] == "open")
                for one in todos
            ),
            evidence=tuple(
                KeptEvidence(id=line["id"], stance=line["stance"], line=f"{line['line']} {line['quote']}")
                for claim in claims
                for line in claim["evidence"]
            ),
            unknowns=tuple(one["question"] for one in engagement.get("unknowns", ())),
            expectations=tuple(f"{one['action']} {one['expected_outcome']}" for one in state["expectations"]),
        )

    async def _request_json(
        self, method: str, path: str, body: Any = None, *, query: dict[str, str] | None = None
    ) -> Any:
        """Send a request to the API and return the `data` of its response; raise EvaluationFailed for an error."""
        response = await self._http.request(method, path, json=body, params=query)
        if response.is_error:
            detail = response.json().get("detail", "")
            raise EvaluationFailed(f"{method} {path} answered {response.status_code}: {detail}")
        return response.json()["data"]


def _fact_of(memory: dict[str, Any]) -> KeptFact:
    """Return a memory of the API as it is scored."""
    kind = memory["subtype"]["entityType"]
    about_person = memory["memoryKey"].split("|")[2:3] == ["self"]
    return KeptFact(
        id=memory["id"],
        content=memory["content"],
        entity=None if about_person else memory["entityLabel"],
        entity_type=kind,
        private=memory["personaId"] is not None,
    )


def _cost_of(reflection: dict[str, Any], seconds: float) -> TurnCost:
    """Return what a turn's reflection took, as the API reports it."""
    usage = reflection["usage"] or {}
    sections = reflection["sections"].values()
    return TurnCost(
        done=reflection["status"] == "done",
        parked=reflection["status"] == "parked",
        rejected=sum(one["rejected"] for one in sections),
        repaired=sum(one["repaired"] for one in sections),
        calls=usage.get("calls", 0),
        input_tokens=usage.get("inputTokens", 0),
        output_tokens=usage.get("outputTokens", 0),
        cached_tokens=usage.get("cachedTokens", 0),
        seconds=seconds,
    )


async def play_scenes(services: Services, url: str, scenes: Sequence[Scene], on_turn: OnTurn) -> Score:
    """Play scenes with the models of these services over a database; return their score, and report every turn."""
    clock = ManualClock(scenes[0].at)
    index = SharedObjects(IndexCache(megabytes=services.settings.index_memory_mb))
    db = make_database(services.settings, url, clock, attached=index)
    settings = services.settings.model_copy(update={"rate_limit_per_minute": 0, "max_attempts": MOST_TRIES})
    own = replace(services, db=db, clock=clock, settings=settings)
    score = Score()
    await db.open()
    try:
        for number, scene in enumerate(scenes, 1):
            clock.set_time(scene.at)
            async with _open_scene(own, clock, scene, f"eval-{number}") as player:
                async for played in player.play_turns():
                    score = score.plus(played.score)
                    on_turn(played)
    finally:
        await db.close()
    return score


@asynccontextmanager
async def _open_scene(services: Services, clock: ManualClock, scene: Scene, org: str) -> AsyncIterator[ScenePlayer]:
    """Yield a player of the scene in a new organization."""
    async with services.db.tx(org) as tx:
        await create_organization(tx)
        _, key = await create_key(tx, Scope(org_id=org), name="eval")
    runner = Runner(services.db, clock, all_job_kinds(services), only=org)
    transport = httpx2.ASGITransport(app=make_app(services, worker=False, api_only=True))
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(transport=transport, base_url="http://eval", headers=headers, timeout=60) as http:
        yield ScenePlayer(scene, clock, runner, http)
