"""The `claude-cli` adapter: runs the Claude CLI as a child process, in a process group of its own."""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mnemon.errors import Misconfigured
from mnemon.event_loop import write_to_program
from mnemon.runs.active_memory import MemoryAccess
from mnemon.runs.adapter import AgentTask, EmitEvent, RunEvent, RunEventType, RunFailed, TaskOutcome
from mnemon.runs.adapters.claude_command import (
    REVIEW_TOOL_NAME,
    ClaudeDirectories,
    ClaudeFiles,
    command_arguments,
    escape_prompt,
    is_session_id,
    mcp_config,
    parse_tool_names,
    process_environment,
)
from mnemon.runs.adapters.claude_stream import ClaudeResult, card_answer, line_events, parse_line, parse_result
from mnemon.runs.agents import agent_directory
from mnemon.runs.prompt import card_instruction, review_instruction
from mnemon.settings import Settings

# asyncio's own limit of 64 KiB would break on a line with a long tool result.
MAX_LINE_BYTES = 32 * 1024 * 1024
"""Longest line of output that is read."""
_OPTION_ERROR = re.compile(r"error: (unknown option|option) ")
"""What the CLI says of its command line, and the only complaint that is passed on: others may quote the prompt."""
KILL_GRACE_S = 2.0
"""Seconds to wait after each signal for the process to end."""


@dataclass(frozen=True, kw_only=True)
class _ProcessExit:
    """How the process ended."""

    result: ClaudeResult | None
    code: int | None
    complaint: str
    """The last line of its standard error."""
    called: frozenset[str]
    """Names of the tools it called."""


