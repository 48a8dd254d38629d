"""Real Chromium signs in with a real provider, and the session that follows is an ordinary one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.server.live import Live
from tests.server.oidc.provider import OpenID
from tests.server.pages.browser import Window, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def test_sign_in_with_a_provider(browser: Browser, provider: OpenID, signing_in: Live) -> None:
    window = Window(browser, signing_in.url)
    page = window.page
    try:
        page.goto("/tokens")  # a page that needs somebody: back to it afterwards
        window.picture("oidc-welcome")
        window.sound()
        window.follow("Sign in with Example")
        expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()
        page.get_by_role("link", name="I am sam").click()
        page.wait_for_url("**/tokens")
        expect(page.get_by_text("oidc:u-1002").first).to_be_visible()
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()
        window.picture("oidc-signed-in")
        cookies = {one["name"]: one for one in window.context.cookies()}
        assert cookies["holdfast_session"]["sameSite"] == "Strict"
        assert "holdfast_oidc" not in cookies
        page.get_by_label("Name").fill("bob")  # a form of the session works as any other
        window.press("Make a token")
        expect(page.get_by_label("The new token")).to_be_visible()
        window.press("Sign out")
        expect(page.get_by_role("link", name="Sign in with Example")).to_be_visible()
        assert [one for one in window.complaints if "status of 4" not in one] == []
    finally:
        window.close()
