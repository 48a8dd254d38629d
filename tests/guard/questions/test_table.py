"""Tables by groups, differences, correlations and the most frequent categories.

Simulations compare the number of runs with a wrong interval against its mean plus `sqrt(runs ln(10**6) / 2)`, which a
right version exceeds with probability at most 1e-6 (Hoeffding). Seeds are fixed. Each has a version that is wrong on
purpose, and that it rejects.
"""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.one_question.means import mean_interval
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT, of_rows
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.guard import Guard, Policy
from holdfast.guard.guard_budget import GuardBudget
from holdfast.guard.questions.base import Question, Situation
from holdfast.guard.questions.correlation import correlation_ends, correlation_of
from holdfast.guard.questions.groups import GroupNoise, Groups, groups_of
from holdfast.guard.state import Progress
from holdfast.noise.entropy import Seeded

SCHEMA = Schema(
    {
        "sex": "text not null",
        "race": "text not null",
        "member": "boolean not null",
        "income": "number not null",
        "age": "integer not null",
        "gap": "number null",
    }
)
COLUMNS: dict[str, Any] = {
    "sex": {"categories": ["f", "m"]},
    "race": {"categories": ["a", "b", "c"]},
    "income": {"low": 0, "high": 100},
    "age": {"low": 0, "high": 100},
}
PRIVATE = Policy(questions=10, privacy=PureDP(0.2), spend=PureDP(0.1), columns=COLUMNS)
LOOKS = Policy(questions=10, columns=COLUMNS)
SURE = 1 - 1e-7
"""A confidence for tests with the noise that a guard draws: an interval about the rows misses at 95% in one of 20."""


def most_misses(runs: int, share: float) -> float:
    """More runs than this miss with probability at most 1e-6 if each does with probability at most `share`."""
    return runs * share + math.sqrt(runs * math.log(1e6) / 2)


def rows_of(n: int, seed: int) -> list[dict[str, Any]]:
    """Rows with rare categories among them that nobody declared."""
    draw = random.Random(seed)
    return [
        {
            "sex": draw.choice(["f", "m", "x"]),
            "race": draw.choice("abcz"),
            "member": draw.random() < 0.5,
            "income": draw.uniform(-10, 110),
            "age": draw.randrange(100),
            "gap": draw.choice([None, 5.0, 50.0]),
        }
        for _ in range(n)
    ]


def exact(asked: Question, rows: list[dict[str, Any]], policy: Policy = PRIVATE) -> list[Any]:
    """What the data package measures for a question on some rows."""
    bound = asked.bind(SCHEMA, len(rows), policy)
    return [of_rows(statistic, rows, SCHEMA) for statistic in bound.statistics]


# Groups


def test_groups_are_the_combinations_of_declared_categories() -> None:
    groups = groups_of(["sex", "member"], SCHEMA, PRIVATE.columns)
    assert groups.labels == ("f, false", "f, true", "m, false", "m, true")
    assert groups.places == [0, 1, 3, 4]
    odd = Groups(("a", "b"), (("x, y", "x"), ("z", "y, z")))
    assert len(set(odd.labels)) == 4


@pytest.mark.parametrize("by", [["sex"], ["sex", "race"], ["race", "member", "sex"]])
def test_what_is_measured_in_each_group_is_what_the_rows_of_the_group_hold(by: list[str]) -> None:
    rows = rows_of(300, 3)
    groups = groups_of(by, SCHEMA, PRIVATE.columns)
    sums, counts = exact(hf.guard.table(by, "income", where="age < 60"), rows)
    for cell, (total,), (count,) in zip(groups.cells, groups.pick(sums), groups.pick(counts), strict=True):
        own = [row for row in rows if tuple(row[name] for name in by) == cell and row["age"] < 60]
        assert count == len(own)
        assert total / UNIT == pytest.approx(sum(min(max(row["income"], 0), 100) / 100 for row in own), abs=1e-6)


