"""A command that finds no server serves itself: the API alone, without the console, and without what it cannot do."""

import asyncio
from pathlib import Path

import httpx2

from mnemon.cli.inprocess import serve_command
from mnemon.settings import Settings
from support.bounds import HANGS_S
from support.served import served


def test_a_command_without_a_model_leaves_runs_to_a_server_that_has_one(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, worker=False) as server:
        client = server.client()
        agent = client.post("/api/agents", json={"name": "Trader", "defaultPrompt": "Decide."}).json()["data"]
        run = client.post(f"/api/agents/{agent['id']}/runs", json={}).json()["data"]

        async def serve_once() -> None:
            settings = Settings(database_url=database_url, data_dir=tmp_path, clock_file=tmp_path / "clock", port=0)
            async with serve_command(settings, server.org(), worker=True) as (url, key):
                headers = {"Authorization": f"Bearer {key}"}
                async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=HANGS_S) as command:
                    turn = {"userId": "ann", "messages": [{"role": "user", "content": "I like tea."}]}
                    assert (await command.post("/api/turns", json=turn)).status_code == 202

        asyncio.run(serve_once())
        assert client.get(f"/api/runs/{run['id']}").json()["data"]["status"] == "queued"
        waiting = client.get("/api/jobs").json()["data"]
        assert not [one for one in waiting if one["kind"] == "reflect"], "other work is done"


def test_an_unknown_page_of_a_server_without_a_console_is_a_problem(database_url: str, tmp_path: Path) -> None:
    async def ask() -> httpx2.Response:
        settings = Settings(database_url=database_url, data_dir=tmp_path, port=0)
        async with (
            serve_command(settings, "local", worker=False) as (url, _),
            httpx2.AsyncClient(timeout=HANGS_S) as reader,
        ):
            return await reader.get(f"{url}/memories", headers={"Accept": "text/html"})

    answer = asyncio.run(ask())
    assert answer.status_code == 404
    assert answer.json()["code"] == "no_such_route"
