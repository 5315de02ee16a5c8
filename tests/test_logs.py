"""Log lines: their form, what they leave out, and that nobody waits for whoever reads them."""

import json
import logging
import os
import pty
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import structlog
from prometheus_client import REGISTRY

from mnemon.api.health import READINESS_FAULTS
from mnemon.db.outages import CONNECTION_LOST_DETAIL, NO_CONNECTION_DETAIL, OUTAGES, OUTCOME_UNKNOWN_DETAIL
from mnemon.errors import DatabaseDown, Invalid, MnemonError, ModelDown, Unavailable
from mnemon.log_writer import MAX_WAITING_LINES, LogWriter
from mnemon.logs import NEXT_STEPS, close_logs, configure_logs, note_error, use_stdlib_logs
from mnemon.settings import load_settings

log = structlog.get_logger("test")
SECRET = "my locker word is zoltup"


@pytest.fixture(autouse=True)
def as_at_the_start(own_loggers: None) -> None:
    """Begin as a new process does, also where a server of a whole test module has set up logging."""
    structlog.reset_defaults()
    for name, level in (("", logging.WARNING), ("uvicorn", logging.NOTSET), ("uvicorn.error", logging.NOTSET)):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.disabled, logger.propagate = False, True


@contextmanager
def logged(level: str = "info") -> Iterator[list[dict[str, Any]]]:
    """The lines that are written inside, once it has ended."""
    reading, writing = os.pipe()
    lines: list[dict[str, Any]] = []
    configure_logs(level, fd=writing)
    try:
        yield lines
    finally:
        close_logs()
        os.close(writing)
        with os.fdopen(reading) as pipe:
            lines += [json.loads(line) for line in pipe]


def fail_with_secret() -> None:
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        raise RuntimeError(SECRET) from error


def test_outside_a_terminal_a_line_is_json_with_its_level_time_and_bound_ids() -> None:
    with logged() as lines, structlog.contextvars.bound_contextvars(request_id="req_1"):
        log.info("thing_done", count=3)
    (line,) = lines
    assert list(line)[:3] == ["timestamp", "level", "event"]
    assert line["timestamp"].endswith("Z")
    assert {**line, "timestamp": ""} == {
        "timestamp": "",
        "level": "info",
        "event": "thing_done",
        "count": 3,
        "request_id": "req_1",
    }


def test_on_a_terminal_a_line_is_for_people() -> None:
    ours, theirs = pty.openpty()
    configure_logs("info", fd=theirs)
    log.info("thing_done", count=3)
    close_logs()
    shown = os.read(ours, 4096).decode()
    assert "thing_done" in shown
    assert not shown.startswith("{")
    os.close(theirs)
    os.close(ours)


@pytest.mark.parametrize(
    ("level", "events"),
    [("debug", ["a", "b", "c", "d"]), ("info", ["b", "c", "d"]), ("warning", ["c", "d"]), ("error", ["d"])],
)
def test_the_level_decides_what_is_written(level: str, events: list[str]) -> None:
    with logged(level) as lines:
        log.debug("a")
        log.info("b")
        log.warning("c")
        log.error("d")
    assert [line["event"] for line in lines] == events


def test_a_level_that_is_none_is_refused_with_the_setting_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMON_LOG_LEVEL", "ERROR")
    assert load_settings().log_level == "error"
    monkeypatch.setenv("MNEMON_LOG_LEVEL", "loud")
    with pytest.raises(MnemonError, match="MNEMON_LOG_LEVEL"):
        load_settings()


def test_a_warning_says_what_to_do_also_where_the_code_does_not() -> None:
    with logged() as lines:
        log.warning("run_finished")
        log.info("run_finished")
        log.warning("run_finished", next_step="Look here.")
        log.warning("run_finished", next_step=None)
    told = NEXT_STEPS["run_finished"]
    assert [line.get("next_step") for line in lines] == [told, None, "Look here.", told]


