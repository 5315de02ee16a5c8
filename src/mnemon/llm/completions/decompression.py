"""Decompressing a response piece by piece: a megabyte can hold a gigabyte, and must not be unpacked in one step."""

import zlib
from collections.abc import Iterator
from typing import Protocol

from mnemon.llm.failure import UnusableAnswer

PIECE_BYTES = 64 * 1024
"""Most bytes that are unpacked at once."""
_ANY_HEADER = zlib.MAX_WBITS | 32
"""zlib tells by the first bytes whether they are gzip's or its own."""


class Decoder(Protocol):
    """What turns the bytes of a response's body as they were sent into those that were meant."""

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what the next bytes hold, in pieces of at most PIECE_BYTES where they were compressed."""
        ...


class PlainDecoder:
    """For a body that was not compressed."""

    def decode(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the bytes as they are."""
        yield chunk


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


def decoder_for(encoding: str) -> Decoder:
    """Return the decoder for a header Content-Encoding; raise UnusableAnswer for one that was not asked for."""
    named = encoding.strip().lower()
    if named in ("", "identity"):
        return PlainDecoder()
    if named in ("gzip", "x-gzip", "deflate"):
        return ZlibDecoder()
    raise UnusableAnswer("it is compressed in a way that was not asked for")
