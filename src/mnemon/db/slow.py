"""The log's line for a round of statements that took long."""

from collections.abc import Sequence

import structlog

from mnemon.db.statements import statement_label

log = structlog.get_logger(__name__)

SLOW_S = 1.0
_MOST = 5


def report_slow(statements: Sequence[str], seconds: float) -> None:
    """Warn of a round that took longer than `SLOW_S`: which statements were in it, never their values."""
    labels = list(dict.fromkeys(statement_label(sql) for sql in statements))
    asked = [label for label in labels if not label.startswith(("BEGIN", "SET LOCAL"))] or labels
    log.warning(
        "slow_statement", statement=", ".join(asked[:_MOST]), statements=len(statements), ms=round(seconds * 1000)
    )
