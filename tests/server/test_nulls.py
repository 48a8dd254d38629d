"""Missing values through every way of asking a server: HTTP, the client, the web form and an agent's tools."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast as hf
from holdfast import guard as g
from holdfast.errors import InvalidParameter
from holdfast.server.agents.tools import Tools
from tests.server.live import Live
from tests.server.pages.visiting import Visitor

ROWS = "age,sick,town\n" + "".join(
    f"{20 + i % 50},{'' if i % 5 == 0 else 'true' if i % 5 < 3 else 'false'},{'' if i % 4 == 0 else 'north'}\n"
    for i in range(2000)
)
"""One in five has no `sick`; half of the others are."""
WAYS = ("where_present=true", "default=0 or 1", "coalesce(sick, ...)")


@pytest.fixture(scope="module")
def guarded(live: Live) -> dict[str, Any]:
    return live.guard("gaps", rows=ROWS)


def test_over_http(live: Live, guarded: dict[str, Any]) -> None:
    address = f"/api/v1/guards/{guarded['id']}"
    with live.analyst("ann") as ann:
        columns = ann.get(address).json()["schema"]["columns"]
        assert [one["nullable"] for one in columns] == [False, True, True]
        check: dict[str, Any] = {"kind": "check", "expression": "sick", "guess": 0.5}
        refused = ann.post(f"{address}/ask", json={"question": check})
        assert refused.status_code == 422
        assert all(way in refused.json()["detail"] for way in WAYS)
        assert ann.post(f"{address}/estimate", json={"question": check}).status_code == 422
        done = ann.post(f"{address}/ask", json={"question": check | {"where_present": True}})
        assert done.json()["passed"] is True
        cells = {"kind": "histogram", "column": "town", "categories": ["north"], "null_as": "other"}
        done = ann.post(f"{address}/ask", json={"question": cells})
        assert sorted(done.json()["value"]) == ["north", "other"]


def test_declared_columns_are_held_to_what_they_declare(live: Live) -> None:
    with live.client() as steward:
        for nullable, status in ((False, 422), (True, 201)):
            columns = f'[{{"name": "sick", "kind": "boolean", "nullable": {str(nullable).lower()}}}]'
            done = steward.post(
                "/api/v1/samples",
                params={"name": f"declared {nullable}", "columns": columns},
                content=ROWS.encode(),
                headers={"Content-Type": "text/csv"},
            )
            assert done.status_code == status, done.text
            assert status == 201 or "must not declare 'sick' to be `not null`" in done.json()["detail"]


def test_by_the_client(live: Live, guarded: dict[str, Any]) -> None:
    with live.client() as steward:
        token = steward.post("/api/v1/tokens", json={"role": "analyst", "name": "bob"}).json()["token"]
    with hf.connect(live.url, token=token) as server:
        remote = server.guard("gaps")
        with pytest.raises(InvalidParameter, match="where_present=true"):
            remote.ask(g.check("sick", guess=0.4))
        assert remote.ask(g.check("sick", guess=0.4, default=0)).passed
        assert remote.ask(g.mean("sick", where_present=True)).half_width is not None
        assert "sick boolean (nullable)" in remote._repr_html_()


def test_by_the_form(live: Live, guarded: dict[str, Any]) -> None:
    with live.client() as steward:
        token = steward.post("/api/v1/tokens", json={"role": "analyst", "name": "cleo"}).json()["token"]
    address = f"/guards/{guarded['id']}/ask"
    with Visitor(live.url, token) as cleo:
        page = cleo.get(address).text
        assert "boolean, nullable" in page
        assert 'name="where_present"' in page
        refused = cleo.fill(address, kind="check", expression="sick", guess="0.5")
        assert "where_present=true" in refused.text
        done = cleo.fill(address, kind="check", expression="sick", guess="0.5", where_present="yes")
        assert "sick, where it has a value: about 0.5?" in done.text
        assert 'name="null_as"' in cleo.get(address + "?kind=histogram").text
        done = cleo.fill(address, kind="histogram", column="town", categories="north", null_as="other")
        assert "histogram of town" in done.text


def test_by_an_agent() -> None:
    rows = {"age": [23, 35, 47, 59] * 2500, "rich": [None, False, True, True] * 2500}
    guard = hf.Guard.open(None, hf.data.table(rows), hf.guard.Policy(questions=9))
    tools = Tools(guard.for_analyst("agent"), label="rich")
    told = tools.call("describe", {}).words
    assert "rich (boolean, nullable)" in told
    assert "must say what null means" in told
    refused = tools.call("ask", {"question": {"kind": "check", "expression": "rich", "guess": 0.5}})
    assert refused.refused
    assert "where_present=true" in refused.words
    done = tools.call(
        "ask", {"question": {"kind": "check", "expression": "rich", "guess": 0.66, "where_present": True}}
    )
    assert done.data["passed"]
    # A rule is scored among the rows that have a label, and a null prediction is a wrong one.
    assert tools.call("submit", {"rule": "age > 40", "guess": 1.0}).data["passed"]
    assert tools.call("submit", {"rule": "case when age > 50 then true end", "guess": 1 / 3}).data["passed"]
