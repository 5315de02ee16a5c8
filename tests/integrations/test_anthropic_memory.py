"""Anthropic's memory tool over notes, by the commands a model sends."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError

from mnemon_client import Mnemon
from mnemon_client.integrations.anthropic_memory import MnemonMemoryTool
from support.served import served


@pytest.fixture
async def tool(database_url: str, tmp_path: Path) -> AsyncIterator[MnemonMemoryTool]:
    with served(database_url, tmp_path, model="offline") as server:
        key = await asyncio.to_thread(server.key)
        async with Mnemon(server.url, key, user_id="ann") as client:
            yield MnemonMemoryTool(client)


async def do(tool: MnemonMemoryTool, command: str, **words: Any) -> str:
    return str(await tool.call({"command": command, **words}))


async def test_files_are_made_seen_edited_moved_and_deleted(tool: MnemonMemoryTool) -> None:
    await do(tool, "create", path="/memories/a/one.txt", file_text="alpha\nbeta")
    await do(tool, "create", path="/memories/two.txt", file_text="gamma")
    assert (await do(tool, "view", path="/memories")).split("\n")[1:] == [
        "/memories", "/memories/a", "/memories/a/one.txt", "/memories/two.txt",
    ]  # fmt: skip
    await do(tool, "insert", path="/memories/a/one.txt", insert_line=1, insert_text="between\n")
    await do(tool, "str_replace", path="/memories/a/one.txt", old_str="beta", new_str="delta")
    seen = await do(tool, "view", path="/memories/a/one.txt", view_range=[2, 3])
    assert [line.split("\t")[1] for line in seen.split("\n")[1:]] == ["between", "delta"]
    await do(tool, "rename", old_path="/memories/a", new_path="/memories/b")
    assert "alpha" in await do(tool, "view", path="/memories/b/one.txt")
    await do(tool, "delete", path="/memories/b")
    assert "one.txt" not in await do(tool, "view", path="/memories")
    await tool.clear_all_memory()
    assert "two.txt" not in await do(tool, "view", path="/memories")


@pytest.mark.parametrize(
    ("command", "words", "told"),
    [
        ("view", {"path": "/memories/none"}, "does not exist"),
        ("view", {"path": "/memories/../etc/passwd"}, "must start with /memories"),
        ("create", {"path": "/memories/x.txt", "file_text": "again"}, "already exists"),
        ("str_replace", {"path": "/memories/x.txt", "old_str": "none", "new_str": ""}, "did not appear"),
        ("str_replace", {"path": "/memories/x.txt", "old_str": "x", "new_str": ""}, "Multiple occurrences"),
        ("insert", {"path": "/memories/x.txt", "insert_line": 9, "insert_text": ""}, "Invalid `insert_line`"),
        ("delete", {"path": "/memories"}, "Cannot delete"),
        ("rename", {"old_path": "/memories/none", "new_path": "/memories/y"}, "does not exist"),
        ("rename", {"old_path": "/memories/none", "new_path": "/memories/x.txt"}, "already exists"),
    ],
)
async def test_what_cannot_be_done_is_said(
    tool: MnemonMemoryTool, command: str, words: dict[str, Any], told: str
) -> None:
    await do(tool, "create", path="/memories/x.txt", file_text="x x")
    with pytest.raises(ToolError, match=told):
        await do(tool, command, **words)
