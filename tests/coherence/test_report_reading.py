"""A report from its JSON: the same page again, and nothing that the library does not write."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

from holdfast.coherence import Audit, GroupPlan, Target, curators, learners, run, single_shot
from holdfast.coherence.report import Report, build, html, read
from holdfast.coherence.significance import assess
from holdfast.coherence.verdict import judge
from holdfast.core.strict_json import to_json
from holdfast.errors import InvalidParameter

FAILURE = {"split": 0, "learner": None, "lens": "id", "kind": "curator-hung", "message": "it ran past its limit"}
NASTY = "<img src=x onerror=alert(1)>\"'&"


def _report(kind: str) -> Report:
    rng = np.random.default_rng(3)
    rows = 600
    people = {"id": np.arange(rows), "sex": rng.integers(1, 3, rows), "ill": rng.integers(0, 2, rows)}
    groups = GroupPlan({NASTY: "ill = 1", "few": "id < 5"}, columns=["sex"])
    lenses = {"id": ["id"], f"lens {NASTY}": ["sex"]}
    target, linkage = Target("ill = 1"), learners.Linkage()
    if kind == "single":
        where = rng.random(rows) < 0.5
        release = {name: column[where] for name, column in people.items()}
        trials = single_shot(people, release, where, linkage, target=target, groups=groups)
    else:
        splits = {"repeated": 8, "few": 2}[kind]
        trials = run(
            Audit(people, curators.Clear(), linkage, target, splits=splits, groups=groups, lenses=lenses, seed=1)
        )
    found = assess(trials, permutations=499)
    return build(trials, found, judge(found, 0.5), title=NASTY, setting=[("file", NASTY)])


@pytest.fixture(scope="module")
def report() -> Report:
    return _report("repeated")


@pytest.mark.parametrize("kind", ["repeated", "few", "single"])
def test_the_page_is_the_same_and_so_is_the_file(kind: str) -> None:
    made = _report(kind)
    text = to_json(made.to_dict())
    again = read(json.loads(text))
    assert again.to_dict() == made.to_dict()
    assert to_json(again.to_dict()) == text
    assert html(again) == html(made)
    assert NASTY not in html(again)


def _paths(plain: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at]
    inner = plain.items() if isinstance(plain, dict) else enumerate(plain[:2]) if isinstance(plain, list) else ()
    for name, value in inner:
        found += _paths(value, (*at, name))
    return found


def _changed(plain: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    whole = copy.deepcopy(plain)
    inner = whole
    for name in at[:-1]:
        inner = inner[name]
    inner[at[-1]] = value
    return whole


def test_whatever_is_changed_is_refused_or_drawn(report: Report) -> None:
    """A change anywhere: the wrong type or range is refused; what is taken is kept as it is and drawn, escaped."""
    plain = json.loads(to_json(report.to_dict()))
    values = [None, True, -1, 10**400, 1e308, 0, 0.5, "", "x\x00y", "<script>", [], {}, [[]], {"a": 1}, ["x"] * 30]
    paths, taken = _paths(plain), 0
    chosen = np.random.default_rng(5).permutation(len(paths) * len(values))[:800]
    for number in chosen.tolist():
        changed = _changed(plain, paths[number // len(values)], values[number % len(values)])
        try:
            made = read(changed)
        except InvalidParameter:
            continue
        taken += 1
        assert made.to_dict() == changed
        assert "<script>" not in html(made)
    assert 0 < taken < 200, "texts and numbers within their range are taken, hardly anything else is"


@pytest.mark.parametrize("plain", [None, [], 5, "x", {}, {"schema": 1}, {"schema": 2, "title": "x"}])
def test_what_is_no_report_is_refused(plain: Any) -> None:
    with pytest.raises(InvalidParameter):
        read(plain)


def test_what_does_not_fit_together_is_refused(report: Report) -> None:
    plain = report.to_dict()
    for at, value, words in (
        (("schema",), 2, "schema must be 1"),
        (("schema",), True, "schema must be 1"),
        (("outcome",), "NO EVIDENCE", "exit_status must be 0"),
        (("exit_status",), 0, "exit_status must be"),
        (("findings",), plain["findings"][1:], "one entry for each learner, lens and group"),
        (("findings", 0, "group"), "another", "one entry for each learner, lens and group"),
        (("cases",), [], "outcome must be the outcome of one of the cases"),
        (("cases", 0, "test"), "a feeling", "cases: test must be one of"),
        (("findings", 0, "p_value"), 1.5, "p_value must be a number from 0 to 1"),
        (("findings", 0, "size"), 1.0, "size must be a whole number"),
        (("findings", 0, "sentences"), [], "must have a sentence"),
        (("offenders", 0), ["a", "b", "c"], "offenders must be one of the findings"),
        (("distributions", 0, "edges", 0), 0.0, "rise from -1 to 1"),
        (("distributions", 0, "inside"), [1.0], "as many counts as bins"),
        (("curves", 0, "alphas"), [0.0], "curves must have"),
        (("repeats", 0, "distances"), [0.1], "repeats must have"),
        (("alpha",), 0, "alpha must be a number from"),
        (("setting", "file"), 5, "setting must be a text"),
        (("failures",), [{"split": 0}], "learner, lens, message missing"),
        (("failures",), [FAILURE | {"split": -1}], "failures: split must be"),
        (("failures",), [FAILURE | {"learner": 5}], "failures: learner must be a text"),
        (("failures",), [FAILURE | {"kind": "tired"}], "failures: kind must be one of"),
        (("failures",), [FAILURE | {"message": None}], "failures: message must be a text"),
        (("title",), "x" * 20_001, "at most 20,000 characters"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            read(_changed(plain, at, value))


def test_failures_are_read_back_and_drawn_as_text(report: Report) -> None:
    failure = FAILURE | {"message": NASTY}
    made = read(_changed(report.to_dict(), ("failures",), [failure]))
    assert made.to_dict()["failures"] == [failure]
    assert NASTY not in html(made)
