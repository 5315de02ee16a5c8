"""Every data command does the same against a remote server, the running local one, and one inside its own process."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from typer.testing import CliRunner, Result

from mnemon.access.audit import CLI_ACTOR
from mnemon.access.grants import ALL_GRANTS, Grant, Principal
from mnemon.access.keys import KeyWatch
from mnemon.cli.main import app
from mnemon.cli.server_address import ServerAddress, announce_server, database_name
from mnemon.db.database import Database
from mnemon.logs import use_stdlib_logs
from mnemon.settings import load_settings
from support.bounds import HANGS_S
from support.commands import data_commands
from support.served import Served, served

TRADE = {
    "symbol": "BTC-USD", "action": "LONG", "summary": "breakout", "entry": 64250, "take_profit": 71900,
    "stop_loss": 61480, "confidence": 0.72,
}  # fmt: skip
HOLD = {"conviction_score": 72, "notes": "Volume confirmed it.", "suggested_action": "HOLD"}
WAYS = ("remote", "local", "in process")


class Counter:
    """Counts the requests that reach a server."""

    def __init__(self, app: Any, seen: list[str]) -> None:
        self._app, self._seen = app, seen

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self._seen.append(scope["path"])
        await self._app(scope, receive, send)


class Program:
    """The program against one server, and what was run of it."""

    def __init__(self, server: Served, seen: list[str]) -> None:
        self.server, self.seen = server, seen
        self.used: set[str] = set()

    def __call__(self, *words: str, code: int = 0, **environment: str) -> Result:
        for command in data_commands(app):
            if list(words[: len(command.split())]) == command.split():
                self.used.add(command)
        done = CliRunner(env={"COLUMNS": "200", **environment}).invoke(app, list(words))
        assert done.exit_code == code, (words, done.output)
        return done

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json").stdout)


@pytest.fixture
def mnemon(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    """The program over a database that a server serves, which commands know nothing of yet."""
    seen: list[str] = []
    monkeypatch.chdir(tmp_path)
    use_stdlib_logs()  # the server shares this process, and its log must not be in what a command prints
    with served(database_url, tmp_path, dress=lambda app, _: app.add_middleware(Counter, seen=seen)) as server:
        server.script.set_default_answer(
            "Card", lambda asked: HOLD if "conviction_score" in str(asked.schema) else TRADE
        )
        settings = server.app.state.services.settings
        for name, value in {
            "DATABASE_URL": database_url,
            "DATA_DIR": str(tmp_path / "data"),
            "CLOCK_FILE": str(server.clock_file),
            "MODEL": settings.model,
            "MODEL_BASE_URL": str(settings.model_base_url),
            "MODEL_API_KEY": "test-key",
            "ORG": "acme",
        }.items():
            monkeypatch.setenv(f"MNEMON_{name}", value)
        yield Program(server, seen)


@contextmanager
def reached(mnemon: Program, way: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Has commands reach the server this way."""
    key = mnemon.server.key("acme")  # makes the organization
    with ExitStack() as way_out, monkeypatch.context() as patch:
        if way == "remote":
            patch.setenv("MNEMON_URL", mnemon.server.url)
            patch.setenv("MNEMON_KEY", key)
        if way == "local":
            way_out.enter_context(announced(mnemon.server))
        yield


@contextmanager
def announced(server: Served) -> Iterator[None]:
    """Notes the server in the data directory, as `mnemon serve` does."""
    settings, port = load_settings(), int(server.url.rpartition(":")[2])
    token = server.app.state.operator.token
    address = ServerAddress(host="127.0.0.1", port=port, database=database_name(settings), token=token)
    with announce_server(settings.data_dir, address):
        yield


def park_a_job(url: str, name: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "insert into work (org_id, kind, key, job_id, seq, enqueued_at, due_at, attempts, error, parked_at) "
            "values ('acme', 'reflect', %(name)s, %(name)s, 0, now(), '2100-01-01', 8, 'model_refused', now())",
            {"name": name},
        )


def walk(mnemon: Program, folder: Path, name: str) -> dict[str, Any]:
    """Runs every data command once; returns the JSON of each that prints an object, by its words."""
    park_a_job(mnemon.server.database_url, f"job_{name}")
    told: dict[str, Any] = {
        "remember": mnemon.json("remember", "Lives in Leeds", "--user", name, "--attribute", "home")
    }
    assert "Lives in Leeds" in mnemon("recall", "where", "--user", name).stdout
    assert "not a fold" in mnemon("unfold", told["remember"]["id"], code=1).stderr
    told["recall"] = mnemon.json("recall", "where", "--user", name, "--ranking", "blended")
    told["sources"] = mnemon.json("sources", name)
    told["sources of one"] = mnemon.json("sources", name, "cli")
    file = folder / f"{name}.ndjson"
    told["export"] = mnemon.json("export", name, str(file))
    assert mnemon("export", name).stdout == file.read_text(encoding="utf-8")
    told["withdraw"] = mnemon.json("withdraw", "cli", "--user", name, "--yes")
    told["forget"] = mnemon.json("forget", "--user", name)
    told["import"] = mnemon.json("import", str(file))
    mnemon.json("engagement")  # null until the first chat, so not compared
    mnemon.json("engagement", "--history")
    assert "model_refused" in mnemon("jobs", "list", "--status", "parked").stdout
    told["jobs list"] = mnemon.json("jobs", "list", "--status", "parked")
    told["jobs retry"] = mnemon.json("jobs", "retry", f"job_{name}")
    mnemon.server.script.add_replies("Hello!", "Hello again!")
    assert mnemon("chat", "Good morning", "--user", name).stdout == "Hello!\n"
    told["chat"] = mnemon.json("chat", "Good evening", "--user", name)
    told.update(walk_agents(mnemon, name))
    return told


