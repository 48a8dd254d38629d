"""Guards that share rows on a server: who may allow it, what the others learn, and what the pages say."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.guard.ledger import open_store
from holdfast.server.settings import Settings
from tests.guard.earlier import opened_earlier
from tests.server.live import CHECK, Live, running, started, wait_until_up
from tests.server.pages.visiting import Visitor
from tests.services.ports import free_port

_POLICY = {"questions": 50}


def rows(seed: int, extra: str = "") -> str:
    chance = random.Random(seed)
    lines = [f"{chance.randrange(10**9)},{chance.randrange(18, 90)},{chance.randrange(10**6)}" for _ in range(300)]
    return "\n".join(["id,age,income" + (",more" if extra else ""), *(line + extra for line in lines)]) + "\n"


@pytest.fixture(scope="module")
def first(live: Live) -> dict[str, Any]:
    return live.guard("shared first", _POLICY, rows(1))


@pytest.fixture
def second(live: Live, first: dict[str, Any], request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """The same rows with a column more, as a sample that has no guard yet."""
    made = live.sample(f"again {request.node.name}"[:100], rows(1, ",1"))
    yield made
    with live.client() as steward:
        steward.delete(f"/api/v1/samples/{made['id']}")


def made(client: Any, name: str, sample: str, **more: Any) -> Any:
    return client.post("/api/v1/guards", json={"name": name, "sample": sample, "policy": _POLICY} | more)


def limited(live: Live, *guards: str) -> Any:
    """A steward's token that names the only guards it reaches."""
    with live.client() as steward:
        token = steward.post("/api/v1/tokens", json={"role": "steward", "name": "sue", "guards": list(guards)}).json()
    return live.client(token["token"])


def test_who_is_no_steward_of_both_guards_cannot_allow_it(
    live: Live, first: dict[str, Any], second: dict[str, Any]
) -> None:
    other = live.guard("shared apart", _POLICY, rows(2))
    with live.client() as steward, limited(live, other["id"]) as sue:
        before = steward.get(f"/api/v1/guards/{first['id']}").json()
        refused = made(steward, "refused", second["id"])
        assert refused.status_code == 409
        assert "shares rows with other data sets that have a guard in this store, 1 in all" in refused.json()["detail"]
        refused = made(sue, "refused", second["id"], allow_overlap="mine")
        assert refused.status_code == 403
        assert refused.json()["detail"] == (
            "this data set shares rows with a guard that this token is no steward of; only a steward of both guards "
            "may "
            "allow that"
        )
        assert not any(word in refused.text for word in (first["id"], first["dataset"], first["name"], "age"))
        assert steward.get(f"/api/v1/guards/{first['id']}").json() == before
        with Visitor(live.url, sue.headers["Authorization"].split()[1]) as visitor:
            form = {"name": "refused", "sample": second["id"], "shape": "looks", "confidence": "0.95", "questions": "9"}
            page = visitor.fill("/guards", **form, allow_overlap="mine")
            assert page.status_code == 403
            assert "no steward of" in page.text
        assert steward.get(f"/api/v1/guards/{first['id']}").json() == before
        alone = made(sue, "alone", live.sample("fresh rows", rows(3))["id"])
        assert alone.status_code == 201
        assert sue.get(f"/api/v1/guards/{alone.json()['id']}").status_code == 200, "who makes a guard reaches it"


def test_a_limited_steward_cannot_reach_further_by_another_token(live: Live, first: dict[str, Any]) -> None:
    own = live.guard("of sue", _POLICY, rows(6))
    at = f"/api/v1/guards/{first['id']}"
    with live.client() as steward, limited(live, own["id"]) as sue:
        for act in ("pause", "close"):
            assert sue.post(f"{at}/{act}", json={"reason": "mine"}).status_code == 404
        assert sue.get(at).status_code == 404
        assert {guard["id"] for guard in sue.get("/api/v1/guards").json()["guards"]} == {own["id"]}
        for guards in (None, [first["id"]], [own["id"], first["id"]]):
            body = {"role": "steward", "name": "sue2", "guards": guards}
            assert sue.post("/api/v1/tokens", json=body).status_code == 403
        other = steward.post("/api/v1/tokens", json={"role": "analyst", "name": "bob"}).json()["id"]
        assert sue.delete(f"/api/v1/tokens/{other}").status_code == 404
        assert other not in {one["id"] for one in sue.get("/api/v1/tokens").json()["tokens"]}
        with Visitor(live.url, sue.headers["Authorization"].split()[1]) as visitor:
            assert visitor.fill("/tokens", role="steward", name="sue2", days="1", guard="").status_code == 403
        given = sue.post("/api/v1/tokens", json={"role": "analyst", "name": "ann2", "guards": [own["id"]]})
        assert given.status_code == 201
        assert sue.delete(f"/api/v1/tokens/{given.json()['id']}").status_code == 200
        assert steward.get(at).json()["status"] == "open"


