"""Runs PostgreSQL's programs as the right user, in the foreground or detached."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mnemon.db.embedded import launch
from mnemon.db.embedded.account import Account
from mnemon.errors import Misconfigured

LAUNCH = Path(launch.__file__)
PASSED_ON = ("PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV")


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a program ended."""

    code: int
    """Its exit code."""
    said: str
    """What it wrote, both streams."""


async def run(argv: Sequence[str], *, account: Account, reach: Sequence[Path], given: str = "") -> Ended:
    """The program has ended; `given` was its input."""
    return await _run(order(argv, account=account, reach=reach, log=None), given, {})


async def start_detached(
    argv: Sequence[str], *, account: Account | None, reach: Sequence[Path] = (), log: Path, stale_pid: int | None = None
) -> int:
    """The program runs by itself, as us when no account is named, and outlives us; its pid."""
    # PostgreSQL takes the pid in a lock file for stale when it is its own grandparent's. So a recycled pid is
    # named here, and every other interlock (the shared memory check above all) stays in force.
    extra = {"PG_GRANDPARENT_PID": str(stale_pid)} if stale_pid else {}
    ended = await _run(order(argv, account=account, reach=reach, log=log), "", extra)
    return int(ended.said)


def order(argv: Sequence[str], *, account: Account | None, reach: Sequence[Path], log: Path | None) -> launch.Order:
    """What `launch` is told."""
    return {
        "argv": list(argv),
        "uid": account.uid if account and not account.is_us else None,
        "gid": account.gid if account and not account.is_us else None,
        "reach": [str(path) for path in reach],
        "log": str(log) if log else None,
    }


async def _run(what: launch.Order, given: str, extra: dict[str, str]) -> Ended:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", str(LAUNCH), json.dumps(what)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=plain_environment() | extra,
        start_new_session=True,  # a Ctrl-C in the terminal is for us to act on
        cwd="/",
    )
    try:
        said, _ = await process.communicate(given.encode())
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    text = said.decode(errors="replace").strip()
    if text.startswith("launch: "):
        raise Misconfigured(_refusal(text.removeprefix("launch: ")))
    return Ended(code=process.returncode or 0, said=text)


def _refusal(why: str) -> str:
    return (
        f"PostgreSQL could not be run: {why}. Use a directory that user may enter (--data-dir, MNEMON_DATA_DIR), "
        "run mnemon as an ordinary user, or set MNEMON_DATABASE_URL."
    )


def plain_environment() -> dict[str, str]:
    """The few variables PostgreSQL needs: no key of ours, nothing that changes its behaviour or language."""
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {"LC_ALL": "C"}
