"""What a model's server compresses is unpacked piece by piece."""

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.llm.completions.decompression import PIECE_BYTES, ZlibDecoder, decoder_for
from mnemon.llm.failure import UnusableAnswer


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKED: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress}


@pytest.mark.parametrize("encoding", list(PACKED))
@given(data=st.binary(max_size=300), times=st.integers(1, 2_000), cut=st.integers(1, 900))
def test_what_was_packed_comes_out_whatever_the_chunks(encoding: str, data: bytes, times: int, cut: int) -> None:
    sent = PACKED[encoding](data * times)
    decoder = unpacking(encoding)
    chunks = [sent[at : at + cut] for at in range(0, len(sent), cut)]
    assert b"".join(piece for chunk in chunks for piece in decoder.decode(chunk)) == data * times


def unpacking(encoding: str) -> ZlibDecoder:
    decoder = decoder_for(encoding)
    assert decoder is not None
    return decoder


def test_what_is_sent_as_it_is_needs_no_decoder() -> None:
    assert decoder_for(" Identity ") is None


def test_deflate_without_a_header_is_read_too() -> None:
    assert b"".join(unpacking("deflate").decode(raw_deflate(b"hello" * 50_000))) == b"hello" * 50_000


def test_a_bomb_is_unpacked_no_further_than_is_asked_for() -> None:
    bomb = gzip.compress(bytes(1 << 26))
    pieces = unpacking("gzip").decode(bomb)
    assert [len(next(pieces)) for _ in range(3)] == [PIECE_BYTES] * 3
    assert sum(map(len, pieces)) == (1 << 26) - 3 * PIECE_BYTES
    assert all(len(piece) <= PIECE_BYTES for piece in unpacking("gzip").decode(bomb))


def test_what_follows_the_end_is_not_read() -> None:
    decoder = unpacking("gzip")
    assert b"".join(decoder.decode(gzip.compress(b"a") + b"rest")) == b"a"
    assert list(decoder.decode(b"more")) == []


def test_what_is_not_packed_and_what_was_not_asked_for_are_unusable() -> None:
    with pytest.raises(UnusableAnswer, match="cannot be decompressed"):
        list(unpacking("gzip").decode(b"\xff\xff\xff plain text"))
    decoder = unpacking("gzip")
    packed = gzip.compress(b"a" * 10_000)
    list(decoder.decode(packed[:20]))
    with pytest.raises(UnusableAnswer, match="cannot be decompressed"):
        list(decoder.decode(b"\xff" * 100))
    with pytest.raises(UnusableAnswer, match="not asked for"):
        decoder_for("br")
