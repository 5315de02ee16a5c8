"""Writes the sync client from the async one: `python scripts/generate_sync_client.py`. A house test keeps it fresh."""

import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).parents[1] / "client" / "src" / "mnemon_client"
HEADER = '"""Generated from the async modules beside it by scripts/generate_sync_client.py. Do not edit."""\n\n'
WORDS = (
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\b__aenter__\b", "__enter__"),
    (r"\b__aexit__\b", "__exit__"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"\bAsyncClient\b", "Client"),
    (r"\bAsyncTransport\b", "Transport"),
    (r"\bAsyncCalls\b", "Calls"),
    (r", transport=PerLoop\(\)", ""),
    (r"\baclose\b", "close"),
    (r"\baread\b", "read"),
    (r"\baiter_(lines|bytes)\b", r"iter_\1"),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\bMnemon\b", "SyncMnemon"),
)


GENERATED = {"sync_transport.py": ("transport.py",), "sync.py": ("calls.py", "asynchronous.py")}
"""The modules that are written, and which they are made from."""


def generated(name: str) -> str:
    """The synchronous twin of these modules as one."""
    parts = [(CLIENT / source).read_text(encoding="utf-8") for source in GENERATED[name]]
    imports: list[str] = []
    bodies: list[str] = []
    for part in parts:
        text = re.sub(r'\A""".*?"""\n', "", part, flags=re.DOTALL)
        text = re.sub(r"    # async only: begin\n.*?    # async only: end\n", "", text, flags=re.DOTALL)
        found = re.findall(r"^(?:from \S+ import (?:\([^)]*\)|[^\n(]*)|import \S+)\n", text, flags=re.MULTILINE)
        imports += found
        bodies.append(re.sub("|".join(map(re.escape, found)), "", text).strip())
    whole = "".join(dict.fromkeys(imports)) + "\n\n" + "\n\n\n".join(bodies) + "\n"
    for pattern, instead in WORDS:
        whole = re.sub(pattern, instead, whole)
    whole = whole.replace("import asyncio\n", "import time\n")
    whole = re.sub(r"^from mnemon_client\.calls import .*\n", "", whole, flags=re.MULTILINE)
    whole = whole.replace("from mnemon_client.transport import", "from mnemon_client.sync_transport import")
    return tidied(HEADER + whole)


def tidied(text: str) -> str:
    """Sorted and formatted as everything else is."""
    for command in (("check", "--fix", "-q", "--select", "I,F401", "-"), ("format", "-q", "-")):
        named = [sys.executable, "-m", "ruff", command[0], "--stdin-filename", str(CLIENT / "sync.py"), *command[1:]]
        text = subprocess.run(named, input=text, capture_output=True, text=True, check=True, cwd=CLIENT).stdout
    return text


if __name__ == "__main__":
    for name in GENERATED:
        (CLIENT / name).write_text(generated(name), encoding="utf-8")
