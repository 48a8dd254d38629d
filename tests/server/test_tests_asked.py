"""Tests over a server: what they could show is told over HTTP, on the page and to the client, and so is no proof."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import holdfast as hf
from holdfast.errors import QuestionRefused
from tests.server.live import Live
from tests.server.pages.visiting import Visitor

ROWS = "y,side\n" + "0,a\n0,a\n0,b\n1,b\n1,b\n1,a\n" * 700
QUESTION = {
    "kind": "test",
    "name": "independence",
    "columns": ["y", "side"],
    "categories": [[0, 1], ["a", "b"]],
}
FORM = {
    "kind": "test",
    "name": "independence",
    "columns": "y",
    "categories": "0, 1",
    "columns_2": "side",
    "categories_2": "a, b",
}


def policy(cap: float, spend: float) -> dict[str, Any]:
    costs = {name: {"kind": "pure-dp", "epsilon": amount} for name, amount in (("privacy", cap), ("spend", spend))}
    return {"questions": 50} | costs


@pytest.fixture(scope="module")
def analyst(live: Live) -> Iterator[httpx.Client]:
    with live.analyst("tess") as http:
        yield http


@pytest.fixture(scope="module")
def visitor(live: Live, analyst: httpx.Client) -> Iterator[Visitor]:
    with Visitor(live.url, str(analyst.headers["authorization"].removeprefix("Bearer "))) as visitor:
        yield visitor


def test_a_test_that_can_reject_nothing(live: Live, analyst: httpx.Client, visitor: Visitor) -> None:
    made = live.guard("powerless", policy(1.0, 0.02), ROWS)
    at = f"/api/v1/guards/{made['id']}"
    said = analyst.post(f"{at}/estimate", json={"question": QUESTION}).json()
    assert (said["admitted"], said["test"]["can_reject"]) == (False, False)
    assert said["test"]["least_p_value"] > said["test"]["level"]
    refused = analyst.post(f"{at}/ask", json={"question": QUESTION})
    assert (refused.status_code, refused.json()["code"]) == (409, "question-refused")
    page = visitor.fill(f"/guards/{made['id']}/ask", do="estimate", **FORM).text
    assert "This test could not reject, whatever the rows are" in page
    token = str(analyst.headers["authorization"].removeprefix("Bearer "))
    with hf.connect(live.url, token, guard="powerless") as guard:
        remote = guard.estimate(QUESTION)
        assert remote.test == said["test"]
        assert "No rows could make it reject" in remote._repr_html_()
        with pytest.raises(QuestionRefused, match="could not reject, whatever the rows are"):
            guard.ask(QUESTION)
    left = analyst.get(f"{at}/remaining").json()["total"]
    assert left == {"questions": 50, "epsilon": 1.0}
    allowed = visitor.fill(f"/guards/{made['id']}/ask", allow_powerless="yes", **FORM)
    assert "The null hypothesis is not rejected." in allowed.text
    assert analyst.post(f"{at}/ask", json={"question": QUESTION}).json()["repeated"] is True


def test_a_level_that_is_not_proved_is_told_before_and_after(
    live: Live, analyst: httpx.Client, visitor: Visitor
) -> None:
    made = live.guard("unproved", policy(0.02, 0.02), ROWS + "0,a\n1,b\n")
    page = visitor.fill(f"/guards/{made['id']}/ask", do="estimate", **FORM).text
    assert "It rejects where its own p-value is at most" in page
    assert "Its own level is empirical, so the answer will not be certified." in page
    answered = visitor.fill(f"/guards/{made['id']}/ask", **FORM).text
    assert "<strong>Not certified.</strong>" in answered
    assert "level is empirical" in answered
    stored = analyst.post(f"/api/v1/guards/{made['id']}/ask", json={"question": QUESTION}).json()
    assert stored["guarantee"]["certified"] is False
