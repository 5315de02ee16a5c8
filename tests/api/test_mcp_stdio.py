"""The messages of a client over stdio: each with an id of its own, and their end only after the last answer."""

import io

import anyio
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

from mnemon.mcp.stdio import OpenRequests, RequestReader, ResponseWriter

PING = b'{"jsonrpc": "2.0", "id": %s, "method": "ping"}\n'


class Wire:
    """What was written to the client."""

    def __init__(self) -> None:
        self.written: list[types.JSONRPCMessage] = []

    async def send(self, item: SessionMessage) -> None:
        self.written.append(item.message)


def reader_of(lines: bytes) -> tuple[RequestReader, ResponseWriter, Wire]:
    wire, unanswered = Wire(), OpenRequests()
    writer = ResponseWriter(wire, unanswered)
    return RequestReader(anyio.wrap_file(io.BytesIO(lines)), unanswered, writer), writer, wire


def answer(request_id: int | str) -> SessionMessage:
    return SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=request_id, result={}))


@pytest.mark.parametrize("again", [b"4", b'"4"'])
async def test_a_request_with_the_id_of_one_in_flight_is_refused(again: bytes) -> None:
    reader, _, wire = reader_of(PING % b"4" + PING % again + PING % b"5")
    read = [(await reader.receive()).message for _ in range(2)]
    assert [one.id for one in read if isinstance(one, types.JSONRPCRequest)] == [4, 5]
    [refused] = wire.written
    assert isinstance(refused, types.JSONRPCError)
    # The id of the other request would pass for the answer to that one.
    assert (refused.id, refused.error.code) == (None, types.INVALID_REQUEST)
    assert refused.error.message.startswith("The `id` is in use:")


async def test_an_id_is_free_again_after_its_answer() -> None:
    reader, writer, wire = reader_of(PING % b"4" + PING % b"4")
    await reader.receive()
    await writer.send(answer(4))
    await reader.receive()
    await writer.send(answer(4))
    with pytest.raises(anyio.EndOfStream):
        await reader.receive()
    assert all(isinstance(one, types.JSONRPCResponse) for one in wire.written)
