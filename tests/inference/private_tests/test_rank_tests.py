"""Private rank tests: sensitivities by brute force, levels by simulation and exactly, releases audited, wrong input."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from holdfast.accounting.costs import ZCDP, PureDP
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.noise_law import Words
from holdfast.inference.private_tests.rank_tests import (
    absolute_statistic,
    distance_statistic,
    kolmogorov_smirnov,
    kruskal_wallis,
    kruskal_wallis_sensitivity,
    mann_whitney,
    signed_rank,
    u_statistic,
)
from holdfast.inference.private_tests.statistic_noise import StatisticNoise, ranks, shuffled
from holdfast.mechanisms.auditor import audit
from holdfast.noise.entropy import Seeded

SIZES = [(2, 3), (1, 4), (3, 2), (1, 1, 3), (2, 2, 1)]


def _widest(n: int, levels: int, statistic: Callable[[Any], int]) -> int:
    """The largest move of a statistic over all pairs of data sets that differ in one record, ties included."""
    found = {row: statistic(np.array(row, dtype=float)) for row in itertools.product(range(levels), repeat=n)}
    worst = 0
    for row, value in found.items():
        for place, other in itertools.product(range(n), range(levels)):
            worst = max(worst, abs(value - found[(*row[:place], other, *row[place + 1 :])]))
    return worst


def _order(values: Any) -> Any:
    return ranks(values, np.random.default_rng(8))  # the same keys for both neighbours


@pytest.mark.parametrize("sizes", SIZES)
def test_kruskal_wallis_sensitivity_by_brute_force(sizes: tuple[int, ...]) -> None:
    known = np.array(sizes)
    worst = _widest(5, 5, lambda v: int(absolute_statistic(_order(v), known)))
    assert worst <= kruskal_wallis_sensitivity(known)
    assert worst == kruskal_wallis_sensitivity(known) or min(sizes) == 1  # a group of one cannot reach it


@pytest.mark.parametrize("sizes", [s for s in SIZES if len(s) == 2])
def test_two_sample_sensitivities_by_brute_force(sizes: tuple[int, int]) -> None:
    assert _widest(5, 5, lambda v: int(u_statistic(_order(v), sizes[0]))) == max(sizes)
    worst = _widest(5, 5, lambda v: int(distance_statistic(_order(v), sizes[0])))
    assert worst == max(sizes) or (min(sizes) == 1 and worst <= max(sizes))


def test_kruskal_wallis_with_private_groups_moves_by_twice_n_less_one() -> None:
    """Couch et al. let a neighbour change group too; their constant 8 follows, and is nearly reached."""
    n = 5

    def statistic(labels: tuple[int, ...], order: tuple[int, ...]) -> int:
        sums = [sum(2 * r - n - 1 for r, g in zip(order, labels, strict=True) if g == k) for k in range(3)]
        return sum(abs(s) for s in sums)  # twice the statistic

    worst = 0
    for labels in itertools.product(range(3), repeat=n):
        for group, (a, b) in itertools.product(range(3), itertools.product(range(1, n + 1), repeat=2)):
            # The first record has rank a in one data set and b in the other; the others keep their order.
            rest = [r for r in range(1, n + 1) if r != a], [r for r in range(1, n + 1) if r != b]
            first, second = (a, *rest[0]), (b, *rest[1])
            worst = max(worst, abs(statistic(labels, first) - statistic((group, *labels[1:]), second)))
    assert worst <= 4 * (n - 1)
    assert 4 * (n - 1) / n**2 * worst / 2 <= 8 * (n - 1) ** 2 / n**2 < 8


def test_signed_rank_sensitivity_by_brute_force() -> None:
    def statistic(row: Any) -> int:
        coins = np.random.default_rng(3).random(row.size) < 0.5
        values = row - 3  # from -3 to 3: ties and zeros
        positive = np.where(values == 0, coins, values > 0)
        return int(_order(np.abs(values))[positive].sum())

    assert _widest(4, 7, statistic) == 4


def test_statistics_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=12), rng.normal(0.5, 1, 9)
    order = ranks(np.concatenate([x, y]), rng)
    assert int(u_statistic(order, 12)) == stats.mannwhitneyu(x, y).statistic
    assert int(distance_statistic(order, 12)) == pytest.approx(12 * 9 * stats.ks_2samp(x, y).statistic)
    half = abs(int(u_statistic(order, 12)) - 54)
    assert int(absolute_statistic(order, np.array([12, 9]))) == 2 * half
    result = signed_rank(x, epsilon=1, source=Seeded(1))
    public = int(stats.wilcoxon(x, alternative="greater").statistic)
    assert result.statistic == StatisticNoise(12, epsilon=1).release(public, Seeded(1))


@pytest.mark.parametrize(
    ("statistic", "n"),
    [(lambda o: u_statistic(o, 2), 5), (lambda o: distance_statistic(o, 2), 5),
     (lambda o: absolute_statistic(o, np.array([2, 1, 2])), 5)],
)  # fmt: skip
def test_null_copies_have_the_law_of_all_arrangements(statistic: Any, n: int) -> None:
    """Against the exact distribution over n! arrangements: 60,000 draws, each frequency within 5.2 standard errors
    (1e-6)."""
    exact = np.array([int(statistic(np.array(order))) for order in itertools.permutations(range(1, n + 1))])
    drawn = shuffled(statistic, n, np.random.default_rng(2))(60_000)
    assert set(drawn) <= set(exact)
    for value in set(exact):
        p = np.mean(exact == value)
        assert abs(np.mean(drawn == value) - p) < 5.2 * math.sqrt(p * (1 - p) / 60_000)


TESTS: dict[str, Callable[..., Any]] = {
    "mann-whitney": lambda v, **k: mann_whitney(v[:5], v[5:], **k),
    "mann-whitney greater": lambda v, **k: mann_whitney(v[:5], v[5:], alternative="greater", **k),
    "kruskal-wallis": lambda v, **k: kruskal_wallis(v[:5], v[5:8], v[8:], **k),
    "kolmogorov-smirnov": lambda v, **k: kolmogorov_smirnov(v[:5], v[5:], **k),
    "signed-rank": lambda v, **k: signed_rank(v - 1, **k),
}
RUNS = 1_500


def _rates(test: Callable[..., Any], seed: int) -> Any:
    rng, source = np.random.default_rng(seed), Seeded(seed)
    found = np.empty(RUNS)
    for run in range(RUNS):
        values = rng.integers(0, 3, 12).astype(float)  # heavy ties, symmetric about 1
        found[run] = test(values, epsilon=0.5, m=19, source=source, rng=rng).p_value
    return np.array([np.mean(found <= (k + 0.5) / 20) for k in range(1, 20)])


@pytest.mark.parametrize("name", TESTS)
def test_level_is_never_exceeded_and_noiseless_copies_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At all nineteen levels of 19 copies; the binomial limit is for 1e-6 over the nineteen."""
    levels = np.arange(1, 20) / 20
    limit = stats.binom.isf(1e-6 / 19, RUNS, levels) / RUNS
    assert np.all(_rates(TESTS[name], 5) <= limit)
    monkeypatch.setattr(StatisticNoise, "resample", lambda self, rng, size: np.zeros(size, dtype=np.int64))
    assert np.any(_rates(TESTS[name], 6) > limit)