def changed(before: list[Any], after: list[Any], *, wrong: bool) -> tuple[int, int]:
    """How far the released sums of neighbours are apart: in absolute values and in squares, in units of a row."""
    by_rows = []
    for sums, counts in (before, after):
        pairs = zip(sums, counts, strict=True)
        by_rows.append([one for s, c in pairs for one in ((s, c * UNIT) if wrong else (s, c * UNIT - s))])
    apart = [abs(a - b) for a, b in zip(*by_rows, strict=True)]
    return math.ceil(sum(apart) / UNIT), math.ceil(sum(one * one for one in apart) / UNIT**2)


def test_a_replaced_row_moves_all_sums_together_by_at_most_two() -> None:
    """What the price of a table rests on; releasing the sum and the count instead would move them by up to three."""
    rows, worst = rows_of(12, 1), [0, 0]
    for at, other in itertools.product(range(12), rows_of(40, 2) + [{**rows[0], "income": v} for v in (0.0, 100.0)]):
        neighbour = [*rows[:at], other, *rows[at + 1 :]]
        asked = hf.guard.table(["sex", "race"], "income")
        before, after = exact(asked, rows), exact(asked, neighbour)
        absolute, squares = changed(before, after, wrong=False)
        assert absolute <= 2
        assert squares <= 2
        worst = [max(a, b) for a, b in zip(worst, changed(before, after, wrong=True), strict=True)]
    assert worst[0] > 2


def test_noise_has_the_scale_of_its_price() -> None:
    pure, normal = GroupNoise(PureDP(0.1), 1000, unit=1), GroupNoise(ZCDP(0.005), 1000)
    assert pure.off(0.05, 1) == pytest.approx(20 * math.log(1 / 0.05), rel=0.02)
    assert normal.off(0.05, 1) == pytest.approx(1.96 * math.sqrt(1 / 0.005), rel=0.01)
    assert GroupNoise(PureDP(0.1), 1000).off(0.05, 1) == pytest.approx(pure.off(0.05, 1), rel=0.03)


# Answers


def people(n: int = 60_000, seed: int = 5) -> tuple[hf.data.Sample, dict[str, np.ndarray[Any, Any]]]:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n, p=[0.4, 0.6])
    race = rng.choice(["a", "b", "c"], n, p=[0.7, 0.2995, 0.0005])
    age = rng.integers(18, 80, n)
    income = np.clip(rng.normal(30 + 0.4 * age + 8 * (sex == "m"), 15), 0, 100)
    columns = {"sex": sex, "race": race, "age": age, "income": income, "member": rng.random(n) < 0.3}
    return hf.data.table({name: values.tolist() for name, values in columns.items()}), columns


def test_private_tables_are_about_each_group_and_name_those_that_are_too_small() -> None:
    sample, columns = people()
    policy = Policy(SURE, questions=10, privacy=PureDP(0.3), spend=PureDP(0.1), columns=COLUMNS)
    guard = Guard.open(None, sample, policy)
    shares = guard.ask(hf.guard.table(["sex", "race"]))
    assert set(shares.value) == {"f, a", "f, b", "f, c", "m, a", "m, b", "m, c"}
    means = guard.ask(hf.guard.table(["sex", "race"], "income"))
    assert means.details["not_reportable"] == ["f, c", "m, c"]
    assert set(means.value) == set(means.interval) == {"f, a", "f, b", "m, a", "m, b"}
    assert means.cost == PureDP(0.1)
    for label in means.value:
        own = np.logical_and(
            *(columns[name] == one for name, one in zip(("sex", "race"), label.split(", "), strict=True))
        )
        truth, count = columns["income"][own].mean(), own.sum()
        assert means.interval[label][0] < truth < means.interval[label][1]
        about = means.details["about_rows"]["interval"][label]
        assert means.interval[label][0] < about[0] < truth < about[1] < means.interval[label][1]
        low, high = shares.details["about_rows"]["interval"][label]
        assert low <= count <= high
        assert shares.interval[label][0] * 60_000 < low < high < shares.interval[label][1] * 60_000
    medians = guard.ask(hf.guard.table("sex", "income", q=0.5))
    for label, (low, high) in medians.interval.items():
        assert low <= np.median(columns["income"][columns["sex"] == label]) <= high


