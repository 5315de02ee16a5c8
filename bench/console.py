"""How long the console's pages take at 100,000 memories: `PYTHONPATH=tests .venv/bin/python -m bench.console`.

Every page type and the states of it that cost most, over the demo's story and a crowd of a hundred people more (see
bench/crowd.py), and the same pages of a second organization that is empty. `mnemon serve` runs as a process of its own
over an embedded PostgreSQL. Each page is asked for once and then forty times over HTTP, one after another; the table
shows the median, the 95th percentile and the slowest of the forty.
"""

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2

from bench.crowd import gather
from bench.screenshots import STATES, database
from support import atlas
from support.storied import FRIDAY, ORG, storied

TIMES = 40
EMPTY = "empty"
PROGRAM = str(Path(sys.executable).with_name("mnemon"))
MORE = (
    "/memories?q=ghost",
    "/memories?q=about",
    "/memories?q=kraków",
    "/memories?q=coffee&type=PEOPLE&user=person-7",
    "/memories?q=about&page=200",
    "/memories?page=200",
    "/memories?page=100&type=PEOPLE&source=api",
    "/memories?user=person-7",
    "/memories?type=PEOPLE&status=any",
    "/memories?status=ARCHIVED",
    "/memories?persona=atlas",
    "/memories?pinned=yes",
    "/memories?entity=person:friend_7",
    "/memories/mem_person-7_8",
    "/entities?user=person-7",
    "/entities?user=person-7&view=graph",
    "/entities?user=person-7&view=suggestions",
    "/entities?user=person-7&view=merges",
    "/entities/person:friend_7?user=person-7",
    "/recall?q=what+about+bread&user=person-7",
    "/recall?q=what+about+bread&user=person-7&versus=blended&kinds=both",
    "/context?q=what+about+bread&user=person-7&persona=atlas",
    "/sessions?page=40",
    "/sessions?q=bread",
    "/sessions?q=ghost",
    "/sessions?user=person-7",
    "/sessions/ses_person-7_3",
    "/sessions/ses_person-7_3/agent-state",
    "/engagement?step=5",
    "/results/trade-decisions?status=resolved",
    "/settings/audit?before=aud_00000000000000000000001000",
    "/settings/privacy?q=person",
    "/jobs?status=parked",
)
PLAIN = (
    "/",
    "/memories",
    "/memories?q=ghost",
    "/recall?q=bread",
    "/context?q=bread",
    "/entities",
    "/sessions",
    "/engagement",
    "/agents",
    "/results/trade-decisions",
    "/calibration",
    "/jobs",
    "/settings/audit",
)
"""Pages that an organization with nothing in it has, too."""


@dataclass(frozen=True, kw_only=True)
class Took:
    """How long the visits of one page took, in milliseconds."""

    median: float
    p95: float
    slowest: float


def main() -> None:
    """Prints two tables, and fails where a page takes longer than it may at the 95th percentile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most-ms", type=float, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, database(Path(name)) as url:
        folder = Path(name)
        with storied(url, folder, worker=False):
            held = gather(url, ORG, FRIDAY)
        with Mnemon(url, folder) as mnemon:
            sys.stdout.write(f"{held:,} memories, load average {os.getloadavg()[0]:.2f}\n\n")
            slow = report(visits(mnemon, ORG), given.most_ms)
            sys.stdout.write("\nAn empty organization beside it\n\n")
            slow += report(visits(mnemon, EMPTY), given.most_ms)
    sys.exit(f"slower than {given.most_ms:.0f} ms: {', '.join(slow)}" if slow else 0)


class Mnemon:
    """`mnemon serve` on a free port, while it is needed, and other commands beside it."""

    def __init__(self, url: str, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._environment = {
            **os.environ,
            "MNEMON_DATABASE_URL": url,
            "MNEMON_DATA_DIR": str(folder),
            "MNEMON_CLOCK_FILE": str(folder / "clock"),
            "MNEMON_PORT": str(port),
            "MNEMON_MODEL": "offline",
            "MNEMON_LOG_LEVEL": "ERROR",
        }

    def __enter__(self) -> "Mnemon":
        self._serving = subprocess.Popen([PROGRAM, "serve"], env=self._environment, stdout=subprocess.DEVNULL)
        for _ in range(600):
            with suppress(httpx2.HTTPError):
                if httpx2.get(f"{self.url}/sign-in").status_code == 200:
                    return self
            time.sleep(0.1)
        raise RuntimeError("`mnemon serve` did not answer within a minute")

    def __exit__(self, *ended: object) -> None:
        self._serving.terminate()
        self._serving.wait(30)

    def run(self, *words: str) -> str:
        """What the command prints."""
        done = subprocess.run([PROGRAM, *words], env=self._environment, check=True, capture_output=True, text=True)
        return done.stdout

    def signed_in(self, org: str) -> dict[str, str]:
        """The cookies of someone who followed a link of the organization's console."""
        if org == EMPTY:
            self.run("orgs", "create", org)
        answer = httpx2.get("".join(self.run("console", "--org", org).split()), timeout=60)
        assert answer.status_code == 303
        return dict(answer.cookies)


def visits(mnemon: Mnemon, org: str) -> dict[str, Took]:
    """What each page of the organization took."""
    with httpx2.Client(base_url=mnemon.url, cookies=mnemon.signed_in(org), timeout=120) as visitor:
        addresses = [*atlas.by_route(visitor).values(), *STATES, *MORE] if org == ORG else PLAIN
        return {address: measured(visitor, address) for address in dict.fromkeys(addresses)}


def report(figures: dict[str, Took], most_ms: float) -> list[str]:
    """Prints the table, slowest first; the pages that took longer than they may."""
    sys.stdout.write("| page | median ms | p95 ms | slowest ms |\n|---|---|---|---|\n")
    for address, took in sorted(figures.items(), key=lambda one: -one[1].p95):
        sys.stdout.write(f"| `{address}` | {took.median:.0f} | {took.p95:.0f} | {took.slowest:.0f} |\n")
    return [address for address, took in figures.items() if took.p95 > most_ms]


def measured(visitor: httpx2.Client, address: str) -> Took:
    """The visits of one page, after a first one that is not counted."""
    took = []
    for _ in range(TIMES + 1):
        began = time.perf_counter()
        answer = visitor.get(address)
        took.append((time.perf_counter() - began) * 1000)
        assert answer.status_code == 200, f"{address} answered {answer.status_code}"
    kept = sorted(took[1:])
    return Took(median=statistics.median(kept), p95=kept[int(TIMES * 0.95) - 1], slowest=kept[-1])


if __name__ == "__main__":
    main()