def test_level_is_reached_where_there_are_no_ties() -> None:
    """Large noise scales make ties rare: the level is alpha up to 5 standard errors (1e-6), not only at most alpha."""
    rng, source = np.random.default_rng(7), Seeded(7)
    p = [mann_whitney(rng.normal(size=40), rng.normal(size=40), epsilon=0.5, m=19, source=source, rng=rng).p_value
         for _ in range(RUNS)]  # fmt: skip
    assert abs(np.mean(np.array(p) <= 0.051) - 0.05) < 5 * math.sqrt(0.05 * 0.95 / RUNS)


def test_power_grows_and_direction_matters() -> None:
    rng, source = np.random.default_rng(9), Seeded(9)

    def rate(test: Callable[[], Any]) -> float:
        return float(np.mean([test().reject for _ in range(100)]))

    def draw(shift: float, n: int = 60) -> Any:
        return rng.normal(shift, 1, n)

    common: dict[str, Any] = {"epsilon": 1, "m": 99, "source": source, "rng": rng}
    assert rate(lambda: mann_whitney(draw(1), draw(0), **common)) > 0.8
    assert rate(lambda: mann_whitney(draw(1), draw(0), alternative="less", **common)) < 0.02
    assert rate(lambda: kruskal_wallis(draw(1.5), draw(0), draw(0), **common)) > 0.8
    assert rate(lambda: kolmogorov_smirnov(draw(1.5), draw(0), **common)) > 0.8
    assert rate(lambda: signed_rank(draw(1), **common)) > 0.8
    assert rate(lambda: signed_rank(draw(1), draw(1), alternative="greater", **common)) < 0.2


