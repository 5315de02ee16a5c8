"""Every page of the console with an address that shows it: routes tell which there are, links how to get there."""

from collections import deque
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urldefrag, urlsplit

import httpx2
from starlette.routing import Route

from mnemon.console.routers import CONSOLE_ROUTERS


class NoWay(AssertionError):
    """A page exists that no link leads to."""


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href") if tag == "a" else None
        if href and href.startswith("/"):
            self.found.append(urldefrag(href).url)


def pages() -> list[Route]:
    """The console's pages, as the application serves them."""
    return [
        route
        for router in CONSOLE_ROUTERS
        for route in router.routes
        if isinstance(route, Route)
        and route.endpoint.__qualname__.startswith("page.<locals>")
        and not route.path.endswith(".json")
    ]


def addresses(visitor: httpx2.Client, more: tuple[str, ...] = ()) -> list[str]:
    """An address for every page, and those `more` that show another state of one."""
    return [*by_route(visitor).values(), *more]


def by_route(visitor: httpx2.Client) -> dict[str, str]:
    """An address for every page, by the path of its route."""
    routes = pages()
    kept: dict[str, str] = {}
    waiting = deque(["/", *(route.path for route in routes if "{" not in route.path)])
    while waiting:
        address = waiting.popleft()
        route = next((one for one in routes if one.path_regex.match(urlsplit(address).path)), None)
        if route is None or route.path in kept:
            continue
        answer = visitor.get(address)
        assert answer.status_code == 200, f"{address} answered {answer.status_code}"
        kept[route.path] = address
        waiting.extend(links(answer.text))
    lost = [route.path for route in routes if route.path not in kept]
    if lost:
        raise NoWay(f"no link leads to {', '.join(lost)}")
    return kept


def links(html: str) -> Iterator[str]:
    """The page's links to others of ours."""
    parser = _Links()
    parser.feed(html)
    yield from parser.found
