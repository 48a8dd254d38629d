"""The page of a report in a real Chromium: whole words and no sideways scrolling, from a wide window to a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from holdfast.coherence import Audit, GroupPlan, Target, curators, learners, run
from holdfast.coherence.report import build, html
from holdfast.coherence.significance import assess
from holdfast.coherence.verdict import judge
from tests.server.pages.browser import chromium

WIDTHS = (1200, 800, 390)
_BROKEN_WORDS = """() => {
  const broken = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.parentElement.checkVisibility() || node.parentElement.closest("svg, style, .long")) continue;
    for (const word of node.data.matchAll(/[^\\s-]+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((part) => Math.round(part.top))).size > 1) broken.push(word[0]);
    }
  }
  return broken;
}"""
"""Words that stand on more than one line; a hyphen may end a line, and a name too long for a column too."""


def _page(curator: Any = None, kinds: dict[str, Any] | None = None, group: str = "elderly women") -> str:
    rng = np.random.default_rng(3)
    people = {"id": rng.permutation(600), "sex": rng.integers(1, 3, 600), "ill": rng.integers(0, 2, 600)}
    audit = Audit(
        people,
        curator or curators.Clear(),
        kinds or {"linkage": learners.Linkage(), "regularised-forest": learners.Constant()},
        Target("ill = 1"),
        GroupPlan({group: "sex = 2"}, columns=["sex"]),
        lenses={"street": ["sex"], "file": ["sex", "id"]},
        splits=8,
        seed=1,
    )
    trials = run(audit)
    found = assess(trials, permutations=99)
    return html(build(trials, found, judge(found, 0.5), title="people"))


def _fails(half: Any) -> Any:
    raise RuntimeError


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def window(browser: Browser) -> Page:
    return browser.new_page()


@pytest.mark.parametrize(
    ("made", "heading"),
    [
        ({}, "Worst offenders"),
        ({"kinds": {"membership": learners.Constant()}}, "No group was found; these come closest"),
        ({"curator": _fails}, "No group was measured"),
        ({"group": "x" * 200}, "Worst offenders"),
    ],
    ids=("a leak", "no evidence", "nothing measured", "an endless name"),
)
def test_words_stay_whole_and_the_heading_says_what_was_found(window: Page, made: dict[str, Any], heading: str) -> None:
    text = _page(**made)
    for width in WIDTHS:
        window.set_viewport_size({"width": width, "height": 900})
        window.set_content(text)
        assert window.locator("#offenders h2").inner_text() == heading
        broken = [word for word in window.evaluate(_BROKEN_WORDS) if len(word) < 200]
        assert broken == [], width
        assert window.evaluate("document.documentElement.scrollWidth") <= width
        # Tables fit too: only the heat map, with a column for each learner and lens, may scroll in its box.
        tables = window.locator(".wide:has(table)")
        assert tables.evaluate_all("all => all.every((one) => one.scrollWidth <= one.clientWidth)"), width


def test_a_broken_word_is_noticed(window: Page) -> None:
    text = _page().replace("</style>", "td{overflow-wrap:anywhere;width:5em}</style>")
    window.set_viewport_size({"width": 1200, "height": 900})
    window.set_content(text)
    assert "INCOHERENT" in window.evaluate(_BROKEN_WORDS)
