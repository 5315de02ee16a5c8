"""Logging is set up for the whole process; a test that changes it leaves it as it was."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from mnemon.logs import close_logs


@contextmanager
def loggers_as_they_were() -> Iterator[None]:
    """Undo at the end whatever was set up inside, by structlog or by Python's `logging`."""
    config = structlog.get_config() if structlog.is_configured() else None
    disabled = logging.Logger.manager.disable
    before = {logger.name: _setup(logger) for logger in _loggers()}
    try:
        yield
    finally:
        close_logs()
        structlog.reset_defaults()
        if config is not None:
            structlog.configure(**config)
        structlog.contextvars.clear_contextvars()
        logging.disable(disabled)
        for logger in _loggers():
            _set_up(logger, before.get(logger.name, ([], logging.NOTSET, False, True)))


def _loggers() -> list[logging.Logger]:
    named = [one for one in logging.Logger.manager.loggerDict.values() if isinstance(one, logging.Logger)]
    return [logging.getLogger(), *named]


_Setup = tuple[list[logging.Handler], int, bool, bool]


def _setup(logger: logging.Logger) -> _Setup:
    return logger.handlers[:], logger.level, logger.disabled, logger.propagate


def _set_up(logger: logging.Logger, setup: _Setup) -> None:
    if _setup(logger) == setup:
        return
    logger.handlers[:], level, logger.disabled, logger.propagate = setup
    logger.setLevel(level)
