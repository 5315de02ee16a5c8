"""The areas: which files are mutated, and which tests have to notice."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "mnemon"


@dataclass(frozen=True, kw_only=True)
class Area:
    """Files that are mutated together, and the tests that are run for each of their mutants."""

    name: str
    files: tuple[str, ...]
    """Under `src/mnemon`."""
    tests: tuple[str, ...]
    """Under `tests`, the quickest first: the first failure ends a trial."""
    database: bool
    """Whether a test needs PostgreSQL; one server is started for all trials."""


def load_areas() -> dict[str, Area]:
    """Read areas.toml, with a directory standing for its files."""
    with Path(__file__).with_name("areas.toml").open("rb") as file:
        told = tomllib.load(file)
    return {
        name: Area(
            name=name,
            files=tuple(path for word in one["files"] for path in _python_files(word)),
            tests=tuple(one["tests"]),
            database=one.get("database", False),
        )
        for name, one in told.items()
    }


def _python_files(word: str) -> list[str]:
    place = SOURCE / word
    if place.is_file():
        return [word]
    found = sorted(str(path.relative_to(SOURCE)) for path in place.glob("*.py") if path.name != "__init__.py")
    if not found:
        raise FileNotFoundError(f"areas.toml names {word}, and there is nothing")
    return found