def test_one_table_costs_what_one_mean_does_however_many_groups_it_has() -> None:
    guard = Guard.open(None, people(20_000)[0], PRIVATE)
    guard.ask(hf.guard.table(["sex", "race", "member"], "income"))
    assert guard.remaining()["total"]["epsilon"] == pytest.approx(0.1)
    assert guard.remaining()["total"]["questions"] == 9


def test_guesses_are_checked_together_and_revealed_at_the_end() -> None:
    sample, columns = people()
    guard = Guard.open(None, sample, LOOKS)
    truth = {one: float(columns["income"][columns["sex"] == one].mean()) for one in "fm"}
    right = guard.ask(hf.guard.table("sex", "income", guesses=truth))
    assert (right.passed, right.cost, right.details["failed"]) == (True, None, [])
    mixed = guard.ask(
        hf.guard.table(["sex", "race"], "income", guesses={"f, a": truth["f"], "m, a": 5, "f, c": 50}, tolerance=6)
    )
    assert mixed.passed is False
    assert mixed.details["failed"] == ["m, a"]
    assert mixed.details["not_reportable"] == ["f, c"]
    assert mixed.interval["m, a"][0] <= truth["m"] <= mixed.interval["m, a"][1]
    first, second = guard.ask(hf.guard.close()).details["revealed"]
    assert first["value"] == pytest.approx(truth, abs=1e-3)
    assert set(second["interval"]) == {"f, a", "m, a", "f, c"}


def test_the_end_shows_no_exact_mean_of_hardly_any_rows() -> None:
    """A null, a category that nobody declared, a group of one row and one of none: the mean of one row is the row."""
    groups = ["a"] * 6000 + ["b"] * 4000 + ["c"] + [None] * 500 + ["other"] * 500
    values = np.random.default_rng(8).uniform(0, 10, len(groups))
    sample = hf.data.table({"g": groups, "x": values})
    columns = {"g": {"categories": ["a", "b", "c", "d"]}, "x": {"low": 0, "high": 10}}
    guard = Guard.open(None, sample, Policy(questions=5, columns=columns))
    answer = guard.ask(hf.guard.table("g", "x", guesses=dict.fromkeys("abcd", 5)))
    assert answer.details["not_reportable"] == ["c", "d"]
    assert set(answer.interval) == {"a", "b"}
    (line,) = guard.ask(hf.guard.close()).details["revealed"]
    assert line["value"] == pytest.approx({"a": values[:6000].mean(), "b": values[6000:10_000].mean()}, abs=1e-6)
    assert set(line["interval"]) == {"a", "b"}


def test_a_difference_with_hardly_any_rows_is_not_reported() -> None:
    sample = hf.data.table({"g": ["a"] * 20_000 + ["b"], "x": [3.0] * 20_001})
    columns = {"g": {"categories": ["a", "b", "c"]}, "x": {"low": 0, "high": 10}}
    guard = Guard.open(None, sample, Policy(SURE, questions=5, privacy=PureDP(0.5), spend=PureDP(0.2), columns=columns))
    for other in "bc":
        asked = hf.guard.difference("x", "g", ["a", other])
        answer = guard.ask(asked)
        assert answer.details["not_reportable"] == [other]
        low, high = answer.interval
        assert -10 <= low <= answer.value == (low + high) / 2 <= high <= 10
        assert "Too few rows" in type(asked).answer_words({}, answer.to_dict())


def test_a_mean_of_hardly_any_rows_is_not_reported() -> None:
    sample = hf.data.table({"x": [3.0] * 20_000})
    columns = {"x": {"low": 0, "high": 10}}
    guard = Guard.open(None, sample, Policy(SURE, questions=5, privacy=PureDP(0.5), spend=PureDP(0.2), columns=columns))
    for asked in (hf.guard.mean("x", where="x > 4"), hf.guard.quantile("x", 0.5, where="x > 4")):
        answer = guard.ask(asked)
        assert answer.details["too_few_rows"] is True
        assert answer.value == sum(answer.interval) / 2
        assert "Too few rows" in type(asked).answer_words({"q": 0.5}, answer.to_dict())


