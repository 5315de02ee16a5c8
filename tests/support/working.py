"""A room of agents over a real database, with a scripted model and a clock the test moves."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.embedding.connect import connect_embedder
from mnemon.jobs.runner import Runner
from mnemon.llm.protocol import Llm
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.llm.scripted.script import Script
from mnemon.runs import agents, run_requests, store
from mnemon.runs.agent import Agent, AgentDraft, parse_config
from mnemon.runs.card import load_cards
from mnemon.runs.job import job_kinds
from mnemon.runs.run import Run
from mnemon.runs.store import RunFilter
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.settings import Settings

WAIT = {"decision": "WAIT", "summary": "range unresolved", "confidence": 0.6}


@dataclass
class Working:
    """An organization's agents at work."""

    db: Database
    org: str
    clock: ManualClock
    folder: Path
    script: Script = field(default_factory=Script)
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.script.set_default_answer("Card", WAIT)
        self.scope = Scope(org_id=self.org)
        self.cards = load_cards()
        self.llm: Llm = ScriptedLlm(self.script)

    def services(self) -> Services:
        """What jobs stand on."""
        return Services(
            db=self.db,
            llm=self.llm,
            reflector=self.llm,
            embedder=connect_embedder("local"),
            clock=self.clock,
            settings=Settings(data_dir=self.folder, **self.settings),
        )

    def runner(self) -> Runner:
        """A worker of its own."""
        return Runner(self.db, self.clock, {kind.name: kind for kind in job_kinds(self.services())})

    async def agent(self, *, config: dict[str, Any] | None = None, **more: Any) -> Agent:
        draft = AgentDraft(
            **{"name": "Scout", "default_prompt": "Analyse BTC.", **more}, config=parse_config(config or {})
        )
        async with self.db.tx(self.org) as tx:
            return await agents.create_agent(tx, self.scope, draft, self.cards)

    async def ask(self, agent: Agent, prompt: str | None = None) -> Run:
        async with self.db.tx(self.org) as tx:
            return await run_requests.request_run(tx, self.scope, agent.id, prompt, self.llm)

    async def re_examine(self, run: Run) -> Run:
        async with self.db.tx(self.org) as tx:
            return await run_requests.request_re_examination(tx, self.scope, run.id, self.cards, self.llm)

    async def read(self, run: Run) -> Run:
        async with self.db.tx(self.org) as tx:
            return await run_requests.get_run(tx, self.scope, run.id)

    async def runs(self, agent: Agent) -> list[Run]:
        """Oldest first."""
        async with self.db.tx(self.org) as tx:
            found = await store.list_runs(tx, self.scope, RunFilter(agent_id=agent.id), most=10_000)
        return [run for _, run in reversed(found)]

    async def events(self, run: Run) -> list[tuple[str, dict[str, Any]]]:
        async with self.db.tx(self.org) as tx:
            return [(event.type, event.data) for event in await store.list_events(tx, self.scope, run.id)]
