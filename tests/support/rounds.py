"""What is sent to the database, round by round."""

from collections.abc import Sequence

import pytest

from mnemon.db.pipeline import BoundStatement, PipelinedConnection

Rounds = list[list[str]]


def watch_rounds(monkeypatch: pytest.MonkeyPatch) -> Rounds:
    """The first word of every statement that is sent from here on."""
    sent: Rounds = []
    send = PipelinedConnection.send_round

    async def watched(connection: PipelinedConnection, bound: Sequence[BoundStatement]) -> None:
        sent.append([one.statement.sql.split()[0].lower() for one in bound])
        await send(connection, bound)

    monkeypatch.setattr(PipelinedConnection, "send_round", watched)
    return sent