class ClaudeDriver:
    """Performs tasks with the operator's Claude CLI; off until the operator names its binary."""

    def __init__(self, settings: Settings) -> None:
        """Make the driver of the Claude CLI from the settings, which name its binary, tools and key."""
        self._settings = settings

    async def perform_task(self, task: AgentTask, emit: EmitEvent) -> TaskOutcome:
        """Run the Claude CLI on an agent's task; a session that it cannot resume is replaced by a fresh one."""
        binary = self._require_binary()
        if task.convene:
            task = replace(task, prompt=await task.convene(), convene=None)
        async with self._open_directories(task) as (place, files):
            wanted = task.session_id if task.access is not MemoryAccess.NONE else None
            resume = wanted if is_session_id(wanted) else None
            if wanted and not resume:
                await emit(_lost_session_event(wanted))
            # Whether the CLI still has the session shows only when it tries to resume it.
            ended = await self._run_process(binary, task, place, files, resume, emit)
            if resume and ended.result and ended.result.is_lost_session:
                await emit(_lost_session_event(resume))
                ended = await self._run_process(binary, task, place, files, None, emit)
        if task.review and REVIEW_TOOL_NAME not in ended.called:
            await emit(
                RunEvent(type=RunEventType.REVIEW, data={"note": "The model did not look at its decisions first."})
            )
        return _task_outcome(task, ended)

    def _require_binary(self) -> Path:
        """Return the path of the Claude CLI; raise RunFailed when the operator has not set it."""
        if self._settings.claude_cli is None:
            raise RunFailed(
                "The claude-cli adapter is off: it runs programs as the server. "
                "The operator turns it on with MNEMON_CLAUDE_CLI, the path of the Claude CLI."
            )
        return self._settings.claude_cli

    @asynccontextmanager
    async def _open_directories(self, task: AgentTask) -> AsyncIterator[tuple[ClaudeDirectories, ClaudeFiles]]:
        """Yield the CLI's directories for the agent and its private files, which are deleted at the end."""
        # A blind task gets the empty directory as its root too: nothing of the agent's may be readable.
        private = Path(tempfile.mkdtemp(prefix="mnemon-run-"))
        try:
            place = ClaudeDirectories(
                root=private if task.blind else agent_directory(self._settings.data_dir, task.org_id, task.agent.id)
            )
            place.create()
            yield place, self._write_files(task, private)
        finally:
            shutil.rmtree(private, ignore_errors=True)

    def _write_files(self, task: AgentTask, private: Path) -> ClaudeFiles:
        """Write the CLI's system prompt and its MCP configuration with the token into private files; return both."""
        # Files, because every user of the machine can read a command line.
        parts = [task.system]
        if task.review:
            parts.append(review_instruction(REVIEW_TOOL_NAME))
        if task.card:
            parts.append(card_instruction(task.card))
        system = _write_private_file(private / "system.md", "\n\n".join(parts))
        if task.review is None:
            return ClaudeFiles(system=system, mcp=None)
        config = mcp_config(self._mcp_url(), task.review.token)
        return ClaudeFiles(system=system, mcp=_write_private_file(private / "mcp.json", json.dumps(config)))

    def _mcp_url(self) -> str:
        """Return the URL at which the Claude CLI reaches this server's MCP endpoint."""
        if self._settings.mcp_url:
            return self._settings.mcp_url
        # An address that means "every interface" can be listened on but not connected to.
        host = "127.0.0.1" if self._settings.host in {"0.0.0.0", "::", ""} else self._settings.host  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host else host}:{self._settings.port}/mcp"

    async def _run_process(
        self,
        binary: Path,
        task: AgentTask,
        place: ClaudeDirectories,
        files: ClaudeFiles,
        resume: str | None,
        emit: EmitEvent,
    ) -> _ProcessExit:
        """Start the Claude CLI, follow it to its end and kill whatever it left running; return how it ended.

        Raises Misconfigured when the binary cannot be started.
        """
        tools = parse_tool_names(self._settings.claude_cli_tools)
        line = command_arguments(task, files, tools=tools, resume=resume, streaming=task.card is None)
        key = self._settings.claude_api_key
        variables = process_environment(
            place, api_key=key.get_secret_value() if key else None, base_url=self._settings.claude_base_url
        )
        try:
            # In a new session, so that the process and all it starts form a group that can be killed together.
            process = await asyncio.create_subprocess_exec(
                binary, *line, cwd=place.work_dir, env=variables, limit=MAX_LINE_BYTES, start_new_session=True,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
        except OSError as error:
            raise Misconfigured(
                f"MNEMON_CLAUDE_CLI names {binary}, which cannot be started: {error.strerror}."
            ) from None
        try:
            return await _follow_process(process, escape_prompt(task.prompt), emit)
        finally:
            await _kill_process_group(process)


async def _follow_process(process: asyncio.subprocess.Process, prompt: str, emit: EmitEvent) -> _ProcessExit:
    """Write the prompt to the CLI's process, emit its events, and return how it ended."""
    assert process.stdin
    assert process.stdout
    assert process.stderr
    # Read from the start: a process whose standard error is full would block.
    complaint = asyncio.create_task(process.stderr.read())
    # The process may end before it has read its prompt; its exit code and standard error then tell why.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        write_to_program(process.stdin, prompt.encode())
        await process.stdin.drain()
    process.stdin.close()
    result, names = None, dict[str, str]()
    try:
        async for raw in process.stdout:
            line = parse_line(raw)
            if line is not None:
                result = parse_result(line) or result
                for event in line_events(line, names):
                    await emit(event)
        code = await process.wait()
        lines = (await complaint).decode(errors="replace").strip().splitlines()
        last = lines[-1][:500] if lines else ""
        return _ProcessExit(result=result, code=code, complaint=last, called=frozenset(names.values()))
    finally:
        complaint.cancel()


async def _kill_process_group(process: asyncio.subprocess.Process) -> None:
    """End the CLI's process and everything it started: SIGTERM, then SIGKILL."""
    # Also when the process itself has ended: programs that it started may still be running.
    for sign, wait in ((signal.SIGTERM, KILL_GRACE_S), (signal.SIGKILL, KILL_GRACE_S)):
        try:
            os.killpg(process.pid, sign)
        except (ProcessLookupError, PermissionError):
            break
        if process.returncode is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(process.wait()), wait)
    if process.returncode is None:
        await process.wait()


def _task_outcome(task: AgentTask, ended: _ProcessExit) -> TaskOutcome:
    """Return the outcome of an ended CLI process; raise RunFailed for an error or a missing result or card."""
    result = ended.result
    if result is None:
        cause = f": {_redact_paths(ended.complaint)}" if _OPTION_ERROR.match(ended.complaint) else ""
        raise RunFailed(f"The Claude CLI ended with code {ended.code} and without a result{cause}.")
    if result.is_error:
        raise RunFailed(f"The Claude CLI failed: {result.describe_failure()}.", usage=result.usage)
    answer = card_answer(result) if task.card else None
    if task.card and answer is None:
        raise RunFailed("The Claude CLI answered with text and no card.", usage=result.usage)
    kept = result.session_id if task.access is MemoryAccess.EXTEND else None
    return TaskOutcome(reply=result.text, answer=answer, session_id=kept, transcript=(), usage=result.usage)


def _lost_session_event(session_id: str) -> RunEvent:
    """Return the event that reports that this session of the CLI cannot be resumed."""
    why = f"Session {session_id} is not on this machine; this starts fresh."
    return RunEvent(type=RunEventType.SESSION, data={"lost": session_id, "note": why})


def _write_private_file(path: Path, text: str) -> Path:
    """Create the file with this text, readable by the server's user only, and return its path."""
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text, encoding="utf-8")
    return path


def _redact_paths(text: str) -> str:
    """Return the text without the server's file paths, which API callers must not see."""
    return re.sub(r"/(?:[\w.-]+/)+[\w.-]*", "…", text)
