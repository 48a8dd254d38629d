"""Real Chromium: the first visit, a guard made, a token given, asking, a refusal, dark, phone, and no script at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.server.live import Live, fresh_rows, running
from tests.server.pages.browser import Window, chromium

TOKEN = re.compile(r"hf_[0-9a-f]{16}_[0-9a-f]{64}")
Open = Callable[..., Window]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the module; while it runs, this thread belongs to its event loop."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def fresh() -> Iterator[Live]:
    """A server for this file."""
    with running() as server:
        yield server


@pytest.fixture
def untouched() -> Iterator[Live]:
    """A server that nobody has used."""
    with running() as server:
        yield server


@pytest.fixture(scope="module")
def small(fresh: Live) -> dict[str, Any]:
    """A guard with a small privacy budget, and the tokens of its analysts."""
    policy = {
        "questions": 40,
        "privacy": {"kind": "pure-dp", "epsilon": 0.03},
        "spend": {"kind": "pure-dp", "epsilon": 0.02},
        "analysts": {"ann": 1.0, "bob": 0.05},
    }
    guard = fresh.guard("small", policy, fresh_rows("<b>bold</b>"))
    tokens = {}
    for name in ("ann", "bob"):
        with fresh.client() as steward:
            tokens[name] = steward.post("/api/v1/tokens", json={"role": "analyst", "name": name}).json()["token"]
    return guard | {"tokens": tokens}


@pytest.fixture
def window(browser: Browser, fresh: Live) -> Iterator[Open]:
    opened: list[Window] = []

    def make(live: Live = fresh, **options: Any) -> Window:
        opened.append(Window(browser, live.url, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def test_first_visit_to_refusal(window: Open, untouched: Live) -> None:
    """A steward who has never seen it makes a guard over the demo rows; an analyst asks until she is refused."""
    steward = window(untouched)
    page = steward.page
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_contain_text("still be right")
    steward.sound()
    steward.picture("01-first-visit")
    page.goto(f"/sign-in#{untouched.steward_token}")  # as the demo's links do
    expect(page.get_by_label("Your token")).to_have_value(untouched.steward_token)
    expect(page).to_have_url(f"{untouched.url}/sign-in")  # what is behind the # is forgotten
    steward.press("Sign in")
    expect(page.get_by_text("Nothing is guarded yet")).to_be_visible()
    steward.sound()
    steward.picture("02-nothing-guarded")

    steward.press("Try it with the demo rows")
    page.get_by_label("Name of the guard").fill("customers")
    expect(page.locator("[data-compared]")).to_contain_text("This guard: a check")
    expect(page.get_by_label("Privacy budget ε")).to_be_hidden()  # so the script listens from here on
    page.get_by_label("Checks and private answers").check()
    expect(page.locator("[data-compared]")).to_contain_text("This guard: a noisy mean")
    before = page.locator("[data-compared] tr.this .num").first.inner_text()
    page.get_by_label("Privacy budget ε").fill("0.4")
    expect(page.locator("[data-compared] tr.this .num").first).not_to_have_text(before)
    page.get_by_label("Privacy budget ε").fill("0.05")
    expect(page.locator("[data-compared] tr.this .num").first).to_have_text(before)
    page.get_by_text("Quotas, end, overlap").click()
    page.get_by_label("Analysts and their quotas").fill("ann 50%\ngreg 1%")
    page.get_by_text("Leaderboard", exact=True).click()
    page.get_by_label("Name (empty: no leaderboard)").fill("who will leave")
    page.get_by_label("Column that names a row").fill("customer")
    page.get_by_label("Column with the labels").fill("gone")
    page.get_by_role("radio", name="Ladder").check()
    steward.sound()
    steward.picture("03-new-guard")
    steward.press("Open the guard")
    expect(page.get_by_role("heading", level=1)).to_have_text("customers")
    expect(page.get_by_text("500 of 500 left").first).to_be_visible()
    expect(page.get_by_text("accuracy of gone by customer, a ladder with steps of 0.01")).to_be_visible()

    steward.follow("Tokens")
    page.get_by_label("Name", exact=True).fill("ann")
    steward.press("Make a token")
    token = page.get_by_label("The new token").input_value()
    assert TOKEN.fullmatch(token)
    steward.sound()
    steward.page.locator("[data-secret]").evaluate("(one) => { one.value = 'hf_…' }")  # pictures are kept
    steward.picture("04-token")
    page.goto("/tokens")
    assert token.split("_")[2] not in page.content(), "a token is shown once"

    analyst = window(untouched)
    analyst.sign_in(token)
    page = analyst.page
    analyst.follow("customers")
    page.get_by_label("Column", exact=True).select_option("gone")
    page.get_by_role("button", name="Add").click()
    page.get_by_label("Column", exact=True).select_option("months")
    page.get_by_label("Value", exact=True).fill("6")
    page.get_by_label("Value", exact=True).press("Enter")
    expect(page.get_by_label("About each row")).to_have_value("gone and months < 6")
    page.get_by_label("Your guess").fill("0.16")
    expect(page.get_by_text("Would be answered.")).to_be_visible()
    analyst.sound()
    analyst.picture("05-ask")
    analyst.press("Ask")
    expect(page.get_by_text("Your guess of 0.16 passed")).to_be_visible()
    expect(page.locator("svg.interval")).to_be_visible()
    analyst.sound()
    analyst.picture("06-answer")
    analyst.follow("Ask another")
    page.get_by_label("Column", exact=True).select_option("months")
    page.get_by_label("Is", exact=True).select_option("between")
    for written, said in (("six", "Give two numbers"), ("2, six", "months is a number"), ("2 and ", "Give a value")):
        page.get_by_label("Value", exact=True).fill(written)
        page.get_by_role("button", name="Add").click()
        expect(page.get_by_text(said)).to_be_visible()
    expect(page.get_by_label("About each row")).to_have_value("")
    page.get_by_label("Value", exact=True).fill("2 and 6")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_label("About each row")).to_have_value("months between 2 and 6")
    page.get_by_label("About each row").fill("gone")
    page.get_by_label("Your guess").fill("0.9")
    analyst.press("Ask")
    expect(page.get_by_text("Your guess of 0.9 failed")).to_be_visible()
    analyst.picture("07-corrected")
    analyst.follow("Ask another")
    analyst.follow("Ask for a mean")
    page.get_by_label("About each row").fill("gone")
    page.get_by_label("Privacy to spend").fill("0.04")
    expect(page.get_by_text("Not like this.")).to_be_visible()
    analyst.press("Ask")
    refused = page.get_by_role("alert")
    expect(refused).to_contain_text("Refused. What is left of the budget is not enough for this question.")
    expect(refused).to_contain_text("What would be admitted")
    analyst.sound()
    analyst.picture("08-refused")
    analyst.follow("The same for what is left")
    expect(page.get_by_label("Privacy to spend")).to_have_value("0.025")
    analyst.press("Ask")
    expect(page.get_by_text("The mean is between")).to_be_visible()

    page = steward.page
    page.goto("/")
    steward.follow("customers")
    # Where reading the rows is slow, as on a busy machine, what was paid for is an entry of its own before the answer.
    expect(page.locator("ol.timeline > li.answered")).to_have_count(3)
    steward.sound()
    steward.picture("09-guard")
    steward.press("Verify the ledger")
    expect(page.get_by_role("status")).to_contain_text(re.compile(r"The ledger is genuine\. \d entries"))
    page.get_by_label("Reason").first.fill("<i>lunch</i>")
    steward.press("Pause")
    expect(page.locator(".pill")).to_have_text("paused")
    expect(page.locator("ol.timeline").first).to_contain_text("<i>lunch</i>")  # the newest are first
    analyst.page.goto(page.url)
    analyst.page.get_by_label("About each row").fill("gone")
    analyst.page.get_by_label("Your guess").fill("0.3")
    analyst.press("Ask")
    expect(analyst.page.get_by_role("alert")).to_contain_text("This guard is paused for now")
    steward.press("Resume")
    expect(page.locator(".pill")).to_have_text("open")


def test_the_steward_sees_questions_come_in(window: Open, fresh: Live, small: dict[str, Any]) -> None:
    steward = window()
    steward.sign_in(fresh.steward_token)
    steward.page.goto(f"/guards/{small['id']}")
    many = steward.page.locator("ol.timeline > li.answered").count()
    with fresh.client(small["tokens"]["ann"]) as ann:
        question = {"kind": "check", "expression": "income < 2000", "guess": 0.3}
        assert ann.post(f"/api/v1/guards/{small['id']}/ask", json={"question": question}).status_code == 200
    expect(steward.page.locator("ol.timeline > li.answered")).to_have_count(many + 1)
    steward.sound()


def test_a_page_that_is_not_fit_for_everybody_is_found(window: Open) -> None:
    """Power: the checker that finds nothing on our pages finds what is wrong on this one."""
    one = window()
    one.page.set_content("<html><body><img src='x.png'><p style='color:#ddd;background:#fff'>faint</p></body></html>")
    found = " ".join(one.violations())
    assert all(rule in found for rule in ("image-alt", "html-has-lang", "color-contrast", "document-title"))


def test_dark_and_phone(window: Open, fresh: Live, small: dict[str, Any]) -> None:
    """Every page fits a phone, and is readable in the dark and in the light."""
    for scheme in ("dark", "light"):
        one = window(viewport={"width": 360, "height": 740}, color_scheme=scheme, is_mobile=True, device_scale_factor=2)
        one.page.goto("/")
        colour = one.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", colour))) < 150) == (scheme == "dark")
        one.sound()
        one.picture(f"10-{scheme}-phone-first-visit")
        one.sign_in(fresh.steward_token)
        for name, address in {
            "home": "/",
            "samples": "/samples",
            "tokens": "/tokens",
            "guard": f"/guards/{small['id']}",
            "ask": f"/guards/{small['id']}/ask",
            "test": f"/guards/{small['id']}/ask?kind=test",
            "sql": f"/guards/{small['id']}/sql",
            "making": f"/guards/new?sample={small['sample']}",
            "reports": "/reports",
            "problem": "/nowhere",
        }.items():
            one.page.goto(address)
            one.sound()
            if scheme == "dark":
                one.picture(f"11-dark-phone-{name}")
    wide = window(color_scheme="dark")
    wide.sign_in(small["tokens"]["ann"])
    wide.page.goto(f"/guards/{small['id']}")
    wide.sound()
    wide.picture("12-dark-ask")


def test_without_a_script(window: Open, fresh: Live, small: dict[str, Any]) -> None:
    one = window(java_script_enabled=False)
    one.sign_in(small["tokens"]["ann"])
    page = one.page
    one.follow("small")
    page.get_by_label("About each row").fill("age < 45")
    page.get_by_label("Your guess").fill("0.5")
    one.press("What would it cost?")
    expect(page.get_by_text("Would be answered.")).to_be_visible()
    expect(page.get_by_label("About each row")).to_have_value("age < 45")
    one.press("Ask")
    expect(page.get_by_text("Your guess of 0.5 passed")).to_be_visible()
    steward = window(java_script_enabled=False)
    steward.sign_in(fresh.steward_token)
    fresh.sample("free", fresh_rows("free"))
    page = steward.page
    page.goto("/guards/new")
    page.get_by_label("Name of the guard").fill("second")
    page.get_by_label("Means only").check()
    steward.press("Compare")
    expect(page.get_by_text("This guard: a noisy mean")).to_be_visible()
    expect(page.get_by_label("Name of the guard")).to_have_value("second")


def test_by_keyboard_alone(window: Open, small: dict[str, Any]) -> None:
    one = window()
    page = one.page
    page.goto("/sign-in")
    page.bring_to_front()  # or other windows of the same browser keep the focus
    expect(page.get_by_label("Your token")).to_be_focused()  # before anything is typed: a busy machine focuses late
    page.keyboard.insert_text(small["tokens"]["ann"])
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.goto(f"/guards/{small['id']}")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")

    def tab_to(field: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == field:
                return
        raise AssertionError(f"60 tabs do not reach {field}")

    tab_to("field-expression")
    page.keyboard.insert_text("age < 30")
    tab_to("field-guess")
    page.keyboard.insert_text("0.2")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_text("Your guess of 0.2 passed")).to_be_visible()


def test_a_used_up_share_says_what_would_be_admitted(window: Open, fresh: Live, small: dict[str, Any]) -> None:
    one = window()
    question = {"kind": "check", "expression": "age < 30", "guess": 0.23}
    with fresh.client(small["tokens"]["ann"]) as ann:
        assert ann.post(f"/api/v1/guards/{small['id']}/ask", json={"question": question}).status_code == 200
    one.sign_in(small["tokens"]["bob"])
    for guess, said in (  # what Ann asked is Bob's own question, and free for him from then on
        ("0.23", "one question"),
        ("0.23", "nothing: this question was answered before"),
        ("0.25", "one question"),
    ):
        one.page.goto(f"/guards/{small['id']}/ask?kind=check&expression=age+%3C+30&guess={guess}")
        one.press("Ask")
        expect(one.page.locator("dd").first).to_contain_text(said)
    one.page.goto(f"/guards/{small['id']}/ask?kind=check&expression=age+%3C+30&guess=0.26")
    one.press("Ask")
    expect(one.page.get_by_role("alert")).to_contain_text(
        "Analyst 'bob' may ask 2 questions, and all of them have been asked"
    )
    expect(one.page.get_by_role("alert")).to_contain_text("stored answers are free")
    expect(one.page.get_by_text("Used up: questions.")).to_be_visible()
    one.sound()
    one.picture("13-share-used-up")
