"""The `claude-cli` adapter: drives the real Claude CLI as a program of its own, in a process group of its own."""

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
from mnemon.runs.active_memory import Access
from mnemon.runs.adapter import Emit, Event, EventType, Outcome, RunFailed, Task
from mnemon.runs.adapters.claude_command import (
    REVIEW_NAME,
    Files,
    Place,
    arguments,
    environment,
    is_session,
    mcp_config,
    named_tools,
    safe_prompt,
)
from mnemon.runs.adapters.claude_stream import Result, answer_in, events_of, read_line, result_of
from mnemon.runs.prompt import card_instruction, review_instruction
from mnemon.runs.removal import home_of
from mnemon.settings import Settings

LONGEST_LINE = 32 * 1024 * 1024
GRACE_S = 2.0


@dataclass(frozen=True, kw_only=True)
class _Ended:
    """How the program ended."""

    result: Result | None
    code: int | None
    complaint: str
    """The last words on its standard error."""
    called: frozenset[str]
    """Names of the tools it called."""


class ClaudeDriver:
    """Drives agents with the operator's Claude CLI; off until the operator names its binary."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def perform(self, task: Task, emit: Emit) -> Outcome:
        binary = self._binary()
        if task.convene:
            task = replace(task, prompt=await task.convene(), convene=None)
        async with self._placed(task) as (place, files):
            wanted = task.session_id if task.access is not Access.NONE else None
            resume = wanted if is_session(wanted) else None
            if wanted and not resume:
                await emit(_fresh(wanted))
            ended = await self._run(binary, task, place, files, resume, emit)
            if resume and ended.result and ended.result.lost_session:
                await emit(_fresh(resume))
                ended = await self._run(binary, task, place, files, None, emit)
        if task.review and REVIEW_NAME not in ended.called:
            await emit(Event(type=EventType.REVIEW, data={"note": "The model did not look at its decisions first."}))
        return _outcome(task, ended)

    def _binary(self) -> Path:
        if self._settings.claude_cli is None:
            raise RunFailed(
                "The claude-cli adapter is off: it runs programs as the server. "
                "The operator turns it on with MNEMON_CLAUDE_CLI, the path of the Claude CLI."
            )
        return self._settings.claude_cli

    @asynccontextmanager
    async def _placed(self, task: Task) -> AsyncIterator[tuple[Place, Files]]:
        """The agent's own place, or for a blind task one that holds nothing and is gone afterwards."""
        private = Path(tempfile.mkdtemp(prefix="mnemon-run-"))
        try:
            place = Place(root=private if task.blind else home_of(self._settings.data_dir, task.org_id, task.agent.id))
            place.make()
            yield place, self._write(task, private)
        finally:
            shutil.rmtree(private, ignore_errors=True)

    def _write(self, task: Task, private: Path) -> Files:
        """System prompt and token go into files that only the server's user can read."""
        parts = [task.system]
        if task.review:
            parts.append(review_instruction(REVIEW_NAME))
        if task.card:
            parts.append(card_instruction(task.card))
        system = _private_file(private / "system.md", "\n\n".join(parts))
        if task.review is None:
            return Files(system=system, mcp=None)
        config = mcp_config(self._mcp_url(), task.review.token)
        return Files(system=system, mcp=_private_file(private / "mcp.json", json.dumps(config)))

    def _mcp_url(self) -> str:
        if self._settings.mcp_url:
            return self._settings.mcp_url
        host = "127.0.0.1" if self._settings.host in {"0.0.0.0", "::", ""} else self._settings.host  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host else host}:{self._settings.port}/mcp"

    async def _run(
        self, binary: Path, task: Task, place: Place, files: Files, resume: str | None, emit: Emit
    ) -> _Ended:
        tools = named_tools(self._settings.claude_cli_tools)
        line = arguments(task, files, tools=tools, resume=resume, streaming=task.card is None)
        key = self._settings.claude_api_key
        variables = environment(
            place, api_key=key.get_secret_value() if key else None, base_url=self._settings.claude_base_url
        )
        try:
            process = await asyncio.create_subprocess_exec(
                binary, *line, cwd=place.work, env=variables, limit=LONGEST_LINE, start_new_session=True,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
        except OSError as error:
            raise Misconfigured(
                f"MNEMON_CLAUDE_CLI names {binary}, which cannot be started: {error.strerror}."
            ) from None
        try:
            return await _attended(process, safe_prompt(task.prompt), emit)
        finally:
            await _gone(process)


async def _attended(process: asyncio.subprocess.Process, prompt: str, emit: Emit) -> _Ended:
    """The program, followed to its end."""
    assert process.stdin
    assert process.stdout
    assert process.stderr
    complaint = asyncio.create_task(process.stderr.read())
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(prompt.encode())
        await process.stdin.drain()
    process.stdin.close()
    result, names = None, dict[str, str]()
    try:
        async for raw in process.stdout:
            line = read_line(raw)
            if line is not None:
                result = result_of(line) or result
                for event in events_of(line, names):
                    await emit(event)
        code = await process.wait()
        said = (await complaint).decode(errors="replace").strip().splitlines()
        last = said[-1][:500] if said else ""
        return _Ended(result=result, code=code, complaint=last, called=frozenset(names.values()))
    finally:
        complaint.cancel()


async def _gone(process: asyncio.subprocess.Process) -> None:
    """Neither the program nor anything it started is left."""
    for sign, wait in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
        try:
            os.killpg(process.pid, sign)
        except (ProcessLookupError, PermissionError):
            break
        if process.returncode is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(process.wait()), wait)
    if process.returncode is None:
        await process.wait()


def _outcome(task: Task, ended: _Ended) -> Outcome:
    result = ended.result
    if result is None:
        said = f": {_without_paths(ended.complaint)}" if ended.complaint else ""
        raise RunFailed(f"The Claude CLI ended with code {ended.code} and without a result{said}.")
    if result.is_error:
        raise RunFailed(f"The Claude CLI failed: {_without_paths(result.text)}", usage=result.usage)
    answer = answer_in(result) if task.card else None
    if task.card and answer is None:
        raise RunFailed("The Claude CLI answered with words and no card.", usage=result.usage)
    kept = result.session_id if task.access is Access.EXTEND else None
    return Outcome(reply=result.text, answer=answer, session_id=kept, transcript=(), usage=result.usage)


def _fresh(session_id: str) -> Event:
    why = f"Session {session_id} is not on this machine; this starts fresh."
    return Event(type=EventType.SESSION, data={"lost": session_id, "note": why})


def _private_file(path: Path, text: str) -> Path:
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text, encoding="utf-8")
    return path


def _without_paths(text: str) -> str:
    """The words without the server's own paths, which are nobody's business on the wire."""
    return re.sub(r"/(?:[\w.-]+/)+[\w.-]*", "…", text)
