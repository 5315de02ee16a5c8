"""Times, numbers and commands as pages write them."""

import re
from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from mnemon.console.rendering import format_duration, format_number, relative_time, spaced_name
from mnemon.console.runs import known_outcome
from support.served import Served
from support.told import tell

NOW = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0s"),
        (59, "59s"),
        (60, "1m"),
        (3599, "59m"),
        (3600, "1h"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (13 * 86_400, "13d"),
        (14 * 86_400, "2w"),
        (69 * 86_400, "9w"),
        (70 * 86_400, "2mo"),
        (729 * 86_400, "23mo"),
        (731 * 86_400, "2y"),
    ],
)
def test_a_duration_is_told_in_the_unit_one_would_say(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words


def test_a_time_is_relative_with_the_exact_one_on_hover() -> None:
    past = relative_time(NOW - timedelta(days=3), NOW)
    assert past == '<time datetime="2026-04-09T15:22:00Z" title="2026-04-09T15:22:00Z">3d ago</time>'
    assert ">in 5m<" in relative_time(NOW + timedelta(minutes=5), NOW)
    assert ">now<" in relative_time(NOW, NOW)
    assert "never" in relative_time(None, NOW)


def test_numbers_and_names_are_written_as_one_reads_them() -> None:
    assert format_number(1_234_567) == "1\u2009234\u2009567"
    assert spaced_name("take_profit") == "take profit"


def test_an_outcome_in_plain_words_is_the_one_that_is_known() -> None:
    known = ["take_profit", "stop_loss"]
    assert [known_outcome(said, known) for said in ("Take profit", "stop_loss", "sold")] == [
        "take_profit",
        "stop_loss",
        "sold",
    ]


def test_a_command_to_copy_means_the_organization_one_looks_at(browser: httpx2.Client) -> None:
    for address in ("/", "/memories", "/sessions", "/entities", "/agents", "/calibration", "/settings/keys", "/jobs"):
        commands = re.findall(r'<pre class="copy"><code>(mnemon .*?)</code>', browser.get(address).text)
        assert commands, address
        assert all("--org acme" in command for command in commands), (address, commands)


def test_the_jobs_page_says_how_far_the_work_is(server: Served, client: httpx2.Client, browser: httpx2.Client) -> None:
    tell(server, client)
    server.script.add_fault("error", on="Reflection", times=None)
    client.post("/api/turns", json={"userId": "ann", "messages": [{"role": "user", "content": "One more thing."}]})
    page = browser.get("/jobs.json").json()
    turns, vectors = page["progress"]
    assert (turns["done"], turns["of"]) == (5, 6)
    assert vectors["of"] >= vectors["done"] > 0
    assert sum(page["counts"].values()) == sum(page["kinds"].values()) == len(page["jobs"])
    kind = next(iter(page["kinds"]))
    assert {job["kind"] for job in browser.get(f"/jobs.json?kind={kind}").json()["jobs"]} == {kind}