def test_revealed_groups_are_nearly_as_narrow_as_bonferroni() -> None:
    """At most 1.3 times the intervals of a table that was fixed before (issue 20); here with 8 groups and 2 tables."""
    sample, columns = people(40_000)
    by = {"sex": {"categories": ["f", "m"]}, "race": {"categories": ["a", "b"]}}
    guard = Guard.open(None, sample, Policy(questions=2, columns=by))
    keys = list(itertools.product("fm", "ab", (False, True)))
    young = columns["age"] < 40
    own = {
        f"{s}, {r}, {str(m).lower()}": (columns["sex"] == s) & (columns["race"] == r) & (columns["member"] == m)
        for s, r, m in keys
    }
    guesses = {label: round(float(young[rows].mean()), 2) for label, rows in own.items()}
    asked = hf.guard.table(["sex", "race", "member"], "age < 40", guesses=guesses, tolerance=0.2)
    assert guard.ask(asked).passed
    (line,) = guard.ask(hf.guard.close()).details["revealed"]
    for label, (low, high) in line["interval"].items():
        rows = int(own[label].sum())
        fixed = mean_interval("clopper-pearson", young[own[label]].mean(), rows, math.log(0.05 / 8))
        assert high - low <= 1.3 * (fixed.high - fixed.low)


def test_counts_about_the_rows_are_as_narrow_as_the_noise_allows() -> None:
    """An office that adds Laplace noise of scale 2 / epsilon publishes quantiles of it; at most 1.05 times as wide."""
    guard = Guard.open(None, people(20_000)[0], PRIVATE)
    answer = guard.ask(hf.guard.table(["sex", "race"]))
    scale = 2 / 0.1
    published = scale * math.log(6 / 0.05)  # a union bound over 6 counts, as Bonferroni's
    low, high = answer.details["about_rows"]["interval"]["m, a"]
    assert answer.details["about_rows"]["confidence"] == 0.95
    assert high - low <= 1.05 * 2 * published


def test_differences() -> None:
    sample, columns = people()
    gap = columns["income"][columns["sex"] == "m"].mean() - columns["income"][columns["sex"] == "f"].mean()
    sure = Policy(SURE, questions=10, privacy=PureDP(0.2), spend=PureDP(0.1), columns=COLUMNS)
    noisy = Guard.open(None, sample, sure).ask(hf.guard.difference("income", "sex", ["m", "f"]))
    assert noisy.interval[0] < gap < noisy.interval[1]
    about = noisy.details["about_rows"]["interval"]
    assert noisy.interval[0] < about[0] < gap < about[1] < noisy.interval[1]
    guard = Guard.open(None, sample, LOOKS)
    assert guard.ask(hf.guard.difference("income", "sex", ["m", "f"], guess=8.0)).passed
    wrong = guard.ask(hf.guard.difference("income", "sex", ["f", "m"], guess=30.0))
    assert not wrong.passed
    assert wrong.interval[0] <= -gap <= wrong.interval[1]
    first, second = guard.ask(hf.guard.close()).details["revealed"]
    assert first["value"] == pytest.approx(gap, abs=1e-3)
    assert second["value"] == pytest.approx(-gap, abs=1e-3)


def test_correlations() -> None:
    sample, columns = people()
    truth = float(np.corrcoef(columns["income"], columns["age"])[0, 1])
    guard = Guard.open(None, sample, LOOKS)
    right = guard.ask(hf.guard.correlation("income", "age", guess=round(truth, 1), tolerance=0.3))
    assert right.passed
    (line,) = guard.ask(hf.guard.close()).details["revealed"]
    assert line["value"] == pytest.approx(truth, abs=1e-5)
    assert line["interval"][0] < truth < line["interval"][1]
    assert line["interval"][1] - line["interval"][0] < 0.3
    sure = Policy(SURE, questions=10, privacy=PureDP(0.2), spend=PureDP(0.1), columns=COLUMNS)
    answer = Guard.open(None, sample, sure).ask(hf.guard.correlation("income", "age"))
    low, high = answer.details["about_rows"]["interval"]
    assert low <= truth <= high


