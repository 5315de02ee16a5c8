"""A body that is not sent as JSON is refused by name at every route that takes JSON, whatever its text."""

from pathlib import Path

import httpx2
import pytest

from support.bounds import HANGS_S
from support.openapi import operations
from support.problem import assert_problem
from support.served import served

FORM = "application/x-www-form-urlencoded"


def test_every_route_that_takes_json_says_what_to_send(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, worker=False, model="offline") as server:
        client, document = server.client(), server.app.openapi()
        taking = [one for one in operations(document, {}) if one.body is not None]
        assert {"/api/memories", "/api/chat", "/v1/chat/completions", "/api/users/{user_id}/seed"} <= {
            one.path for one in taking
        }
        for one in taking:
            path = one.path.format(**dict.fromkeys(one.placed, "x"))
            for kind in (FORM, "text/html", "application/jsonp", None):
                headers = {} if kind is None else {"Content-Type": kind}
                answer = client.request(one.method, path, content=b"{}", headers=headers)
                assert_problem(answer, 415, "wrong_media_type")
                assert "`Content-Type: application/json`" in answer.json()["detail"]
            assert "415" in document["paths"][one.path][one.method.lower()]["responses"], (one.method, one.path)


@pytest.mark.parametrize(
    "kind",
    ["application/json", "Application/JSON; charset=utf-8", "application/vnd.acme+json"],
)
def test_json_under_any_of_its_names_is_taken(database_url: str, tmp_path: Path, kind: str) -> None:
    with served(database_url, tmp_path, worker=False, model="offline") as server:
        body = b'{"userId": "ann", "type": "PROFILE", "content": "Sails"}'
        answer = server.client().post("/api/memories", content=body, headers={"Content-Type": kind})
        assert answer.is_success, answer.text


def test_only_what_is_sent_and_by_whom_counts(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, worker=False) as server:
        client = server.client()
        agent = {"name": "a", "adapter": "model", "skill": "s", "defaultPrompt": "p"}
        runs = f"/api/agents/{client.post('/api/agents', json=agent).json()['data']['id']}/runs"
        assert client.post(runs).status_code == 202, "a body that may be left out has no kind"
        assert_problem(client.post(runs, content=b"{}", headers={"Content-Type": FORM}), 415, "wrong_media_type")
        stranger = httpx2.post(
            f"{server.url}/api/memories", content=b"{}", headers={"Content-Type": FORM}, timeout=HANGS_S
        )
        assert_problem(stranger, 401, "unauthenticated")
