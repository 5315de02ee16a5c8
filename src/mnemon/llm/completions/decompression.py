"""Decompressing a response piece by piece: a megabyte can hold a gigabyte, and must not be unpacked in one step."""

import zlib
from collections.abc import Iterator

from mnemon.llm.failure import UnusableAnswer

PIECE_BYTES = 64 * 1024
"""Most bytes that are unpacked at once."""
_ANY_HEADER = zlib.MAX_WBITS | 32
"""zlib tells by the first bytes whether they are gzip's or its own."""


class ZlibDecoder:
    """For a body that was compressed by gzip or deflate."""

    def __init__(self) -> None:
        """Begin a body."""
        self._stream = zlib.decompressobj(_ANY_HEADER)
        self._begun = False

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what the next bytes hold, piece by piece; raise UnusableAnswer for bytes that are not compressed."""
        while not self._stream.eof:
            piece, chunk = self._decode_piece(chunk)
            if piece:
                yield piece
            # zlib may hold back what did not fit into a full piece after it has read everything.
            if not chunk and len(piece) < PIECE_BYTES:
                return

    def _decode_piece(self, chunk: bytes) -> tuple[bytes, bytes]:
        """Return the next piece, and the bytes that are still to be read."""
        try:
            piece = self._stream.decompress(chunk, PIECE_BYTES)
        except zlib.error:
            if self._begun:
                raise UnusableAnswer("it cannot be decompressed") from None
            # Some servers send deflate without zlib's header.
            self._stream, self._begun = zlib.decompressobj(-zlib.MAX_WBITS), True
            return b"", chunk
        self._begun = True
        return piece, self._stream.unconsumed_tail


def decoder_for(encoding: str) -> ZlibDecoder | None:
    """Return the decoder of a Content-Encoding, None for `identity`; raise UnusableAnswer for one not asked for."""
    named = encoding.strip().lower()
    if named == "identity":
        return None
    if named in ("gzip", "x-gzip", "deflate"):
        return ZlibDecoder()
    raise UnusableAnswer("it is compressed in a way that was not asked for")