def test_a_correlation_among_some_rows() -> None:
    _, columns = people(20_000)
    gap = np.where(
        np.random.default_rng(1).random(20_000) < 0.2, np.nan, columns["age"] / 100 + 0.1 * columns["member"]
    )
    given = {name: values.tolist() for name, values in columns.items()}
    sample = hf.data.table(given | {"gap": [None if math.isnan(one) else one for one in gap]})
    declared = COLUMNS | {"gap": {"low": 0, "high": 2}}
    own, present = columns["sex"] == "f", ~np.isnan(gap)
    asked = [
        (hf.guard.correlation("income", "age", where="sex = 'f'", guess=0.4, tolerance=0.5), "income", own),
        (hf.guard.correlation("gap", "age", where_present=True, guess=0.9, tolerance=0.5), "gap", present),
        (
            hf.guard.correlation("gap", "age", where="sex = 'f'", where_present=True, guess=0.9, tolerance=0.5),
            "gap",
            own,
        ),
    ]
    guard = Guard.open(None, sample, Policy(questions=5, columns=declared))
    values = columns | {"gap": gap}
    truths = [
        float(np.corrcoef(values[name][rows & present], columns["age"][rows & present])[0, 1])
        if name == "gap"
        else float(np.corrcoef(values[name][rows], columns["age"][rows])[0, 1])
        for _, name, rows in asked
    ]
    for question, _, _ in asked:
        guard.ask(question)
    for line, truth in zip(guard.ask(hf.guard.close()).details["revealed"], truths, strict=True):
        assert line["value"] == pytest.approx(truth, abs=1e-5)
        assert line["interval"][0] < truth < line["interval"][1]
    policy = Policy(SURE, questions=3, privacy=PureDP(2.0), spend=PureDP(1.0), columns=declared)
    noisy = Guard.open(None, sample, policy)
    answer = noisy.ask(hf.guard.correlation("gap", "age", where="sex = 'f'", where_present=True))
    low, high = answer.details["about_rows"]["interval"]
    assert low <= truths[2] <= high
    again = noisy.sql("select corr(gap, age) from people where sex = 'f'")
    assert again.answers[0].repeated
    assert again.about_rows[0]["corr(gap, age)"] == [low, high]
    empty = Guard.open(None, sample, Policy(questions=3, columns=declared))
    guess = hf.guard.correlation("income", "age", where="age > 900", guess=0.0, tolerance=0.4)
    assert empty.ask(guess).interval == [-1.0, 1.0]


def correlation_misses(*, wrong: bool) -> int:
    """Runs in which a private correlation among some rows misses; the wrong version makes no room for noise."""
    policy = Policy(questions=1, privacy=PureDP(1.0), spend=PureDP(0.1), columns=COLUMNS)
    question = hf.guard.correlation("income", "age", where="member")
    bound: Any = question.bind(SCHEMA, N, policy)
    if wrong:
        bound._off = lambda share, n: 0.0
    where, rng, missed = situation(policy, 0.01), np.random.default_rng(12), 0
    for _ in range(300):
        rows = int((rng.random(N) < 0.9).sum())
        a = rng.uniform(-0.5, 0.5, rows)
        b = 0.5 * a + rng.uniform(-0.25, 0.25, rows)
        parts = (a + 0.5, b + 0.5, 4 * a * a, 4 * b * b, (a + b) ** 2, (a - b) ** 2)
        answer = bound.settle([*([int(one.sum() * UNIT)] for one in parts), [rows]], where)
        missed += not answer.interval[0] <= 0.5**0.5 <= answer.interval[1]
    return missed


def test_a_correlation_among_some_rows_has_room_for_noise() -> None:
    allowed = most_misses(300, 0.01 + 0.01)
    assert correlation_misses(wrong=False) <= allowed
    assert correlation_misses(wrong=True) > allowed


