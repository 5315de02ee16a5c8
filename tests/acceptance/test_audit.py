"""Every write stands in the audit log, whatever door it came through: who, by which route, to what; ids only."""

import ast
import asyncio
import json
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner, Result

from mnemon.access.audit import verify_log
from mnemon.access.audit_chain import ChainBreak, parse_head
from mnemon.cli.main import app
from mnemon.clock import SystemClock
from mnemon.db.database import Database
from mnemon.scope import Scope, internal_user_id
from support.console_door import signed_in
from support.served import Served

API = Path(__file__).parents[2] / "src" / "mnemon" / "api"
READS = {"get_context", "read_notes", "search_notes", "list_namespaces", "search_memories"}
"""Operations that are sent with POST because of their body, and write nothing that was asked for."""
AUDITED = ("door.write(", "start_turn(door", "_queue_chat_turn(door")
"""The ways to a transaction that stands in the log: `Door.write`, a chat turn, an agent's chat turn."""


def log_of(server: Served, org: str = "acme") -> list[tuple[str, str, str | None]]:
    """Actor, action and target of every entry but the organization's making, oldest first."""
    with psycopg.connect(server.database_url) as connection:
        rows = connection.execute(
            # The server's clock stands still, so by transaction.
            "select actor, action, target from audit where org_id = %s order by xmin::text::bigint, seq",
            (server.org(org),),
        ).fetchall()
    return [(actor, action, target) for actor, action, target in rows if action != "mnemon orgs create"]


def told(client: httpx2.Client, content: str, **headers: str) -> dict[str, Any]:
    body = {"userId": "ann", "content": content, "type": "PROFILE"}
    answer = client.post("/api/memories", json=body, headers=headers)
    assert answer.status_code in (200, 201), answer.text
    found: dict[str, Any] = answer.json()["data"]
    return found


def test_every_operation_that_writes_goes_a_way_that_is_audited() -> None:
    found = 0
    for path in sorted(API.glob("*.py")):
        text = path.read_text()
        for node in ast.parse(text).body:
            if not isinstance(node, ast.AsyncFunctionDef) or node.name in READS:
                continue
            marks = [ast.unparse(one) for one in node.decorator_list]
            if any(mark.startswith(f"router.{verb}(") for mark in marks for verb in ("post", "put", "patch", "delete")):
                found += 1
                body = ast.unparse(node)
                assert any(way in body for way in AUDITED), f"{path.name}: {node.name} writes past the audit log"
    assert found > 25


def test_api_writes_are_on_record_once(server: Served, client: httpx2.Client) -> None:
    made = told(client, "Lives in Leeds", **{"Idempotency-Key": "one"})
    assert told(client, "Lives in Leeds", **{"Idempotency-Key": "one"}) == made
    assert client.delete(f"/api/memories/{made['id']}").status_code == 200
    assert client.delete(f"/api/memories/{made['id']}").status_code == 404
    assert client.get("/api/memories", params={"userId": "ann"}).status_code == 200
    entries = log_of(server)
    ann = internal_user_id(server.org(), "ann")
    assert [action for _, action, _ in entries] == ["POST /api/memories", "DELETE /api/memories/{memory_id}"]
    assert entries[0][2] == f"{made['id']} {ann}"
    assert str(entries[1][2]).startswith(f"{made['id']} fgt_")
    assert all(actor.startswith("key_") for actor, _, _ in entries)


def test_a_person_is_never_named(server: Served, client: httpx2.Client) -> None:
    told(client, "Lives in Leeds")
    plain = {"Content-Type": "text/plain"}
    client.put("/api/users/ann/seed", content="Plays the oboe", headers=plain).raise_for_status()
    client.get("/api/users/ann/export").raise_for_status()
    client.delete("/api/users/ann").raise_for_status()
    entries = log_of(server)
    assert [action for _, action, _ in entries] == [
        "POST /api/memories",
        "PUT /api/users/{user_id}/seed",
        "GET /api/users/{user_id}/export",
        "DELETE /api/users/{user_id}",
    ]
    for _, _, target in entries:
        for word in str(target).split():
            assert word[3:4] == "_", word
            assert word != "ann"
    assert str(entries[-1][2]).startswith("fgt_")
    assert asyncio.run(_first_break(server)) is None


def test_chat_turns_are_on_record(server: Served, client: httpx2.Client) -> None:
    said = client.post("/api/chat", json={"userId": "ann", "message": "Hello", "stream": False}).json()["data"]
    body = {"model": "x", "user": "ann", "messages": [{"role": "user", "content": "Hello again"}]}
    completed = client.post("/v1/chat/completions", json=body)
    entries = log_of(server)
    ann = internal_user_id(server.org(), "ann")
    assert [entry[1:] for entry in entries] == [
        ("POST /api/chat", f"{said['turnId']} {ann}"),
        ("POST /v1/chat/completions", f"{completed.headers['X-Mnemon-Turn-Id']} {ann}"),
    ]