@pytest.mark.parametrize(("epsilon", "rho"), [(1, None), (None, 0.125)])
def test_audit_of_the_release(epsilon: float | None, rho: float | None) -> None:
    """Neighbours that move U by its whole sensitivity. Half the sensitivity declared is found out."""
    low, high = np.array([0.0, 5, 6, 7, 8]), np.array([9.0, 5, 6, 7, 8])
    pair = int(u_statistic(_order(low), 1)), int(u_statistic(_order(high), 1))
    assert abs(pair[0] - pair[1]) == 4

    def simulate(noise: StatisticNoise, seed: int) -> Any:
        rng = np.random.default_rng(seed)
        return lambda value, runs: value + noise.resample(rng, runs)

    # rho-zCDP promises this epsilon at delta = 1e-3: rho + 2 sqrt(rho ln(1/delta)).
    claim = PureDP(1.0) if rho is None else rho + 2 * math.sqrt(rho * math.log(1e3))
    delta = 0.0 if rho is None else 1e-3
    right, wrong = StatisticNoise(4, epsilon, rho), StatisticNoise(1, epsilon, rho)
    assert not audit(simulate(right, 1), [pair], claim, delta=delta).caught
    assert audit(simulate(wrong, 2), [pair], claim, delta=delta).caught


def test_released_statistic_is_the_exact_one_plus_secure_noise() -> None:
    x, y = np.arange(10.0), np.arange(10.0) + 0.5
    result = mann_whitney(x, y, epsilon=1, source=Seeded(3))
    noise = StatisticNoise(10, epsilon=1)
    assert result.statistic == noise.release(int(stats.mannwhitneyu(x, y).statistic), Seeded(3))
    assert result.cost == PureDP(1.0)
    assert mann_whitney(x, y, rho=0.5).cost == ZCDP(0.5)
    for alternative in ("greater", "less", "two-sided"):
        for seed in range(20):
            found = mann_whitney(x, y - 4, epsilon=1, alternative=alternative, source=Seeded(seed))
            at, cut = found.statistic, found.critical_value
            assert at is not None
            if alternative == "two-sided":
                low, high = found.details["critical_values"]
                assert found.reject == (at < low or at > high)
            else:
                assert cut is not None
                assert found.reject == (at > cut if alternative == "greater" else at < cut)
    with pytest.raises(InvalidParameter, match="source"):
        noise.release(1, Words(np.random.default_rng(1)))


NAN = float("nan")


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: mann_whitney([], [1.0], epsilon=1), "x must"),
        (lambda: mann_whitney([1.0, NAN], [1.0], epsilon=1), "x must"),
        (lambda: mann_whitney([1.0], ["a"], epsilon=1), "y must"),
        (lambda: mann_whitney([1.0], [2.0]), "exactly one"),
        (lambda: mann_whitney([1.0], [2.0], epsilon=1, rho=1), "exactly one"),
        (lambda: mann_whitney([1.0], [2.0], epsilon=0), "epsilon"),
        (lambda: mann_whitney([1.0], [2.0], rho=-1), "rho"),
        (lambda: mann_whitney([1.0], [2.0], epsilon=1e-18), "scale"),
        (lambda: mann_whitney([1.0], [2.0], epsilon=1, m=18), "m must"),
        (lambda: mann_whitney([1.0], [2.0], epsilon=1, alpha=0), "alpha"),
        (lambda: mann_whitney([1.0], [2.0], epsilon=1, alternative="up"), "alternative"),  # type: ignore[arg-type]
        (lambda: mann_whitney([1.0], [2.0], epsilon=1, rng=7), "rng"),  # type: ignore[arg-type]
        (lambda: mann_whitney([1.0], [2.0], epsilon=1, source=7), "source"),  # type: ignore[arg-type]
        (lambda: kruskal_wallis([1.0], epsilon=1), "at least two"),
        (lambda: kruskal_wallis([1.0], [[1.0]], epsilon=1), r"samples\[1\]"),
        (lambda: signed_rank([1.0], [1.0, 2.0], epsilon=1), "the same length"),
        (lambda: signed_rank([1.0], center=NAN, epsilon=1), "center"),
        (lambda: kolmogorov_smirnov([1.0], [math.inf], epsilon=1), "y must"),
    ],
)
def test_wrong_input(call: Callable[[], Any], name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        call()


def test_smallest_samples_work() -> None:
    for result in (mann_whitney([1.0], [2.0], epsilon=1), kruskal_wallis([1.0], [2.0], [3.0], epsilon=1),
                   signed_rank([1.0], epsilon=1), kolmogorov_smirnov([1.0], [2.0], epsilon=1)):  # fmt: skip
        assert result.p_value is not None
        assert 0 < result.p_value <= 1
