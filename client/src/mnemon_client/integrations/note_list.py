"""An ordered list of JSON values stored as notes: what agent frameworks call a session's items."""

import json
from collections.abc import Sequence
from typing import Any

from mnemon_client import Mnemon

_BATCH_SIZE = 500
_WRAPPED_KEY = "$json"


class NoteList:
    """One list, in one namespace of the client's person."""

    def __init__(self, client: Mnemon, namespace: Sequence[str]) -> None:
        """Make a list of JSON values over a client, whose notes in this namespace hold the values."""
        self.client = client
        self.namespace = list(namespace)

    async def add(self, values: Sequence[Any]) -> None:
        """Append the values to the list, as notes."""
        changes = [{"op": "put", "namespace": self.namespace, "value": wrapped(value)} for value in values]
        for start in range(0, len(changes), _BATCH_SIZE):
            await self.client.write_notes(changes[start : start + _BATCH_SIZE])

    async def last(self, count: int | None = None) -> list[Any]:
        """Return the last `count` values of the list, all of them by default, oldest first."""
        if count is not None and count <= 0:
            return []
        # From the newest page backwards, so that the last few of a long list cost one request.
        found: list[Any] = []
        while count is None or len(found) < count:
            most = _BATCH_SIZE if count is None else min(_BATCH_SIZE, count - len(found))
            page = await self.client.search_notes(
                self.namespace, exact=True, order="-place", limit=most, offset=len(found)
            )
            found += [unwrapped(note["value"]) for note in page]
            if len(page) < most:
                break
        return found[::-1]

    async def pop(self) -> Any | None:
        """Remove and return the last value of the list; None if it is empty."""
        [popped] = await self.client.write_notes([{"op": "pop", "namespace": self.namespace}])
        return None if popped["note"] is None else unwrapped(popped["note"]["value"])

    async def clear(self) -> None:
        """Delete every value of the list."""
        await self.client.write_notes([{"op": "clear", "namespace": self.namespace}])


def wrapped(value: Any) -> Any:
    """Return a value for a note, as JSON text where the database would refuse it: NUL characters, lone surrogates."""
    # `json.dumps` escapes to ASCII by default, so the wrapped text has neither NUL nor surrogates in it.
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return {_WRAPPED_KEY: json.dumps(value)}
    return {_WRAPPED_KEY: json.dumps(value)} if "\\u0000" in text else value


def unwrapped(value: Any) -> Any:
    """Return the value that was passed to `wrapped` and stored."""
    if isinstance(value, dict) and value.keys() == {_WRAPPED_KEY}:
        return json.loads(value[_WRAPPED_KEY])
    return value
