"""Quantiles: ranks against exact binomial sums, what a check claims, noise, nulls, and an analyst who attacks.

Simulations compare the number of runs with a wrong interval against its mean plus `sqrt(runs ln(10**6) / 2)`, which a
right version exceeds with probability at most 1e-6 (Hoeffding). Seeds are fixed. Each has a version that is wrong on
purpose, and that it rejects.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.guard import Guard, Policy
from holdfast.guard.guard_budget import GuardBudget
from holdfast.guard.questions import quantile as module
from holdfast.guard.questions.base import BoundQuestion, Situation
from holdfast.guard.questions.quantile import Quantile, QuantileCheck, ranks
from holdfast.guard.state import Progress
from holdfast.noise.entropy import Seeded

SCHEMA = Schema({"x": "number not null", "y": "number null", "member": "boolean not null"})
PRIVATE = Policy(questions=10, privacy=PureDP(1.0), spend=PureDP(0.5))


def most_misses(runs: int, share: float) -> float:
    """More runs than this miss with probability at most 1e-6 if each does with probability at most `share`."""
    return runs * share + math.sqrt(runs * math.log(1e6) / 2)


def counted(bound: BoundQuestion, values: np.ndarray[Any, Any], missing: int = 0) -> list[tuple[int, ...]]:
    """What the data package measures for this question on these values."""
    (statistic,) = bound.statistics
    below = np.searchsorted(np.sort(values), statistic.thresholds, side="right")  # type: ignore[attr-defined]
    return [(*map(int, below), len(values), missing)]


# Ranks


def exact_ranks(n: int, q: float, share: float) -> tuple[int, int]:
    """By summing the binomial distribution in fractions."""
    p, tail = Fraction(q), Fraction(share) / 2
    mass = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    below = next((a for a in range(n, 0, -1) if sum(mass[:a]) <= tail), 0)
    above = next((b for b in range(1, n + 1) if sum(mass[b:]) <= tail), n + 1)
    return below, above


@pytest.mark.parametrize("n", [1, 2, 5, 10, 20, 47])
@pytest.mark.parametrize("q", [0.02, 0.25, 0.5, 0.8, 0.97])
@pytest.mark.parametrize("share", [0.3, 0.05, 1e-3, 1e-9])
def test_ranks_are_those_of_exact_sums(n: int, q: float, share: float) -> None:
    assert ranks(n, q, math.log(share)) == exact_ranks(n, q, share)


@pytest.mark.parametrize(("n", "expected"), [(6, (1, 6)), (10, (2, 9)), (20, (6, 15)), (50, (18, 33)), (100, (40, 61))])
def test_ranks_of_the_median_are_the_tabulated_ones(n: int, expected: tuple[int, int]) -> None:
    """Conover 1999, table of confidence intervals for the median at 95%."""
    assert ranks(n, 0.5, math.log(0.05)) == expected


def test_ranks_rise_with_the_level_mirror_and_spread_with_the_confidence() -> None:
    levels = [i / 64 for i in range(1, 64)]
    for n in (9, 100, 5000):
        found = [ranks(n, q, math.log(0.01)) for q in levels]
        assert found == sorted(found)
        assert [pair[1] for pair in found] == sorted(pair[1] for pair in found)
        assert found == [(n + 1 - b, n + 1 - a) for a, b in reversed(found)]
        for q in levels:
            (a, b), (wider_a, wider_b) = ranks(n, q, math.log(0.1)), ranks(n, q, -20.0)
            assert wider_a <= a < b <= wider_b


# Without noise


def test_a_right_guess_passes_and_a_wrong_one_is_corrected() -> None:
    sample = hf.data.table({"age": [20 + i % 40 for i in range(20_000)]})
    guard = Guard.open(None, sample, Policy(questions=20))
    right = guard.ask(hf.guard.quantile("age", 0.5, low=0, high=100, guess=39, tolerance=2))
    assert (right.passed, right.value, right.interval, right.cost) == (True, 39, [37, 41], None)
    assert right.guarantee.theorem == "holdout.error-allocation"
    wrong = guard.ask(hf.guard.quantile("age", 0.5, low=0, high=100, guess=70, tolerance=2))
    low, high = wrong.interval
    assert not wrong.passed
    assert low <= 39 <= high
    assert high - low <= 10
    bit = guard.ask(hf.guard.quantile("age", 0.5, low=0, high=100, guess=71, tolerance=2, show="bit"))
    assert (bit.passed, bit.value, bit.interval) == (False, None, None)
    assert guard.ask(hf.guard.quantile("age", 0.5, low=0, high=100, guess=39, tolerance=2)).repeated


TINY = 2.0**-100


@pytest.mark.parametrize(
    ("value", "expression", "reach", "guess", "tolerance"),
    [
        (-1, "x * 1e-20 * 1e-20", 1.0, 0.5, 0.5),
        (1, f"x * {TINY!r} * 0.75", 8 * TINY, 3 * TINY, 2 * TINY),
        (-1, f"x * {TINY!r} * 0.99", 2 * TINY, 2 * TINY, 2 * TINY),
    ],
)
@pytest.mark.parametrize("show", ["value", "bit"])
def test_values_that_are_too_small_to_be_written_are_counted(
    value: int, expression: str, reach: float, guess: float, tolerance: float, show: Any
) -> None:
    """Computed values may lie between 0 and the smallest number that can be written; no interval may leave them out."""
    guard = Guard.open(None, hf.data.table({"x": [value] * 2000}), Policy(questions=20))
    median = {0: value * 1e-40, 1: value * TINY * 0.75, 2: value * TINY * 0.99}[
        next(i for i, word in enumerate(("1e-20", "0.75", "0.99")) if word in expression)
    ]
    asked = hf.guard.quantile(expression, 0.5, low=-reach, high=reach, guess=guess, tolerance=tolerance, show=show)
    answer = guard.ask(asked)
    assert not answer.passed
    if show == "value":
        low, high = answer.interval
        assert low <= median <= high


def test_a_default_that_is_too_small_to_be_written_is_counted() -> None:
    guard = Guard.open(None, hf.data.table({"y": [0.5] + [None] * 1999}), Policy(questions=20))
    answer = guard.ask(hf.guard.quantile("y", 0.5, low=-1, high=1, guess=0.5, tolerance=0.5, default=-1e-40))
    low, high = answer.interval
    assert not answer.passed
    assert low <= -1e-40 <= high


def test_ranks_of_a_secret_number_of_rows_are_not_remembered() -> None:
    """Else the time of an answer would say whether any row has no value."""
    guard = Guard.open(None, hf.data.table({"x": [1.0, None] * 1000}), Policy(questions=20))
    asked = hf.guard.quantile("x", 0.37, low=0, high=2, guess=1, tolerance=0.5, where_present=True)
    before = module._public_ranks.cache_info()
    guard.ask(asked)
    after = module._public_ranks.cache_info()
    assert after.currsize - before.currsize <= 1  # that of all rows, which is public


@pytest.mark.parametrize("q", [0.1, 0.5, 0.95])
def test_values_on_the_ends_of_the_claim_count_as_inside(q: float) -> None:
    """Every value is the guess: the narrowest claim passes, and one that ends next to it fails."""
    values = np.full(1000, 7.0)
    for guess, tolerance, passes in ((7.0, 1e-9, True), (8.0, 1.0, True), (8.0, 0.999, False), (6.0, 0.999, False)):
        bound = Quantile("x", q, 0, 10, guess, tolerance).bind(SCHEMA, 1000, Policy())
        assert isinstance(bound, QuantileCheck)
        outcome = bound._decide(counted(bound, values), math.log(1e-6))
        assert outcome.passed is passes
        assert outcome.interval is not None
        assert outcome.interval[0] <= 7.0 <= outcome.interval[1]


@pytest.mark.parametrize("q", [0.5, 0.9, 0.25])
def test_order_statistics_hold_the_quantile_as_often_as_they_say(q: float) -> None:
    """Uniform values, whose quantile is the level; an interval whose ends each take the whole share is rejected."""
    rng, runs, n, share = np.random.default_rng(1), 4000, 300, 0.2
    values = np.sort(rng.random((runs, n)), axis=1)

    def misses(log_share: float) -> int:
        a, b = ranks(n, q, log_share)
        return int(((values[:, a - 1] > q) | (values[:, b - 1] < q)).sum())

    assert misses(math.log(share)) <= most_misses(runs, share) < misses(math.log(2 * share))


@pytest.mark.parametrize("q", [0.5, 0.9, 0.25])
def test_what_a_failure_shows_holds_where_values_are_tied(q: float) -> None:
    """Whole numbers from 0 to 40, rising in probability: intervals are rounded to a grid that has atoms on it."""
    rng, runs, n, share = np.random.default_rng(1), 2000, 300, 0.1
    weights = np.arange(1.0, 42.0) / np.arange(1.0, 42.0).sum()
    truth = float(np.searchsorted(np.cumsum(weights), q))
    bound = Quantile("x", q, 0, 40, 0, 2).bind(SCHEMA, n, Policy())
    assert isinstance(bound, QuantileCheck)
    misses = 0
    for _ in range(runs):
        values = rng.choice(41, n, p=weights).astype(float)
        interval = bound._decide(counted(bound, values), math.log(share)).interval
        assert interval is not None
        misses += not interval[0] <= truth <= interval[1]
    assert misses <= most_misses(runs, share)


def attack(policy: Policy, seed: int) -> bool:
    """Whether every interval of a run holds, in which each question is chosen by the answers to those before.

    The first questions find out which of 30 columns happen to be high in the sample; the last one adds up the columns
    that look high and subtracts those that look low, which makes the most of chance. Its true median is 0.
    """
    rng, n, many = np.random.default_rng(seed), 250, 30
    columns, budget, progress, held = rng.uniform(-1, 1, (many, n)), GuardBudget(n, policy), Progress(), True

    def ask(values: np.ndarray[Any, Any], size: float) -> float:
        nonlocal progress, held
        bound = Quantile("x", 0.5, -size, size, -size, size / 16).bind(SCHEMA, n, policy)
        settled = bound.settle(counted(bound, values), Situation(budget, progress))
        progress = progress.admit().settle(budget.budget, settled.message, settled.asked, settled.extra)
        held &= settled.interval[0] <= 0 <= settled.interval[1]
        return float(settled.value)

    signs = np.array([1 if ask(column, 1.0) >= 0 else -1 for column in columns])
    ask(signs @ columns, float(many))
    return held


def at_the_sample(n: int, q: float, log_share: float) -> tuple[int, int]:
    """Wrong on purpose: the sample's own quantile, as if rows were never chosen by looking at them."""
    return math.floor(n * q), math.ceil(n * q) + 1


