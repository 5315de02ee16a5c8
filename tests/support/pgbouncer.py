"""A real PgBouncer in transaction mode, a PostgreSQL that lets it in, and processes that stand behind it."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from support.cluster import embedded_cluster

ACCOUNT = "postgres"
"""Whom it and the cluster run as where we are root, for neither runs as root; the package makes this user."""
STARTS_S = 60.0
MNEMON = str(Path(sys.executable).with_name("mnemon"))


@contextmanager
def account_folder() -> Iterator[Path]:
    """A directory that belongs to whoever runs the servers."""
    folder = Path(tempfile.mkdtemp(prefix="mnemon_pooled_"))
    try:
        if os.geteuid() == 0:
            user = pwd.getpwnam(ACCOUNT)
            os.chown(folder, user.pw_uid, user.pw_gid)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def cluster_for_pooler() -> Iterator[str]:
    """A PostgreSQL whose sockets also let in the user that PgBouncer runs as."""
    named = os.environ.get("MNEMON_TEST_DATABASE_URL")
    if named:
        yield named
        return
    with account_folder() as folder, embedded_cluster(folder) as url:
        yield url


@contextmanager
def pooler(cluster_url: str, *, connections: int, **settings: str) -> Iterator[str]:
    """The URL of a PgBouncer in transaction mode, with so many connections for each database of the cluster."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        raise RuntimeError("No PgBouncer is on the PATH: scripts/install_pgbouncer.sh installs one.")
    with account_folder() as folder, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        taken.close()
        (folder / "pgbouncer.ini").write_text(_configuration(cluster_url, port, connections, settings))
        (folder / "pgbouncer.ini").chmod(0o644)
        user = ["-u", ACCOUNT] if os.geteuid() == 0 else []
        with (folder / "log").open("wb") as log:
            running = subprocess.Popen([program, *user, str(folder / "pgbouncer.ini")], stdout=log, stderr=log)
        url = make_conninfo(host="127.0.0.1", port=port, user=str(_given(cluster_url, "user")), dbname="postgres")
        try:
            _wait_until_it_answers(url, running, folder / "log")
            yield url
        finally:
            running.terminate()
            running.wait(20)


def through(pooler_url: str, database_url: str) -> str:
    """The same database, through the pooler."""
    return make_conninfo(pooler_url, dbname=str(_given(database_url, "dbname")))


@contextmanager
def behind_pooler(command: str, url: str, folder: Path, **settings: str) -> Iterator[str]:
    """`mnemon serve` or `mnemon worker` as its own process over the pooler's URL; gives where a server listens."""
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MNEMON_")},
        "MNEMON_DATA_DIR": str(folder),
        "MNEMON_DATABASE_URL": url,
        "MNEMON_PREPARED_STATEMENTS": "false",
        "MNEMON_PORT": str(port),
        "MNEMON_RATE_LIMIT_PER_MINUTE": "0",
        **settings,
    }
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen([MNEMON, command], cwd=folder, env=environment, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        if command == "serve":
            _wait_until_ready(address, running, folder / "log")
        yield address
    finally:
        running.terminate()
        running.wait(60)


def _wait_until_ready(address: str, running: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + STARTS_S
    while running.poll() is None and time.monotonic() < until:
        try:
            if httpx2.get(f"{address}/readyz", timeout=5).status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start: {log.read_text()[-2000:]}")


def _given(url: str, name: str) -> object:
    return conninfo_to_dict(url)[name]


def _configuration(cluster_url: str, port: int, connections: int, settings: dict[str, str]) -> str:
    server = {name: conninfo_to_dict(cluster_url).get(name) for name in ("host", "port", "user", "password")}
    lines = {
        "listen_addr": "127.0.0.1",
        "listen_port": port,
        "unix_socket_dir": "",
        "auth_type": "any",
        "pool_mode": "transaction",
        "default_pool_size": connections,
        "max_client_conn": 200,
        **settings,
    }
    reached = " ".join(f"{name}={value}" for name, value in server.items() if value)
    return "\n".join(["[databases]", f"* = {reached}", "[pgbouncer]", *(f"{a} = {b}" for a, b in lines.items()), ""])


def _wait_until_it_answers(url: str, running: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + STARTS_S
    while True:
        try:
            psycopg.connect(url, prepare_threshold=None).close()
        except psycopg.OperationalError:
            if running.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"PgBouncer did not start: {log.read_text()[-2000:]}") from None
            time.sleep(0.05)
        else:
            return
