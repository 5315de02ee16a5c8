"""The scripted model over HTTP: an OpenAI-compatible endpoint on loopback that can fail as scripted.

A server that runs as another process is scripted over HTTP:

POST   /script         {"replies": [...], "answers": {title: [...]}, "alwaysAnswers": {title: {...}},
                        "alwaysReplies": "…", "fails": [{"kind": "cut", "on": "chat", "times": 1}],
                        "heals": true}                  every property optional; a reply is a text or
                       {"pieces": [...], "calls": [{"name": …, "arguments": {…}}]}
GET    /script/asked   every request so far, oldest first
DELETE /script         forget everything
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self, TypeAlias
from urllib.parse import urlsplit

from mnemon.llm.protocol import Json, ToolRequest
from mnemon.llm.scripted import openai_wire
from mnemon.llm.scripted.script import ReplyLike, Script, ScriptedFault, ScriptedReply, ScriptedRequest, split_words

Reader: TypeAlias = asyncio.StreamReader
Writer: TypeAlias = asyncio.StreamWriter


def handle_control(script: Script, method: str, path: str, raw: bytes) -> Json:
    """Carry out a request to `/script` (read, add to or clear the script) and return the response's body."""
    if method == "GET" and path == "/script/asked":
        return {
            "asked": [{"on": request.on, "headers": request.headers, "body": request.body} for request in script.asked]
        }
    if method == "DELETE":
        script.clear()
    elif method == "POST":
        apply_orders(script, json.loads(raw))
    return {"asked": len(script.asked)}


def apply_orders(script: Script, orders: Json) -> None:
    """Add the replies, answers and faults of the orders (the body of `POST /script`) to the script."""
    if orders.get("heals"):
        script.clear_faults()
    script.add_replies(*(_parse_reply(reply) for reply in orders.get("replies", ())))
    if "alwaysReplies" in orders:
        script.set_default_reply(_parse_reply(orders["alwaysReplies"]))
    for title, answers in orders.get("answers", {}).items():
        script.add_answers(title, *answers)
    for title, answer in orders.get("alwaysAnswers", {}).items():
        script.set_default_answer(title, answer)
    for fault in orders.get("fails", ()):
        script.add_fault(**fault)


def _parse_reply(raw: Any) -> ReplyLike:
    """Return the scripted reply that an order describes: a text, or an object with pieces and calls."""
    if isinstance(raw, str):
        return raw
    calls = tuple(
        ToolRequest(id=call.get("id", f"call_{number}"), name=call["name"], arguments=call.get("arguments", {}))
        for number, call in enumerate(raw.get("calls", ()), 1)
    )
    return ScriptedReply(pieces=tuple(raw.get("pieces", ())), calls=calls, reason=raw.get("reason"))


