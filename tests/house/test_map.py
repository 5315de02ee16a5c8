"""ARCHITECTURE.md is a map of what is there: every place it names exists, and every room stands on it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "mnemon"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
DRAWING = TEXT.split("```")[1]
NAMED = sorted(set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.(?:py|html|sql))?|[a-z_]+\.py)`", TEXT)))
EVERYWHERE = {"store.py", "layer.py", "reflect.py", "job.py", "offline.py", "lifecycle.py", "forget.py", "migrations/"}
"""Files that many rooms have, named without one."""


@pytest.mark.parametrize("place", NAMED)
def test_every_place_it_names_exists(place: str) -> None:
    if place in EVERYWHERE:
        assert list(SOURCE.rglob(place)), f"no room has {place}"
    else:
        assert (SOURCE / place).exists() or (ROOT / place).exists() or _within_a_room(place), f"{place} is not there"


@pytest.mark.parametrize(
    "name", sorted({path.stem for path in SOURCE.iterdir() if not path.name.startswith("_")} - {"py"})
)
def test_every_room_and_root_module_stands_on_the_drawing(name: str) -> None:
    assert re.search(rf"\b{name}\b", DRAWING), f"{name} is not on the drawing"


def _within_a_room(place: str) -> bool:
    """`claims.py` beside `engagement/hypotheses.py` in one sentence."""
    return "/" not in place and bool([*SOURCE.rglob(place), *(ROOT / "client").rglob(place)])
