"""Real Chromium on the demo: what a first visit shows of leaderboard and reports, wide and narrow, light and dark."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, expect

from holdfast.server.demo import serving
from tests.server.pages.browser import Window, chromium
from tests.services.ports import free_port

Open = Callable[..., Window]
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "device_scale_factor": 2}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[serving.Demo]:
    """The demo as it is when the page opens; nobody goes on asking, so that pictures stay the same."""
    made = serving.prepare(Path(tmp_path_factory.mktemp("demo")), free_port())
    config = uvicorn.Config(made.app, port=made.settings.port, log_config=None, access_log=False)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        assert thread.is_alive()
        thread.join(0.05)
    yield made
    running.should_exit = True
    thread.join(20)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def window(browser: Browser, demo: serving.Demo) -> Iterator[Open]:
    opened: list[Window] = []

    def make(who: str, **options: Any) -> Window:
        opened.append(Window(browser, demo.address, **options))
        opened[-1].sign_in(demo.tokens[who])
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def test_the_leaderboard_tells_the_story(window: Open) -> None:
    steward = window("steward")
    page = steward.page
    expect(page.get_by_text("The demo in one minute")).to_be_visible()
    steward.sound()
    steward.picture("20-demo-home")
    steward.follow("Leaderboard: who will leave")
    expect(page.get_by_text("ann leads: no other interval overlaps this one.")).to_be_visible()
    rows = page.locator("table.board tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("new and calling often")
    # Those of the demo, and perhaps the one of the test below.
    counted = re.compile("^the latest (8 submissions: 2 passed, 6|9 submissions: 2 passed, 7) did not$")
    expect(page.locator("svg.strip")).to_have_attribute("aria-label", counted)
    steward.sound()
    steward.picture("21-leaderboard-steward")
    steward.follow("a vote of 11 hints")
    expect(page.get_by_text("failed: it is between")).to_be_visible()
    steward.sound()
    steward.picture("22-submission-corrected")


def test_an_analyst_submits(window: Open, tmp_path: Path) -> None:
    ann = window("ann")
    page = ann.page
    ann.follow("shop customers")
    ann.follow("Submit predictions")
    expect(page.get_by_role("heading", name="Your submissions, in order")).to_be_visible()
    assert "a vote of 11 hints" not in page.content(), "another's claims are not shown"
    file = tmp_path / "predictions.csv"
    file.write_text("customer,prediction\n" + "".join(f"{i},false\n" for i in range(1, 20_001)))
    page.get_by_label("Your predictions").set_input_files(file)
    page.get_by_label("Expected score").fill("0.9")
    page.get_by_label("What to call it").fill("<b>bold</b> claim")
    ann.sound()
    ann.picture("23-submit")
    ann.press("Submit")
    expect(page.get_by_text("Your score of 0.9 failed: it is between")).to_be_visible()
    expect(page.get_by_text("one question, no privacy")).to_be_visible()
    ann.sound()
    ann.picture("24-submission-answer")
    ann.follow("See the leaderboard")
    expect(page.get_by_role("link", name="<b>bold</b> claim")).to_be_visible()
    ann.sound()
    file.write_text("customer,wrong\n1,2\n")
    page.get_by_label("Your predictions").set_input_files(file)
    page.get_by_label("Expected score").fill("0.7")
    ann.press("Submit")
    expect(page.get_by_role("alert")).to_contain_text("Nothing was spent")
    expect(page.get_by_label("Expected score")).to_have_value("0.7")
    ann.sound()
    ann.picture("25-submission-refused")


def test_reports_are_read(window: Open) -> None:
    steward = window("steward")
    page = steward.page
    steward.follow("Reports")
    expect(page.get_by_role("link", name="Customer list")).to_be_visible()
    steward.sound()
    steward.picture("26-reports")
    steward.follow("Customer list")
    expect(page.get_by_text("Incoherent", exact=False).first).to_be_visible()
    steward.sound()
    steward.picture("27-report")
    steward.follow("Read the whole report")
    expect(page.get_by_role("heading", level=1)).to_have_text("Demographic-coherence audit")
    assert page.evaluate("getComputedStyle(document.body).maxWidth") == "1080px", "its own style applies"
    steward.picture("28-report-whole")
    # Nothing runs on that page, not even what looks for violations: its text is looked at on another.
    whole = page.context.request.get(page.url).text()
    page.goto("about:blank")
    page.set_content(whole)
    assert steward.violations() == []
    page.goto("/reports")
    steward.follow("Noisy counts")
    expect(page.get_by_text("No evidence").first).to_be_visible()
    steward.picture("29-report-no-evidence")


def test_override_and_board_forms(window: Open) -> None:
    steward = window("steward")
    page = steward.page
    steward.follow("shop customers")
    page.get_by_text("Override the policy").first.click()
    expect(page.get_by_text("This ends the guarantee for all later answers.")).to_be_visible()
    steward.sound()
    steward.picture("30-override")
    page.goto("/guards/new")
    expect(page.get_by_text("Every registered data set already has a guard.")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone(window: Open, scheme: str) -> None:
    one = window("steward", color_scheme=scheme, **PHONE)
    page = one.page
    one.follow("Leaderboard: who will leave")
    one.sound()
    one.picture(f"32-phone-{scheme}-leaderboard")
    page.goto("/reports")
    one.sound()
    one.picture(f"33-phone-{scheme}-reports")
    one.follow("Customer list")
    one.sound()
    one.picture(f"34-phone-{scheme}-report")
    page.goto("/")
    one.sound()
    one.picture(f"35-phone-{scheme}-demo-home")


def test_dark(window: Open) -> None:
    one = window("steward", color_scheme="dark")
    one.follow("Leaderboard: who will leave")
    one.sound()
    one.picture("36-dark-leaderboard")
    one.page.goto("/reports")
    one.follow("Customer list")
    one.sound()
    one.picture("37-dark-report")
    one.page.goto("/")
    one.follow("shop customers")
    one.sound()
    one.picture("38-dark-guard")
