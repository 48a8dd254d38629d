"""Addresses that nobody types: they are answered at once, and never with an error of ours."""

from __future__ import annotations

import time

import httpx
import pytest

from holdfast.server.pages.welcome import after_sign_in
from tests.server.live import Live
from tests.server.pages.visiting import Visitor


@pytest.mark.parametrize(
    ("address", "after"),
    [
        ("/", "/"),
        ("/guards/g_1/ask", "/guards/g_1/ask"),
        ("/guards/", "/guards/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("/guards?x=1", "/"),
        ("/guards\n", "/"),
        ("", "/"),
        (None, "/"),
        ("/" + "a" * 150 + "!", "/"),
        ("/" + "a/" * 80 + "!", "/"),
    ],
)
def test_only_pages_of_ours_follow_a_sign_in_and_that_is_decided_at_once(address: str | None, after: str) -> None:
    begun = time.thread_time()  # of this thread's own work: what else a machine does is not counted
    assert after_sign_in(address) == after
    assert time.thread_time() - begun < 0.1, "a pattern that can share letters out in many ways takes for ever"


def test_a_visitor_cannot_stop_the_server_with_an_address(live: Live) -> None:
    for query in ("?next=/" + "a" * 150 + "!", "?next=/" + "a-" * 70 + "%0A"):
        assert httpx.get(live.url + "/sign-in" + query, timeout=30).status_code == 200


@pytest.fixture(scope="module")
def guard(live: Live) -> str:
    return str(live.guard("odd addresses")["id"])


@pytest.mark.parametrize("before", ["9" * 5000, "9" * 30, "0", "-1", "x", "١", "1.5", "%00"])
def test_pages_of_history_take_any_number(live: Live, guard: str, before: str) -> None:
    with Visitor(live.url, live.steward_token) as steward:
        for path in (f"/guards/{guard}", f"/guards/{guard}/ask"):
            assert steward.get(f"{path}?before={before}").status_code == 200
        assert steward.get(f"/guards/{guard}/entries/{before}").status_code == 404


@pytest.mark.parametrize("path", ["/guards/{}/ask", "/api/v1/guards/{}", "/api/v1/samples", "/"])
def test_a_line_feed_after_an_address_is_another_address(live: Live, guard: str, path: str) -> None:
    """The patterns of routes end with `$`, which lets one line feed pass."""
    with Visitor(live.url, live.steward_token) as steward:
        steward.headers["Authorization"] = f"Bearer {live.steward_token}"
        assert steward.get(path.format(guard)).status_code == 200
        assert steward.get(path.format(guard) + "%0A").status_code == 404
