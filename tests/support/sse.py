"""Reading Server-Sent Events."""

import json
from typing import Any


def events_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Name and data of each event in the text."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":") and ": " in line)
        if lines.get("data", "").strip() and "event" in lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found
