"""Write a file that only its owner can read, for keys and tokens."""

import os
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Replace the file with this text, in one step and with mode 0600; make its directory if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    # O_EXCL: the mode counts only for a file that is created here, and a link that waits there is not followed.
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as sink:
        sink.write(text)
    fresh.replace(path)