def walk_agents(mnemon: Program, name: str) -> dict[str, Any]:
    told = {"agents create": mnemon.json("agents", "create", name, "--card", "trade-decision", "--prompt", "BTC?")}
    told["agents edit"] = mnemon.json("agents", "edit", name, "--memory")
    ran = mnemon("agents", "run", name)
    assert "LONG · breakout" in ran.stdout
    assert "succeeded" in ran.stderr
    assert mnemon("agents", "chat", name, "Hello").stdout == "Understood.\n"
    told["agents chat"] = mnemon.json("agents", "chat", name, "Hello")
    told["agents show"] = mnemon.json("agents", "show", name)
    told["agents list"] = mnemon.json("agents", "list")[:1]
    told["agents cards"] = mnemon.json("agents", "cards")
    told["agents reset"] = mnemon.json("agents", "reset", name)
    told["runs list"] = mnemon.json("runs", "list", "--agent", name)
    run = told["runs list"][0]["id"]
    told["runs re-examine"] = mnemon.json("runs", "re-examine", run)
    told["runs show"] = mnemon.json("runs", "show", run)
    assert "conviction history" in mnemon("runs", "show", run).stdout
    told["runs watch"] = mnemon.json("runs", "watch", run)
    told["runs resolve"] = mnemon.json("runs", "resolve", run, "exited", "--note", "took it off")
    assert run in mnemon("runs", "cancel", run, code=1).stderr  # it is over
    told["agents delete"] = mnemon.json("agents", "delete", name, "--yes")
    return told


def shape(value: Any) -> Any:
    """The names in a JSON value, without what they hold: the same command has the same shape everywhere."""
    if isinstance(value, dict):
        free = {
            "adapterConfig",
            "resultJson",
            "removed",
            "redacted",
            "kept",
            "stored",
            "why",
            "weights",
            "keptIds",
            "reasons",
        }
        return {name: None if name in free else shape(one) for name, one in sorted(value.items())}
    return [shape(one) for one in value[:1]] if isinstance(value, list) else None


