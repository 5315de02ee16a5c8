"""Parse server-sent events and lines from bytes as they arrive.

The client and the models' streams share this module. It imports nothing of the server, as the client does not.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class SseEvent:
    """A complete event, before its data is decoded."""

    data: bytes
    """The lines of its `data` fields."""
    name: str = "message"
    id: str | None = None
    """The last id that the stream has sent: by the standard it holds until another one is sent."""


class LineSplitter:
    """Splits bytes into lines that end with LF, CRLF or CR, as the standard of server-sent events has it.

    Not `str.splitlines`, which HTTP libraries use: it also splits at U+2028, U+2029 and U+0085, and JSON may hold
    these unescaped.
    """

    def __init__(self) -> None:
        """Begin a stream of lines of which no byte has arrived."""
        self._line: list[bytes] = []
        """Pieces of the incomplete line, joined once at its end: a line may arrive byte by byte."""
        self._after_cr = False

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that these bytes complete."""
        if self._after_cr and piece.startswith(b"\n"):
            # The previous bytes ended with CR, which already counted as the line's end: this LF belongs to it.
            piece, self._after_cr = piece[1:], False
        if piece:
            self._after_cr = piece.endswith(b"\r")
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, *lines = piece.split(b"\n")
        self._line.append(first)
        if not lines:
            return []
        lines, self._line = [b"".join(self._line), *lines[:-1]], [lines[-1]]
        return lines

    def remaining_line(self) -> bytes:
        """Return the line that has no end yet."""
        return b"".join(self._line)


class SseParser:
    """Assembles events from a stream's bytes.

    Comments, which keep a connection alive, and unknown fields are ignored.
    """

    def __init__(self) -> None:
        """Begin a stream of server-sent events of which no byte has arrived."""
        self._lines = LineSplitter()
        self._data: list[bytes] = []
        self._name = "message"
        self._id: str | None = None

    def feed(self, piece: bytes) -> list[SseEvent]:
        """Return the server-sent events that these bytes complete."""
        complete: list[SseEvent] = []
        for line in self._lines.feed(piece):
            if line:
                self._read_line(line)
                continue
            if self._data:
                complete.append(SseEvent(data=b"\n".join(self._data), name=self._name, id=self._id))
                self._data = []
            self._name = "message"
        return complete

    def remaining_data(self) -> bytes:
        """Return the data of a last server-sent event that was not terminated."""
        self._read_line(self._lines.remaining_line())
        return b"\n".join(self._data)

    def _read_line(self, line: bytes) -> None:
        """Add a `data` line's value to the event under way; set the name or the id from an `event` or `id` line."""
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field == b"id":
            self._id = value.decode("utf-8", "replace")
