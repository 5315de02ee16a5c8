"""Two hundred planted canaries, forgotten one memory at a time or with the whole person: found nowhere afterwards."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.canaries import Canaries
from support.served import Served, served


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Served]:
    with served(database_url, tmp_path) as running:
        yield running


@pytest.fixture
def client(server: Served) -> httpx2.Client:
    return server.client("acme")


@pytest.mark.soak("canaries")
@pytest.mark.timeout(900)
def test_two_hundred_canaries_are_forgotten_memory_by_memory(
    server: Served, client: httpx2.Client, capfd: pytest.CaptureFixture[str]
) -> None:
    canaries = Canaries(server, client, count=200)
    canaries.plant()
    assert set(canaries.in_database()) == set(canaries.words)
    assert canaries.forget() >= 200
    assert canaries.places() == []
    assert canaries.in_export() == []
    logs = capfd.readouterr()
    assert canaries.in_text(logs.out + logs.err) == []


@pytest.mark.soak("canaries")
@pytest.mark.timeout(900)
def test_two_hundred_canaries_are_forgotten_with_the_person(
    server: Served, client: httpx2.Client, capfd: pytest.CaptureFixture[str]
) -> None:
    canaries = Canaries(server, client, count=200)
    canaries.plant()
    assert set(canaries.in_database()) == set(canaries.words)
    receipt = client.delete("/api/users/ann").json()["data"]
    assert receipt["removed"]["memories"] > 0
    server.settled(client)
    assert canaries.places() == []
    logs = capfd.readouterr()
    assert canaries.in_text(logs.out + logs.err) == []
