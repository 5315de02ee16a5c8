"""`mnemon serve` runs an item that was lost with the server before it in a process of its own."""

import json
import re
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import httpx2
import psutil
import pytest
from pydantic import SecretStr

from mnemon.llm.scripted.script import ScriptedRequest
from mnemon.llm.scripted.server import ScriptedServer
from mnemon.settings import Settings, plain_values
from support.bounds import HANGS_S
from support.soak.server import Server
from support.turning import remembers_each, verdict

SECRET = "sk-of-nobody-else"


def wait_until(met: Callable[[], object], server: Server) -> None:
    end = time.monotonic() + HANGS_S
    while not met():
        assert time.monotonic() < end, server.said()
        time.sleep(0.02)


@pytest.mark.timeout(600)
async def test_a_turn_that_was_lost_with_its_server_is_reflected_in_a_child(tmp_path: Path) -> None:
    gates = [threading.Event(), threading.Event()]
    calls: list[str] = []

    def think(asked: ScriptedRequest) -> dict[str, object]:
        calls.append(asked.prompt)
        assert gates[len(calls) - 1].wait(HANGS_S)
        return remembers_each(asked)

    with ScriptedServer() as scripted:
        scripted.script.set_default_answer("Reflection", think)
        model = "openai:scripted"
        server = Server(tmp_path, clock=True, model=model, model_base_url=scripted.url, model_api_key=SECRET)
        try:
            await server.start()
            turn = {"userId": "u", "messages": [{"role": "user", "content": "Note 1 of u."}]}
            headers = {"Authorization": f"Bearer {server.key}"}
            assert (
                httpx2.post(f"{server.url}/api/turns", json=turn, headers=headers, timeout=HANGS_S).status_code == 202
            )
            wait_until(lambda: len(calls) == 1, server)
            server.kill()
            gates[0].set()
            server.advance(minutes=2)
            await server.start()
            wait_until(lambda: len(calls) == 2, server)
            (child,) = [one for one in psutil.Process(server.pid).children() if "mnemon.cli.one_item" in one.cmdline()]
            assert SECRET not in " ".join(child.cmdline())
            database = server.postgres()
            gates[1].set()
            wait_until(lambda: verdict(server.database_url).done == 1, server)
            wait_until(lambda: not child.is_running(), server)
            assert server.postgres() == database, "the child leaves the database alone"
            assert verdict(server.database_url).memories == 1
            figures = httpx2.get(f"{server.url}/metrics", timeout=HANGS_S).text
            assert int(re.findall(r"^mnemon_work_children_total (\d+)", figures, re.MULTILINE)[0]) >= 1
            assert "mnemon_work_children_died_total 0.0" in figures
            assert server.stop() == 0, server.said()
        finally:
            for gate in gates:
                gate.set()
            server.end()
    log = (tmp_path / "serve.log").read_text()
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    finished = [line for line in lines if line["event"] == "work_finished" and line["kind"] == "reflection"]
    assert [(line["attempt"], line["outcome"]) for line in finished] == [(2, "done")], "the child logs where we do"
    assert SECRET not in log


def test_settings_reach_the_child_as_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    given = Settings(
        data_dir=Path("elsewhere"),
        database_url=SecretStr("postgresql://u:pass@h/d"),
        session_boundary=timedelta(minutes=7),
        clock_file=Path("clock"),
        log_level="debug",
    )
    monkeypatch.setenv("MNEMON_DATA_DIR", "wrong")
    monkeypatch.setenv("MNEMON_MODEL", "openai:wrong")
    monkeypatch.setenv("MNEMON_MODEL_API_KEY", "wrong")
    assert Settings(**json.loads(json.dumps(plain_values(given)))) == given
