"""What every refusal looks like, whichever door gives it."""

import httpx2


def assert_problem(answer: httpx2.Response, status: int, code: str) -> None:
    """Assert that the answer is a problem of this status and code, with one request id in head and body."""
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert (body["status"], body["code"]) == (status, code)
    assert body["requestId"] == answer.headers["X-Request-Id"]
    assert body["type"] == f"urn:mnemon:problem:{code}"
