"""Logs: readable on a terminal, JSON elsewhere. They carry ids and codes, never what a person said."""

import logging
import sys
import traceback

import structlog


def where_it_failed(logger: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """An exception as its type and the lines it passed: its message and its variables may hold what a person said."""
    info = event.pop("exc_info", None)
    if info is True:
        info = sys.exc_info()
    elif isinstance(info, BaseException):
        info = (type(info), info, info.__traceback__)
    if isinstance(info, tuple) and info[0] is not None:
        event["exception"] = "".join(traceback.format_tb(info[2])) + info[0].__qualname__
    return event


def configure_logs(level: str) -> None:
    """Every logger of this process, ours and the libraries', writes to stderr in one form."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, where_it_failed, last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for noisy in ("uvicorn", "uvicorn.error", "httpx", "httpx2", "httpcore", "psycopg.pool", "mcp"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
