"""An import takes no value that a read, a write or a job would stumble over later."""

from random import Random

import httpx2
import pytest

from mnemon.access.grants import PERSONAL_GRANTS
from mnemon.custody.aggregates import MEMBERSHIPS
from support.histories import NDJSON
from support.odd_fields import body_of, every_read, odd_lines, rich_export
from support.served import Served

TRIES = 60
_ALLOWED = {200, 403, 409, 422}


@pytest.mark.spliced_history
def test_no_field_can_be_imported_that_breaks_what_reads_it(offline_server: Served) -> None:
    client = offline_server.client("acme")
    bound = offline_server.client("acme", user="ann", grants=PERSONAL_GRANTS)
    lines = rich_export(offline_server, client, bound, "ann")
    missing = set(MEMBERSHIPS) - {line.get("table") for line in lines}
    assert missing <= {"curator_runs", "entities_kept_apart"}, missing
    odd = list(odd_lines(lines))
    for table, field, value, changed in Random().sample(odd, TRIES):
        tried = f"{table}.{field} = {str(value)[:40]!r}"
        assert client.delete("/api/users/ann").status_code in (200, 404), tried
        key = bound if len(tried) % 2 else client
        answer = key.post("/api/import", content=body_of(changed), headers=NDJSON)
        assert answer.status_code in _ALLOWED, (tried, answer.text)
        if answer.status_code == 422:
            assert_names_the_line(answer, changed, tried)
        if answer.status_code == 200:
            for read in every_read(client, "ann", lines):
                assert read.status_code < 500, (tried, read.request.url, read.text)
            assert client.get("/api/jobs", params={"status": "parked"}).json()["data"] == [], tried


def assert_names_the_line(answer: httpx2.Response, changed: list[dict[str, object]], tried: str) -> None:
    problem = answer.json()
    assert problem["code"] == "bad_export", (tried, problem)
    [fault] = problem["errors"]
    assert problem["detail"].startswith(f"Line {int(fault['pointer'][1:]) + 1} "), (tried, problem)
