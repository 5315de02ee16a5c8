"""Words that no log may hold, put into every field that takes text, and a model endpoint that throws them back."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from support.bounds import HANGS_S

MARK = "zqcanary"
MNEMON = str(Path(sys.executable).with_name("mnemon"))
_numbers = count(1)
_CANARY = re.compile(MARK + r"\d+")
_PLACE = re.compile(r"{(\w+)}")


def canary(words: str = "") -> str:
    """A word that stands nowhere else, between these words."""
    return f"{words} {MARK}{next(_numbers)} {words}".strip()


class EchoingModel:
    """An OpenAI-compatible endpoint that fails as told and quotes the whole request, key and all, in its error."""

    def __init__(self) -> None:
        self.status = 400
        """What it answers; 200: something that is no completion. -1: a completion of the wrong shape."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    @contextmanager
    def answering(self) -> Iterator["EchoingModel"]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                heard = self.rfile.read(int(self.headers["content-length"])).decode()
                quoted = f"{' '.join(_CANARY.findall(heard))} {heard} {self.headers}"
                wrong: dict[str, Any] = {"choices": [{"message": {"content": {"x": quoted}}}], "data": quoted}
                body = json.dumps(wrong if model.status == -1 else {"error": {"message": quoted, "code": quoted}})
                self.send_response(200 if model.status == -1 else model.status, quoted[:40].splitlines()[0])
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: object) -> None:
                """Tests are quiet."""

        return Handler


@contextmanager
def serving(folder: Path, database_url: str, **settings: str) -> Iterator[tuple[str, Path]]:
    """A `mnemon serve` of its own, at the most talkative level: its address, and the file with its log."""
    with httpx2.Client(timeout=HANGS_S) as probe:
        log = folder / f"log-{next(_numbers)}.jsonl"
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("MNEMON_")},
            "MNEMON_DATABASE_URL": database_url,
            "MNEMON_DATA_DIR": str(folder),
            "MNEMON_LOG_LEVEL": "debug",
            "MNEMON_MAX_ATTEMPTS": "1",
            **{f"MNEMON_{name.upper()}": value for name, value in settings.items()},
        }
        with log.open("wb") as stderr, (folder / "out").open("wb") as stdout:
            process = subprocess.Popen(
                [MNEMON, "serve", "--port", "0"], env=environment, stdout=stdout, stderr=stderr, cwd=folder
            )
            try:
                url = _address(process, log)
                assert probe.get(f"{url}/readyz").status_code == 200
                yield url, log
            finally:
                process.terminate()
                process.wait(30)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Where it listens, as the line about its start says."""
    for _ in range(600):
        for line in log.read_text().splitlines():
            if '"started"' in line:
                return f"http://127.0.0.1:{json.loads(line)['port']}"
        assert process.poll() is None, log.read_text()
        time.sleep(0.1)
    raise AssertionError("the server did not start")


def sweep(client: httpx2.Client, document: dict[str, Any]) -> int:
    """Every operation of the document with a canary in every text it takes; how many were sent."""
    sent = 0
    for path, item in document["paths"].items():
        for method, spec in item.items():
            query = {p["name"]: canary() for p in spec.get("parameters", []) if p["in"] == "query"}
            headers = {p["name"]: canary() for p in spec.get("parameters", []) if p["in"] == "header"}
            schema = spec.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            body = None if schema is None else filled(document, schema)
            place = _PLACE.sub(lambda _: quote(canary()), path)
            for address in (place, f"{place}?{quote(canary())}"):
                with client.stream(method.upper(), address, params=query, json=body, headers=headers) as answer:
                    sent += 1
                    if "event-stream" not in answer.headers.get("content-type", ""):
                        answer.read()
                query = {}
    return sent


def filled(document: dict[str, Any], schema: dict[str, Any], depth: int = 0) -> Any:
    """A value of the schema, nearly, with a canary in every text."""
    if "$ref" in schema:
        return filled(document, document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], depth)
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return filled(document, schema[choice][0], depth)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    match schema.get("type"):
        case "object":
            named = {name: filled(document, one, depth + 1) for name, one in schema.get("properties", {}).items()}
            return named or {canary(): canary()}
        case "array":
            return [filled(document, schema.get("items", {}), depth + 1)] if depth < 6 else []
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case _:
            return canary()