@pytest.mark.parametrize("wrong", [False, True])
def test_an_adaptive_analyst_finds_no_interval_that_misses(wrong: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if wrong:
        monkeypatch.setattr(module, "ranks", at_the_sample)
        monkeypatch.setattr(module, "_public_ranks", at_the_sample)
    runs, policy = 60, Policy(questions=40, confidence=0.8)
    misses = sum(not attack(policy, seed) for seed in range(runs))
    assert (misses > most_misses(runs, 0.2)) is wrong


# With noise


def covered(
    bound: BoundQuestion, policy: Policy, draw: Callable[[], np.ndarray[Any, Any]], n: int, truth: float
) -> tuple[int, int]:
    """How many of 400 private answers to fresh samples miss the truth, and how many the median of their rows."""
    budget, source, misses, of_rows = GuardBudget(n, policy), Seeded(3), 0, 0
    for _ in range(400):
        values = draw()
        settled = bound.settle(counted(bound, values), Situation(budget, Progress(), None, source))
        low, high = settled.interval
        assert low <= settled.value <= high
        misses += not low <= truth <= high
        low, high = settled.details["about_rows"]["interval"]
        of_rows += not low <= np.quantile(values, 0.5, method="inverted_cdf") <= high
    return misses, of_rows


@pytest.mark.parametrize("cost", [PureDP(0.02), ZCDP(1e-6)])
@pytest.mark.parametrize("wrong", [False, True])
def test_private_intervals_include_the_noise(cost: Any, wrong: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy(questions=1, confidence=0.9, privacy=cost, spend=cost, kinds=("quantile",))
    rng, n = np.random.default_rng(5), 20_000
    bound = Quantile("x", 0.5, 0, 10).bind(SCHEMA, n, policy)
    if wrong:  # the noise is drawn, and the interval does not know of it
        monkeypatch.setattr(type(bound._noise), "half_width", lambda *_: 0.0)  # type: ignore[attr-defined]
    for misses in covered(bound, policy, lambda: rng.random(n) * 10, n, 5.0):
        assert (misses > most_misses(400, 0.1)) is wrong


@pytest.mark.parametrize("wrong", [False, True])
def test_the_interval_about_the_rows_holds_where_little_noise_makes_it_narrow(wrong: bool) -> None:
    """Rows of a lumpy distribution whose median lies on an atom; the wrong version is about the level next to it."""
    cost = PureDP(0.5)
    policy = Policy(questions=1, confidence=0.8, privacy=cost, spend=cost)
    n, rng = 5000, np.random.default_rng(8)
    values = np.where(rng.random(n) < 0.3, 20.0, rng.lognormal(3, 0.7, n)).clip(0, 100)
    bound = Quantile("x", 0.62, 0, 100).bind(SCHEMA, n, policy)
    budget, source, measured = GuardBudget(n, policy), Seeded(4), counted(bound, values)
    truth = float(np.quantile(values, 0.72 if wrong else 0.62, method="inverted_cdf"))
    misses, widths = 0, []
    for _ in range(400):
        settled = bound.settle(measured, Situation(budget, Progress(), None, source))
        low, high = settled.details["about_rows"]["interval"]
        misses += not low <= truth <= high
        widths.append(high - low)
    assert (misses > most_misses(400, 0.2)) is wrong
    assert np.mean(widths) < 10


def test_the_interval_about_the_rows_narrows_with_the_spend_although_that_about_the_population_is_vacuous() -> None:
    """Before, two searches for the ends about the population never came near the median: 6.25 at every spend."""
    n = 20_000
    values = np.random.default_rng(1).lognormal(3, 0.7, n).clip(0, 100)
    halves = []
    for spend in (0.05, 0.2, 1.0, 5.0):
        policy = Policy(questions=20, privacy=PureDP(5.0), spend=PureDP(spend))
        bound = Quantile("x", 0.5, 0, 100).bind(SCHEMA, n, policy)
        situation = Situation(GuardBudget(n, policy), Progress(), None, Seeded(6))
        settled = bound.settle(counted(bound, values), situation)
        low, high = settled.details["about_rows"]["interval"]
        assert settled.interval == [0, 100]
        assert low <= np.median(values) <= high
        halves.append((high - low) / 2)
    assert halves == sorted(halves, reverse=True)
    assert halves[1] < 2
    assert halves[-1] <= 100 / module._STEPS


def test_a_value_is_near_the_median_where_noise_lets_no_interval_have_an_end() -> None:
    values = np.random.default_rng(2).random(10_000) * 20
    edges = module.grid_edges(0.0, 100.0)
    counts = {edge: int(np.searchsorted(np.sort(values), edge, side="right")) for edge in edges}
    value, ends, rows = module.search_quantile(counts, 10_000.0, (9000.0, 9000.0), 0.5, -5.0, 10_000, edges, float)
    assert (ends, rows) == ([0, 100], [0, 100])
    assert abs(value - np.median(values)) < 1


def test_no_more_counts_are_released_than_were_paid_for_and_none_twice() -> None:
    """Whatever the noisy counts say: values at random, and counts that lead the search astray."""
    rng = np.random.default_rng(7)
    edges = module.grid_edges(0.0, 256.0)
    for _ in range(300):
        n = int(rng.integers(20, 5000))
        counts = dict(zip(edges[1:], np.sort(rng.integers(0, n + 1, module._STEPS)).tolist(), strict=True))
        released = list[float]()

        def noisy(count: int, released: list[float] = released, n: int = n) -> float:
            released.append(float(rng.normal(count, n / 4) if rng.random() < 0.5 else rng.uniform(-n, 2 * n)))
            return released[-1]

        asked = list[float]()

        class Counts(dict[float, int]):
            def __getitem__(self, edge: float, asked: list[float] = asked) -> int:
                asked.append(edge)
                return super().__getitem__(edge)

        total = None if rng.random() < 0.5 else float(rng.uniform(0, n))
        room = float(rng.uniform(0, n / 2)), float(rng.uniform(0, n / 4))
        q = float(rng.uniform(0.01, 0.99))
        value, ends, rows = module.search_quantile(Counts(counts), total, room, q, -5.0, n, edges, noisy)
        assert len(released) == len(asked) == len(set(asked)) <= module.COUNTS
        assert ends[0] <= value <= ends[1]
        assert rows[0] <= rows[1]


@pytest.mark.parametrize("rows", [Quantile("x", 0.5, 0, 1), Quantile("y", 0.5, 0, 1, where_present=True)])
def test_each_count_costs_its_part_of_the_whole(rows: Quantile) -> None:
    for cost in (PureDP(0.3), ZCDP(0.07)):
        bound = rows.bind(SCHEMA, 1000, Policy(questions=5, privacy=cost, spend=cost))
        part = bound._noise.cost  # type: ignore[attr-defined]
        parts = part.to_dict()["epsilon" if isinstance(cost, PureDP) else "rho"]
        many = module.COUNTS + (rows.where_present is True)
        assert parts * many <= cost.to_dict()["epsilon" if isinstance(cost, PureDP) else "rho"] * (1 + 1e-12)


def test_without_noise_the_interval_about_the_rows_is_next_to_their_quantile() -> None:
    rng = np.random.default_rng(3)
    edges = module.grid_edges(0.0, 100.0)
    for _ in range(100):
        n, q = int(rng.integers(200, 3000)), float(rng.uniform(0.05, 0.95))
        values = np.sort(rng.lognormal(3, 0.7, n).clip(0, 100))
        counts = {edge: int(np.searchsorted(values, edge, side="right")) for edge in edges}
        _, ends, rows = module.search_quantile(counts, None, (0.0, 0.0), q, -3.0, n, edges, float)
        truth = float(np.quantile(values, q, method="inverted_cdf"))
        assert rows[0] <= truth <= rows[1]
        assert rows[1] - rows[0] <= 8 * (edges[1] - edges[0])
        below, above = ranks(n, q, -3.0)
        assert ends[0] <= values[below - 1] <= values[above - 1] <= ends[1]


def test_a_private_answer_is_useful_paid_for_and_the_same_again() -> None:
    rng = np.random.default_rng(2)
    sample = hf.data.table({"x": (rng.random(50_000) * 10).tolist()})
    guard = Guard.open(None, sample, Policy(questions=10, privacy=PureDP(0.1), spend=PureDP(0.1)))
    asked = hf.guard.quantile("x", 0.9, low=0, high=10)
    answer = guard.ask(asked)
    low, high = answer.interval
    assert low <= 9 <= high
    assert high - low < 1.5
    assert answer.cost == PureDP(0.1)
    again = guard.ask(asked)
    assert (again.value, again.repeated) == (answer.value, True)


def test_a_lower_level_is_not_higher() -> None:
    values = np.random.default_rng(4).random(20_000) * 10
    found = []
    for q in (0.1, 0.3, 0.5, 0.7, 0.9):
        bound = Quantile("x", q, 0, 10).bind(SCHEMA, 20_000, PRIVATE)
        situation = Situation(GuardBudget(20_000, PRIVATE), Progress(), None, Seeded(9))
        found.append(bound.settle(counted(bound, values), situation).value)
    assert found == sorted(found)


# Nulls, and what is refused


def test_rows_without_a_value_are_left_out_or_counted() -> None:
    values = [None, 10.0, 20.0, 30.0] * 5000
    guard = Guard.open(None, hf.data.table({"y": values}), Policy(questions=10, privacy=PureDP(0.2), spend=PureDP(0.1)))
    among = guard.ask(hf.guard.quantile("y", 0.5, low=0, high=100, guess=20, tolerance=1, where_present=True))
    assert among.passed
    filled = guard.ask(hf.guard.quantile("y", 0.6, low=0, high=100, guess=90, tolerance=1, default=90))
    assert not filled.passed
    assert filled.interval[0] <= 30 <= filled.interval[1]
    counted_high = guard.ask(hf.guard.quantile("y", 0.9, low=0, high=100, guess=90, tolerance=1, default=90))
    assert counted_high.passed
    low, high = guard.ask(hf.guard.quantile("y", 0.5, low=0, high=100, where_present=True)).interval
    assert low <= 20 <= high
    with pytest.raises(InvalidParameter, match="where_present"):
        guard.ask(hf.guard.quantile("y", 0.5, low=0, high=100))


@pytest.mark.parametrize(
    ("question", "parameter"),
    [
        (Quantile("x", 0.5), "low"),
        (Quantile("x", 0.0, 0, 1), "q"),
        (Quantile("x", 1.0, 0, 1), "q"),
        (Quantile("member", 0.5), "expression"),
        (Quantile("x", 0.5, 0, 1, guess=0.5), "tolerance"),
        (Quantile("x", 0.5, 0, 1, guess=2, tolerance=0.1), "guess"),
        (Quantile("x", 0.5, 0, 1, guess=0.5, tolerance=0), "tolerance"),
        (Quantile("x", 0.5, 0, 1, guess=0.5, tolerance=0.1, spend=PureDP(0.1)), "spend"),
        (Quantile("x", 0.5, 0, 1, tolerance=0.1), "tolerance"),
        (Quantile("x", 0.5, 0, 1, guess=0.5, tolerance=0.1, show="both"), "show"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong_names_the_field(question: Quantile, parameter: str) -> None:
    with pytest.raises(InvalidParameter) as raised:
        question.bind(SCHEMA, 1000, PRIVATE)
    assert str(raised.value).startswith(parameter)


def test_what_cannot_be_shown_or_paid_for_is_refused_before_rows_are_read() -> None:
    with pytest.raises(QuestionRefused):
        Quantile("x", 0.5, 0, 1).bind(SCHEMA, 1000, Policy())
    guard = Guard.open(None, hf.data.table({"x": [float(i) for i in range(12)]}), Policy(questions=5))
    with pytest.raises(QuestionRefused, match="nothing was spent"):
        guard.ask(hf.guard.quantile("x", 0.01, low=-5, high=20, guess=0, tolerance=1))
    assert guard.describe()["progress"]["answered"] == 0


def test_a_policy_of_before_the_kind_stands() -> None:
    old = ("check", "claim", "compare", "validate")
    sample = hf.data.table({"x": [float(i) for i in range(100)]})
    from holdfast.guard.ledger import open_store

    store = open_store(None)
    Guard.open(store, sample, Policy(questions=5, kinds=old))
    guard = Guard.open(store, sample, Policy(questions=5))
    assert guard.policy.kinds == old
    with pytest.raises(QuestionRefused):
        guard.ask(hf.guard.quantile("x", 0.5, low=0, high=100, guess=50, tolerance=40))


@pytest.mark.parametrize("asked", [hf.guard.quantile("x", 0.5), hf.guard.table("g", "x", q=0.5)], ids=["all", "groups"])
def test_a_quantile_whose_noise_can_show_no_end_is_refused_before_it_is_paid_for(asked: Any) -> None:
    """Before, it was paid for and told nothing: an interval over the whole range, or no group reported."""
    rows = hf.data.table({"x": [1.0, 2.0] * 1000, "g": ["a", "b"] * 1000})
    columns = {"x": {"low": 0, "high": 9}, "g": {"categories": ["a", "b"]}}
    policy = Policy(questions=4, privacy=PureDP(2.0), spend=PureDP(0.01), columns=columns)
    guard = Guard.open(None, rows, policy)
    assert not guard.estimate(asked).admitted
    with pytest.raises(QuestionRefused, match=r"neither end of this quantile's interval .* times as much"):
        guard.ask(asked)
    assert guard.remaining()["total"] == {"questions": 4, "epsilon": 2.0}
    enough = hf.guard.quantile("x", 0.5, spend=PureDP(1.0))
    assert guard.ask(enough).value is not None
