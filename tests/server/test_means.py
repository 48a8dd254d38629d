"""A guard of means with a cap on privacy, as people make and ask it: on the page, over HTTP, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import holdfast as hf
from holdfast.cli.main import run
from tests.server.live import PEOPLE, fresh_rows, running
from tests.server.pages.visiting import Visitor, values

STATEMENT = "select count(*) as young from people where age < 45"


def test_on_the_page_over_http_and_through_the_client() -> None:
    with running() as live, Visitor(live.url, live.steward_token) as steward:
        sample = live.sample("means", fresh_rows("means"))["id"]
        wrong = steward.fill("/guards", **values(name="means", sample=sample, shape="means", mu="a little"))
        assert wrong.status_code == 422
        assert "privacy cap must be a number" in wrong.text.lower()
        compared = steward.get("/guards/new", params=values(shape="means", mu="9", sample=sample, part="compare")).text
        assert "less than the cap: spending more would only widen the intervals" in compared
        page = steward.fill("/guards", **values(name="means", sample=sample, shape="means", mu="0.4"))
        assert page.status_code == 200, page.text
        assert "all of them together cost at most μ 0.4" in page.text
        at = page.url.path
        asked = steward.get(f"{at}/ask?kind=check").text
        assert 'name="spend"' not in asked
        done = steward.fill(f"{at}/ask", kind="check", expression="age < 45", guess="0.5", do="ask")
        assert done.status_code == 200, done.text
        assert "Your guess of 0.5 passed" in done.text
        assert "The noise has paid for this answer" in done.text
        done = steward.fill(f"{at}/sql", statement=STATEMENT, do="ask")
        assert "population:" in done.text
        override = {"questions": "60", "failures": "", "analysts": "", "expires": "", "reason": "x", "sure": "yes"}
        assert "Privacy budget, μ" in steward.get(at).text
        with live.client() as api:
            claim = {"kind": "claim", "expression": "age < 45", "at_least": 0.1}
            answer = api.post(f"/api/v1{at}/ask", json={"question": claim}).json()
            assert answer["passed"] is True
            assert answer["details"]["privacy"]["kind"] == "gdp"
            assert api.get(f"/api/v1{at}").json()["policy"]["privacy"] == {"kind": "gdp", "mu": 0.4}
        with hf.connect(live.url, live.steward_token, guard="means") as connection:
            remote = connection.guard()
            assert remote.ask(hf.guard.compare("age < 60", "age < 30")).passed
            assert remote.practice().ask(hf.mean("age < 30")).details["practice"]
        assert steward.fill(f"{at}/override", **override, budget="0.5").status_code == 200


def test_on_the_command_line(tmp_path: Path, capsys: Any) -> None:
    rows, ledger = tmp_path / "people.csv", str(tmp_path / "ledger.db")
    rows.write_text(PEOPLE)
    words = ["guard", "open", ledger, str(rows), "--answers", "means", "--questions", "20"]
    assert run([*words, "--privacy", "pure-dp:0.1"]) == 2
    assert "privacy must be a positive GDP" in capsys.readouterr().err
    assert run([*words, "--privacy", "gdp:0.2"]) == 0
    assert "gdp mu 0.2 (filter)" in capsys.readouterr().out
    assert run(["ask", "check", ledger, str(rows), "age < 45", "--guess", "0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passed"] is True
    assert run(["sql", ledger, str(rows), STATEMENT, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["intervals"][0]["young"][0] < 1000 < found["intervals"][0]["young"][1]
    assert run(["sql", ledger, str(rows), "select sex, count(*) from people group by sex"]) == 2
    assert run(["verify", ledger]) == 0
