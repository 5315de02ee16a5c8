"""Names that read like settings and are none: in the environment, in `.env` and in `mnemon.toml`."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dotenv import dotenv_values

from mnemon.settings import Settings

OF_OTHERS = frozenset({"MNEMON_ORG", "MNEMON_USER", "MNEMON_URL", "MNEMON_KEY", "MNEMON_API_KEY"})
"""Variables that begin like settings and belong to commands and clients; those of tests begin with MNEMON_TEST_."""
_KNOWN = {name: f"MNEMON_{name.upper()}" for name in Settings.model_fields}


@dataclass(frozen=True, kw_only=True)
class UnknownName:
    """A name that has no effect."""

    place: str
    """Where it stands: `the environment`, or the file's name."""
    name: str
    meant: str | None
    """The setting that is spelt most like it, as that place writes it."""

    @property
    def fix(self) -> str:
        """What to type, or what to write into the file."""
        if self.place == "the environment":
            return f"unset {self.name}" + (f"; export {self.meant}=…" if self.meant else "")
        write = f"write {self.meant}" if self.meant else "remove it"
        return f"{write} in {self.place}; docs/settings.md has every name"


def unknown_names(environment: Mapping[str, str], folder: Path) -> list[UnknownName]:
    """Every name that no setting has. A misspelt setting would silently be nothing."""
    variables = [name for name in environment if name.startswith("MNEMON_")]
    dotenv = folder / ".env"
    lines = [name for name in dotenv_values(dotenv) if name.upper().startswith("MNEMON_")] if dotenv.is_file() else []
    toml = folder / "mnemon.toml"
    table = tomllib.loads(toml.read_text(encoding="utf-8")) if toml.is_file() else {}
    return [
        *_unknown_variables("the environment", variables),
        *_unknown_variables(".env", lines),
        *(
            UnknownName(place="mnemon.toml", name=name, meant=_nearest(name.lower().removeprefix("mnemon_"), _KNOWN))
            for name in sorted(table)
            if name not in _KNOWN
        ),
    ]


def _unknown_variables(place: str, names: Iterable[str]) -> list[UnknownName]:
    known = {*_KNOWN.values(), *OF_OTHERS}
    odd = sorted(name for name in names if name.upper() not in known and not name.startswith("MNEMON_TEST_"))
    return [UnknownName(place=place, name=name, meant=_nearest(name.upper(), _KNOWN.values())) for name in odd]


def _nearest(name: str, known: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)
