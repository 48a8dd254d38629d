"""The page where a guard is made declares columns and plans a study; the pages that ask have a switch for practice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from holdfast.server.pages.policy_form import columns_of, lines_of
from tests.server.live import Live, fresh_rows, running
from tests.server.pages.visiting import Visitor, values

SCHEMA = Schema({"age": "integer", "sex": "text", "a: b": "number", "member": "boolean"})
STUDY = """
[[questions]]
kind = "check"
expression = "age < 45"
guess = 0.5
count = 30
"""


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    with running() as server:
        yield server


def test_columns_are_declared_a_line_each() -> None:
    text = "age: 0 to 120\nsex: f, m\n\na: b: -1,000 to 1e3\nmember: true, false\nage: 1, 2"
    declared = columns_of(text, SCHEMA)
    assert declared == {
        "age": {"low": 0, "high": 120, "categories": [1, 2]},
        "sex": {"categories": ["f", "m"]},
        "a: b": {"low": -1000, "high": 1000},
        "member": {"categories": [True, False]},
    }
    assert columns_of(lines_of(declared), SCHEMA) == declared
    for wrong, said in (
        ("age", "columns must be declared in lines such as `age"),
        ("height: 0 to 3", "columns must be names of columns of the data set, got"),
        ("age: low to 5", "low of age must be a number"),
        ("member: perhaps", "categories"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            columns_of(wrong, SCHEMA)


def test_a_guard_is_made_with_declared_columns_and_asked_in_practice(live: Live) -> None:
    with Visitor(live.url, live.steward_token) as steward:
        sample = live.sample("declared", fresh_rows("declared"))["id"]
        form = values(name="declared", sample=sample, shape="mixed", epsilon="1", spend="0.1")
        refused = steward.fill("/guards", **form, columns="sex: 0 to 3, to 4\nheight: 1 to 2")
        assert refused.status_code == 422
        assert "height: 1 to 2" in refused.text, "the form stays as it was filled in"
        page = steward.fill("/guards", **form, columns="age: 0 to 120\nsex: female, male")
        assert page.status_code == 200, page.text
        assert "Declared: age" in page.text
        at = page.url.path
        statement = "select sex, avg(age) from people group by sex"
        practised = steward.fill(f"{at}/sql", statement=statement, practice="yes", do="ask")
        assert practised.status_code == 200, practised.text
        assert "Practice answer" in practised.text
        assert "Nothing was spent" in practised.text
        mean = {"kind": "mean", "expression": "age"}
        answer = steward.fill(f"{at}/ask", **mean, practice="yes", do="ask")
        assert answer.status_code == 200, answer.text
        assert "<strong>Practice.</strong>" in answer.text
        assert "Ledger entry" not in answer.text
        with live.client() as api:
            assert api.get(f"/api/v1{at}").json()["progress"]["answered"] == 0
        real = steward.fill(f"{at}/ask", **mean, do="ask")
        assert "Practice" not in real.text
        assert "Ledger entry" in real.text
        wrong = steward.fill(f"{at}/ask", kind="mean", expression="height", practice="yes", do="ask")
        assert wrong.status_code == 422


def test_a_study_fills_the_form(live: Live) -> None:
    with Visitor(live.url, live.steward_token) as steward:
        sample = live.sample("study", fresh_rows("study"))["id"]
        form = values(name="study", sample=sample) | {"do": "study"}
        page = steward.fill("/guards", **form, study=STUDY, columns="age: 0 to 120")
        assert page.status_code == 200, page.text
        assert "The study: checks of guesses" in page.text
        assert 'name="questions" inputmode="numeric" value="30"' in page.text
        assert "age: 0 to 120" in page.text
        assert "one wrong guess more" in page.text
        private = steward.fill("/guards", **form, study='privacy = "gdp:0.3"\n' + STUDY)
        assert 'name="mu" inputmode="decimal" value="0.3"' in private.text
        for text, said in (
            ("[[", "study must be a file in valid TOML"),
            ("", "questions must be a list"),
            (STUDY * 300, "200"),
        ):
            wrong = steward.fill("/guards", **form, study=text)
            assert wrong.status_code == 422, text[:20]
            assert said.lower() in wrong.text.lower()