class ScriptedServer:
    """Serves `/v1/chat/completions`, `/v1/embeddings`, `/v1/models` and `/script`, in a thread of its own.

    Use as a context manager. `stop()` closes the port and `start()` opens the same one again.
    """

    def __init__(self, script: Script | None = None, *, port: int = 0, models: tuple[str, ...] = ("scripted",)) -> None:
        """Make a scripted model server; port 0 chooses a free one when it starts."""
        self.script = script or Script()
        self.port = port
        self._models = models
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None

    @property
    def url(self) -> str:
        """Return the base URL to give to a client, valid once the server listens."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        """Start the scripted model server."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the scripted model server."""
        self.stop()

    def start(self) -> None:
        """Start the server's thread and wait until it listens; raise RuntimeError when the port cannot be opened."""
        listening = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self.serve(listening)), name="scripted-model", daemon=True
        )
        self._thread.start()
        if not listening.wait(10):
            raise RuntimeError(f"the scripted server could not listen on port {self.port}")

    def stop(self) -> None:
        """Stop listening, break open connections and end the server's thread."""
        if self._thread and self._loop and self._stopping:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()
        self._thread = None

    async def serve(self, listening: threading.Event | None = None) -> None:
        """Serve the scripted model until stopped; set `listening` when the port is open."""
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        open_now: set[asyncio.Task[None]] = set()

        async def handle_connection(reader: Reader, writer: Writer) -> None:
            """Answer a connection's requests one after another until one ends it, then abort it."""
            task = asyncio.current_task()
            assert task is not None
            open_now.add(task)
            try:
                while await self._handle_request(reader, writer):
                    pass
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass
            finally:
                open_now.discard(task)
                # Not closed in order: to the client every end must look like a broken connection.
                writer.transport.abort()

        server = await asyncio.start_server(handle_connection, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        if listening:
            listening.set()
        await self._stopping.wait()
        server.close()
        for task in tuple(open_now):
            task.cancel()
        await asyncio.gather(*open_now, return_exceptions=True)

    async def _handle_request(self, reader: Reader, writer: Writer) -> bool:
        """Answer one HTTP request as OpenAI's API does; return False when the connection is to be closed."""
        method, target, headers, raw = await _read_request(reader)
        path = urlsplit(target).path
        if path.startswith("/script"):
            return await _send_json(writer, 200, handle_control(self.script, method, path, raw))
        if method == "GET" and path == "/v1/models":
            return await _send_json(writer, 200, openai_wire.models_body(self._models))
        if method != "POST" or path not in ("/v1/chat/completions", "/v1/embeddings"):
            return await _send_json(writer, 404, openai_wire.error_body(f"no such route: {method} {path}", "not_found"))
        request = openai_wire.parse_request(path, json.loads(raw), headers)
        fault = self.script.record_request(request)
        if fault and fault.kind == "rejected":
            said = f"Invalid content: {request.prompt}"
            return await _send_json(writer, 400, openai_wire.error_body(said, "invalid_request_error"))
        if fault and fault.kind in ("dead", "rate_limited", "error", "garbage"):
            return await _send_fault(writer, fault)
        if fault and fault.kind == "slow":
            await fault.wait_out()
            fault = None
        return await self._respond(writer, request, fault)

    async def _respond(self, writer: Writer, request: ScriptedRequest, fault: ScriptedFault | None) -> bool:
        """Send the scripted response, broken as the fault says; return False when the connection is to be closed."""
        if request.on == "embeddings":
            return await _send_json(writer, 200, openai_wire.embeddings_body(request.body), fault=fault)
        if request.schema is None:
            reply = self.script.next_reply(request)
        else:
            answer = self.script.next_answer(request)
            text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
            reply = ScriptedReply(pieces=split_words(text))
        if request.stream:
            return await _send_events(writer, openai_wire.completion_chunks(request, reply), fault)
        return await _send_json(writer, 200, openai_wire.completion_body(request, reply), fault=fault)


async def _read_request(reader: Reader) -> tuple[str, str, dict[str, str], bytes]:
    """Return method, target, headers with lower-case names, and body of the connection's next request."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip().split("\r\n")
    # No HTTP library: a library would refuse to send the broken responses that faults want.
    method, target, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return method, target, headers, await _read_chunked(reader)
    return method, target, headers, await reader.readexactly(int(headers.get("content-length", "0")))


async def _read_chunked(reader: Reader) -> bytes:
    """Return a request body that is sent in chunks."""
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


async def _send_json(
    writer: Writer, status: int, body: Json, *, fault: ScriptedFault | None = None, extra: str = ""
) -> bool:
    """Send a whole JSON body, or half of it for a fault; return False when the connection is to be closed."""
    raw = json.dumps(body, ensure_ascii=False).encode()
    head = f"HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n{extra}"
    writer.write(f"{head}content-length: {len(raw)}\r\n\r\n".encode())
    # The header promised the whole: to the client this is a body cut off, not a short one.
    writer.write(raw[: len(raw) // 2] if fault else raw)
    await writer.drain()
    if fault and fault.kind == "hang":
        await asyncio.Event().wait()
    return fault is None


async def _send_events(writer: Writer, events: Iterator[str], fault: ScriptedFault | None) -> bool:
    """Send events as they come, for a fault only the first `after`; return False when the connection must be closed."""
    writer.write(b"HTTP/1.1 200 Scripted\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    for number, event in enumerate(events):
        if fault and number == fault.after:
            await writer.drain()
            if fault.kind == "hang":
                await asyncio.Event().wait()
            return False
        raw = event.encode()
        writer.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


async def _send_fault(writer: Writer, fault: ScriptedFault) -> bool:
    """Send what a scripted fault sends in place of a response; return False when the connection is to be closed."""
    match fault.kind:
        case "rate_limited":
            extra = f"retry-after: {fault.seconds:g}\r\n"
            return await _send_json(
                writer, 429, openai_wire.error_body("too many requests", "rate_limit_exceeded"), extra=extra
            )
        case "error":
            return await _send_json(writer, 500, openai_wire.error_body("the server broke", "server_error"))
        case "garbage":
            raw = b"<html>it works!</html>"
            writer.write(b"HTTP/1.1 200 Scripted\r\ncontent-type: application/json\r\n")
            writer.write(f"content-length: {len(raw)}\r\n\r\n".encode() + raw)
            await writer.drain()
            return True
        case _:
            return False
