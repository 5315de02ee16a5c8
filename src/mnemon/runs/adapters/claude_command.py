"""How the Claude CLI is started: its arguments, environment and files. Nothing is inherited from the server.

Measured with version 2.1.325, and the reason for each switch:
- `--bare`: MCP tools are offered at once, no project or user settings are read, and `@path` in a prompt attaches no
  file. Without it a prompt that says `@/etc/passwd` sends that file to the model.
- `--system-prompt-snapshot off`: otherwise a resumed session keeps the first system prompt for ever.
- `--strict-mcp-config` and `--allowedTools`: only our server is used, and its tools need no permission.
- `--permission-mode dontAsk`: nobody is there to give permission; what is not allowed is denied.
- a prompt that begins with `/` would be taken for a command even with `--disable-slash-commands`, so it gets a space.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mnemon.runs.active_memory import MemoryAccess
from mnemon.runs.adapter import AgentTask
from mnemon.runs.card import CardDefinition
from mnemon.runs.card_filling import asked_card_schema
from mnemon.runs.decisions import REVIEW_TOOL

MCP_SERVER_NAME = "orchestrator"
"""The name of our MCP server in the CLI's configuration; the CLI puts it into tool names."""
REVIEW_TOOL_NAME = f"mcp__{MCP_SERVER_NAME}__{REVIEW_TOOL}"
BLIND_TOOLS = frozenset({"WebSearch", "WebFetch"})
"""Built-in tools that read no file of this machine: all that a blind specialist may have."""
_TOOL_NAME = re.compile(r"[A-Z][A-Za-z]{1,39}")
_SESSION_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A UUID, as the CLI names its sessions."""

_FIXED_ENVIRONMENT = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_MAX_RETRIES": "3",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_BUG_COMMAND": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "MCP_TIMEOUT": "10000",
    "NO_COLOR": "1",
}
"""Variables that every call gets: no telemetry, no updates, no attachments, few retries."""


@dataclass(frozen=True, kw_only=True)
class ClaudeDirectories:
    """The private directories of one agent's CLI."""

    root: Path

    @property
    def work_dir(self) -> Path:
        """Return the CLI's working directory, which never changes, because the CLI finds its sessions by it."""
        return self.root / "work"

    @property
    def home_dir(self) -> Path:
        """Return the directory that the CLI gets as HOME."""
        return self.root / "home"

    @property
    def config_dir(self) -> Path:
        """Return the directory that the CLI gets as CLAUDE_CONFIG_DIR, where it stores its sessions."""
        return self.root / "config"

    def create(self) -> None:
        """Create the agent's directories for the CLI, readable by the server's user only."""
        for folder in (self.root, self.work_dir, self.home_dir, self.config_dir):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)


@dataclass(frozen=True, kw_only=True)
class ClaudeFiles:
    """Private files for one call, with what must not be on its command line."""

    system: Path
    mcp: Path | None


def parse_tool_names(setting: str) -> tuple[str, ...]:
    """Return the names of built-in tools in the operator's setting; anything else in it is ignored."""
    names = (name.strip() for name in setting.split(","))
    return tuple(name for name in names if _TOOL_NAME.fullmatch(name))


def _cli_card_schema(card: CardDefinition) -> dict[str, Any]:
    """Return the card's schema for the Claude CLI, in which slots that may stay empty may also be left out."""
    # The CLI itself compares the answer with the schema, and the run fails once its own repetitions are used up.
    required = [slot.name for slot in card.slots if slot.required]
    return {**asked_card_schema(card), "required": required}


def command_arguments(
    task: AgentTask, files: ClaudeFiles, *, tools: tuple[str, ...], resume: str | None, streaming: bool
) -> list[str]:
    """Return the Claude CLI's command line for a task, after the binary's name."""
    # A blind specialist gets only tools that reach no file (decision 16).
    offered = tuple(tool for tool in tools if not task.blind or tool in BLIND_TOOLS)
    allowed = (*offered, REVIEW_TOOL_NAME) if files.mcp else offered
    line = ["-p", "--output-format", "stream-json", "--verbose", "--bare", "--strict-mcp-config"]
    line += ["--disable-slash-commands", "--permission-mode", "dontAsk", "--system-prompt-snapshot", "off"]
    line += ["--system-prompt-file", str(files.system), "--tools", ",".join(offered)]
    line += ["--max-turns", str(task.agent.config.max_turns)]
    if allowed:
        line += ["--allowedTools", ",".join(allowed)]
    if files.mcp:
        line += ["--mcp-config", str(files.mcp)]
    if task.agent.config.model:
        line += ["--model", task.agent.config.model]
    if task.card:
        line += ["--json-schema", json.dumps(_cli_card_schema(task.card))]
    if streaming:
        line += ["--include-partial-messages"]
    if resume:
        line += ["--resume", resume]
    # Forked and not persisted, a resumed session is read and stays as it was: that is a read-only run.
    if resume and task.access is not MemoryAccess.EXTEND:
        line += ["--fork-session"]
    if task.access is not MemoryAccess.EXTEND:
        line += ["--no-session-persistence"]
    return line


def process_environment(place: ClaudeDirectories, *, api_key: str | None, base_url: str | None) -> dict[str, str]:
    """Return the whole environment of the CLI's process, with nothing of the server's own."""
    made = {
        "HOME": str(place.home_dir),
        "CLAUDE_CONFIG_DIR": str(place.config_dir),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        **_FIXED_ENVIRONMENT,
    }
    if api_key:
        made["ANTHROPIC_API_KEY"] = api_key
    if base_url:
        made["ANTHROPIC_BASE_URL"] = base_url
    return made


def mcp_config(url: str, token: str) -> dict[str, Any]:
    """Return the configuration of the one MCP server the CLI may use, with the run's own token."""
    headers = {"Authorization": f"Bearer {token}"}
    return {"mcpServers": {MCP_SERVER_NAME: {"type": "http", "url": url, "headers": headers, "alwaysLoad": True}}}


def escape_prompt(prompt: str) -> str:
    """Return the prompt escaped, so that the Claude CLI does not read its beginning as one of its commands."""
    return f" {prompt}" if prompt.startswith("/") else prompt


def is_session_id(session_id: str | None) -> bool:
    """Say whether this is a session id of the Claude CLI, and not one that another adapter made."""
    return session_id is not None and _SESSION_ID.fullmatch(session_id) is not None
