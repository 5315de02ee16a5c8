"""A tool that the chat model calls after its person was forgotten keeps nothing."""

import psycopg

from mnemon.access.grants import ALL_GRANTS
from mnemon.basement import Basement
from mnemon.chat.asking import Asking
from mnemon.chat.begin import begin
from mnemon.chat.stream import Streams
from mnemon.chat.toolcall import call
from mnemon.clock import ManualClock
from mnemon.custody.forget_person import forget_person
from mnemon.db.database import Database
from mnemon.llm.protocol import ToolRequest
from mnemon.llm.scripted.script import Script
from mnemon.scope import person
from mnemon.sessions.messages import NewMessage
from mnemon.tools.offered import chat_tools
from mnemon.turn import Role
from support.reflecting import basement_of

ANA = person("acme", "ana")
REMEMBER = ToolRequest(id="call_1", name="remember", arguments={"content": "Likes tea", "quote": "I like tea"})


async def test_a_tool_called_after_a_forgetting_keeps_nothing(
    db: Database, org: str, clock: ManualClock, database_url: str
) -> None:
    script = Script()
    script.replies("Hello Ana!")
    basement: Basement = basement_of(db, clock, script)
    streams = Streams()
    message = NewMessage(role=Role.USER, content="I like tea")
    with streams.opening(basement, {}) as stream:
        async with db.tx("acme") as tx:
            asking = Asking(
                scope=ANA, user_name="ana", messages=(message,), sees_agent_state=True, sees_engagement=True
            )
            begun = await begin(tx, asking, basement.settings, stream.ask)
        stream.stored(begun)
    await streams.close()
    kept = await call(basement, begun, chat_tools(ALL_GRANTS), REMEMBER)
    assert "error" not in kept.content
    async with db.tx("acme") as tx:
        await forget_person(tx, ANA)
    refused = await call(basement, begun, chat_tools(ALL_GRANTS), REMEMBER)
    assert "forgotten" in str(refused.content["error"])
    with psycopg.connect(database_url) as connection:
        left = [
            connection.execute(f"select count(*) from {table}").fetchone()
            for table in ("users", "sessions", "turns", "memories", "agent_states")
        ]
    assert left == [(0,)] * 5
