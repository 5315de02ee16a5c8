"""How often a turn goes to the database. Each trip is time before a first word; a new one needs a reason."""

import pytest

from mnemon.chat.begin import begin_turn
from mnemon.chat.events import ReplyDone
from mnemon.chat.request import TurnRequest
from mnemon.chat.stream import ReplyStreams
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.llm.scripted.script import Script
from mnemon.memory.recall.index_cache import IndexCache
from mnemon.scope import person_scope
from mnemon.services import Services
from mnemon.sessions.messages import NewMessage
from mnemon.turn import Role
from support.reflecting import basement_of
from support.rounds import Rounds, watch_rounds

ANA = person_scope("acme", "ana")


@pytest.fixture
def services(db: Database, org: str, clock: ManualClock) -> Services:
    script = Script()
    script.add_replies(*["Tea, always."] * 9)
    return basement_of(db, clock, script)


async def say(services: Services, text: str, sent: Rounds) -> tuple[int, int]:
    """A whole turn; how many rounds it took until it was stored, and from there to its end."""
    message = NewMessage(role=Role.USER, content=text)
    asking = TurnRequest(
        scope=ANA,
        user_name="ana",
        messages=(message,),
        embedder=services.embedder.model,
        sees_agent_state=True,
        sees_engagement=True,
    )
    streams = ReplyStreams()
    sent.clear()
    with streams.open_stream(services, {}) as stream:
        async with services.db.tx("acme") as tx:
            begun = await begin_turn(tx, asking, services.settings, stream.ask_model)
        stored = len(sent)
        stream.confirm_stored(begun)
    said = [event async for event in stream.iter_events()]
    assert isinstance(said[-1], ReplyDone)
    return stored, len(sent) - stored


async def test_a_turn_in_a_running_session(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = watch_rounds(monkeypatch)
    for number in range(3):  # the index is warm, and what it finds is known
        await say(services, f"What do I drink, number {number}?", sent)
        # By the model that the turns ask for: each has an index of its own.
        await services.db.attached.get_or_create(IndexCache).load_person(services.db, ANA, services.embedder.model)
    assert await say(services, "What do I drink?", sent) == (5, 5), sent
