"""An agent's chat on a server whose workers are away: the message is kept and nobody waits for ever."""

from pathlib import Path

from support.served import served
from support.sse import events_in


def test_a_message_nobody_takes_up_is_kept_and_answered_later(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, worker=False) as server:
        client = server.client("acme")
        agent = client.post("/api/agents", json={"name": "Scout"}).json()["data"]
        path = f"/api/agents/{agent['id']}/chat"
        waiting = client.post(path, json={"message": "Hello?", "stream": False})
        assert waiting.status_code == 202
        assert waiting.json()["data"]["reply"] is None
        streamed = events_in(client.post(path, json={"message": "Anybody?"}).text)
        assert [name for name, _ in streamed] == ["turn", "error"]
        assert streamed[-1][1]["code"] == "chat_waiting"
    with served(database_url, tmp_path) as server:
        client = server.client("acme")
        server.settled(client)
        said = client.get(f"/api/agents/{agent['id']}/messages").json()["data"]
        assert [message["role"] for message in said].count("assistant") == 2
