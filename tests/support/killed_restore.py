"""Runs the program and kills it, as `kill -9` does, when a restore reaches a named stage.

python killed_restore.py STAGE restore FILE ...
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from mnemon.access.carryover import RevocationCarryover
from mnemon.cli import services, survivors
from mnemon.cli.main import app
from mnemon.custody import replay
from mnemon.db import backup
from mnemon.db.connect import open_connection
from support.bounds import HANGS_S

BEFORE_COMMIT = ("before_load", "within_load")
AFTER_COMMIT = ("after_load", "after_migrate", "within_forgettings", "between_survivors", "before_end")


def die(*_: object, **__: object) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def dies_after(act: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
    """The same act, and then the end."""

    async def act_and_die(*args: object, **named: object) -> None:
        await act(*args, **named)
        die()

    return act_and_die


async def _half_the_lines(*args: Any) -> AsyncIterator[bytes]:
    """The archive's lines up to the rows of the keys; the end comes when the database waits for those."""
    async for line in _ARCHIVE_LINES(*args):
        yield line
        if line.startswith(b"COPY public.keys"):
            await _wait_for_copy()
            die()


async def _wait_for_copy() -> None:
    """Return when the database of MNEMON_DATABASE_URL is in the middle of a COPY into the keys."""
    end = time.monotonic() + HANGS_S
    async with await open_connection(os.environ["MNEMON_DATABASE_URL"]) as connection:
        while time.monotonic() < end:
            copies = await connection.execute(
                "select 1 from pg_stat_progress_copy p join pg_stat_activity a using (pid) "
                "where a.query like 'COPY public.keys%' and p.command = 'COPY FROM'"
            )
            if await copies.fetchone():
                return
            await asyncio.sleep(0.02)
    raise TimeoutError


_ARCHIVE_LINES = backup._archive_lines


def place_the_end(stage: str) -> None:
    """Put the end of the process at this stage of a restore."""
    if stage == "before_load":
        backup.load_archive = die
    elif stage == "within_load":
        backup._archive_lines = _half_the_lines  # type: ignore[assignment]
    elif stage == "after_load":
        backup.load_archive = dies_after(backup.load_archive)  # type: ignore[assignment]
    elif stage == "after_migrate":
        services.migrate_to_current = dies_after(services.migrate_to_current)  # type: ignore[assignment]
    elif stage == "within_forgettings":
        replay.forget_again = _die_at_second(replay.forget_again)  # type: ignore[assignment]
    elif stage == "between_survivors":
        RevocationCarryover.apply_to = die  # type: ignore[method-assign]
    elif stage == "before_end":
        survivors.apply_survivors = dies_after(survivors.apply_survivors)  # type: ignore[assignment]
    else:
        raise ValueError(stage)


def _die_at_second(act: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """The same act once; the second time, the end comes when it is done and not committed."""
    calls = []

    async def act_or_die(*args: object) -> object:
        calls.append(1)
        done = await act(*args)
        return die() if len(calls) == 2 else done

    return act_or_die


if __name__ == "__main__":
    place_the_end(sys.argv[1])
    app(sys.argv[2:])