def test_every_data_command_does_the_same_whichever_way_it_goes(
    mnemon: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {}
    for way, name in zip(WAYS, ("ann", "ben", "cho"), strict=True):
        with reached(mnemon, way, monkeypatch):
            before = len(mnemon.seen)
            told[way] = walk(mnemon, tmp_path, name)
            assert (len(mnemon.seen) > before) == (way != "in process"), way
        assert mnemon.used == data_commands(app), way
        mnemon.used.clear()
    for words, one in told["remote"].items():
        assert shape(told["local"][words]) == shape(one), words
        assert shape(told["in process"][words]) == shape(one), words
    with psycopg.connect(mnemon.server.database_url) as connection:
        keys = connection.execute("select count(*) from keys").fetchone()
        actors = {actor for (actor,) in connection.execute("select distinct actor from audit where org_id = 'acme'")}
    assert keys == (len(WAYS),), "commands leave no key behind"
    assert CLI_ACTOR in actors


def test_flags_count_before_the_environment_before_a_profile_over_http(
    mnemon: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MNEMON_ORG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    url = mnemon.server.url
    keys = {org: mnemon.server.key(org) for org in ("flag", "env", "prod", "default")}
    for org, key in keys.items():
        mnemon("agents", "create", org, "--url", url, "--key", key)

    def reached_by(*words: str) -> str:
        [agent] = mnemon.json("agents", "list", *words)
        return str(agent["name"])

    assert "Logged in" in mnemon("login", "--url", url, "--key", keys["default"]).stdout
    assert mnemon.json("login", "--url", url, "--key", keys["prod"], "--profile", "prod")["profile"] == "prod"
    with monkeypatch.context() as patch:
        patch.setenv("MNEMON_URL", url)
        patch.setenv("MNEMON_KEY", keys["env"])
        assert reached_by("--key", keys["flag"]) == "flag"
        assert reached_by("--profile", "prod") == "prod"
        assert reached_by() == "env"
    with monkeypatch.context() as patch:
        for name in ("MNEMON_DATABASE_URL", "MNEMON_DATA_DIR"):
            patch.delenv(name)
        assert reached_by() == "default"
        patch.setenv("MNEMON_PROFILE", "prod")
        assert reached_by() == "prod"
        assert f"Logged out of {url}." in mnemon("logout").stdout
    assert "There is no profile" in mnemon("logout", "--profile", "prod", code=3).stderr


def test_a_key_that_the_server_refuses_is_not_stored(
    mnemon: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    wrong = f"mnk_acme_{'0' * 64}"
    for words in (("agents", "list"), ("login",)):
        said = " ".join(mnemon(*words, "--url", mnemon.server.url, "--key", wrong, code=4).stderr.split())
        assert "The key is not known." in said
        assert "Name another key with --key or MNEMON_KEY, or store one with `mnemon login`." in said
    assert not (tmp_path / "config").exists()
    narrow = mnemon.server.key("acme", grants=frozenset({Grant.CHAT}))
    mnemon("login", "--url", mnemon.server.url, "--key", narrow)
    assert (tmp_path / "config").exists()


def test_a_bound_key_reaches_its_person_alone(mnemon: Program) -> None:
    with_key = ("--url", mnemon.server.url, "--key", mnemon.server.key("acme", user="ann"))
    assert mnemon("remember", "Sails", "--user", "ann", *with_key).exit_code == 0
    assert "Sails" in mnemon("recall", "boats", "--user", "ann", *with_key).stdout
    assert "Sails" in mnemon("recall", "boats", *with_key).stdout, "without --user it is the key's own person"
    assert json.loads(mnemon("remember", "Rows", "--json", *with_key).stdout)["userId"] == "ann"
    assert mnemon("chat", "Hello", *with_key).exit_code == 0
    assert "bound to one person" in mnemon("recall", "boats", "--user", "ben", *with_key, code=4).stderr
    unbound = ("--url", mnemon.server.url, "--key", mnemon.server.key("acme"))
    assert json.loads(mnemon("remember", "Rows", "--json", *unbound).stdout)["userId"] == "me"
    assert "`agents:read`" in mnemon("agents", "list", *with_key, code=4).stderr
    # Against the local server, too: a key that is named counts instead of the operator's rights.
    with announced(mnemon.server):
        assert "`agents:read`" in mnemon("agents", "list", *with_key[2:], code=4).stderr


def test_a_local_server_of_another_database_is_not_asked(mnemon: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    mnemon.server.key("acme")
    with announced(mnemon.server):
        mnemon("remember", "Sails", "--user", "ann")
        reached_once = len(mnemon.seen)
        assert reached_once > 0
        file = load_settings().data_dir / "serving.json"
        assert file.stat().st_mode & 0o777 == 0o600
        note = json.loads(file.read_text())
        file.write_text(json.dumps({**note, "database": "elsewhere/5432/other"}))
        assert "Sails" in mnemon("recall", "boats", "--user", "ann").stdout
        # One that was killed, whose process id another program has now.
        file.write_text(json.dumps({**note, "port": 9, "pid": os.getpid()}))
        assert "Sails" in mnemon("recall", "boats", "--user", "ann").stdout
    assert len(mnemon.seen) == reached_once


def test_the_operators_token_opens_the_api_of_organizations_that_exist(mnemon: Program) -> None:
    mnemon.server.key("acme")
    bearer = {"Authorization": f"Bearer mnk_acme_{mnemon.server.app.state.operator.token}"}
    assert httpx2.get(f"{mnemon.server.url}/api/agents", headers=bearer, timeout=HANGS_S).status_code == 200
    assert (
        httpx2.post(f"{mnemon.server.url}/mcp?userId=ann", headers=bearer, json={}, timeout=HANGS_S).status_code == 401
    )
    missing = {"Authorization": bearer["Authorization"].replace("acme", "nowhere")}
    assert httpx2.get(f"{mnemon.server.url}/api/agents", headers=missing, timeout=HANGS_S).status_code == 404
    with announced(mnemon.server):
        assert "mnemon orgs create nowhere" in mnemon("agents", "list", "--org", "nowhere", code=3).stderr


def test_an_import_beyond_the_servers_limit_is_served_in_process(mnemon: Program, tmp_path: Path) -> None:
    mnemon.server.key("acme")
    with announced(mnemon.server):
        mnemon("remember", "Sails\u2028and rows" + " on the lake" * 100, "--user", "ann")
        file = tmp_path / "ann.ndjson"
        mnemon("export", "ann", str(file))
        mnemon("forget", "--user", "ann", "--yes")
        reached_before = len(mnemon.seen)
        done = json.loads(mnemon("import", str(file), "--json", MNEMON_MAX_BODY_BYTES="1024").stdout)
    assert done["stored"]["memories"] == 1
    assert len(mnemon.seen) == reached_before
    assert mnemon("export", "ann").stdout == file.read_text(encoding="utf-8").replace("\u2028", "\\u2028")


async def test_the_operators_streams_do_not_end_for_want_of_a_stored_key(db: Database) -> None:
    operator = Principal(org_id="acme", key_id=CLI_ACTOR, grants=ALL_GRANTS)
    assert await KeyWatch(db).reason_ended(operator) is None
