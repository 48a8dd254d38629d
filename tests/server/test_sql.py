"""SQL over HTTP, through the client, on the page, from the command line and as an agent's tool: one statement."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.cli.main import run
from holdfast.errors import InvalidParameter
from holdfast.server.agents.tools import Tools
from tests.server.live import Live, running
from tests.server.pages.visiting import Visitor

N = 6000
POLICY: dict[str, Any] = {
    "questions": 40,
    "privacy": {"kind": "pure-dp", "epsilon": 1.0},
    "spend": {"kind": "pure-dp", "epsilon": 0.1},
    "columns": {"age": {"low": 0, "high": 120}, "sex": {"categories": ["f", "m"]}},
}
STATEMENT = "select sex, avg(age) as mean, count(*) from people group by sex"
REFUSED = "select sex from people join others on 1 = 1"


def rows_of(tag: str) -> list[list[Any]]:
    draw = random.Random(tag)
    return [["age", "sex", "tag"], *([draw.randint(18, 80), draw.choice("fm"), tag] for _ in range(N))]


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    with running() as server:
        yield server


def made(live: Live, name: str) -> tuple[str, str]:
    """A guard and the token of an analyst who may ask it."""
    lines = "\n".join(",".join(map(str, row)) for row in rows_of(name)) + "\n"
    guard = live.guard(name, POLICY, lines)["id"]
    with hf.connect(live.url, live.steward_token) as steward:
        return guard, steward.issue_token("analyst", "ann", guards=[guard])["token"]


def test_over_http(live: Live) -> None:
    guard, token = made(live, "http")
    with live.client(token) as ann:
        at = f"/api/v1/guards/{guard}/sql"
        priced = ann.post(at, json={"statement": STATEMENT, "explain": True}).json()
        assert (priced["admitted"], priced["cost"]["epsilon"], len(priced["questions"])) == (True, 0.1, 1)
        found = ann.post(at, json={"statement": STATEMENT}, headers={"Idempotency-Key": "one"}).json()
        assert found["columns"] == ["sex", "mean", "count(*)"]
        assert [row["sex"] for row in found["rows"]] == ["f", "m"]
        assert found["intervals"][0]["mean"][0] < found["rows"][0]["mean"] < found["intervals"][0]["mean"][1]
        assert found["about_rows"][0]["mean"][0] < found["rows"][0]["mean"] < found["about_rows"][0]["mean"][1]
        again = ann.post(at, json={"statement": STATEMENT}, headers={"Idempotency-Key": "one"}).json()
        assert again["rows"] == found["rows"]
        assert again["cost"] is None
        refused = ann.post(at, json={"statement": REFUSED})
        assert refused.status_code == 422 or refused.status_code == 400
        assert "joins" in refused.json()["detail"]
        left = ann.get(f"/api/v1/guards/{guard}").json()["progress"]
        tried = ann.post(at, json={"statement": f"{STATEMENT} limit 1", "practice": True}).json()
        assert (tried["practice"], len(tried["rows"]), tried["columns"]) == (True, 1, found["columns"])
        assert tried["answers"][0]["details"]["practice"]
        assert not tried["answers"][0]["guarantee"]["certified"]
        assert ann.post(at, json={"statement": REFUSED, "practice": True}).json()["detail"] == refused.json()["detail"]
        assert ann.get(f"/api/v1/guards/{guard}").json()["progress"] == left
        odd = ann.post(at, json={"statement": STATEMENT, "spend": {"kind": "x"}})
        assert 400 <= odd.status_code < 500


def test_through_the_client(live: Live) -> None:
    _, token = made(live, "client")
    with hf.connect(live.url, token, guard="client") as connection:
        assert connection.explain(STATEMENT).cost == hf.accounting.PureDP(0.1)
        answer = connection.sql(STATEMENT, spend=hf.accounting.PureDP(0.2))
        assert answer.columns == ("sex", "mean", "count(*)")
        assert answer.cost == hf.accounting.PureDP(0.2)
        assert answer.answers[0].guarantee.certified
        with pytest.raises(InvalidParameter, match="joins"):
            connection.sql(REFUSED)


def test_on_the_page(live: Live) -> None:
    guard, token = made(live, "page")
    with Visitor(live.url, token) as page:
        assert f"/guards/{guard}/sql" in page.get(f"/guards/{guard}/ask").text
        assert "Statement" in page.get(f"/guards/{guard}/sql").text
        priced = page.fill(f"/guards/{guard}/sql", statement=STATEMENT, do="explain")
        assert "This statement would be answered" in priced.text
        answered = page.fill(f"/guards/{guard}/sql", statement=STATEMENT, do="ask", key="k1")
        assert answered.status_code == 200
        assert "population:" in answered.text
        assert "these rows:" in answered.text
        refused = page.fill(f"/guards/{guard}/sql", statement=REFUSED, do="ask", key="k2")
        assert "joins are not answered" in refused.text
        assert "<script>" not in page.fill(f"/guards/{guard}/sql", statement="<script>alert(1)</script>", do="ask").text
        entry = page.get(f"/guards/{guard}/entries/2").text
        assert "About these rows alone" in entry


def test_from_the_command_line(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows_of("cli"))
    (tmp_path / "policy.json").write_text(json.dumps(POLICY))
    at = [str(tmp_path / "ledger.db"), str(tmp_path / "rows.csv")]
    assert run(["guard", "open", *at, "--policy", str(tmp_path / "policy.json")]) == 0
    capsys.readouterr()
    assert run(["sql", *at, STATEMENT, "--explain", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cost"] == {"kind": "pure-dp", "epsilon": 0.1}
    assert run(["sql", *at, STATEMENT, "--json", "--key", "k"]) == 0
    assert [row["sex"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["f", "m"]
    assert run(["sql", *at, STATEMENT]) == 0
    told = capsys.readouterr().out
    assert "mean" in told
    assert "rows " in told
    assert run(["sql", *at, REFUSED]) == 2
    assert "joins are not answered" in capsys.readouterr().err
    assert run(["sql", *at, "select avg(age) from t", "--spend", "pure-dp:5", "--explain"]) == 3


def test_as_a_tool() -> None:
    columns = dict(zip(*[rows_of("tool")[0]], zip(*rows_of("tool")[1:], strict=True), strict=True))
    policy = hf.guard.Policy.from_dict(POLICY)
    guard = hf.Guard.open(None, hf.data.table({name: list(values) for name, values in columns.items()}), policy)
    tools = Tools(guard.for_analyst("agent"))
    priced = tools.call("sql", {"statement": STATEMENT, "explain": True})
    assert priced.words.startswith("It would ask 1 question and cost")
    found = tools.call("sql", {"statement": STATEMENT})
    assert found.words.splitlines()[0] == "sex | mean | count(*)"
    assert "receipt" not in found.data["answers"][0]
    refused = tools.call("sql", {"statement": REFUSED})
    assert refused.refused
    assert "joins are not answered" in refused.words
    for given in ({"statement": STATEMENT}, {"question": {"kind": "mean", "expression": "age"}}):
        tried = tools.call("practice", given)
        assert tried.words.startswith("PRACTICE, on made-up rows; nothing was spent.")
        assert "NOT certified" in tried.words
        assert tried.data["practice"] is True
    for limit in range(40, 49):
        used = tools.call("practice", {"statement": f"select avg(age < {limit}) from t"})
    assert used.data["code"] == "budget-exhausted"
    assert not tools.call("practice", {"statement": STATEMENT, "fresh": True}).refused
    assert tools.call("practice", {}).refused
    assert guard.remaining("agent")["total"]["epsilon"] == pytest.approx(0.9)