def test_an_allowed_overlap_is_seen_by_all(live: Live, second: dict[str, Any]) -> None:
    guard = live.guard("shared later", _POLICY, rows(4))
    sample = live.sample("again later", rows(4, ",1"))
    with live.client() as steward, limited(live, guard["id"]) as sue, live.analyst("ann") as ann:
        at = f"/api/v1/guards/{guard['id']}"
        assert ann.post(f"{at}/ask", json={"question": CHECK}).json()["guarantee"]["certified"]
        assert ann.get(f"{at}/level").status_code == 200
        done = made(sue, "shared on purpose", sample["id"], allow_overlap="two teams")
        assert done.status_code == 201, done.text
        assert done.json()["overlaps"] == 1
        answers = []
        for one in (at, f"/api/v1/guards/{done.json()['id']}"):
            answers.append(ann.post(f"{one}/ask", json={"question": CHECK | {"guess": 0.51}}).json())
            assert ann.get(one).json()["overlaps"] == 1
            assert ann.get(f"{one}/level").json()["code"] == "guarantee-unavailable"
            assert ann.get(f"{one}/adjusted", params={"p": 0.01}).json()["code"] == "guarantee-unavailable"
            assert steward.post(f"{one}/verify").json()["ok"]
        assert [answer["guarantee"]["certified"] for answer in answers] == [False, False]
        assert done.json()["dataset"] not in ann.get(at).text, "that rows are shared, not with which"
    with Visitor(live.url, live.steward_token) as visitor:
        assert "Shares rows with another guard." in visitor.get(f"/guards/{guard['id']}").text
        assert "another guard has some of the same rows" in visitor.get(f"/guards/{guard['id']}").text
        assert "shares rows" in visitor.get("/").text


def test_the_forms_say_what_is_not_recognised_without_a_key(live: Live, second: dict[str, Any]) -> None:
    with Visitor(live.url, live.steward_token) as visitor:
        page = visitor.get("/guards/new").text
        assert "no column names who a row is about" in page
        assert "A data set that shares only some rows is recognised if both were uploaded with a column that" in page
        assert "The budget does not cover the list of columns" in page
        page = visitor.get("/samples").text
        assert (
            "Without such a column, a file that shares only some of its rows with another file is not recognised."
            in page
        )


def test_what_cannot_be_compared_is_shown_where_a_guard_is_made() -> None:
    """A ledger of an earlier version says nothing of its columns: the form says so before, the guard after."""
    with running() as live:
        live.stop()
        with open_store(live.folder / "ledger.db") as store:
            old = opened_earlier(store, {"age": [20 + (i * i) % 53 for i in range(300)]})
        settings = Settings(folder=live.folder, port=free_port(), rate=1e6, burst=10**6)
        with started(settings, live.log, live.folder / "another token", forked=True) as process:
            url = f"http://127.0.0.1:{settings.port}"
            again = Live(url, live.steward_token, process, live.folder, live.log, live.folder)
            wait_until_up(again)
            sample = again.sample("new rows", rows(8), row_key="id")
            numbered = again.sample(
                "numbered", "id,age\n" + "".join(f"{i},{i * i % 61}\n" for i in range(300)), row_key="id"
            )
            assert (sample["row_key_numbered"], numbered["row_key_numbered"]) == (False, True)
            with Visitor(url, live.steward_token) as visitor:
                page = visitor.get("/guards/new").text
                assert "1 guarded data set" in page
                assert "written by an earlier version" in page
                assert "numbered (300 rows, its row key is a running number)" in page
            with again.client() as steward:
                new = made(steward, "new", sample["id"]).json()
                assert new["not_compared"] == 1
                assert old not in json.dumps(new)
            with Visitor(url, live.steward_token) as visitor:
                assert (
                    "could not be compared with those of 1 other guarded data set"
                    in visitor.get(f"/guards/{new['id']}").text
                )
