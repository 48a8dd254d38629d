"""What a steward does on the pages: overriding a policy, and setting a leaderboard up with a guard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.live import CHECK, Live, fresh_rows
from tests.server.pages.test_session import issue
from tests.server.pages.visiting import Visitor, values


@pytest.fixture(scope="module")
def steward(live: Live) -> Iterator[Visitor]:
    with Visitor(live.url, live.steward_token) as visitor:
        yield visitor


def test_an_override_says_what_it_costs_and_is_recorded(live: Live, steward: Visitor) -> None:
    guard = live.guard("overridden", {"questions": 2, "analysts": {"ann": 0.5}})
    at = f"/guards/{guard['id']}"
    assert "not certified" in steward.get(at).text
    form = {"questions": "10", "failures": "", "analysts": "ann 50%\nbob 100%", "expires": ""}
    for change, words in (
        ({}, "reason must be given"),
        ({"reason": "more analysts"}, "Tick the box"),
        ({"reason": "x", "sure": "yes", "questions": "many"}, "questions must be a number"),
        (
            {"reason": "x", "sure": "yes", "questions": "2", "analysts": "ann 50%"},
            "the new policy must differ from the policy that is in force, and it is",
        ),
    ):
        done = steward.fill(f"{at}/override", **(form | change))
        assert done.status_code == 422, change
        assert words.lower() in done.text.lower()
        assert "<details open>" in done.text, "the form stays open, as it was filled in"
    assert "ann 50%\nbob 100%" in steward.fill(f"{at}/override", **form).text
    with live.client() as api:
        assert api.get(f"/api/v1{at}").json()["overrides"] == 0
        reason = "two more analysts <b>came</b>"
        done = steward.fill(f"{at}/override", **form, reason=reason, sure="yes")
        assert done.status_code == 200
        assert "Overridden once." in done.text
        assert "two more analysts &lt;b&gt;came&lt;/b&gt;" in done.text
        found = api.get(f"/api/v1{at}").json()
        assert (found["policy"]["questions"], found["policy"]["analysts"]) == (10, {"ann": 0.5, "bob": 1.0})
    with live.analyst("bob") as bob:
        answer = bob.post(f"/api/v1{at}/ask", json={"question": CHECK}).json()
    assert answer["guarantee"]["certified"] is False
    page = steward.get(f"{at}/entries/{answer['sequence']}").text
    assert "<dt>Certified</dt><dd>no" in page
    assert "<strong>Not certified.</strong>" in page, "beside what it says, not only below"
    assert "Ask a question" not in steward.get(at).text, "the policy does not name the steward"
    with Visitor(live.url, issue(live, "bob")["token"]) as analyst:
        assert analyst.fill(f"{at}/override", **form, reason="x", sure="yes").status_code == 403


def test_a_board_is_set_up_with_its_guard(live: Live, steward: Visitor) -> None:
    sample = live.sample("board rows", fresh_rows("board rows"))["id"]
    board = {"board": "sexes", "board_key": "id", "board_label": "sex"}
    for change, words in (
        ({"board": ""}, "leaderboard must have a name"),
        ({"board_key": "nothing"}, "must use columns of the data set, got"),
        ({"board_key": "sex"}, "must be two different columns"),
        ({"board_metric": "guessing"}, "metric must be one of"),
        ({"board_metric": "auc"}, "positive of board"),
        ({"board_metric": "mae", "board_label": "age"}, "low must be a number"),
        ({"board_rule": "ladder", "board_step": "x"}, "step must be a number"),
        ({"shape": "means"}, "boards must be left out"),
    ):
        done = steward.fill("/guards", **values(name="board", sample=sample) | board | change)
        assert done.status_code == 422, change
        assert words.lower() in done.text.replace("&#39;", "'").lower(), (change, words)
    more = {"board_metric": "auc", "board_positive": "female", "board_rule": "ladder", "board_step": "0.02"}
    more["board_models"] = more["board_public_keys"] = "yes"
    page = steward.fill("/guards", **values(name="board", sample=sample) | board | more)
    assert page.status_code == 200, page.text
    assert "auc of sex by id, a ladder with steps of 0.02" in page.text
    with live.client() as api:
        made = api.get(f"/api/v1{page.url.path}").json()["policy"]["boards"]
    assert (made[0]["positive"], made[0]["step"], made[0]["models"]) == ("female", 0.02, True)
    assert made[0]["public_keys"]
    assert "Leaderboard: sexes" in steward.get("/").text


def test_an_override_of_a_budget_is_in_the_budgets_unit(live: Live, steward: Visitor) -> None:
    policy = {"questions": 5, "privacy": {"kind": "zcdp", "rho": 0.2}, "spend": {"kind": "zcdp", "rho": 0.01}}
    at = f"/guards/{live.guard('a larger budget', policy)['id']}"
    form = {"questions": "5", "failures": "", "analysts": "", "expires": "", "reason": "x", "sure": "yes"}
    refused = steward.fill(f"{at}/override", **form, budget="0,4")
    assert refused.status_code == 422
    assert "privacy budget must be a number" in refused.text.lower()
    with live.client() as api:
        before = api.get(f"/api/v1{at}").json()
        assert before["overrides"] == 0
        assert steward.fill(f"{at}/override", **form, budget="0.4").status_code == 200
        after = api.get(f"/api/v1{at}").json()
    assert (before["policy"]["privacy"]["rho"], after["policy"]["privacy"]["rho"]) == (0.2, 0.4)


def test_a_closed_guard_stays_closed_and_acts_that_are_none_are_not_found(live: Live, steward: Visitor) -> None:
    at = f"/guards/{live.guard('closed for good')['id']}"
    assert steward.fill(f"{at}/close", sure="yes", reason="done").status_code == 200
    refused = steward.fill(f"{at}/resume", reason="again")
    assert refused.status_code == 409
    assert "closed" in refused.text
    assert steward.fill(f"{at}/destroy", sure="yes").status_code == 404
    with live.client() as api:
        assert api.get(f"/api/v1{at}").json()["status"] == "closed"


def test_a_token_is_for_a_guard_that_there_is_and_ends_once(live: Live, steward: Visitor) -> None:
    guard = live.guard("one guard only")["id"]
    form = {"role": "analyst", "name": "cleo", "days": "1"}

    def tokens() -> list[dict[str, Any]]:
        with live.client() as api:
            return [one for one in api.get("/api/v1/tokens").json()["tokens"] if one["name"] == "cleo"]

    refused = steward.fill("/tokens", **form, guard="g_nothing")
    assert refused.status_code == 404
    assert tokens() == []
    assert steward.fill("/tokens", **form, guard=guard).status_code == 200
    (made,) = tokens()
    assert made["guards"] == [guard]
    assert steward.fill(f"/tokens/{made['id']}/revoke").status_code == 200
    assert steward.fill("/tokens/t_nothing/revoke").status_code == 404
    assert tokens()[0]["revoked"] is not None