def test_an_exception_is_told_by_its_types_and_lines_and_never_by_its_message() -> None:
    with logged() as lines:
        try:
            fail_with_secret()
        except RuntimeError:
            log.exception("it_failed")
        log.error("they_failed", exc_info=ExceptionGroup(SECRET, [ValueError(SECRET), TypeError(SECRET)]))
    told = lines[0]["exception"]
    assert told.splitlines()[-1] == "RuntimeError"
    assert "KeyError" in told
    assert "in fail_with_secret" in told
    assert "test_logs.py" in told
    assert {"ValueError", "TypeError", "ExceptionGroup"} <= set(lines[1]["exception"].splitlines())
    assert SECRET not in json.dumps(lines)


def test_a_library_speaks_by_place_and_type_and_only_known_ones_by_word() -> None:
    with logged("debug") as lines:
        logging.getLogger("httpx2").info("GET https://example/%s", SECRET)
        logging.getLogger("somebody").debug("prompt: %s", SECRET)
        try:
            fail_with_secret()
        except RuntimeError:
            logging.getLogger("somebody").exception(f"could not handle {SECRET}")
        logging.getLogger("asyncio").error(f"Task exception was never retrieved\nfuture: {SECRET}")
        logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    assert [(line["event"], line["level"], line["logger"], line.get("said")) for line in lines] == [
        ("library", "error", "somebody", None),
        ("library", "error", "asyncio", "Task exception was never retrieved"),
        ("library", "warning", "uvicorn.error", "Invalid HTTP request received."),
    ]
    assert lines[0]["where"].startswith("test_logs.py:")
    assert lines[0]["exception"].endswith("RuntimeError")
    assert SECRET not in json.dumps(lines)


def test_what_is_down_is_told_with_its_cause_and_what_a_caller_got_wrong_is_not() -> None:
    with logged() as lines:
        down = DatabaseDown(CONNECTION_LOST_DETAIL)
        down.__cause__ = TimeoutError(SECRET)
        note_error(down)
        note_error(Invalid(SECRET, code="no_good"))
        log.info("request")
    assert [(line["event"], line["level"], line["code"]) for line in lines] == [
        ("unavailable", "warning", "database_unavailable"),
        ("request", "info", "no_good"),
    ]
    assert lines[0]["cause"] == "TimeoutError"
    assert SECRET not in json.dumps(lines)


@pytest.mark.parametrize(
    "error",
    [
        *(one.make_error() for one in OUTAGES),
        *(DatabaseDown(words) for words in (NO_CONNECTION_DETAIL, CONNECTION_LOST_DETAIL)),
        DatabaseDown(OUTCOME_UNKNOWN_DETAIL, code="outcome_unknown"),
        *(Unavailable(words, code=code) for code, words in READINESS_FAULTS.items()),
    ],
    ids=lambda error: error.code,
)
def test_what_is_down_is_told_with_what_to_do_about_that(error: Unavailable) -> None:
    with logged() as lines:
        note_error(error)
    assert (lines[0]["code"], lines[0]["next_step"]) == (error.code, error.detail)


def test_only_a_model_that_is_down_is_told_by_its_own_line_because_its_words_may_quote() -> None:
    with logged() as lines:
        note_error(ModelDown(SECRET, code="model_refused"))
    assert (lines[0]["code"], lines[0]["next_step"]) == (
        "model_refused",
        "Look at the model_call line with the same request_id.",
    )


def test_a_reader_that_stops_reading_holds_nobody_up_and_hears_what_it_missed() -> None:
    reading, writing = os.pipe()
    before = _dropped_so_far()
    writer = LogWriter(writing, most_waiting=100, notice=lambda count: f"missing {count}")
    for number in range(2_000):  # 2 MB into a pipe that holds 64 kB: a blocking write would never come back
        writer.put(f"{number:<1000}")
    missed = int(_dropped_so_far() - before)
    assert missed > 1_000
    heard: list[bytes] = []
    reader = threading.Thread(target=_read_all, args=(reading, heard))
    reader.start()
    writer.close(30)
    os.close(writing)
    reader.join()
    assert _places_of_gaps(b"".join(heard).decode().splitlines(), of=2_000)


