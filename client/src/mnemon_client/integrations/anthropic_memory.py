"""Anthropic's memory tool over notes: `client.beta.messages.tool_runner(…, tools=[MnemonMemoryTool(mnemon)])`.

A file is a note under its path; a directory exists through the paths below it. The replies are worded as those of
Anthropic's own file-system tool, which models know.
"""

import posixpath
from typing import Any

from anthropic.lib.tools import BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from mnemon_client import Mnemon

ROOT = "/memories"
_NAMESPACE = ["anthropic-memory"]
_MAX_NOTES = 1000
_CONTEXT_LINES = 4


class MnemonMemoryTool(BetaAsyncAbstractMemoryTool):
    """Claude's memory directory, in the notes of the client's person."""

    def __init__(self, client: Mnemon, **options: Any) -> None:
        """Make the memory tool over a client, whose person's notes hold the files."""
        super().__init__(**options)
        self.client = client

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return a memory file with line numbers, or the files and directories up to two levels below a path."""
        path = _check_path(command.path)
        text = await self._read_text(path)
        if text is not None:
            first, last = command.view_range or (1, -1)
            return f"Here's the content of {path} with line numbers:\n{_number_lines(text, first, last)}"
        paths = await self._paths_below(path)
        if not paths and path != ROOT:
            raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
        listed = sorted({path, *paths, *(up for one in paths for up in _parent_directories(path, one))})
        head = f"Here're the files and directories up to 2 levels deep in {path}:"
        return "\n".join([head, *(one for one in listed if one[len(path) :].count("/") <= 2)])

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a memory file; raise ToolError if it exists."""
        path = _check_path(command.path)
        # `ifAbsent` makes looking and writing one step.
        put = {**_note_address(path), "op": "put", "value": {"text": command.file_text}, "ifAbsent": True}
        [made] = await self.client.write_notes([put])
        if not made["count"]:
            raise ToolError(f"File {command.path} already exists")
        return f"File created successfully at: {command.path}"

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once in a memory file; raise ToolError if it occurs never or more often."""
        path = _check_path(command.path)
        text = await self._require_file(path)
        places = [n for n, line in enumerate(text.split("\n"), 1) if command.old_str.split("\n")[0] in line]
        count = text.count(command.old_str)
        if count == 0:
            raise ToolError(f"No replacement was performed, old_str `{command.old_str}` did not appear in {path}.")
        if count > 1:
            lines = ", ".join(map(str, places))
            raise ToolError(f"Multiple occurrences of old_str `{command.old_str}` in lines: {lines}. Make it unique.")
        at = text[: text.index(command.old_str)].count("\n") + 1
        text = text.replace(command.old_str, command.new_str, 1)
        await self._write_file(path, text)
        around = _number_lines(text, max(1, at - _CONTEXT_LINES), at + command.new_str.count("\n") + _CONTEXT_LINES)
        return f"The memory file has been edited. Here's the snippet showing the change (with line numbers):\n{around}"

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines after a line of a memory file; raise ToolError for a line it does not have."""
        path = _check_path(command.path)
        lines = (await self._require_file(path)).split("\n")
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(f"Invalid `insert_line`: {command.insert_line}. It should be within [0, {len(lines)}].")
        lines[command.insert_line : command.insert_line] = command.insert_text.removesuffix("\n").split("\n")
        await self._write_file(path, "\n".join(lines))
        return f"The file {command.path} has been edited."

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a memory file, or a directory with everything in it; raise ToolError if there is neither."""
        path = _check_path(command.path)
        if path == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        gone = [path] if await self._read_text(path) is not None else await self._paths_below(path)
        if not gone:
            raise ToolError(f"The path {command.path} does not exist")
        await self.client.write_notes([{**_note_address(one), "op": "delete"} for one in gone])
        return f"Successfully deleted {command.path}"

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a memory file or a directory; raise ToolError if the destination exists or the source does not."""
        old, new = _check_path(command.old_path), _check_path(command.new_path)
        if await self._read_text(new) is not None or await self._paths_below(new):
            raise ToolError(f"The destination {command.new_path} already exists")
        moved = [old] if await self._read_text(old) is not None else await self._paths_below(old)
        if not moved:
            raise ToolError(f"The path {command.old_path} does not exist")
        # One request, which the server applies as a whole or not at all: a move is never half done.
        changes: list[dict[str, Any]] = []
        for one in moved:
            value = {"text": await self._require_file(one)}
            changes.append({**_note_address(new + one[len(old) :]), "op": "put", "value": value})
            changes.append({**_note_address(one), "op": "delete"})
        await self.client.write_notes(changes)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    async def clear_all_memory(self) -> str:
        """Delete every memory file of the client's person."""
        await self.client.write_notes([{"op": "clear", "namespace": _NAMESPACE}])
        return "All memory cleared"

    async def _read_text(self, path: str) -> str | None:
        """Return the text of the memory file at this path; None when there is no such file."""
        [note] = await self.client.read_notes([(_NAMESPACE, path)])
        return None if note is None else str(note["value"]["text"])

    async def _require_file(self, path: str) -> str:
        """Return the text of the memory file at this path; raise ToolError when there is no such file."""
        text = await self._read_text(path)
        if text is None:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        return text

    async def _write_file(self, path: str, text: str) -> None:
        """Store the text as the memory file at this path, over what was there."""
        await self.client.write_notes([{**_note_address(path), "op": "put", "value": {"text": text}}])

    async def _paths_below(self, path: str) -> list[str]:
        """Return the paths of up to 1,000 memory files below a directory, in order."""
        # "0" is the character after "/", so the keys between the two are exactly those below the directory.
        found = await self.client.search_notes(
            _NAMESPACE, exact=True, order="key", after=f"{path}/", before=f"{path}0", limit=_MAX_NOTES
        )
        return [note["key"] for note in found]


def _check_path(given: str) -> str:
    """Return the path normalized, without `..`; raise ToolError unless it is below `/memories`."""
    path = posixpath.normpath(given)
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {given}")
    return path


def _note_address(path: str) -> dict[str, Any]:
    """Return the namespace and key of the note that holds the file at this path."""
    return {"namespace": _NAMESPACE, "key": path}


def _parent_directories(root: str, path: str) -> list[str]:
    """Return the directories between the root and the path of a file."""
    parts = path[len(root) + 1 :].split("/")[:-1]
    return ["/".join([root, *parts[: n + 1]]) for n in range(len(parts))]


def _number_lines(text: str, first: int, last: int) -> str:
    """Return lines `first` to `last` of the text, each after its number; -1 means up to the last line."""
    lines = list(enumerate(text.split("\n"), 1))[first - 1 : None if last == -1 else last]
    return "\n".join(f"{number:6}\t{line}" for number, line in lines)