def test_mcp_calls_that_write_are_on_record(server: Served, client: httpx2.Client) -> None:
    def call(name: str, **arguments: Any) -> None:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        headers = {"Accept": "application/json, text/event-stream"}
        answer = client.post("/mcp?userId=ann", json=asked, headers=headers)
        assert not answer.json()["result"].get("isError"), answer.text

    call("remember", content="Lives in Leeds")
    call("recall", query="Leeds")
    call("list_todos")
    entries = log_of(server)
    assert [action for _, action, _ in entries] == ["mcp remember"]
    assert entries[0][0].startswith("key_")
    assert internal_user_id(server.org(), "ann") in str(entries[0][2])


def test_the_console_shows_what_came_through_other_doors(server: Served, client: httpx2.Client) -> None:
    told(client, "Lives in Leeds")
    server.advance(seconds=1)
    with signed_in(server, server.org()) as browser:
        made, *shown = browser.get("/settings/audit.json").json()["entries"]
        assert made["action"] == "mnemon orgs create"  # not by the server's clock, which is behind
        assert [(one["actor"], one["action"]) for one in shown[:1]] == [("operator", "sign in")]
        assert shown[1]["action"] == "POST /api/memories"
        older = browser.get(f"/settings/audit.json?before={shown[0]['id']}").json()["entries"]
    assert older == shown[1:]


