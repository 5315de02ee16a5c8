"""Turns in a real database with a scripted model in process: for tests of what follows a turn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, create_model

from mnemon.clock import Clock
from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.embedding.fake import FakeEmbedder
from mnemon.jobs.runner import Runner
from mnemon.llm.answer_schema import TEXT, list_of
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.llm.scripted.script import Script
from mnemon.reflection import job
from mnemon.scope import person_scope
from mnemon.section import Brief, Section, SectionResult
from mnemon.services import Services
from mnemon.sessions.boundary import SessionBoundary
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.record import NewTurn, store_turn
from mnemon.settings import Settings
from mnemon.turn import Role, Turn


def basement_of(db: Database, clock: Clock, script: Script | None = None, **settings: Any) -> Services:
    """A services over the test's database."""
    llm = ScriptedLlm(script)
    return Services(db=db, llm=llm, reflector=llm, embedder=FakeEmbedder(), clock=clock, settings=Settings(**settings))


def runner_of(services: Services, sections: Sequence[Section], **options: Any) -> Runner:
    """A runner that reflects with these sections only."""
    return Runner(
        services.db, services.clock, {kind.name: kind for kind in job.kinds_for_sections(services, sections)}, **options
    )


async def told(db: Database, text: str, *, user: str = "ana", persona: str | None = None) -> Turn:
    """A recorded turn of one message, its reflection queued."""
    incoming = NewTurn(user_name=user, messages=(NewMessage(role=Role.USER, content=text),))
    async with db.tx("acme") as tx:
        turn = await store_turn(tx, person_scope("acme", user, persona), incoming, SessionBoundary())
        await job.enqueue_reflection(tx, turn)
    return turn


@dataclass
class Notes:
    """A section that keeps what it was given in memory, and fails where it is told to."""

    name: str = "notes"
    label: str = "notes"
    applied: list[tuple[str, int, Any]] = field(default_factory=list)
    """Session, place of the turn, and what was noted."""
    broken: set[str] = field(default_factory=set)
    """Notes that cannot be applied."""
    error: Callable[[], Exception] = lambda: ValueError("this note cannot be applied")
    """What they raise."""

    def __post_init__(self) -> None:
        shape: Any = {self.name: (list[str], [])}
        self.schema: dict[str, Any] = list_of(TEXT)
        self.answer: type[BaseModel] = create_model(f"{self.name.capitalize()}Answer", **shape)

    async def prepare_brief(self, tx: Tx, turn: Turn) -> Brief | None:
        return Brief(instructions=f"What to note as {self.name}.")

    def answer_by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        return self.answer.model_validate({self.name: [turn.user_text]})

    async def apply_answer(self, tx: Tx, turn: Turn, answer: BaseModel) -> SectionResult:
        given = getattr(answer, self.name)
        if self.broken & set(given):
            raise self.error()
        self.applied.append((turn.session_id, turn.seq, given))
        return SectionResult(stored=len(given))
