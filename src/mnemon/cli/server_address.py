"""A file in the data directory that says where its server listens and how commands on this machine reach it.

`mnemon serve` writes it when it is ready and removes it when it stops. A process that was killed leaves it behind, so
it counts only while the process it names runs. Only the user of the server can read it: it holds the token of the local
operator (`access/local_operator.py`).
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mnemon.cli.private_file import write_private

if TYPE_CHECKING:
    from mnemon.settings import Settings

ADDRESS_FILE = "serving.json"
EVERY_INTERFACE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""Hosts that mean every address of the machine, each with the loopback address to connect to instead."""
EMBEDDED = "embedded"
_CONNECT_TIMEOUT_S = 2.0


@dataclass(frozen=True, kw_only=True)
class ServerAddress:
    """The host and port that a server listens on."""

    host: str
    port: int
    database: str = EMBEDDED
    """The database it serves, as `database_name` gives it."""
    token: str = field(default="", repr=False)
    """The token of its local operator."""

    @property
    def reachable_host(self) -> str:
        """Return the host to connect to on this machine: loopback if the server listens on every interface."""
        return EVERY_INTERFACE.get(self.host, self.host)

    @property
    def url(self) -> str:
        """Return the server's URL for programs on the same machine."""
        host = self.reachable_host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def accepts_connections(self) -> bool:
        """Say whether something listens at this address; after a reboot another process may have the server's id."""
        try:
            socket.create_connection((self.reachable_host, self.port), timeout=_CONNECT_TIMEOUT_S).close()
        except ConnectionRefusedError:
            return False
        except OSError:
            return True  # it may be slow: the request itself finds out, with a reason
        return True


def database_name(settings: "Settings") -> str:
    """Return an identifier, without a password, of the database that the settings name, to compare two."""
    if settings.database_url is None:
        return EMBEDDED
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(settings.database_url.get_secret_value())
    return "/".join(str(parts.get(name) or "") for name in ("host", "port", "dbname"))


@contextmanager
def announce_server(data_dir: Path, address: ServerAddress) -> Iterator[None]:
    """Write the server's address to the data directory, where commands find it, while the block runs.

    A second server of the same directory leaves the file of the first one, and a directory that cannot be written to
    gets none.
    """
    if running_server(data_dir) is not None:
        yield
        return
    path = data_dir.expanduser() / ADDRESS_FILE
    written = json.dumps({**asdict(address), "pid": os.getpid()})
    try:
        write_private(path, written)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        # Another server of the same directory may have written its own address since.
        if path.exists() and path.read_text(encoding="utf-8") == written:
            path.unlink()


def running_server(data_dir: Path) -> ServerAddress | None:
    """Return where the server of this data directory listens; None when none runs on this machine."""
    try:
        stored = json.loads((data_dir.expanduser() / ADDRESS_FILE).read_text(encoding="utf-8"))
        more = {name: str(stored[name]) for name in ("database", "token") if name in stored}
        address, pid = ServerAddress(host=str(stored["host"]), port=int(stored["port"]), **more), int(stored["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    try:
        os.kill(pid, 0)  # signal 0 sends nothing, it only checks that the process exists
    except PermissionError:  # the process exists and belongs to another user
        return address
    except (OSError, OverflowError):
        return None
    return address
