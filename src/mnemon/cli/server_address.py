"""A file in the data directory that says where its server listens, for `mnemon console` and `mnemon doctor`.

`mnemon serve` writes it when it is ready and removes it when it stops. A process that was killed leaves it behind, so
it counts only while the process it names runs.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ADDRESS_FILE = "serving.json"
EVERY_INTERFACE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""Hosts that mean every address of the machine, each with the loopback address to connect to instead."""


@dataclass(frozen=True, kw_only=True)
class ServerAddress:
    """The host and port that a server listens on."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The URL to use on this machine; a host that means every interface is replaced by loopback."""
        host = EVERY_INTERFACE.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


@contextmanager
def announce_server(data_dir: Path, address: ServerAddress) -> Iterator[None]:
    """Keep the address in the data directory while the block runs.

    A second server of the same directory leaves the file of the first one, and a directory that cannot be written to
    gets none.
    """
    if running_server(data_dir) is not None:
        yield
        return
    path = data_dir.expanduser() / ADDRESS_FILE
    written = json.dumps({"host": address.host, "port": address.port, "pid": os.getpid()})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written, encoding="utf-8")
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
        address, pid = ServerAddress(host=str(stored["host"]), port=int(stored["port"])), int(stored["pid"])
        os.kill(pid, 0)  # signal 0 sends nothing, it only checks that the process exists
    except PermissionError:  # the process exists and belongs to another user
        return address
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return address
