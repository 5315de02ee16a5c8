"""The lines that a server or a worker leaves in the log when it starts and when it stops."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import structlog

from mnemon.cli.checkup.names import unknown_names
from mnemon.settings import Settings

log = structlog.get_logger(__name__)
_TLS = (
    "Keys, memories and console sessions cross the network unencrypted. Put a proxy that speaks TLS in front and let "
    "only it reach this port, or listen on 127.0.0.1."
)


def warn_without_tls(settings: Settings) -> None:
    """Warn when others than this machine can reach the server, which speaks plain HTTP."""
    if not settings.loopback:
        log.warning("listening_without_tls", host=settings.host, next_step=_TLS)


@contextmanager
def log_lifetime(
    service: str, settings: Settings, *, worker: bool, port: int | None, metrics_port: int | None = None
) -> Iterator[None]:
    """Log the start with the settings that matter to whoever reads a log, and the stop with how long it ran.

    Addresses of models and databases are left out: they may hold a password.
    """
    began = time.monotonic()
    log.info(
        "started",
        service=service,
        version=version("mnemon"),
        host=settings.host if port is not None or metrics_port is not None else None,
        port=port,
        metrics_port=metrics_port,
        worker=worker,
        worker_concurrency=settings.worker_concurrency if worker else None,
        model=settings.model,
        reflection_model=settings.reflection_model,
        embedder=settings.embedder,
        database="external" if settings.database_url is not None else "embedded",
        log_level=settings.log_level,
    )
    for unknown in unknown_names(os.environ, Path.cwd()):
        log.warning("setting_unknown", name=unknown.name, place=unknown.place, next_step=unknown.fix)
    try:
        yield
    finally:
        log.info("stopped", service=service, seconds=round(time.monotonic() - began, 1))