def test_the_ends_of_a_correlation_hold_that_of_every_population_inside() -> None:
    rng = np.random.default_rng(8)
    for _ in range(200):
        a = rng.uniform(-0.5, 0.5, 20)
        b = np.clip(rng.uniform(-1, 1) * a + rng.uniform(0, 0.3) * rng.standard_normal(20), -0.5, 0.5)
        means = [float(one.mean()) for one in (a, b, a * a, b * b, (a + b) ** 2, (a - b) ** 2)]
        truth = float(np.corrcoef(a, b)[0, 1])
        assert correlation_of(means) == pytest.approx(truth, abs=1e-9)
        box = [(one - rng.uniform(0, 0.02), one + rng.uniform(0, 0.02)) for one in means]
        low, high = correlation_ends(box)
        assert low <= truth <= high


def test_the_most_frequent_are_those_with_the_largest_noisy_counts() -> None:
    answer = Guard.open(None, people()[0], PRIVATE).ask(hf.guard.top("race", 2))
    assert answer.details["order"] == ["a", "b"]
    assert answer.details["certain"] == ["a", "b"]
    assert set(answer.value) == {"a", "b"}


# Coverage

RUNS, N = 1000, 600


class _Fixed(dict[Any, float]):
    """A memory of corrected shares that has one share for all, so that misses are frequent enough to be counted."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: Any) -> float:
        return self.share


def situation(policy: Policy, share: float) -> Situation:
    made = Situation(GuardBudget(N, policy), Progress(), source=Seeded(3))
    object.__setattr__(made.budget, "_memory", _Fixed(math.log(share)))
    return made


def table_misses(*, wrong: bool) -> int:
    """Runs in which the interval of any group misses; the wrong version takes the noisy sums for the exact ones."""
    policy = Policy(confidence=0.9, questions=1, privacy=PureDP(1.0), spend=PureDP(0.2), columns=COLUMNS)
    bound: Any = hf.guard.table("race", "member").bind(SCHEMA, N, policy)
    if wrong:
        bound._noise.off = lambda share, draws: 0.0
    where, rng, missed = situation(policy, 0.4), np.random.default_rng(4), 0
    for _ in range(RUNS):
        race = rng.integers(0, 3, N)
        member = rng.random(N) < np.array([0.2, 0.5, 0.9])[race]
        sums = [int(member[race == k].sum()) * UNIT for k in range(3)] + [0]
        counts = [int((race == k).sum()) for k in range(3)] + [0]
        answer = bound.settle([sums, counts], where)
        truth = {"a": 0.2, "b": 0.5, "c": 0.9}
        shares = answer.details["shares"]
        means = any(not low <= truth[label] <= high for label, (low, high) in answer.interval.items())
        missed += means or any(not one["interval"][0] <= 1 / 3 <= one["interval"][1] for one in shares.values())
    return missed


def test_the_intervals_of_a_table_hold_together_and_without_room_for_noise_they_do_not() -> None:
    allowed = most_misses(RUNS, 0.4 + 0.01)
    assert table_misses(wrong=False) <= allowed
    assert table_misses(wrong=True) > allowed


def check_misses(*, wrong: bool) -> int:
    """Runs in which a revealed interval of any group misses, where every group is at the whole share if wrong."""
    bound: Any = hf.guard.table("race", "member", guesses={"a": 0.5, "b": 0.5, "c": 0.5}).bind(SCHEMA, N, LOOKS)
    rng, missed, share = np.random.default_rng(6), 0, 0.5
    for _ in range(RUNS):
        race = rng.integers(0, 3, N)
        ones = [int((rng.random(int((race == k).sum())) < 0.5).sum()) * UNIT for k in range(3)] + [0]
        counts = [int((race == k).sum()) for k in range(3)] + [0]
        found = bound.reveal([ones, counts], N, math.log(share) + (math.log(3) if wrong else 0.0))
        missed += any(not low <= 0.5 <= high for low, high in found.interval.values())
    return missed


def test_guesses_of_groups_share_the_level() -> None:
    allowed = most_misses(RUNS, 0.5)
    assert check_misses(wrong=False) <= allowed
    assert check_misses(wrong=True) > allowed


def difference_misses(*, wrong: bool) -> int:
    """Runs in which the interval of a difference misses; the wrong version forgets the second group's width."""
    bound: Any = hf.guard.difference("member", "sex", ["f", "m"], guess=0.0).bind(SCHEMA, N, LOOKS)
    rng, missed = np.random.default_rng(9), 0
    for _ in range(RUNS):
        sex = rng.random(N) < 0.9
        sizes = [int(sex.sum()), N - int(sex.sum())]
        ones = [int((rng.random(size) < 0.4).sum()) for size in sizes]
        procedure = bound._procedure([[ones[0] * UNIT, ones[1] * UNIT, 0], [*sizes, 0]], N)
        low, high = procedure.interval(math.log(0.1))
        if wrong:
            first = mean_interval("clopper-pearson", ones[0] / sizes[0], sizes[0], math.log(0.1))
            low, high = first.low - ones[1] / sizes[1], first.high - ones[1] / sizes[1]
        missed += not low <= 0 <= high
    return missed


