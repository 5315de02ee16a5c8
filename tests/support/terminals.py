"""The program at a terminal, with somebody who answers."""

import os
import pty
import subprocess
import sys

from support.bounds import HANGS_S


def at_a_terminal(*words: str, answer: str) -> tuple[int, str]:
    """The exit code and what is shown when somebody at a terminal answers."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from mnemon.cli.main import main; main()", *words]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ.copy()) as asked:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        seen = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            seen += piece
        code = asked.wait(timeout=HANGS_S)
    os.close(ours)
    return code, seen.decode(errors="replace")
