"""Server-sent events out of bytes, wherever the network cut them."""

_FIELD = b"data"


class Events:
    """Takes bytes as they come and gives the data of each event that is complete.

    Comments, which keep a connection alive, and fields other than `data` are passed over. Lines end as the standard
    allows: LF, CRLF or CR.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        """The pieces of the line that is not complete: added up at its end, for a line may come byte by byte."""
        self._data: list[bytes] = []
        self._after_cr = False

    def feed(self, piece: bytes) -> list[bytes]:
        """The events that this piece completed."""
        if self._after_cr and piece.startswith(b"\n"):
            # The other half of a line end that was taken for whole.
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
        complete: list[bytes] = []
        for line in lines:
            if line:
                self._read(line)
            elif self._data:
                complete.append(b"\n".join(self._data))
                self._data = []
        return complete

    def rest(self) -> bytes:
        """What an event that was never completed holds."""
        self._read(b"".join(self._line))
        return b"\n".join(self._data)

    def _read(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        if field == _FIELD:
            self._data.append(value.removeprefix(b" "))
