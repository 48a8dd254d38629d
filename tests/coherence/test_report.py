"""The report: no row in it, no count of a few people, every section, and files that agree with the page."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.coherence import Audit, GroupPlan, Target, Trials, curators, learners, run, single_shot
from holdfast.coherence.report import SECTIONS, Report, build, distribution, html, places, write
from holdfast.coherence.report.content import joined
from holdfast.coherence.report.files import FINDINGS, SPLITS
from holdfast.coherence.significance import assess
from holdfast.coherence.verdict import judge
from holdfast.errors import InvalidParameter

ILL = Target("ill = 1")


def _people(rows: int = 600) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    # Numbers that occur nowhere else: where one shows up, a row has leaked.
    return {"id": 7_000_000 + rng.permutation(rows), "sex": rng.integers(1, 3, rows), "ill": rng.integers(0, 2, rows)}


def _trials(**options: Any) -> Trials:
    given = {"curator": curators.Clear(), "learners": learners.Linkage(), "target": ILL, "splits": 8, "seed": 1}
    return run(Audit(_people(), **{**given, **options}))


def _report(trials: Trials, alpha: float = 0.5, **options: Any) -> Report:
    found = assess(trials, permutations=499)
    return build(trials, found, judge(found, alpha), **options)


@pytest.fixture(scope="module")
def leaking() -> Trials:
    return _trials(groups=GroupPlan({"ill": "ill = 1"}, columns=["sex"]), lenses={"id": ["id"], "sex": ["sex"]})


def test_every_section_is_there_and_tags_are_closed(leaking: Trials) -> None:
    report = _report(leaking, title="people")

    class Page(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []
            self.sections: list[str] = []

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag != "meta":
                self.open.append(tag)
            if tag == "section":
                self.sections.append(dict(attrs)["id"] or "")

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    page = Page()
    page.feed(html(report))
    page.close()
    assert page.open == []
    assert page.sections == [key for key, _ in SECTIONS]


def test_no_row_and_no_single_prediction_is_in_any_file(leaking: Trials, tmp_path: Path) -> None:
    for path in write(_report(leaking), leaking, tmp_path / "r.html", 10).values():
        assert not re.search(r"(?<![\d.])7000\d{3}(?!\d)", path.read_text(encoding="utf-8"))
    assert "predictions" not in _report(leaking).to_dict()


def test_files_and_page_say_the_same(leaking: Trials, tmp_path: Path) -> None:
    report = _report(leaking)
    found = write(report, leaking, tmp_path / "deep" / "r.html")
    assert found == places(tmp_path / "deep" / "r.html")
    numbers = json.loads(found["json"].read_text())
    assert numbers == json.loads(json.dumps(report.to_dict()))
    with open(found["csv"], newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == FINDINGS
    for row, finding in zip(rows, numbers["findings"], strict=True):
        for name in ("mean", "floor", "excess", "lower", "noise_share", "p_adjusted"):
            assert float(row[name]) == finding[name]
        assert f">{finding['excess']:.3f}<".replace("-0.000", "0.000") in found["html"].read_text()
    with open(found["splits"], newline="") as file:
        long = list(csv.reader(file))
    assert tuple(long[0]) == SPLITS
    assert len(long) - 1 == leaking.distance.size
    assert [float(row[6]) for row in long[1:]] == leaking.distance.ravel().tolist()


def test_a_distance_never_stands_without_its_floor(leaking: Trials) -> None:
    report = _report(leaking)
    text = html(report)
    for finding in report.verdict.findings:
        assert f"mean {finding.mean:.3f}, floor {finding.floor:.3f}" in text
    # The largest distance of any split is in the tables next to its floor, and nowhere on the page.
    largest = max(f.largest for f in report.verdict.findings if f.largest is not None)
    assert f"{largest:.3f}" not in text or any(f"{f.mean:.3f}" == f"{largest:.3f}" for f in report.verdict.findings)


@given(
    counts=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=40),
    least=st.integers(1, 25),
)
@settings(deadline=None, derandomize=True, max_examples=200)
def test_no_bin_holds_a_few_people(counts: list[tuple[int, int]], least: int) -> None:
    edges = np.linspace(-1, 1, len(counts) + 1)
    bins, left_out = joined(edges, [a for a, _ in counts], [b for _, b in counts], least)
    assert all(a + b == 0 or a + b >= least for _, a, b in bins)
    assert sum(a + b for _, a, b in bins) + left_out == sum(a + b for a, b in counts)
    lefts = [left for left, _, _ in bins]
    assert lefts == sorted(set(lefts))
    assert lefts[0] == -1
    full = [(float(e), a, b) for e, (a, b) in zip(edges[:-1], counts, strict=True) if a + b >= least]
    assert set(full) <= set(bins)


def test_the_distribution_is_that_of_the_predictions(leaking: Trials) -> None:
    assert leaking.predictions is not None
    shown = distribution(leaking, 0, 0, 0, 1)
    inside = np.mean([leaking.predictions[k, 0, 0][leaking.inside[k]].mean() for k in range(8)])
    middles = (np.array(shown.edges[1:]) + np.array(shown.edges[:-1])) / 2
    assert np.average(middles, weights=shown.inside) == pytest.approx(inside, abs=0.05)
    assert sum(shown.inside) == pytest.approx(300)
    assert sum(shown.outside) == pytest.approx(300)


def test_small_groups_are_listed_without_their_size_and_not_drawn() -> None:
    people = _people()
    rare = np.zeros(600, dtype=bool)
    rare[:4] = True
    some = np.zeros(600, dtype=bool)
    some[:15] = True
    plan = GroupPlan({"rare": rare, "some": some}, min_size=10)
    trials = run(Audit(people, curators.Clear(), learners.Linkage(), ILL, plan, splits=4, seed=1))
    report = _report(trials)
    assert report.too_small == (("rare", "<10"),)
    assert "rare (&lt;10)" in html(report)
    assert report.verdict.exit_status == 1
    assert distribution(trials, 0, 0, 1).edges == ()
    assert "fewer than 20 members" in distribution(trials, 0, 0, 1).note
    with pytest.raises(InvalidParameter, match="at least min_cell = 20 members"):
        _report(trials, min_cell=20)


def test_everything_from_users_is_escaped(tmp_path: Path) -> None:
    nasty = "</style><script>alert('x')</script><img src=x>\"&"
    trials = _trials(
        groups=GroupPlan({nasty: "sex = 1"}),
        lenses={nasty: ["id"]},
        learners={nasty: learners.Linkage(), "=cmd()": learners.Constant()},
    )
    report = _report(trials, title=nasty, setting=[(nasty, nasty)])
    text = html(report)
    assert "<script" not in text
    assert "<img" not in text
    assert text.count("</style>") == 1
    found = write(report, trials, tmp_path / "r.html")
    with open(found["csv"], newline="") as file:
        assert {row["learner"] for row in csv.DictReader(file)} == {nasty, "'=cmd()"}  # no formula in a spreadsheet


def test_a_failure_marks_the_report_partial_and_quotes_no_output() -> None:
    calls: list[int] = []

    def sometimes(half: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise ValueError("row 7000001 is odd")
        return half

    report = _report(_trials(curator=sometimes))
    text = html(report)
    assert report.partial
    assert report.label == "INCOHERENT, PARTIAL"
    assert "This report is partial." in text
    assert "7000001" not in text + json.dumps(report.to_dict())
    assert "What is missing would have shown." in text


def test_nothing_measured_is_still_a_whole_page() -> None:
    def never(half: Any) -> Any:
        raise RuntimeError

    report = _report(_trials(curator=never))
    text = html(report)
    assert report.verdict.exit_status == 3
    assert "nothing was measured" in text
    assert all(f'<section id="{key}">' in text for key, _ in SECTIONS)


def test_predictions_outside_the_range_are_told() -> None:
    wrong = {"wrong": lambda report: lambda rows: np.full(rows.rows, -10.0), "fine": learners.Linkage()}
    report = _report(_trials(learners=wrong))
    assert report.partial
    assert "must lie in [-1, 1]" in html(report)
    assert report.verdict.outcome == "INCOHERENT"  # what the other learner shows stays


def test_a_single_shot_says_what_it_cannot_show() -> None:
    people = _people()
    where = np.random.default_rng(4).permutation(600) < 300
    release = {name: values[where] for name, values in people.items()}
    report = _report(single_shot(people, release, where, learners.Linkage(), target=ILL))
    text = html(report)
    assert report.curves == ()
    assert report.verdict.exit_status == 1
    assert "one split, so no probability of exceeding an alpha" in text
    assert "not decided by a uniformly random choice" in text


def test_the_page_says_which_epsilon_would_promise_it(leaking: Trials) -> None:
    report = _report(leaking)
    assert any("epsilon" in line for line in report.theory)
    assert "What would promise this alpha" in html(report)
    assert _report(_trials(metric="kolmogorov")).theory == ()  # theorems exist for one distance only


def test_curves_fall_and_chance_lies_below(leaking: Trials) -> None:
    for curve in _report(leaking).curves:
        assert list(curve.above) == sorted(curve.above, reverse=True)
        assert list(curve.noise) == sorted(curve.noise, reverse=True)
        assert all(a >= b for a, b in zip(curve.above[1:], curve.noise[1:], strict=True))


def test_the_page_is_called_html() -> None:
    with pytest.raises(InvalidParameter, match=r"must end in \.html"):
        places("report.pdf")


def test_a_value_that_few_people_have_is_not_named(tmp_path: Path) -> None:
    """`--by` a column, or crossings, find groups of one: their names are about single people."""
    people = _people() | {"town": np.where(np.arange(600) < 3, "Ultima Thule", np.where(np.arange(600) < 40, "B", "A"))}
    plan = GroupPlan({"pair": np.arange(600) < 2}, columns=["town"])
    report = _report(trials := run(Audit(people, curators.Clear(), learners.Linkage(), ILL, plan, splits=4, seed=1)))
    assert report.too_small == (("pair", "<10"), ("town=B", "37"))
    assert report.unnamed == 1
    found = write(report, trials, tmp_path / "audit.html", 10)
    assert "1 of so few people that they are not named" in found["html"].read_text()
    for path in found.values():
        assert "Thule" not in path.read_text()


def test_theory_stands_only_where_a_theorem_does_and_small_halves_are_not_counted(tmp_path: Path) -> None:
    trials = _trials()
    found = assess(trials, permutations=99)
    assert build(trials, found, judge(found, 1.9)).theory
    assert build(trials, found, judge(found, 2.0)).theory == ()  # the distance is never above 2
    people = _people()
    inside = np.random.default_rng(5).permutation(600) < 300
    release = {name: np.asarray(values)[inside] for name, values in people.items()}
    once = single_shot(people, release, inside, learners.Linkage(), target=ILL)
    found = assess(once, permutations=99)
    assert build(once, found, judge(found, 0.5)).theory == ()
    some = GroupPlan({"some": np.arange(600) < 14}, min_size=10)
    trials = run(Audit(people, curators.Clear(), learners.Linkage(), ILL, some, splits=4, seed=1))
    with open(write(_report(trials), trials, tmp_path / "a.html", 10)["splits"], newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["group"] == "some"]
    assert all("<10" in (row["inside"], row["outside"]) for row in rows)
    assert all(row[half] == "<10" or int(row[half]) >= 10 for row in rows for half in ("inside", "outside"))
