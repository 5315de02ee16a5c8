"""Live pages hear of a change, learn after a reconnect what they missed, and let the server stop."""

import httpx2

from support.bounds import HANGS_S
from support.problem import assert_problem
from support.served import Served
from support.told import tell


def events(browser: httpx2.Client, topic: str, most: int, seen: str = "") -> list[tuple[str, str]]:
    """The next events of a topic: their kind and id."""
    found: list[tuple[str, str]] = []
    kind = ""
    headers = {"Last-Event-ID": seen} if seen else {}
    with browser.stream("GET", "/live", params={"topic": topic}, headers=headers) as stream:
        for line in stream.iter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                kind = value
            elif name == "id":
                found.append((kind, value))
                if len(found) == most:
                    break
    return found


def test_a_reconnect_loses_nothing(server: Served, client: httpx2.Client, browser: httpx2.Client) -> None:
    told = tell(server, client)
    topics = ("overview", "sessions", f"session:{told.sessions[-1]}")
    stood = {topic: events(browser, topic, 1)[0] for topic in topics}
    assert {kind for kind, _ in stood.values()} == {"standing"}
    said = [{"role": "user", "content": "One more thing."}]
    client.post("/api/turns", json={"userId": "ben", "messages": said})
    server.settled(client)
    for topic in topics:
        assert events(browser, topic, 1, stood[topic][1])[0][0] == "changed", topic


def test_the_agent_state_beats_with_its_version(server: Served, client: httpx2.Client, browser: httpx2.Client) -> None:
    told = tell(server, client)
    topic = f"agent-state:{told.sessions[0]}"
    stood = events(browser, topic, 1)[0][1]
    version = browser.get(f"/sessions/{told.sessions[0]}/agent-state.json").json()["version"]
    change = {"reason": "by hand", "expectations": [{"action": "look", "expected_outcome": "something is seen"}]}
    headers = {"If-Match": f'"{version}"'}
    answer = client.patch(f"/api/sessions/{told.sessions[0]}/agent-state", json=change, headers=headers)
    assert answer.status_code == 200, answer.text
    assert events(browser, topic, 1, stood)[0][0] == "changed"


def test_nobody_hears_without_a_sign_in_or_of_what_is_not_theirs(server: Served, browser: httpx2.Client) -> None:
    assert_problem(httpx2.get(f"{server.url}/live?topic=jobs", timeout=HANGS_S), 401, "unauthenticated")
    for address in ("/live?topic=nonsense", "/live"):
        refused = browser.get(address)
        assert_problem(refused, 404, "not_found")
        assert "Name one of these as `?topic=`: agent" in refused.json()["detail"]
    gone = {events(browser, f"session:{one}", 1)[0][1] for one in ("ses_one", "ses_two")}
    assert len(gone) == 1  # what is not ours and what is not there look the same


def test_an_open_stream_does_not_hold_up_the_end(server: Served, browser: httpx2.Client) -> None:
    with browser.stream("GET", "/live", params={"topic": "jobs"}) as stream:
        lines = stream.iter_lines()
        next(lines)
        server.app.state.closing.set()
        *_, last, _ = lines  # without an end the reading would time out
    assert '"code": "stopping"' in last
