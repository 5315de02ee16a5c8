"""What a command says when its server does not answer, refuses, or is none."""

import http.server
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from mnemon.cli.client_errors import explained_error
from mnemon.cli.main import app
from mnemon.cli.terminal import exit_code
from mnemon_client import ApiError, Unreachable

KEY = f"mnk_acme_{'0' * 64}"


@contextmanager
def answering(status: int, body: str, kind: str = "text/html", **headers: str) -> Iterator[str]:
    """A server that gives every request this answer."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(body.encode())), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def told(*words: str, code: int) -> str:
    """What the command says on stderr, on one line."""
    done: Result = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs `agents list` against a server."""
    monkeypatch.chdir(tmp_path)
    return lambda url, code: told("agents", "list", "--url", url, "--key", KEY, code=code)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, "<h1>It works</h1>", "text/html"),
        (200, '{"ok": true}', "application/json"),
        (200, "[1]", "application/json"),
        (404, "<h1>Not Found</h1>", "text/html"),
        (404, '["nothing"]', "application/json"),
        (403, "Forbidden", "text/plain"),
    ],
)
def test_another_program_is_not_taken_for_a_server(listed: Any, status: int, body: str, kind: str) -> None:
    with answering(status, body, kind) as url:
        said = listed(url, 1)
        assert f"{url} answered {status}, but not as a Mnemon server does." in said
        assert "`mnemon serve` prints" in said
        assert "not as a Mnemon server" in told("chat", "Hello", "--url", url, "--key", KEY, code=1)
        assert "not as a Mnemon server" in told("login", "--url", url, "--key", KEY, code=1)


def test_a_redirect_is_named(listed: Any) -> None:
    with answering(301, "moved", Location="https://mnemon.example/") as url:
        assert "It redirects to https://mnemon.example/." in listed(url, 1)


def test_a_proxy_without_its_server_is_told_apart(listed: Any) -> None:
    with answering(502, "<h1>Bad Gateway</h1>") as url:
        assert f"{url} answered 502: the server behind it is not available." in listed(url, 5)


def test_nobody_listening_is_told_with_the_next_step(listed: Any) -> None:
    said = listed("http://127.0.0.1:9", 5)
    assert "http://127.0.0.1:9 cannot be reached: " in said
    assert "refused" in said
    assert "`mnemon serve` starts one" in said
    assert "cannot be reached" in told("export", "ann", "--url", "http://127.0.0.1:9", "--key", KEY, code=5)


def test_a_server_without_tls_is_told(listed: Any) -> None:
    with answering(200, "plain") as url:
        said = listed(url.replace("http://", "https://"), 5)
    assert "does not answer with TLS" in said
    assert "write http:// in the address" in said


def test_text_of_a_server_does_not_reach_the_terminal_as_it_is(listed: Any) -> None:
    problem = '{"code": "conflict", "detail": "Gone.\\u001b[2J [bold]now[/]\\u202e", "status": 409}'
    with answering(409, problem, "application/problem+json") as url:
        said = listed(url, 1)
    assert "Gone.␛[2J [bold]now[/]\ufffd" in said


def test_a_certificate_that_is_not_trusted_is_told_with_what_to_set() -> None:
    inner = ssl.SSLCertVerificationError(1, "certificate verify failed")
    inner.verify_message = "self-signed certificate"
    outer = Unreachable("https://x did not answer")
    outer.__cause__ = ConnectionError("connect")
    outer.__cause__.__cause__ = inner
    error = explained_error(outer, "https://x")
    assert error.detail.startswith("The TLS certificate of https://x is not trusted: self-signed certificate.")
    assert "SSL_CERT_FILE" in error.detail
    assert exit_code(error) == 5


@pytest.mark.parametrize(
    ("status", "code", "detail", "expected", "exits"),
    [
        (401, "key_revoked", "The key was revoked.", "Name another key with --key or MNEMON_KEY", 4),
        (403, "missing_scope", "This key lacks the scope `jobs`.", "This key lacks the scope `jobs`.", 4),
        (404, "not_found", "There is no such run.", "There is no such run.", 3),
        (404, "no_such_route", "This path does not exist.", "another version of Mnemon", 3),
        (429, "rate_limited", "Wait 3 s and try again.", "Wait 3 s and try again.", 5),
        (503, "database_down", "The database is away.", "The database is away.", 5),
        (500, "internal", "Something broke.", "Something broke. (request req_1)", 1),
    ],
)
def test_a_problem_becomes_a_sentence_and_an_exit_code(
    status: int, code: str, detail: str, expected: str, exits: int
) -> None:
    error = explained_error(ApiError(status, {"code": code, "detail": detail, "requestId": "req_1"}), "http://x")
    assert expected in error.detail
    assert exit_code(error) == exits


def test_a_field_that_is_refused_is_named() -> None:
    faults = [{"pointer": "/role", "detail": "Input should be 'solo'"}, {"pointer": "?limit", "detail": "too large"}]
    problem = {"code": "invalid_request", "detail": "see errors", "errors": faults}
    error = explained_error(ApiError(422, problem), "http://x")
    assert error.detail == "The server refused `role`: Input should be 'solo'; `limit`: too large."
    assert exit_code(error) == 2
