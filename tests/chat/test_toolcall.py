"""A tool that the chat model calls after its person was forgotten keeps nothing."""

import psycopg

from mnemon.access.grants import ALL_GRANTS
from mnemon.chat.begin import begin_turn
from mnemon.chat.request import TurnRequest
from mnemon.chat.stream import ReplyStreams
from mnemon.chat.tool_calls import call_tool
from mnemon.clock import ManualClock
from mnemon.custody.forget_person import forget_person
from mnemon.db.database import Database
from mnemon.llm.protocol import ToolRequest
from mnemon.llm.scripted.script import Script
from mnemon.scope import person_scope
from mnemon.services import Services
from mnemon.sessions.messages import NewMessage
from mnemon.tools.registry import chat_tools
from mnemon.turn import Role
from support.reflecting import basement_of

ANA = person_scope("acme", "ana")
REMEMBER = ToolRequest(id="call_1", name="remember", arguments={"content": "Likes tea", "quote": "I like tea"})


async def test_a_tool_called_after_a_forgetting_keeps_nothing(
    db: Database, org: str, clock: ManualClock, database_url: str
) -> None:
    script = Script()
    script.add_replies("Hello Ana!")
    services: Services = basement_of(db, clock, script)
    streams = ReplyStreams()
    message = NewMessage(role=Role.USER, content="I like tea")
    with streams.open_stream(services, {}) as stream:
        async with db.tx("acme") as tx:
            asking = TurnRequest(
                scope=ANA, user_name="ana", messages=(message,), sees_agent_state=True, sees_engagement=True
            )
            begun = await begin_turn(tx, asking, services.settings, stream.ask_model)
        stream.confirm_stored(begun)
    await streams.close()
    kept = await call_tool(services, begun, chat_tools(ALL_GRANTS), REMEMBER)
    assert "error" not in kept.content
    async with db.tx("acme") as tx:
        await forget_person(tx, ANA)
    refused = await call_tool(services, begun, chat_tools(ALL_GRANTS), REMEMBER)
    assert "forgotten" in str(refused.content["error"])
    with psycopg.connect(database_url) as connection:
        left = [
            connection.execute(f"select count(*) from {table}").fetchone()
            for table in ("users", "sessions", "turns", "memories", "agent_states")
        ]
    assert left == [(0,)] * 5
