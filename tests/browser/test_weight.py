"""What the first visit costs."""

from playwright.sync_api import Page, Response

MOST_BYTES = 60 * 1024


def test_the_first_load_of_the_overview_is_at_most_60_kilobytes(page: Page) -> None:
    loaded: list[Response] = []

    def came(one: Response) -> None:
        loaded.append(one)

    page.on("response", came)
    page.goto("/", wait_until="load")
    sizes = {one.url: one.request.sizes()["responseBodySize"] for one in loaded if "/live" not in one.url}
    assert len(sizes) >= 4
    assert all(
        one.headers.get("content-encoding") == "gzip" for one in loaded if one.url.endswith((".js", ".css", "/"))
    )
    assert sum(sizes.values()) <= MOST_BYTES, sizes
