"""The clock in a file: every reader agrees with it, and nobody stumbles over whoever is writing it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from mnemon.clock import FileClock
from mnemon.errors import Misconfigured


def test_the_time_is_what_stands_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "clock"
    file.write_text("2026-04-12T15:22:00Z\n")
    clock = FileClock(file)
    assert clock.now() == datetime(2026, 4, 12, 15, 22, tzinfo=UTC)
    file.write_text("2030-01-01T02:00:00+02:00")
    assert clock.now() == datetime(2030, 1, 1, tzinfo=UTC)


def test_a_file_that_is_being_written_leaves_the_last_time_in_force(tmp_path: Path) -> None:
    file = tmp_path / "clock"
    file.write_text("2026-04-12T15:22:00Z")
    clock = FileClock(file)
    before = clock.now()
    file.write_text("")
    assert clock.now() == before
    file.unlink()
    assert clock.now() == before
    file.write_text("2026-05-01T00:00:00Z")
    assert clock.now() > before


UNUSABLE = ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "1969-12-31T00:00:00Z", "9999-12-31T23:59:59Z",
            "9001-01-01T00:00:00Z", "99999-01-01T00:00:00Z"]  # fmt: skip


@pytest.mark.parametrize("written", UNUSABLE)
def test_a_time_that_nothing_can_be_counted_from_is_none(tmp_path: Path, written: str) -> None:
    file = tmp_path / "clock"
    file.write_text("2026-04-12T15:22:00Z")
    clock = FileClock(file)
    before = clock.now()
    file.write_text(written)
    assert clock.now() == before
    with pytest.raises(Misconfigured, match="the years 1971 to 9000"):
        FileClock(file).now()


@pytest.mark.parametrize("written", ["1971-01-01T00:00:00Z", "9000-12-31T23:59:59Z"])
def test_the_first_and_the_last_time_can_be_used(tmp_path: Path, written: str) -> None:
    file = tmp_path / "clock"
    file.write_text(written)
    assert FileClock(file).now().year in (1971, 9000)


@pytest.mark.parametrize("written", [None, b"", b"half past nine", b"\xff\xfe"])
def test_a_file_that_never_held_a_time_is_named_with_the_remedy(tmp_path: Path, written: bytes | None) -> None:
    file = tmp_path / "clock"
    if written is not None:
        file.write_bytes(written)
    with pytest.raises(Misconfigured, match=r"MNEMON_CLOCK_FILE .*clock holds no time .*date -u") as caught:
        FileClock(file).now()
    assert str(file) in caught.value.detail
