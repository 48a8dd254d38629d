"""The drawings of the report: each is there, says what the numbers say, stays in its frame, and loads nothing."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

from holdfast.coherence import Audit, GroupPlan, Target, Trials, curators, learners, run, single_shot
from holdfast.coherence.report import Report, build, html
from holdfast.coherence.report.content import auc
from holdfast.coherence.report.page import heat_map, scatter, sorted_distances, sorted_pair
from holdfast.coherence.significance import Significance, assess
from holdfast.coherence.verdict import judge

ILL = Target("ill = 1")
ROWS = 600


def _people() -> dict[str, Any]:
    rng = np.random.default_rng(4)
    age = rng.integers(0, 6, ROWS)
    return {"id": np.arange(ROWS), "age": age, "ill": (rng.random(ROWS) < 0.1 + 0.12 * age).astype(int)}


@pytest.fixture(scope="module")
def found() -> tuple[Trials, Significance, Report]:
    chosen = {"linkage": learners.Linkage(), "constant": "constant"}
    lenses = {"age": ["age"], "all": ["id", "age"]}
    trials = run(Audit(_people(), curators.Clear(), chosen, ILL, lenses=lenses, splits=8, seed=1))
    tested = assess(trials, permutations=499)
    return trials, tested, build(trials, tested, judge(tested, 0.5), title="people")


def test_every_drawing_of_the_specification_is_on_the_page(found: tuple[Trials, Significance, Report]) -> None:
    page = html(found[2])
    for drawn in (
        "Group by lens heat map",
        "Predictions, ",
        "Cumulative shares, ",
        "Sorted predictions, ",
        "Sorted distances, ",
        "Share above alpha, ",
        "Largest excess against held-out AUC",
    ):
        assert f'aria-label="{drawn}' in page
    worst = found[2].offenders[0]
    assert f"{worst.group} · {worst.learner} · {worst.lens}; {worst.size:,} members, 8 splits" in page


def test_nothing_on_the_page_is_loaded_from_anywhere(found: tuple[Trials, Significance, Report]) -> None:
    page = html(found[2])
    assert not re.search(r"https?:|//[a-z]|\b(src|href|srcset|data)\s*=|@import|<(script|link|img|iframe|object)", page)
    assert set(re.findall(r"url\(([^)]*)\)", page)) <= {"#hatch"}
    assert "default-src 'none'" in page


def test_sorted_distances_are_those_of_the_splits_with_chance_below(found: tuple[Trials, Significance, Report]) -> None:
    trials, _, report = found
    assert len(report.repeats) == len(report.offenders)
    for one, finding in zip(report.repeats, report.offenders, strict=True):
        at = (trials.learner(one.learner), [lens.name for lens in trials.lenses].index(one.lens))
        own = trials.distance[:, at[0], at[1], trials.groups.names.index(one.group)]
        assert one.distances == tuple(sorted(own.tolist()))
        assert len(one.chance) == len(one.distances)
        assert list(one.chance) == sorted(one.chance)
        assert finding.floor is not None
        assert one.chance[0] <= finding.floor <= one.chance[-1]
    leak = report.repeats[0]
    assert min(leak.distances) > max(leak.chance)


def test_auc_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    true, false = np.round(rng.normal(0.4, 1, 80), 1), np.round(rng.normal(0, 1, 50), 1)
    assert auc(true, false) == pytest.approx(stats.mannwhitneyu(true, false).statistic / (80 * 50), abs=1e-12)
    assert auc(true, np.array([])) is None


def test_usefulness_is_measured_on_people_who_were_held_out(found: tuple[Trials, Significance, Report]) -> None:
    by_name = {(u.learner, u.lens): u for u in found[2].utilities}
    assert len(by_name) == 4
    useful, memorised = by_name["linkage", "age"], by_name["linkage", "all"]
    assert useful.auc > 0.6
    assert memorised.auc == pytest.approx(0.5, abs=0.1)  # an identifier tells nothing about anybody else
    assert memorised.excess > 1 > useful.excess
    assert by_name["constant", "all"].auc == 0.5
    assert {u["learner"] for u in found[2].to_dict()["utilities"]} == {"linkage", "constant"}


def test_without_the_two_groups_of_the_target_or_with_one_split_they_are_left_out() -> None:
    plan = GroupPlan(columns=["age"], min_size=20)
    trials = run(Audit(_people(), curators.Clear(), learners.Linkage(), ILL, plan, splits=4, seed=1))
    tested = assess(trials, permutations=99)
    report = build(trials, tested, judge(tested, 0.5))
    assert report.utilities == ()
    assert "Largest excess against" not in html(report)
    people = _people()
    inside = np.arange(ROWS) % 2 == 0
    release = {name: column[inside] for name, column in people.items()}
    one = single_shot(people, release, inside, learners.Linkage(), target=ILL)
    tested = assess(one, permutations=99)
    report = build(one, tested, judge(tested, 0.5))
    assert report.repeats == ()
    assert "not enough splits" in html(report)


@pytest.mark.parametrize(
    "drawn",
    [
        sorted_pair([-1, 0, 0.5, 1], [10, 0, 30], [0, 20, 20], "pair"),
        sorted_pair([-1, 1], [0], [0], "nobody"),
        sorted_distances([0.0, 0.0], [0.0, 0.0], 0.2, "zero"),
        sorted_distances([0.1, 2.0], [0.0, 0.3], 0.2, "far"),
        scatter([(0.5, 0.0, "constant"), (1.0, 1.9, "a name of more than six and twenty letters")], 0.2, "points"),
        scatter([(0.3, -0.1, "worse than guessing <b>")], 2.0, "point"),
    ],
)
def test_drawings_stay_in_their_frame(drawn: str) -> None:
    places = [tuple(map(float, pair)) for pair in re.findall(r"(-?[\d.]+) (-?[\d.]+)(?=[L\"])", drawn)]
    places += [tuple(map(float, p)) for p in re.findall(r'cx="(-?[\d.]+)" cy="(-?[\d.]+)"', drawn)]
    assert places
    assert all(0 <= x <= 300 and 0 <= y <= 170 for x, y in places if (x, y) != (300, 170))
    assert "nan" not in drawn
    assert "<b>" not in drawn


def test_names_in_drawings_stay_apart() -> None:
    rows = [f"race=Asian-Pac-Islander & sex=Female & age in [{low}, {low + 20})" for low in (25, 45)]
    drawn = heat_map(rows, ["linkage"], [[(0.5, "1", "tip", True)]] * 2)
    assert all(row.replace("&", "&amp;") in drawn for row in rows)
    crowd = scatter([(0.6 + 0.01 * i, 0.001 * i, f"learner {i}") for i in range(6)], 0.2, "crowd")
    heights = [float(y) for y in re.findall(r'y="([\d.]+)" class="axis" text-anchor="\w+">learner', crowd)]
    assert all(abs(a - b) >= 10.9 for i, a in enumerate(heights) for b in heights[:i])
