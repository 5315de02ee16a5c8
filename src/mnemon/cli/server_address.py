"""Where the server of a data directory listens, for commands in another terminal: `mnemon console`, `mnemon doctor`.

`mnemon serve` writes it beside the database when it answers and removes it when it stops. A process that was killed
leaves it behind, so it counts only while that process runs.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ADDRESS_FILE = "serving.json"
EVERY_INTERFACE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""Hosts that mean every address of the machine, and the one of them that is reached from the machine itself."""


@dataclass(frozen=True, kw_only=True)
class ServerAddress:
    """Where a server listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The address for somebody at this machine: one that means every interface is reached at loopback."""
        host = EVERY_INTERFACE.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


@contextmanager
def announce_server(data_dir: Path, address: ServerAddress) -> Iterator[None]:
    """Keep the address in the data directory while the server runs; one that cannot be written to tells nothing.

    A second server of the same directory leaves the first one's there.
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
        # Another server of the same directory may have written its own since.
        if path.exists() and path.read_text(encoding="utf-8") == written:
            path.unlink()


def running_server(data_dir: Path) -> ServerAddress | None:
    """Where the server of this data directory listens now; None where none runs on this machine."""
    try:
        said = json.loads((data_dir.expanduser() / ADDRESS_FILE).read_text(encoding="utf-8"))
        address, pid = ServerAddress(host=str(said["host"]), port=int(said["port"])), int(said["pid"])
        os.kill(pid, 0)
    except PermissionError:  # it runs, as another user
        return address
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return address
