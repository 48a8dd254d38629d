"""A real Chromium on pages of a real server; pictures of what it saw go to build/screenshots."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

PICTURES = Path(__file__).parents[3] / "build" / "screenshots"
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage", "--mute-audio"]


_PATIENCE = 120_000
"""Milliseconds for something to be seen: a busy machine with two cores takes some."""
expect.set_options(timeout=_PATIENCE)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium, without a window."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert found is not None, "Chromium is not installed: tools/system-parts installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Window:
    """One person's window: it notes what the browser complains about, and every address that it asks for."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self.url = url
        self.context = browser.new_context(base_url=url, **({"viewport": {"width": 1200, "height": 850}} | options))
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(_PATIENCE)
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def sign_in(self, token: str) -> None:
        """Paste a token."""
        self.page.goto("/sign-in")
        self.page.get_by_label("Your token").fill(token)
        self.press("Sign in")
        expect(self.page.get_by_role("button", name="Sign out")).to_be_visible()

    def follow(self, name: str) -> None:
        """Click a link, and wait for its page: a click returns before it is there."""
        with self.page.expect_navigation():
            self.page.get_by_role("link", name=name).first.click()

    def press(self, name: str) -> None:
        """Press a button that sends its form, and wait for the page that answers."""
        with self.page.expect_navigation():
            self.page.get_by_role("button", name=name, exact=True).first.click()

    def picture(self, name: str) -> None:
        """Keep what is seen."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.evaluate("window.scrollTo(0, 0)")  # what sticks to the window is drawn where it begins
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)

    def sound(self) -> None:
        """Nothing went wrong in the browser, nothing came from elsewhere, and the page is fit for everybody."""
        self.page.wait_for_load_state()
        self.page.evaluate(_HOLD_STILL)
        # A refusal is a page with a status that the console mentions; it is no complaint.
        wrong = [one for one in self.complaints if "status of 4" not in one]
        assert wrong == []
        assert {re.match(r"(\w+://[^/]+)", one)[1] for one in self.asked} <= {self.url}  # type: ignore[index]
        assert self.page.evaluate(_UNLABELLED) == []
        violations = self.violations()
        assert violations == [], violations
        assert self.page.evaluate(_FAINT) == []
        # A phone widens its window to what does not fit: only the size that was asked for tells.
        assert self.page.viewport_size is not None
        assert self.page.evaluate("document.documentElement.scrollWidth") <= self.page.viewport_size["width"]
        assert self.page.locator("h1").count() == 1

    def violations(self) -> list[str]:
        """What axe-core finds wrong with the page for people who use a keyboard, a screen reader or a magnifier."""
        self.page.evaluate(_axe())
        return [str(found) for found in self.page.evaluate(_VIOLATIONS)]

    def close(self) -> None:
        """Close the window."""
        self.context.close()


@cache
def _axe() -> str:
    """axe-core, from a package that the tests install."""
    return (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")


_VIOLATIONS = """async () => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.map((one) =>
    one.id + ": " + one.help + " | " + one.nodes.map((node) => node.html.slice(0, 160)).join(" | "));
}"""
"""The rules that are broken, and where: those of WCAG and what axe-core calls best practice."""

_HOLD_STILL = """() => {
  for (const moving of document.querySelectorAll("[data-live], [data-compared], [data-estimated]"))
    moving.replaceWith(moving.cloneNode(true));
}"""
"""What a script goes on writing into is exchanged for a copy that the script does not know. Otherwise it could be
exchanged in the middle of a check, which would then judge what is not on the page any more."""

_UNLABELLED = """() => {
  const nameless = [...document.querySelectorAll("input:not([type=hidden]), select, textarea, button, a, [role=img]")]
    .filter((one) => one.checkVisibility())
    .filter((one) => !(one.labels && one.labels.length) && !one.getAttribute("aria-label")
      && !(one.textContent || "").trim());
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  const twice = ids.filter((id, i) => ids.indexOf(id) !== i);
  return [...nameless.map((one) => one.outerHTML.slice(0, 120)), ...twice.map((id) => "id twice: " + id)];
}"""
"""Controls and drawings without a name, and ids that occur twice."""

_FAINT = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const found = parse(getComputedStyle(one).backgroundColor);
      if (found.length < 4 || found[3] > 0.99) return found;
    }
    return [255, 255, 255];
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const one = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !one.checkVisibility()) continue;
    const [front, back] = [parse(getComputedStyle(one).color), behind(one)].map(light);
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    if (ratio < 4.5) bad.push(ratio.toFixed(2) + " " + walker.currentNode.textContent.trim().slice(0, 40));
  }
  return bad;
}"""
"""Texts whose contrast is below 4.5 to 1 (WCAG 2.2, AA)."""

__all__ = ["PICTURES", "Window", "chromium"]
