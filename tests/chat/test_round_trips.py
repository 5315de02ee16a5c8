"""How often a turn goes to the database. Each trip is time before a first word; a new one needs a reason."""

import pytest

from mnemon.basement import Basement
from mnemon.chat.asking import Asking
from mnemon.chat.begin import begin
from mnemon.chat.events import Done
from mnemon.chat.stream import Streams
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.llm.scripted.script import Script
from mnemon.scope import person
from mnemon.sessions.messages import NewMessage
from mnemon.turn import Role
from support.reflecting import basement_of
from support.rounds import Rounds, watch_rounds

ANA = person("acme", "ana")


@pytest.fixture
def basement(db: Database, org: str, clock: ManualClock) -> Basement:
    script = Script()
    script.replies(*["Tea, always."] * 9)
    return basement_of(db, clock, script)


async def say(basement: Basement, text: str, sent: Rounds) -> tuple[int, int]:
    """A whole turn; how many rounds it took until it was stored, and from there to its end."""
    message = NewMessage(role=Role.USER, content=text)
    asking = Asking(scope=ANA, user_name="ana", messages=(message,), sees_agent_state=True, sees_engagement=True)
    streams = Streams()
    sent.clear()
    with streams.opening(basement, {}) as stream:
        async with basement.db.tx("acme") as tx:
            begun = await begin(tx, asking, basement.settings, stream.ask)
        stored = len(sent)
        stream.stored(begun)
    said = [event async for event in stream.events()]
    assert isinstance(said[-1], Done)
    return stored, len(sent) - stored


async def test_a_turn_in_a_running_session(basement: Basement, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = watch_rounds(monkeypatch)
    for number in range(3):  # the index is warm, and what it finds is known
        await say(basement, f"What do I drink, number {number}?", sent)
    assert await say(basement, "What do I drink?", sent) == (5, 5)