def test_the_interval_of_a_difference_has_room_for_both_groups() -> None:
    allowed = most_misses(RUNS, 0.1)
    assert difference_misses(wrong=False) <= allowed
    assert difference_misses(wrong=True) > allowed


# What is refused


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (hf.guard.table([]), "by must be"),
        (hf.guard.table(["sex", "sex"]), "by must be"),
        (hf.guard.table(["height"]), "height"),
        (hf.guard.table(["age"]), "declared categories"),
        (hf.guard.table(["income"]), "declared categories"),
        (hf.guard.table("sex", q=0.5), "q must be left out"),
        (hf.guard.table("sex", guesses={"f": 1}), "guesses must be left out"),
        (hf.guard.table("sex", "gap", low=0, high=1), "null"),
        (hf.guard.table("sex", "income", guesses={"x": 3}), "guesses must be given for groups of the table"),
        (hf.guard.table("sex", "income", guesses={}), "guesses must be"),
        (hf.guard.table("sex", "income", guesses={"f": 3}, spend=PureDP(0.1)), "spend and q"),
        (hf.guard.table("sex", "income", tolerance=3), "tolerance must be left out"),
        (hf.guard.table("sex", "member", q=0.5), "must be a number"),
        (hf.guard.table("sex", "income", categories=[["f"], ["m"]]), "categories must have one list for each of the"),
        (hf.guard.top("race", 4), "k must be"),
        (hf.guard.top("age", 1), "declared categories"),
        (hf.guard.difference("income", "sex", ["f"]), "between must be two"),
        (hf.guard.difference("income", "sex", ["f", "f"]), "different"),
        (
            hf.guard.difference("income", "sex", ["male", "f"]),
            "categories of .sex., which are f, m; got .male.",
        ),
        (hf.guard.difference("income", "sex", ["f", "m"], guess=200), "guess"),
        (hf.guard.correlation("income", "gap", second_low=0, second_high=1), "never be null"),
        (hf.guard.correlation("income", "age", guess=0.3), "tolerance must be given"),
        (
            hf.guard.correlation("income", "sex = 'f'"),
            "second must be a row expression that is a number, such as `income`, got a condition",
        ),
        (
            hf.guard.correlation("sex", "income"),
            "first must be a row expression that is a number, such as `income`, got a text",
        ),
        (hf.guard.correlation("income", "age", where="age"), "where must be a condition"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_schema_and_policy(asked: Question, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        asked.bind(SCHEMA, 1000, PRIVATE)


def test_a_table_whose_noise_hides_every_group_is_refused_before_rows_are_read() -> None:
    guard = Guard.open(None, people(2_000)[0], PRIVATE)
    with pytest.raises(QuestionRefused, match="no group is large enough to be reported"):
        guard.ask(hf.guard.table(["sex", "race"], "income", spend=PureDP(0.01)))
    assert guard.remaining()["total"]["epsilon"] == pytest.approx(0.2)
