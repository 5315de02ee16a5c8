"""A real Chromium, and pages that write down whatever goes wrong on them."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, expect, sync_playwright

from support.bounds import HANGS_S

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
_WATCH = """
window.executed = [];
addEventListener("securitypolicyviolation", (event) => console.error(
  `CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber} ${event.sample}`));
"""


@dataclass
class Trouble:
    """What went wrong on a context's pages, in words."""

    errors: list[str] = field(default_factory=list)
    """Console errors, uncaught exceptions and violations of the content policy."""
    dialogs: list[str] = field(default_factory=list)
    """Boxes that script put up; ours never does."""

    def taken(self) -> list[str]:
        """All of it; the lists are empty afterwards."""
        found = [*self.errors, *(f"dialog: {text}" for text in self.dialogs)]
        self.errors.clear()
        self.dialogs.clear()
        return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium from the PATH."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        raise RuntimeError("No Chromium is on the PATH: scripts/install_chromium.sh installs one.")
    expect.set_options(timeout=HANGS_S * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def watched(browser: Browser, **options: Any) -> tuple[BrowserContext, Trouble]:
    """A fresh context whose pages' troubles are written down."""
    context = browser.new_context(**{"viewport": DESK, "reduced_motion": "reduce", **options})
    context.set_default_timeout(HANGS_S * 1000)
    context.add_init_script(_WATCH)
    trouble = Trouble()

    def heard(message: ConsoleMessage) -> None:
        if message.type == "error":
            trouble.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def asked(dialog: Dialog) -> None:
        trouble.dialogs.append(dialog.message)
        dialog.dismiss()

    def watch(page: Page) -> None:
        page.on("console", heard)
        page.on("pageerror", lambda error: trouble.errors.append(str(error)))
        page.on("dialog", asked)

    context.on("page", watch)
    return context, trouble
