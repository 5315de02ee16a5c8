"""`python -m mnemon.llm.scripted`: the scripted server as a process of its own."""

import argparse
import asyncio
import contextlib
import json
import sys
from pathlib import Path

from mnemon.llm.scripted.server import ScriptedServer, apply_orders


def main() -> None:
    """Serve the scripted model on a port of loopback until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m mnemon.llm.scripted", description=__doc__)
    parser.add_argument("--port", type=int, default=9009)
    parser.add_argument("--script", type=Path, help="a JSON file with orders, as POST /script takes them")
    given = parser.parse_args()
    server = ScriptedServer(port=given.port)
    if given.script:
        apply_orders(server.script, json.loads(given.script.read_text(encoding="utf-8")))
    sys.stderr.write(f"scripted model on http://127.0.0.1:{given.port}/v1\n")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(server.serve())


if __name__ == "__main__":
    main()
