"""Logs: readable on a terminal, JSON elsewhere. They carry ids and codes, never what a person said."""

import logging
import sys

import structlog


def configure_logs(level: str) -> None:
    """Every logger of this process, ours and the libraries', writes to stderr in one form."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    terminal = sys.stderr.isatty()
    last: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer()
    )
    tail = [last] if terminal else [structlog.processors.format_exc_info, last]
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
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *tail],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for noisy in ("uvicorn", "uvicorn.error", "httpx", "httpx2", "httpcore", "psycopg.pool", "mcp"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
