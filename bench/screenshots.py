"""Pictures of every page of the console over the demo's story: `make screenshots` writes docs/screenshots/*.png.

The story is told as of a fixed day, so that pictures differ only where pages do.
"""

import asyncio
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx2
from playwright.sync_api import Browser

from mnemon.db.migrate import migrate_database
from support import atlas
from support.chromium import DESK, PHONE, chromium, watched
from support.cluster import embedded_cluster
from support.served import Served
from support.storied import signed_in, storied

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "screenshots"
TALLEST = 2000
STATES = {
    "/recall?q=who+is+Mara's+sister%3F&user=mara&versus=blended": "recall",
    "/context?q=who+runs+the+Venlo+depot%3F&user=mara&persona=atlas": "context",
    "/entities?view=graph&user=mara": "entities-graph",
    "/results/research-theses": "results-research-theses",
}
FROM = {
    "/memories/{memory_id}": ("/memories",),
    "/sessions/{session_id}": ("/sessions",),
    "/sessions/{session_id}/agent-state": ("/sessions",),
    "/engagement/{hypothesis_id}": ("/engagement",),
    "/entities/{key}": ("/entities?user=mara",),
    "/agents/{agent_id}": ("/agents",),
    "/runs/{run_id}": ("/results/trade-decisions", "/results/research-theses"),
}
"""Where pages of one kind are found, so that the one with most to show has its picture taken."""
BELOW = {"/sessions/{session_id}/agent-state": "/agent-state"}
DARK = {"overview", "memories", "recall", "engagement", "agents-agent_id", "runs-run_id", "calibration"}
SMALL = {"overview", "memories", "sessions-session_id", "engagement", "agents", "runs-run_id"}


def main() -> None:
    """Every page, in light; some in the dark and on a phone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        database(Path(folder)) as url,
        storied(url, Path(folder), worker=False) as server,
    ):
        cookies = signed_in(server)
        shots = named(server, cookies)
        with chromium() as browser:
            taken = [
                *take(browser, server, cookies, shots, "light"),
                *take(browser, server, cookies, {k: v for k, v in shots.items() if v in DARK}, "dark"),
                *take(browser, server, cookies, {k: v for k, v in shots.items() if v in SMALL}, "phone"),
            ]
    for old in FOLDER.glob("*.png"):
        if old not in taken:
            old.unlink()
    sys.stdout.write(f"{len(taken)} pictures in {FOLDER.relative_to(ROOT)}\n")


@contextmanager
def database(folder: Path) -> Iterator[str]:
    """A migrated database in a PostgreSQL of its own."""
    with embedded_cluster(folder / "cluster") as url:
        asyncio.run(migrate_database(url, datetime.now(UTC)))
        yield url


def named(server: Served, cookies: dict[str, str]) -> dict[str, str]:
    """Addresses, each with the name of its picture: its route's, or that of the state it shows."""
    with httpx2.Client(base_url=server.url, cookies=cookies, timeout=60) as visitor:
        found = {path: fullest(visitor, path, address) for path, address in atlas.by_route(visitor).items()}
    plain = {
        address: re.sub(r"[{}]", "", path.strip("/").replace("/", "-")) or "overview" for path, address in found.items()
    }
    return {"/sign-in": "sign-in", **{k: v for k, v in plain.items() if v not in STATES.values()}, **STATES}


def fullest(visitor: httpx2.Client, path: str, address: str) -> str:
    """Of the pages of one kind, the one that has most to show."""
    route = next(route for route in atlas.pages() if route.path == path)
    known = {address, *(link for page in FROM.get(path, ()) for link in atlas.links(visitor.get(page).text))}
    alike = sorted(link + BELOW.get(path, "") for link in known if route.path_regex.match(link + BELOW.get(path, "")))
    return max(alike or [address], key=lambda link: len(visitor.get(link).text))


def take(browser: Browser, server: Served, cookies: dict[str, str], shots: dict[str, str], how: str) -> list[Path]:
    """The pictures' files."""
    phone = {"viewport": PHONE, "is_mobile": True, "has_touch": True} if how == "phone" else {}
    context, _ = watched(browser, base_url=server.url, color_scheme="dark" if how == "dark" else "light", **phone)
    page, files = context.new_page(), []
    for address, name in shots.items():
        context.clear_cookies()
        if name != "sign-in":
            context.add_cookies([{"name": key, "value": value, "url": server.url} for key, value in cookies.items()])
        page.goto(address)
        page.wait_for_timeout(100)
        size = PHONE if how == "phone" else DESK
        tall = min(TALLEST, max(size["height"], page.evaluate("document.documentElement.scrollHeight")))
        page.set_viewport_size({"width": size["width"], "height": tall})
        file = FOLDER / (f"{name}.png" if how == "light" else f"{name}-{how}.png")
        page.screenshot(path=file)
        page.set_viewport_size({"width": size["width"], "height": size["height"]})
        files.append(file)
    context.close()
    return files


if __name__ == "__main__":
    main()
