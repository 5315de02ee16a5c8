"""What a refused request is told: where in it the fault is, and what the path takes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mnemon.api.codes import CODES_BY_STATUS
from mnemon.api.problems import pointer_to
from support.problem import assert_problem
from support.served import served

BODY = {"type": "NONSENSE", "a/b": {"~": [1, {"text": 3}]}, "items": [{"content": 5}]}


@pytest.mark.parametrize(
    ("place", "missing", "pointer"),
    [
        (("body", "type", "str-enum[MemoryType]"), False, "/type"),
        (("body", "type", "literal['OPEN_LOOP']"), False, "/type"),
        (("body", "items", 0, "MemoryIn", "content", "function-after[as_sent(), str]"), False, "/items/0/content"),
        (("body", "items", 0, "MemoryIn", "userId"), True, "/items/0/userId"),
        (("body", "a/b", "~", 1, "text"), False, "/a~1b/~0/1/text"),
        (("body", "userId"), True, "/userId"),
        (("query", "limit"), False, "?limit"),
        (("query", "status", "str-enum[Status]"), False, "?status"),
        (("path", "number", "int"), False, "path:number"),
    ],
)
def test_a_pointer_leads_into_the_body_and_names_no_marker_of_the_validator(
    place: Sequence[int | str], missing: bool, pointer: str
) -> None:
    assert pointer_to(place, BODY, missing=missing) == pointer


def test_a_refused_request_is_told_in_plain_words(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, worker=False, model="offline") as server:
        client = server.client()
        wrong = client.post("/api/memories", json={"userId": "ann", "type": "NONSENSE", "content": "x"})
        expected = "Input should be 'PROFILE', 'PEOPLE' or 'PROJECT', or 'OPEN_LOOP'"
        assert _problem(wrong, 422)["errors"] == [{"pointer": "/type", "detail": expected}]
        batch = [{"userId": "ann", "type": "NONSENSE", "content": "x"}]
        refused = _problem(client.post("/api/memories/batch", json=batch), 422)["errors"]
        assert refused == [{"pointer": "/0/type", "detail": expected}]
        refused = _problem(client.post("/api/memories/batch", json={"memories": batch}), 422)["errors"]
        assert refused == [{"pointer": "/memories/0/type", "detail": expected}]
        status = _problem(client.get("/api/memories?userId=ann&status=GONE"), 422)["errors"]
        assert status == [{"pointer": "?status", "detail": "Input should be 'ACTIVE' or 'ARCHIVED', or 'ALL'"}]
        nothing = client.post("/api/memories", headers={"Content-Type": "application/json"})
        assert _problem(nothing, 422)["errors"] == [{"pointer": "/", "detail": "There is no body; send one as JSON"}]
        listed = client.post("/api/memories", content="[]", headers={"Content-Type": "application/json"})
        assert _problem(listed, 422)["errors"] == [{"pointer": "/", "detail": "Input should be a JSON object"}]
        headers = {"Content-Type": "application/json"}
        for body, where, told in (
            ("null", "/", "Input should be a JSON object or a list"),
            ("7", "/", "Input should be a JSON object or a list"),
            ("[null]", "/0", "Input should be a JSON object"),
        ):
            batch_fault = _problem(client.post("/api/memories/batch", content=body, headers=headers), 422)["errors"]
            assert batch_fault == [{"pointer": where, "detail": told}]
        other = _problem(client.delete("/api/jobs"), 405)
        assert other["detail"] == "This path does not take DELETE. /openapi.json lists every route."


def test_a_fault_in_a_seed_is_told_once_and_where_it_is(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, worker=False, model="offline") as server:
        client = server.client()
        about = {"type": "person", "label": "x" * 300}
        for facts, pointer in (
            (["Likes tea", {"content": "Lives in Leeds", "entity": about}], "/profile/1/entity/label"),
            ([""], "/profile/0"),
            ([7], "/profile/0"),
            ([{"pinned": True}], "/profile/0/content"),
        ):
            refused = _problem(client.put("/api/users/ann/seed", json={"profile": facts}), 422)
            assert [fault["pointer"] for fault in refused["errors"]] == [pointer]
        both = {"profile": ["Likes tea", {"content": "Lives in Leeds"}]}
        assert client.put("/api/users/ann/seed", json=both).json()["data"]["stored"] == 2
        deep = client.put(
            "/api/users/ann/seed", content="[" * 200 + "]" * 200, headers={"Content-Type": "application/json"}
        )
        assert_problem(deep, 422, "json_too_deep")


def test_a_refused_method_is_told_every_method_of_its_path(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, worker=False, model="offline") as server:
        client = server.client()
        for method, path, allowed in (
            ("PUT", "/api/memories", "GET, POST"),
            ("POST", "/api/memories/mem_x", "DELETE, GET, PATCH"),
            ("DELETE", "/api/jobs", "GET"),
            ("DELETE", "/sign-in", "GET, POST"),
            ("PUT", "/mcp", "DELETE, GET, HEAD, POST"),
        ):
            answer = client.request(method, path)
            assert_problem(answer, 405, "method_not_allowed")
            assert answer.headers["Allow"] == allowed, (method, path)


def _problem(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status
    body: dict[str, Any] = json.loads(answer.text)
    return body


def test_the_document_names_the_codes_of_every_status(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, worker=False, model="offline") as server:
        document = server.client().get("/openapi.json").json()
    for status, codes in CODES_BY_STATUS.items():
        code = document["components"]["schemas"][f"Problem{status}"]["properties"]["code"]
        assert (code["enum"], code["x-next-steps"]) == (list(codes), codes)
    for path, item in document["paths"].items():
        for method, operation in item.items():
            assert {"405", "408", "431"} <= set(operation["responses"]), (method, path)
            for status, response in operation["responses"].items():
                if status >= "400":
                    schema = response["content"]["application/problem+json"]["schema"]
                    assert schema == {"$ref": f"#/components/schemas/Problem{status}"}, (method, path)
