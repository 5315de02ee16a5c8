"""Check the machine: Python, setting names, data directory, disk space, port, shell completion.

Also finds names in the environment, `.env` and `mnemon.toml` that look like settings and are not.
"""

import difflib
import errno
import json
import os
import platform
import shutil
import socket
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dotenv import dotenv_values

from mnemon.api.server import listen_refusal
from mnemon.cli.checkup.check import Check, fail, ok, warn
from mnemon.cli.server_address import ServerAddress, running_server
from mnemon.settings import Settings

OTHER_VARIABLES = frozenset(
    {"MNEMON_ORG", "MNEMON_USER", "MNEMON_URL", "MNEMON_KEY", "MNEMON_PROFILE", "MNEMON_API_KEY"}
)
"""Variables of commands and clients that begin like settings; those of tests begin with MNEMON_TEST_."""
_LEAST_SIMILARITY = 0.75
"""Of a name to the setting that is suggested for it, by `difflib`; `modle` and `model` have 0.8, equal names 1."""
_SETTING_VARIABLES = {name: f"MNEMON_{name.upper()}" for name in Settings.model_fields}


@dataclass(frozen=True, kw_only=True)
class UnknownSetting:
    """A name that looks like a setting and has no effect."""

    place: str
    """Where it was found: `the environment`, or the file's name."""
    name: str
    meant: str | None
    """The setting with the closest spelling, in the form that place uses; None if none is close."""

    @property
    def fix(self) -> str:
        """Return the command to run, or what to change in the file, to correct the setting's name."""
        if self.place == "the environment":
            return f"unset {self.name}" + (f"; export {self.meant}=…" if self.meant else "")
        write = f"write {self.meant}" if self.meant else "remove it"
        return f"{write} in {self.place}; docs/settings.md has every name"


def unknown_settings(environment: Mapping[str, str], folder: Path) -> list[UnknownSetting]:
    """Return every name that is not a setting: a misspelt setting would be ignored silently."""
    variables = [name for name in environment if name.startswith("MNEMON_")]
    dotenv = folder / ".env"
    lines = [name for name in dotenv_values(dotenv) if name.upper().startswith("MNEMON_")] if dotenv.is_file() else []
    toml = folder / "mnemon.toml"
    table = tomllib.loads(toml.read_text(encoding="utf-8")) if toml.is_file() else {}
    return [
        *_unknown_variables("the environment", variables),
        *_unknown_variables(".env", lines),
        *(
            UnknownSetting(
                place="mnemon.toml",
                name=name,
                meant=_nearest_setting(name),
            )
            for name in sorted(table)
            if name not in _SETTING_VARIABLES
        ),
    ]


def _unknown_variables(place: str, names: Iterable[str]) -> list[UnknownSetting]:
    """Return the names that are no settings of Mnemon, each with the nearest setting, if one is near."""
    known = {*_SETTING_VARIABLES.values(), *OTHER_VARIABLES}
    odd = sorted(name for name in names if name.upper() not in known and not name.startswith("MNEMON_TEST_"))
    return [
        UnknownSetting(place=place, name=name, meant=None if meant is None else _SETTING_VARIABLES[meant])
        for name in odd
        for meant in [_nearest_setting(name)]
    ]


def _nearest_setting(name: str) -> str | None:
    """Return the setting that this name is most likely a misspelling of; None where none is close.

    Compared without the common `MNEMON_`, which would make all of them alike: following a wrong guess does harm.
    """
    bare = name.lower().removeprefix("mnemon_")
    # `RATE_LIMIT` is far from `rate_limit_per_minute` by its letters, and cannot mean another one.
    longer = [known for known in _SETTING_VARIABLES if known.startswith(f"{bare}_")]
    if len(longer) == 1:
        return longer[0]
    return next(iter(difflib.get_close_matches(bare, _SETTING_VARIABLES, n=1, cutoff=_LEAST_SIMILARITY)), None)


OLDEST_PYTHON = (3, 11)
DISK_FAIL_BYTES = 200_000_000
DISK_WARN_BYTES = 1_000_000_000


def check_python() -> Check:
    """Check that Python is new enough."""
    version = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        return fail("python", f"Python {version} is too old; 3.11 or newer is needed.", "make run")
    return ok("python", f"Python {version} on {platform.system()} {platform.machine()}.")


def check_setting_names(environment: Mapping[str, str], folder: Path) -> Check:
    """Warn about names in the environment and this folder's files that are not settings."""
    odd = unknown_settings(environment, folder)
    if not odd:
        named = sum(f"MNEMON_{name.upper()}" in environment for name in Settings.model_fields)
        return ok(
            "settings", f"All settings are valid; {named} {'comes' if named == 1 else 'come'} from the environment."
        )
    words = "; ".join(f"{one.name} in {one.place} is not a setting and has no effect" for one in odd)
    return warn("settings", f"{words}.", "; ".join(one.fix for one in odd))


