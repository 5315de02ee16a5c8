"""The OpenAPI document is true: no input makes a 5xx, no status is undocumented, every answer has the shape it says."""

import sys
from pathlib import Path
from random import SystemRandom

import pytest
from fastapi import FastAPI

from mnemon.services import Services
from support.fuzzing import ENDLESS, Fuzzed, fuzz
from support.openapi import operations
from support.served import Served, served


def assert_sound(found: Fuzzed, server: Served) -> None:
    """Every operation of the document was asked, and no answer was at fault."""
    assert found.faults == [], "\n\n".join(found.faults)
    every = operations(server.app.openapi(), {})
    asked = {f"{one.method} {one.path}" for one in every if not ENDLESS.search(one.path)}
    assert {name for name, count in found.requests.items() if count} == asked


@pytest.mark.timeout(1800)
def test_no_request_makes_a_5xx_or_an_undocumented_answer(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, model="offline", worker=False) as server:
        assert_sound(fuzz(server, examples=5, seed=7), server)


@pytest.mark.soak("openapi")
@pytest.mark.timeout(7200)
def test_the_same_with_many_more_requests(database_url: str, tmp_path: Path) -> None:
    seed = SystemRandom().getrandbits(32)
    with served(database_url, tmp_path, model="offline") as server:
        found = fuzz(server, examples=100, seed=seed)
        sys.stdout.write(f"\n{found.requests.total():,} requests to {len(found.requests)} operations, seed {seed}\n")
        assert_sound(found, server)


def test_an_answer_that_the_document_does_not_allow_is_found(database_url: str, tmp_path: Path) -> None:
    def break_a_promise(app: FastAPI, services: Services) -> None:
        @app.get("/api/broken")
        async def broken(number: int) -> str:
            raise RuntimeError if number else LookupError

    with served(database_url, tmp_path, model="offline", worker=False, dress=break_a_promise) as server:
        found = fuzz(server, examples=5, seed=7, path="/api/broken")
    assert set(found.requests) == {"GET /api/broken"}
    assert any("Server error" in fault for fault in found.faults)
