"""Logs: readable on a terminal, JSON elsewhere. They carry ids, codes and numbers, never what a person said.

Every line of Mnemon is an event with a fixed name and named values; docs/logs.md lists them. Ids bound with
`structlog.contextvars` (`request_id`, `key`, `org`, `job`, `turn`) are on every line logged in that context.

A library's message may quote anything, so a line of a library tells the logger, the place in its code, and the type of
an exception. The message itself is passed on only for the few loggers that are known to quote no content.
"""

import atexit
import json
import logging
import os
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import structlog

from mnemon.errors import MnemonError, ModelDown, Unavailable
from mnemon.log_writer import LogWriter

log = structlog.get_logger(__name__)

QUOTABLE_LOGGERS = frozenset({"asyncio", "uvicorn.error"})
"""Loggers of libraries whose messages quote no body, no header and no prompt in their first line."""
_MAX_QUOTE_CHARS = 300
_MAX_CHAIN = 8
"""Exceptions of a chain or group that a line shows."""

_MODEL_NEXT_STEP = "Look at the model_call line with the same request_id."
"""Used in place of the error's detail, which may quote what the model's server sent."""

NEXT_STEPS = {
    "agent_replied": "The chat shows what went wrong; model_call lines with the same job tell about the model.",
    "answer_rejected": "No action needed: it is retried later. If frequent, use a model that follows JSON schemas.",
    "embedding_call": "No action needed: search works by words meanwhile, and the texts are embedded later.",
    "key_refused": "If the caller is yours, give it a valid key: `mnemon keys create --name laptop` makes one.",
    "library": "No action needed, unless requests fail at the same time; then report it with this line.",
    "log_lines_dropped": "Read the log faster, or raise MNEMON_LOG_LEVEL.",
    "model_call": "Look at the model's server, and at MNEMON_MODEL and MNEMON_MODEL_API_KEY.",
    "rate_limited": "Slow the caller down, or raise MNEMON_RATE_LIMIT_PER_MINUTE.",
    "reflection": "No action needed: open sections are retried. The work_finished line of the same turn tells when.",
    "request_failed": "A bug in Mnemon: report it with this line.",
    "run_finished": "`mnemon runs show` with the run's id tells why it did not succeed.",
    "seal_failed": "No action needed: it is retried. The unavailable and task_failed lines tell why.",
    "slow_statement": "If it is frequent, look at the database's load, locks and disk.",
    "turn_not_sealed": "Check the database. The message is stored and the turn becomes interrupted: send it again.",
    "turn_sealed": "Look at the model_call line with the same request_id.",
    "watch_failed": "No action needed: it is checked again. The unavailable and task_failed lines tell why.",
    "work_lost": "A bug in Mnemon: report it with this line. The job is claimed again when its lease runs out.",
}
"""What to do about a warning or an error that does not say so itself, by event; not added to other levels."""
_ALERT_METHODS = frozenset({"warning", "error", "exception", "critical"})

_writer: LogWriter | None = None


def configure_logs(level: str, fd: int = 2) -> None:
    """Make every logger of this process, Mnemon's and the libraries', write to this descriptor in one format."""
    global _writer  # noqa: PLW0603  one log per process, as the libraries have it
    close_logs()
    number = logging.getLevelNamesMapping()[level.upper()]
    processors = _log_processors(terminal=os.isatty(fd))
    levels = structlog.make_filtering_bound_logger(number)
    # The writer renders the notice of dropped lines itself: queued like other lines, it would be dropped too.
    own_log = structlog.wrap_logger(structlog.ReturnLogger(), processors=processors, wrapper_class=levels)
    _writer = writer = LogWriter(fd, notice=lambda count: own_log.warning("log_lines_dropped", count=count))
    structlog.configure(
        processors=processors,
        wrapper_class=levels,
        logger_factory=lambda *_: _LineLogger(writer),
        # A cached logger would write to the descriptor of an earlier call.
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers[:] = [_LibraryHandler(writer, processors)]
    # Without their messages, lines of libraries below a warning say nothing.
    root.setLevel(max(number, logging.WARNING))


def logs_are_json() -> bool:
    """Say whether this process logs JSON, so that lines for people would be in the way."""
    return _writer is not None and not _writer.on_terminal


def use_stdlib_logs() -> None:
    """Send logs to Python's `logging`: for programs that embed Mnemon, and for commands other than the server."""
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            add_next_step,
            add_traceback,
            structlog.processors.KeyValueRenderer(key_order=["event"]),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
    )


