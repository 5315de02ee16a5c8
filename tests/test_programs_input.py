"""Writing to a program that has ended is a broken pipe on every event loop, and PostgreSQL's programs need no pipe."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

from mnemon.db.embedded.programs import choose_account, run_program
from mnemon.event_loop import write_to_program
from support.bounds import HANGS_S

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]


async def end_of_a_program() -> asyncio.StreamWriter:
    """Return the standard input of a program that has ended, once the loop has noticed it."""
    program = await asyncio.create_subprocess_exec("true", stdin=asyncio.subprocess.PIPE)
    assert program.stdin is not None
    async with asyncio.timeout(HANGS_S):
        await program.wait()
        while not program.stdin.is_closing():
            await asyncio.sleep(0)
    return program.stdin


@pytest.mark.parametrize("new_loop", LOOPS)
def test_a_write_to_a_program_that_ended_is_a_broken_pipe(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def write() -> None:
        stdin = await end_of_a_program()
        with pytest.raises(BrokenPipeError):
            write_to_program(stdin, b"x")

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(write())


@pytest.mark.parametrize("new_loop", LOOPS)
def test_a_program_that_reads_nothing_of_its_input_ends_as_usual(
    new_loop: Callable[[], asyncio.AbstractEventLoop], tmp_path: Path
) -> None:
    account = choose_account(tmp_path, tmp_path / "postgres")
    with asyncio.Runner(loop_factory=new_loop) as runner:
        ended = [
            runner.run(run_program([program], account=account, reach=(), given="x" * 1_000_000))
            for program in ("/bin/true", "/bin/false")
        ]
    assert [one.code for one in ended] == [0, 1]