def check_data_dir(folder: Path) -> list[Check]:
    """Check that the data directory can be written to, is private, and has disk space."""
    folder = folder.expanduser().absolute()
    # The directory need not exist yet: then its nearest existing parent decides.
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return [fail("data directory", f"{folder} cannot be written by this user.", "export MNEMON_DATA_DIR=~/mnemon")]
    made = "exists" if there == folder else "will be created at the first start"
    return [_check_permissions(folder, made), check_disk_space(there, shutil.disk_usage(there).free)]


def _check_permissions(folder: Path, made: str) -> Check:
    """Warn if other users can read the data directory; `made` says whether it exists or will be created."""
    if folder.exists() and folder.stat().st_mode & 0o077:
        return warn("data directory", f"{folder} {made}, and other users can read it.", f"chmod 700 {folder}")
    return ok("data directory", f"{folder} {made}.")


def check_disk_space(folder: Path, free: int) -> Check:
    """Fail or warn when less than a fixed amount is free on the data directory's disk."""
    words = f"{free / 1e9:.1f} GB free on the disk of {folder}."
    if free < DISK_FAIL_BYTES:
        return fail("disk space", words, f"df -h {folder}  # free some space, or set MNEMON_DATA_DIR to a larger disk")
    if free < DISK_WARN_BYTES:
        return warn("disk space", words, f"df -h {folder}  # keep 1 GB or more free")
    return ok("disk space", words)


def check_listening(settings: Settings) -> Iterable[Check]:
    """Check that the port is free or used by a Mnemon server; warn if other machines can reach it."""
    served = running_server(settings.data_dir)
    yield _check_port(settings.host, settings.port) if served is None else _check_running_server(served)
    if not settings.is_loopback:
        yield warn(
            "network",
            f"The server listens on {settings.host}, for other machines too; keys travel in clear text without TLS.",
            "put a TLS proxy in front, or export MNEMON_HOST=127.0.0.1",
        )


def _check_running_server(served: ServerAddress) -> Check:
    """Check that the server announced in the data directory answers."""
    version = _mnemon_version(served.host, served.port)
    if version is None:
        return fail(
            "port",
            f"The server of this data directory runs at {served.host}:{served.port} and does not answer.",
            "look at its log, or stop it and start `mnemon serve` again",
        )
    return ok("port", f"A Mnemon server ({version}) answers at {served.host}:{served.port}.")


def _check_port(host: str, port: int) -> Check:
    """Check that the server can listen at this address, or that a Mnemon server already does."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As the server binds: a port whose last connections are in TIME_WAIT is free for both.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            why = error
        else:
            return ok("port", f"{host}:{port} is free." if port else "The server will pick a free port.")
    version = _mnemon_version(host, port)
    if version is not None:
        return ok("port", f"A Mnemon server ({version}) answers at {host}:{port}.")
    return fail("port", listen_refusal(host, port, why, fix="take another."), _port_fix(why))


def _port_fix(error: OSError) -> str:
    """Return the command to run when the port cannot be bound because of this error."""
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return "export MNEMON_HOST=127.0.0.1"
    return "mnemon serve --port 0  # or export MNEMON_PORT=8766"


def _mnemon_version(host: str, port: int) -> str | None:
    """Return the version of the Mnemon server that answers there; None when none does."""
    place = "127.0.0.1" if host in {"0.0.0.0", "localhost"} else f"[{host}]" if ":" in host else host  # noqa: S104
    try:
        # Two seconds are enough for this machine, and a port of another program may never answer.
        with urllib.request.urlopen(f"http://{place}:{port}/healthz", timeout=2) as answer:
            health = json.load(answer)
    except (OSError, ValueError, urllib.error.URLError):
        return None
    return str(health["version"]) if isinstance(health, dict) and "version" in health else None


def check_completion(home: Path, shell: str) -> Check:
    """Check whether shell completion is installed; the check never fails."""
    places = {
        "bash": home / ".bash_completions" / "mnemon.sh",
        "zsh": home / ".zfunc" / "_mnemon",
        "fish": home / ".config" / "fish" / "completions" / "mnemon.fish",
    }
    name = Path(shell).name
    if name in places and places[name].exists():
        return ok("completion", f"{name} completes mnemon's commands.")
    return ok(
        "completion", f"{name or 'The shell'} does not complete mnemon's commands yet.", "mnemon --install-completion"
    )