def test_a_notice_of_dropped_lines_is_written_while_the_queue_is_full_and_stands_where_they_are_missing() -> None:
    reading, writing = os.pipe()
    writer = LogWriter(writing, most_waiting=100, notice=lambda count: f"missing {count}")
    heard: list[bytes] = []
    for number in range(300):
        writer.put(f"{number:<1000}")
    # Reads at most as much as the writer puts in, so that the queue is full or nearly full when there is room again.
    for number in range(300, 3_000):
        if number % 3 == 0:
            heard.append(os.read(reading, 1_000))
        writer.put(f"{number:<1000}")
    reader = threading.Thread(target=_read_all, args=(reading, heard))
    reader.start()
    writer.close(30)
    os.close(writing)
    reader.join()
    assert _places_of_gaps(b"".join(heard).decode().splitlines(), of=3_000)


def _places_of_gaps(lines: list[str], *, of: int) -> list[int]:
    """Where lines are missing; every one of so many is there, or counted by the notice that stands in its place."""
    expected, gaps = 0, []
    for line in lines:
        if line.startswith("missing"):
            gaps.append(expected)
            expected += int(line.removeprefix("missing"))
        else:
            assert int(line) == expected
            expected += 1
    assert expected == of
    return gaps


def test_the_notice_of_dropped_lines_is_a_line_like_the_others() -> None:
    reading, writing = os.pipe()
    before = _dropped_so_far()
    configure_logs("info", fd=writing)
    for _ in range(MAX_WAITING_LINES + 2_000):
        log.info("thing_done")
    missed = int(_dropped_so_far() - before)
    heard: list[bytes] = []
    reader = threading.Thread(target=_read_all, args=(reading, heard))
    reader.start()
    close_logs()
    os.close(writing)
    reader.join()
    told = [json.loads(line) for line in b"".join(heard).splitlines() if b"dropped" in line]
    assert {(line["level"], line["event"]) for line in told} == {("warning", "log_lines_dropped")}
    assert sum(line["count"] for line in told) == missed


def _dropped_so_far() -> float:
    return REGISTRY.get_sample_value("mnemon_log_lines_dropped_total") or 0.0


def _read_all(descriptor: int, into: list[bytes]) -> None:
    while piece := os.read(descriptor, 65_536):
        into.append(piece)
    os.close(descriptor)


def test_the_end_of_the_process_does_not_wait_for_a_log_that_nobody_reads() -> None:
    reading, writing = os.pipe()
    writer = LogWriter(writing, most_waiting=100)
    for _ in range(200):
        writer.put("x" * 1_000)
    writer.close(0.05)  # comes back although the thread cannot
    assert any(thread.name == "mnemon-log" for thread in threading.enumerate())
    threading.Thread(target=_read_all, args=(reading, []), daemon=True).start()
    writer.close(30)
    os.close(writing)


def test_a_log_that_cannot_be_written_stops_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    before = _dropped_so_far()
    writer = LogWriter(writing)
    writer.put("nobody hears this")
    writer.close(30)
    os.close(writing)
    assert _dropped_so_far() == before + 1


def test_a_descriptor_that_somebody_made_non_blocking_loses_nothing() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    writer = LogWriter(writing)
    heard: list[bytes] = []
    for _ in range(300):
        writer.put("x" * 1_000)
    reader = threading.Thread(target=_read_all, args=(reading, heard))
    reader.start()
    writer.close(30)
    os.close(writing)
    reader.join()
    assert b"".join(heard).count(b"\n") == 300


def test_a_program_that_has_us_inside_decides_for_itself(capfd: pytest.CaptureFixture[str]) -> None:
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign, assignment]
    logging.getLogger().addHandler(handler)
    try:
        use_stdlib_logs()
        log.info("thing_done", count=3)
        log.warning("thing_failed", count=4)
    finally:
        logging.getLogger().removeHandler(handler)
    assert [record.getMessage() for record in records] == ["event='thing_failed' count=4"]
    assert capfd.readouterr().out == ""
