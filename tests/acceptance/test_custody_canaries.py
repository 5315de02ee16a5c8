"""Canaries, the short version of tests/soak: what is forgotten stands in no dump, no log, no export."""

import httpx2
import pytest

from support.canaries import Canaries
from support.served import Served


@pytest.mark.scripted
def test_forgotten_canaries_stand_nowhere(
    server: Served, client: httpx2.Client, capfd: pytest.CaptureFixture[str]
) -> None:
    canaries = Canaries(server, client, count=16)
    canaries.plant()
    planted = set(canaries.in_database())
    assert planted == set(canaries.words)
    assert canaries.forget() >= 16
    assert canaries.places() == []
    assert canaries.in_export() == []
    logs = capfd.readouterr()
    assert canaries.in_text(logs.out + logs.err) == []
    assert "Soup is good" in client.get("/api/users/ann/export").text
