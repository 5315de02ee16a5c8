"""The public MCP protocol suite and the MCP Inspector's command line against `/mcp`."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.mcp_bearer import Bearer
from support.mcp_fixtures import dressed
from support.served import Served, served
from support.tally import counted

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.timeout(600),
    # The scenes log and sample as the requirements of 2025 ask for, which the SDK calls deprecated.
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

UNSCORED = "not among the revision's requirements: the suite runs it without scoring it (an extension, or pending)"
NO_FIXTURE_NEEDED = {
    "2025-11-25": ("server-initialize", "ping", "tools-list", "tools-call-error", "resources-list",
                   "dns-rebinding-protection"),
    "2026-07-28": ("tools-list", "tools-call-error", "resources-list", "sep-2164-resource-not-found",
                   "dns-rebinding-protection"),
}  # fmt: skip
"""Scenarios that call nothing by a name of the suite's own: these run against the door as it is served."""


@pytest.fixture
def bare(database_url: str, tmp_path: Path) -> Iterator[Served]:
    """The door as it is served; only the key is added, which the suite cannot send."""
    box: dict[str, str] = {}
    with served(
        database_url, tmp_path, model="offline", dress=lambda app, _: app.add_middleware(Bearer, box=box)
    ) as running:
        box["key"] = running.key("acme")
        yield running


@pytest.fixture
def staged(database_url: str, tmp_path: Path) -> Iterator[Served]:
    """The door with the scenario tools beside ours."""
    box: dict[str, str] = {}
    with served(database_url, tmp_path, model="offline", dress=dressed(box)) as running:
        box["key"] = running.key("acme")
        yield running


def version_of(packages: Path, name: str) -> str:
    """The version of the package that is installed."""
    return str(json.loads((packages / "@modelcontextprotocol" / name / "package.json").read_text())["version"])


def run_suite(node: Path, packages: Path, url: str, folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    program = packages / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    address = url.replace("127.0.0.1", "localhost") + "/mcp"
    command: list[str | Path] = [node, program, "server", "--url", address, "-o", folder / "results", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=500)


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_every_required_scenario_passes(
    node: Path, packages: Path, staged: Served, tmp_path: Path, revision: str
) -> None:
    done = run_suite(node, packages, staged.url, tmp_path, "--requirements", revision)
    lines = re.findall(r"^([✓✗]) ([\w-]+): (\d+) passed, (\d+) failed$", done.stdout, flags=re.MULTILINE)
    unscored = set(re.findall(r"^  [✓✗] ([\w-]+) \(", done.stdout, flags=re.MULTILINE))
    scored = [line for line in lines if line[1] not in unscored]
    assert scored, done.stdout[-2000:] + done.stderr[-2000:]
    assert [name for mark, name, _, _ in scored if mark == "✗"] == []
    assert done.returncode == 0
    failing = sorted(name for mark, name, _, _ in lines if mark == "✗")
    counted(
        f"MCP protocol suite, server, requirements {revision} ({len(scored)} scenarios)",
        version_of(packages, "conformance"),
        passed=sum(int(line[2]) for line in scored),
        left_out=dict.fromkeys(failing, UNSCORED),
    )


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_door_as_served_passes_what_needs_no_fixture(
    node: Path, packages: Path, bare: Served, tmp_path: Path, revision: str
) -> None:
    failed = {}
    for scenario in NO_FIXTURE_NEEDED[revision]:
        done = run_suite(node, packages, bare.url, tmp_path, "--scenario", scenario, "--spec-version", revision)
        if done.returncode:
            failed[scenario] = done.stdout[-1500:]
    assert failed == {}
    counted(
        f"MCP protocol suite, {revision}, `/mcp` as served (scenarios)",
        version_of(packages, "conformance"),
        passed=len(NO_FIXTURE_NEEDED[revision]),
    )


def test_the_inspector_lists_and_calls_our_tools(node: Path, packages: Path, server: Served) -> None:
    program = packages / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
    key = server.key("acme")

    def inspect(*words: str) -> dict[str, Any]:
        command: list[str | Path] = [node, program, "--cli", f"{server.url}/mcp?userId=ann", "--transport", "http",
                   "--header", f"Authorization: Bearer {key}", *words]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout[-800:] + done.stderr[-800:]
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    tools = {tool["name"] for tool in inspect("--method", "tools/list")["tools"]}
    assert {"remember", "recall", "forget", "get_context"} <= tools
    called = ("--method", "tools/call", "--tool-name")
    inspect(*called, "remember", "--tool-arg", "content=Lives in Austin, Texas")
    found = inspect(*called, "recall", "--tool-arg", "query=where does she live")
    assert "Austin" in json.dumps(found["structuredContent"])
    suite = "The MCP Inspector's command line over `/mcp` (list, remember, recall)"
    counted(suite, version_of(packages, "inspector"), passed=1)
