"""What is sent to the database, round by round."""

from collections.abc import Sequence

import pytest

from mnemon.db.wire import Bound, Wire

Rounds = list[list[str]]


def watch_rounds(monkeypatch: pytest.MonkeyPatch) -> Rounds:
    """The first word of every statement that is sent from here on."""
    sent: Rounds = []
    send = Wire.send

    async def watched(connection: Wire, bound: Sequence[Bound]) -> None:
        sent.append([one.asked.sql.split()[0].lower() for one in bound])
        await send(connection, bound)

    monkeypatch.setattr(Wire, "send", watched)
    return sent
