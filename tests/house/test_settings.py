"""The settings are few, described, and the same in the docs, with their defaults and their ranges."""

import re
from datetime import timedelta
from pathlib import Path
from types import UnionType
from typing import get_args, get_origin

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from mnemon.errors import Misconfigured
from mnemon.settings import Settings, load_settings

DOCS = Path(__file__).parents[2] / "docs" / "settings.md"
_ROW = re.compile(r"^\| `MNEMON_(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", re.MULTILINE)


def test_there_are_at_most_fifty() -> None:
    assert len(Settings.model_fields) <= 50


def test_each_has_one_row_in_the_docs_that_says_the_same_as_the_code() -> None:
    documented = [" | ".join(row) for row in _ROW.findall(DOCS.read_text())]
    assert documented == [" | ".join(row) for row in rows()]


def rows() -> list[tuple[str, str, str, str]]:
    """Name, default, range and description of every setting, as the docs write them."""
    return [
        (name.upper(), f"`{_default(field)}`", _range(field), field.description or "")
        for name, field in Settings.model_fields.items()
    ]


def _default(field: FieldInfo) -> str:
    if isinstance(field.default, timedelta):
        return str(TypeAdapter(timedelta).dump_python(field.default, mode="json"))
    return str(field.default)


def _range(field: FieldInfo) -> str:
    if field.annotation is bool:
        return "`true` or `false`"
    low = next((f"{_figure(one.ge)}" for one in field.metadata if isinstance(one, Ge)), None)
    high = next((f"{_figure(one.le)}" for one in field.metadata if isinstance(one, Le)), None)
    above = next((f"more than {_figure(one.gt)}" for one in field.metadata if isinstance(one, Gt)), None)
    below = next((f"less than {_figure(one.lt)}" for one in field.metadata if isinstance(one, Lt)), None)
    within = f"{low} to {high}" if low and high else f"{low} or more" if low else f"at most {high}" if high else None
    return ", ".join(filter(None, (above, within, below))) or _kind(field)


def _figure(bound: object) -> str:
    if isinstance(bound, timedelta):
        return f"{bound.days} days" if bound.days else f"{bound.total_seconds():g} s"
    return f"{bound}"


def _kind(field: FieldInfo) -> str:
    kinds = get_args(field.annotation) if get_origin(field.annotation) is UnionType else (field.annotation,)
    return "a path" if Path in kinds else ""


@pytest.mark.parametrize("given", ["90", "90.0", " 90 ", "PT90S", "PT1M30S"])
def test_a_duration_takes_seconds_and_iso_8601(given: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MNEMON_SESSION_BOUNDARY", given)
    assert load_settings().session_boundary == timedelta(seconds=90)
    monkeypatch.delenv("MNEMON_SESSION_BOUNDARY")
    (tmp_path / "mnemon.toml").write_text("session_boundary = 90\n")
    assert load_settings().session_boundary == timedelta(seconds=90)


@pytest.mark.parametrize("given", ["-1", "-PT1S", "soon", "nan"])
def test_a_duration_is_refused_that_is_none(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMON_RESUME_WINDOW", given)
    with pytest.raises(Misconfigured, match="MNEMON_RESUME_WINDOW"):
        load_settings()


def test_a_number_of_seconds_takes_no_iso_8601(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMON_RUN_TIMEOUT_S", "PT90S")
    with pytest.raises(Misconfigured, match="MNEMON_RUN_TIMEOUT_S"):
        load_settings()