@atexit.register
def close_logs() -> None:
    """Write the queued log lines and close the writer; what is logged afterwards is lost."""
    global _writer  # noqa: PLW0603
    if _writer is not None:
        _writer.close()
        _writer = None


def note_error(error: MnemonError) -> None:
    """Put the error's code on the request's own log line; where a dependency is down, log the cause as well.

    An `Unavailable` of Mnemon says in a fixed sentence what is down and what to do; a `ModelDown` may quote a response.
    """
    structlog.contextvars.bind_contextvars(code=error.code)
    if not isinstance(error, Unavailable):
        return
    cause = error.__cause__
    log.warning(
        "unavailable",
        cause=type(cause).__name__ if cause is not None else None,
        sqlstate=getattr(cause, "sqlstate", None),
        next_step=_MODEL_NEXT_STEP if isinstance(error, ModelDown) else error.detail,
    )


def add_next_step(_: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Add to a warning's or error's log line what to do about it (a structlog processor)."""
    if method in _ALERT_METHODS and event.get("next_step") is None and event["event"] in NEXT_STEPS:
        event["next_step"] = NEXT_STEPS[event["event"]]
    return event


def add_traceback(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Replace an exception in a log line by type and traceback: its message and variables may hold content."""
    given = event.pop("exc_info", None)
    error = sys.exc_info()[1] if given is True else given[1] if isinstance(given, tuple) else given
    if isinstance(error, BaseException):
        event["exception"] = "\n".join(_exception_lines(error))
    return event


def _exception_lines(error: BaseException) -> Iterator[str]:
    """Yield the traceback lines of each exception of the chain or group, the first cause first."""
    for one in _exception_chain(error):
        yield "".join(traceback.format_tb(one.__traceback__)) + type(one).__qualname__


def _exception_chain(error: BaseException) -> list[BaseException]:
    """Return the error with its causes and the errors it groups; bounded, since a chain may be long or circular."""
    found: list[BaseException] = []
    waiting = [error]
    while waiting and len(found) < _MAX_CHAIN:
        one = waiting.pop()
        if any(one is known for known in found):
            continue
        found.append(one)
        cause = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
        grouped = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        waiting += [*grouped, *([cause] if cause is not None else [])]
    return found[::-1]


class _LineLogger:
    """The logger that structlog passes finished lines to."""

    def __init__(self, writer: LogWriter) -> None:
        """Send finished lines of every level to the writer."""
        self.debug = self.info = self.warning = self.error = self.critical = self.msg = writer.put


class _LibraryHandler(logging.Handler):
    """A handler for libraries' records: logs them in the format of Mnemon's lines, without what they quote."""

    def __init__(self, writer: LogWriter, processors: list[structlog.typing.Processor]) -> None:
        """Render libraries' records by these processors and send them to the writer."""
        super().__init__()
        self._writer = writer
        self._processors = processors

    def emit(self, record: logging.LogRecord) -> None:
        """Write a library's log record as an event `library`; its message only if that logger never quotes content."""
        event: Any = {
            "event": "library",
            "logger": record.name,
            "where": f"{record.filename}:{record.lineno}",
            "exc_info": record.exc_info,
        }
        # Any other library may quote a statement, a prompt or a path in its message.
        if record.name in QUOTABLE_LOGGERS:
            event["said"] = record.getMessage().partition("\n")[0][:_MAX_QUOTE_CHARS]
        for process in self._processors:
            event = process(None, record.levelname.lower(), event)
        self._writer.put(event)


def _log_processors(*, terminal: bool) -> list[structlog.typing.Processor]:
    """Return structlog's processors: colours for a terminal, JSON elsewhere."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        add_next_step,
        add_traceback,
        structlog.dev.ConsoleRenderer() if terminal else _render_json,
    ]


def _render_json(_: object, __: str, event: structlog.typing.EventDict) -> str:
    """Return the log event as one line of JSON, with time, level and event first."""
    head = {name: event.pop(name) for name in ("timestamp", "level", "event")}
    return json.dumps({**head, **event}, default=str, ensure_ascii=False)
