"""The conventions every route keeps."""

import http.client
from urllib.parse import urlsplit

import httpx2
import pytest

from mnemon.access.grants import Grant
from support.bounds import HANGS_S
from support.problem import assert_problem
from support.served import Served


def test_health_needs_no_key(server: Served) -> None:
    assert httpx2.get(f"{server.url}/healthz", timeout=HANGS_S).json()["status"] == "ok"
    assert httpx2.get(f"{server.url}/readyz", timeout=HANGS_S).json()["database"] == "ok"
    assert "mnemon_http_requests_total" in httpx2.get(f"{server.url}/metrics", timeout=HANGS_S).text


def test_success_comes_in_an_envelope_with_a_request_id(client: httpx2.Client) -> None:
    response = client.get("/api/jobs")
    assert response.json() == {
        "data": [],
        "meta": {"requestId": response.headers["X-Request-Id"], "nextCursor": None},
    }
    assert response.headers["X-Request-Id"].startswith("req_")


def test_a_missing_or_bad_key_is_a_401_problem(server: Served) -> None:
    for headers in ({}, {"Authorization": "Bearer nonsense"}, {"Authorization": f"Bearer mnk_acme_{'0' * 64}"}):
        response = httpx2.get(f"{server.url}/api/jobs", headers=headers, timeout=HANGS_S)
        assert response.status_code == 401
        assert response.headers["content-type"] == "application/problem+json"
        body = response.json()
        assert body["code"] == "unauthenticated"
        assert body["requestId"] == response.headers["X-Request-Id"]
        assert {"type", "title", "status", "detail", "code", "requestId"} <= body.keys()


def test_a_good_key_without_the_scope_is_a_403(server: Served) -> None:
    response = server.client(grants=frozenset({Grant.CHAT})).get("/api/jobs")
    assert (response.status_code, response.json()["code"]) == (403, "missing_scope")


def test_a_refused_key_is_told_which_key_would_do(server: Served) -> None:
    bound = server.client(user="ann")
    for answer in (bound.get("/api/todos?userId=ben"), bound.post("/mcp?userId=ben", json={})):
        assert answer.status_code == 403
        assert f"`mnemon keys create --name laptop --org {server.org()}`, without `--user`, makes one" in answer.text
        assert "ann" not in answer.text
    beyond = bound.put("/api/personas/coach", json={"name": "Coach", "prompt": "Be kind."}).json()
    assert beyond["code"] == "missing_scope"
    command = f"mnemon keys create --name laptop --org {server.org()} --scopes"
    scopes = "chat,custody,memory:read,memory:write,personas:write"
    assert f"`{command} {scopes}`, without `--user`, makes one." in beyond["detail"]
    chatty = server.client(user="ann", grants=frozenset({Grant.CHAT})).get("/api/todos?userId=ann").json()
    assert chatty["detail"].endswith(f"`{command} chat,memory:read --user …` makes one for its person that has it.")
    loose = server.client(grants=frozenset({Grant.CHAT})).get("/api/todos?userId=ann").json()
    assert loose["detail"].endswith(f"`{command} chat,memory:read` makes one that has it.")


def test_an_id_that_is_not_ours_is_a_404(client: httpx2.Client) -> None:
    response = client.post("/api/jobs/job_01HW0000000000000000000000/retry")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_a_bad_parameter_names_its_place(client: httpx2.Client) -> None:
    body = client.get("/api/jobs?limit=none").json()
    assert body["code"] == "invalid_request"
    assert body["errors"][0]["pointer"] == "?limit"
    assert client.get("/api/jobs?cursor=%21").json()["code"] == "bad_cursor"


def test_an_unknown_route_is_a_problem_too(client: httpx2.Client) -> None:
    response = client.get("/api/nothing-here")
    assert (response.status_code, response.json()["code"]) == (404, "no_such_route")


@pytest.mark.parametrize("bytes_", ["%ED%A0%80", "%FF", "ann%C3"])
@pytest.mark.parametrize(
    "address", ["/api/users/{}/spine", "/api/memories?userId={}", "/mcp?userId={}", "/api/memories?{}=1"]
)
def test_an_address_that_is_not_utf8_is_refused(client: httpx2.Client, address: str, bytes_: str) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    where = address.format(bytes_)
    refused = client.post(where, json=message) if where.startswith("/mcp") else client.get(where)
    assert_problem(refused, 422, "invalid_request")
    assert "not valid UTF-8" in refused.json()["detail"]


def test_a_person_named_by_dots_is_reached_with_encoded_dots(server: Served, client: httpx2.Client) -> None:
    for name in (".", ".."):
        body = {"userId": name, "type": "PROFILE", "content": f"Is called {name}"}
        assert client.post("/api/memories", json=body).status_code == 201
        # By hand: some libraries resolve even encoded dots before they send anything.
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=HANGS_S)
        path = f"/api/users/{name.replace('.', '%2E')}"
        connection.request("DELETE", path, headers={"Authorization": client.headers["Authorization"]})
        assert connection.getresponse().status == 200
        connection.close()
        assert client.get("/api/memories", params={"userId": name}).json()["data"] == []