@pytest.fixture
def mnemon(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs the program over this test's database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MNEMON_DATABASE_URL", database_url)
    monkeypatch.setenv("MNEMON_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("MNEMON_PORT", "0")
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_commands_are_on_record_and_the_doctor_verifies_them(
    mnemon: Callable[..., Result], database_url: str, tmp_path: Path
) -> None:
    assert mnemon("orgs", "create", "local").exit_code == 0
    key = json.loads(mnemon("keys", "create", "--name", "ann's laptop", "--json").stdout)["id"]
    memory = json.loads(mnemon("remember", "Lives in Leeds", "--user", "ann", "--json").stdout)["id"]
    mnemon("export", "ann", tmp_path / "ann.ndjson")
    mnemon("forget", memory, "--yes")
    mnemon("import", tmp_path / "ann.ndjson")
    mnemon("keys", "revoke", key)
    with psycopg.connect(database_url, autocommit=True) as owner:
        rows = owner.execute("select actor, action, target from audit order by at, id").fetchall()
        ann = internal_user_id("local", "ann")
        assert {actor for actor, _, _ in rows} == {"cli"}
        assert [action for _, action, _ in rows] == [
            "mnemon orgs create",
            "mnemon keys create",
            "POST /api/memories",
            "GET /api/users/{user_id}/export",
            "DELETE /api/memories/{memory_id}",
            "POST /api/import",
            "mnemon keys revoke",
        ]
        targets = [target for _, _, target in rows]
        assert (targets[0], targets[1], targets[3], targets[5], targets[6]) == (None, key, ann, ann, key)
        head = mnemon("audit", "head").stdout.strip()
        assert parse_head(head).entry_count == 7
        assert mnemon("audit", "verify", "--head", head).exit_code == 0
        assert _checks(mnemon)["audit log"]["state"] == "ok"
        lane, seq = _edit_the_third(owner)
        broken = _checks(mnemon)["audit log"]
        assert broken["state"] == "fail"
        assert f"First at entry {seq} of lane {lane} (aud_" in broken["detail"]
        verified = mnemon("audit", "verify")
        assert verified.exit_code == 1
        _assert_names_the_page(broken["fix"])
        _assert_names_the_page(verified.stderr)
        # Whoever rewrites everything after it as well is found out only by a head that was kept elsewhere.
        _rewrite(owner)
        assert _checks(mnemon)["audit log"]["state"] == "ok"
        assert mnemon("audit", "verify").exit_code == 0
        assert mnemon("audit", "verify", "--head", head).exit_code == 1


def _assert_names_the_page(words: str) -> None:
    """The words name a section of the docs that is there."""
    named = re.search(r'(docs/\w+\.md), "([^"]+)"', words)
    assert named is not None, words
    assert f"# {named[2]}\n" in (Path(__file__).parents[2] / named[1]).read_text(encoding="utf-8")


def test_an_organization_without_entries_has_a_head_too(mnemon: Callable[..., Result], database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("insert into organizations (org_id, created_at) values ('bare', now())")
    assert mnemon("audit", "head", "--org", "bare").stdout == "empty\n"
    verified = mnemon("audit", "verify", "--org", "bare", "--head", "empty")
    assert (verified.exit_code, "0 entries in 0 lanes" in verified.stdout) == (0, True)


def test_a_head_is_given_as_text_or_as_a_file(mnemon: Callable[..., Result], tmp_path: Path) -> None:
    assert mnemon("orgs", "create", "local").exit_code == 0
    for _ in range(3):
        mnemon("keys", "create", "--name", "laptop")
    printed = mnemon("audit", "head").stdout
    (tmp_path / "head").write_text(printed)
    shown = json.loads(mnemon("audit", "head", "--json").stdout)
    assert (shown["entries"], shown["head"]) == (4, printed.strip())
    verified = mnemon("audit", "verify", "--head-file", tmp_path / "head")
    assert (verified.exit_code, shown["fingerprint"] in verified.stdout) == (0, True)
    assert shown["fingerprint"] in _checks(mnemon)["audit log"]["detail"]
    assert CliRunner().invoke(app, ["audit", "verify", "--head-file", "-"], input=printed).exit_code == 0
    other = re.sub(r"[0-9a-f](?=,|$)", lambda found: "1" if found[0] == "0" else "0", printed.strip())
    refused = CliRunner().invoke(app, ["audit", "verify", "--head-file", "-"], input=other)
    assert (refused.exit_code, "head that you saved has another hash" in refused.stdout) == (1, True)
    assert mnemon("audit", "verify", "--head", "x").exit_code == 2
    assert mnemon("audit", "verify", "--head", printed, "--head-file", tmp_path / "head").exit_code == 2
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    assert mnemon("audit", "verify", "--head-file", tmp_path / "binary").exit_code == 2


def test_a_login_that_does_not_own_the_tables_says_what_it_cannot_read(
    mnemon: Callable[..., Result], database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mnemon("orgs", "create", "local").exit_code == 0
    name = f"app_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(f"create role {name} login; grant mnemon_app to {name}")
        try:
            # The cluster's socket lets in nobody but its owner, who may work as anybody.
            monkeypatch.setenv("MNEMON_DATABASE_URL", make_conninfo(database_url, options=f"-c role={name}"))
            unseen = _checks(mnemon)["audit log"]
            assert unseen["state"] == "warn"
            assert f"The login {name} does not own the tables" in unseen["detail"]
            assert "MNEMON_MIGRATION_URL" in unseen["fix"]
            assert mnemon("audit", "verify").exit_code == 0
            monkeypatch.setenv("MNEMON_MIGRATION_URL", database_url)
            assert _checks(mnemon)["audit log"]["state"] == "ok"
            assert [one["org"] for one in json.loads(mnemon("orgs", "list", "--json").stdout)] == ["local"]
            owner.execute("revoke select on audit from mnemon_app")
            refused = mnemon("audit", "verify")
            assert refused.exit_code == 5
            assert "lacks a right" in refused.stderr
            assert "mnemon migrate" in refused.stderr
        finally:
            owner.execute("grant select on audit to mnemon_app")
            owner.execute(f"drop owned by {name}; drop role {name}")


def test_a_restore_is_on_record_and_keeps_the_chain(
    mnemon: Callable[..., Result], database_url: str, tmp_path: Path
) -> None:
    assert mnemon("orgs", "create", "local").exit_code == 0
    mnemon("keys", "create", "--name", "laptop")
    assert mnemon("backup", tmp_path / "one.backup").exit_code == 0
    restored = mnemon("restore", tmp_path / "one.backup", "--force")
    assert restored.exit_code == 0, restored.stderr
    with psycopg.connect(database_url) as owner:
        rows = owner.execute("select action from audit order by at, id").fetchall()
        rights = owner.execute("select has_table_privilege('mnemon_app', 'audit', 'insert, update, delete')").fetchone()
    assert [action for (action,) in rows] == ["mnemon orgs create", "mnemon keys create", "mnemon restore"]
    assert rights == (False,)
    assert mnemon("audit", "verify").exit_code == 0


async def _first_break(server: Served) -> ChainBreak | None:
    db = Database(server.database_url, SystemClock(), pool_size=1)
    await db.open()
    try:
        async with db.tx(server.org()) as tx:
            reached, broken = await verify_log(tx, Scope(org_id=server.org()))
    finally:
        await db.close()
    assert reached.entry_count
    return broken


def _checks(mnemon: Callable[..., Result]) -> dict[str, Any]:
    return {one["name"]: one for one in json.loads(mnemon("doctor", "--json").stdout)["checks"]}


def _edit_the_third(owner: "psycopg.Connection[Any]") -> tuple[int, int]:
    row = owner.execute(
        "update audit set actor = 'someone' where id = (select id from audit order by at, id offset 2 limit 1) "
        "returning lane, seq"
    ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def _rewrite(owner: "psycopg.Connection[Any]") -> None:
    """Every entry, in the order they were written, gets the hash that follows from what it says now."""
    made: dict[tuple[int, int], bytes] = {}
    rows = owner.execute("select lane, seq, linked_lane, linked_seq from audit order by at, id").fetchall()
    for lane, seq, linked_lane, linked_seq in rows:
        row = owner.execute(
            "update audit set linked_hash = %(linked)s, hash = audit_hash(%(previous)s, org_id, lane, seq, id, at, "
            "actor, action, target, linked_lane, linked_seq, %(linked)s) "
            "where lane = %(lane)s and seq = %(seq)s returning hash",
            {
                "linked": made.get((linked_lane, linked_seq)),
                "previous": made.get((lane, seq - 1), b""),
                "lane": lane,
                "seq": seq,
            },
        ).fetchone()
        assert row is not None
        made[lane, seq] = bytes(row[0])
    owner.execute(
        "update audit_heads h set hash = a.hash from audit a "
        "where (a.org_id, a.lane, a.seq) = (h.org_id, h.lane, h.seq)"
    )
