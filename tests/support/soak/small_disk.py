"""A small file system in memory, to be filled up."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE_MB = 400
"""Several times what a new data directory takes."""
_BLOCK = b"\0" * 64 * 1024


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount one on the folder; raise PermissionError where this machine does not let us."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if mount.returncode != 0:
        raise PermissionError(f"a file system cannot be mounted here: {mount.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Leave not a byte on the disk meanwhile."""
    ballast = disk / "ballast"
    file = os.open(ballast, os.O_WRONLY | os.O_CREAT)
    try:
        for block in (_BLOCK, b"\0"):
            try:
                while True:
                    os.write(file, block)
            except OSError:
                continue
        yield
    finally:
        os.close(file)
        ballast.unlink()
