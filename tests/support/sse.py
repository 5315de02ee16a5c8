"""Reading server-sent events in tests, with the client's own parser."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import httpx2

from mnemon_client.sse import SseParser

HeardEvent = tuple[str, dict[str, Any]]
"""The name of an event and its data."""


def events_in(text: str) -> list[HeardEvent]:
    """Name and data of each event in the text, also of a last one that nothing completes."""
    return list(_named_events([f"{text}\n\n".encode()]))


def heard_events(answer: httpx2.Response) -> Iterator[HeardEvent]:
    """Name and data of each event of a stream, as it arrives."""
    return _named_events(answer.iter_bytes())


def _named_events(pieces: Iterable[bytes]) -> Iterator[HeardEvent]:
    parser = SseParser()
    for piece in pieces:
        for event in parser.feed(piece):
            if event.data.strip() and event.name != "message":
                yield event.name, json.loads(event.data)
