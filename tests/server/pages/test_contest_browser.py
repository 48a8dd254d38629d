"""Real Chromium: a contest from the invitation to the final, as host and as participants, light, dark and phone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.server.live import Live, running
from tests.server.pages.browser import Window, chromium

N = 1200
ROWS = "student,passed,hours\n" + "".join(f"{i},{str(i % 3 == 0).lower()},{i % 41}\n" for i in range(N))
OTHERS = 17
"""Participants whose submissions come over the API: with those of the browser the table has several pages."""
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "device_scale_factor": 2}
Open = Callable[..., Window]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def server() -> Iterator[Live]:
    with running() as live:
        yield live


@pytest.fixture
def window(browser: Browser, server: Live) -> Iterator[Open]:
    opened: list[Window] = []

    def make(**options: Any) -> Window:
        opened.append(Window(browser, server.url, **options))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def predictions(wrong: int) -> str:
    """Predictions of which one in so many is wrong."""
    lines = (f"{i},{str((i % 3 == 0) != (i % wrong == 0)).lower()}" for i in range(N))
    return "student,prediction\n" + "\n".join(lines) + "\n"


def test_a_contest_from_the_invitation_to_the_final(window: Open, server: Live, tmp_path: Path) -> None:
    server.sample("exam results", ROWS)
    host = window()
    host.sign_in(server.steward_token)
    page = host.page

    # The host opens the contest.
    page.goto("/guards/new")
    expect(page.get_by_label("Privacy budget ε")).to_be_hidden()  # the script listens
    page.get_by_label("Name of the guard").fill("statistics 101")
    page.get_by_text("Leaderboard", exact=True).click()
    page.get_by_label("Name (empty: no leaderboard)").fill("who passes")
    page.get_by_label("Column that names a row").fill("student")
    page.get_by_label("Column with the labels").fill("passed")
    page.get_by_role("radio", name="Open").check()
    page.get_by_label("Part of the rows for a final").fill("0.5")
    page.get_by_label("Submissions until").fill((datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%dT23:59"))
    page.get_by_label("Time zone of that").fill("Europe/Berlin")
    page.get_by_label("and on one day").fill("3")
    page.get_by_label("Everybody may see the board").check()
    host.sound()
    host.picture("40-contest-new")
    host.press("Open the guard")
    expect(page.get_by_role("heading", level=1)).to_have_text("statistics 101")
    guard = page.url.rpartition("/")[2]
    host.sound()
    host.picture("41-contest-guard")

    # The host invites; a participant joins by the link and submits.
    host.follow("People")
    host.press("Make a link")
    link = page.get_by_label("The link").input_value()
    host.sound()
    page.locator("[data-secret]").evaluate("(one) => { one.value = 'https://…/join#hi_…' }")  # pictures are kept
    host.picture("42-contest-invitation")
    amy = window()
    amy.page.goto(link)
    expect(amy.page).to_have_url(f"{server.url}/join")  # what is behind the # is forgotten
    amy.sound()
    amy.page.get_by_label("Your invitation").evaluate("(one) => { one.dataset.kept = one.value; one.value = 'hi_…' }")
    amy.picture("43-contest-join")
    amy.page.get_by_label("Your invitation").evaluate("(one) => { one.value = one.dataset.kept }")
    amy.page.get_by_label("Your name, or your team's").fill("amy")
    amy.press("Join")
    token = amy.page.get_by_role("textbox", name="Your token").input_value()
    assert re.fullmatch(r"hf_[0-9a-f]{16}_[0-9a-f]{64}", token)
    amy.sound()
    amy.page.locator("[data-secret]").evaluate("(one) => { one.value = 'hf_…' }")
    amy.picture("44-contest-joined")
    amy.follow("Go to statistics 101")
    expect(amy.page.get_by_text("Submit until")).to_be_visible()
    file = tmp_path / "predictions.csv"
    for name, wrong in (("first try", 4), ("better", 9)):
        file.write_text(predictions(wrong))
        amy.page.get_by_label("Your predictions").set_input_files(file)
        amy.page.get_by_label("What to call it").fill(name)
        amy.press("Submit")
        expect(amy.page.get_by_text("It is not certified: the final decides.")).to_be_visible()
        if name == "first try":
            amy.sound()
            amy.picture("45-contest-answer")
        amy.follow("See the leaderboard")
    expect(amy.page.get_by_text("1 submission left today")).to_be_visible()
    amy.page.get_by_label("better takes part in the final").uncheck()
    amy.page.get_by_label("first try takes part in the final").check()
    amy.press("Take part with these")
    expect(amy.page.get_by_label("better takes part in the final")).not_to_be_checked()
    expect(amy.page.get_by_label("first try takes part in the final")).to_be_checked()
    amy.page.get_by_label("first try takes part in the final").uncheck()
    amy.page.get_by_label("better takes part in the final").check()
    amy.press("Take part with these")
    expect(amy.page.get_by_label("better takes part in the final")).to_be_checked()

    # Many others.
    with server.client() as steward:
        made = steward.post(f"/api/v1/guards/{guard}/invitations", json={"places": OTHERS}).json()["invitation"]
    for number in range(OTHERS):
        with server.client("none") as visitor:
            joined = visitor.post("/api/v1/join", json={"invitation": made, "name": f"student {number:02}"}).json()
        with server.client(joined["token"]) as student:
            sent = student.post(
                f"/api/v1/guards/{guard}/submissions?name=forest",
                content=predictions(2 + number % 7),
                headers={"Content-Type": "text/csv"},
            )
            assert sent.status_code == 200, sent.text
    amy.page.reload()
    amy.sound()
    amy.picture("46-contest-board-participant")

    # Tables: pages, a search and an order.
    rows = amy.page.locator("table.board tbody tr")
    expect(rows).to_have_count(15)
    amy.page.get_by_role("button", name="Further rows").first.click()
    expect(rows).to_have_count(OTHERS + 1 - 15)
    amy.page.get_by_label("Find").fill("AMY")
    expect(rows).to_have_count(1)
    amy.page.get_by_label("Find").fill("student")
    amy.page.get_by_role("button", name="Who").click()
    expect(rows.first).to_contain_text("student 00")
    amy.page.get_by_role("button", name="Who").click()
    expect(rows.first).to_contain_text(f"student {OTHERS - 1:02}")
    amy.sound()

    # Everybody may look, and nobody sees more than that.
    anybody = window()
    anybody.page.goto(f"/public/{guard}")
    expect(anybody.page.get_by_role("heading", level=1)).to_have_text("who passes")
    assert anybody.page.locator("form").count() == 0
    anybody.sound()
    anybody.picture("47-contest-public")

    # The host holds the final.
    page.goto(f"/guards/{guard}")
    expect(page.get_by_text(f"{OTHERS + 1} analysts")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollHeight") <= 2 * 850, "a guard's page fits two screens"
    host.sound()
    host.picture("48-contest-guard-in-use")
    page.goto(f"/guards/{guard}/board")
    host.sound()
    host.picture("48-contest-board-host")
    page.get_by_label("Hold the final of").check()
    host.press("Hold the final")
    expect(page.get_by_text("The contest has ended")).to_be_visible()
    host.sound()
    host.picture("49-contest-result")
    for scheme in ("light", "dark"):
        phone = window(color_scheme=scheme, **PHONE)
        phone.page.goto(f"/public/{guard}")
        phone.sound()
        phone.picture(f"50-contest-phone-{scheme}-public")
        phone.sign_in(token)
        phone.page.goto(f"/guards/{guard}/board")
        phone.sound()
        phone.picture(f"51-contest-phone-{scheme}-board")
        phone.page.goto(f"/guards/{guard}/people")
        phone.sound()
        address = f"/guards/{guard}/result"
        phone.page.goto(address)
        phone.picture(f"52-contest-phone-{scheme}-result")
        # Nothing runs on that page, not even what looks for violations: its text is looked at on another.
        phone.page.goto("about:blank")
        phone.page.set_content(phone.context.request.get(address).text())
        assert phone.violations() == []
    dark = window(color_scheme="dark")
    dark.page.goto(f"/public/{guard}")
    dark.sound()
    dark.picture("53-contest-dark-public")
    dark.page.goto("/join")
    dark.sound()
