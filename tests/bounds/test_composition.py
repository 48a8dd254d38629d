"""Composition against brute force, against another library, and against versions that are wrong on purpose."""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections import Counter
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.composition import (
    advanced,
    advanced_heterogeneous,
    basic,
    gdp,
    heterogeneous,
    heterogeneous_delta,
    optimal,
    optimal_delta,
    rdp,
    zcdp,
)
from holdfast.bounds.conversions import gdp_to_dp, pure_to_zcdp, zcdp_to_dp
from holdfast.bounds.numerics.privacy_loss import (
    _share,
    exact_loss,
    lattice_loss,
    log_binomial,
    tilt_for_delta,
    tilt_for_epsilon,
)
from holdfast.errors import InvalidParameter

SETTINGS = settings(deadline=None, max_examples=40, derandomize=True)
small = st.floats(0.001, 1.5)
deltas = st.floats(-12, -0.5).map(lambda x: 10.0**x)


def enumerated_delta(epsilons: list[float], total: float, own: list[float] | None = None) -> Any:
    """The hockey stick of composed four-valued randomized responses, every outcome listed, in 40 digits."""
    own = own or [0.0] * len(epsilons)
    with mp.workdps(40):
        laws = []
        for e, d in zip(epsilons, own, strict=True):
            top = (1 - mp.mpf(d)) / (1 + mp.exp(-mp.mpf(e)))
            low = (1 - mp.mpf(d)) / (1 + mp.exp(mp.mpf(e)))
            laws.append([(mp.mpf(d), mp.mpf(0)), (top, low), (low, top), (mp.mpf(0), mp.mpf(d))])
        result = mp.mpf(0)
        for outcome in itertools.product(*laws):
            p, q = mp.mpf(1), mp.mpf(1)
            for a, b in outcome:
                p, q = p * a, q * b
            result += max(p - mp.exp(mp.mpf(total)) * q, 0)
        return result


@pytest.mark.parametrize(
    ("epsilons", "own", "total"),
    [
        ([0.3], [0.0], 0.1),
        ([0.1, 0.5, 0.2], [0.0, 0.0, 0.0], 0.3),
        ([0.1, 0.5, 0.2, 1.0], [1e-3, 0.0, 1e-6, 1e-2], 0.4),
        ([0.2] * 5, [1e-4] * 5, 0.5),
        ([0.05, 2.0, 0.7, 0.7], [0.1, 0.0, 1e-9, 1e-9], 3.0),
    ],
)
def test_heterogeneous_is_the_hockey_stick_of_all_outcomes(
    epsilons: list[float], own: list[float], total: float
) -> None:
    truth = enumerated_delta(epsilons, total, own)
    value = heterogeneous_delta(epsilons, total, own)
    assert truth <= value <= truth * (1 + mp.mpf("1e-11"))
    if len(set(epsilons)) == 1 and len(set(own)) == 1:
        assert optimal_delta(epsilons[0], len(epsilons), total, own[0]) == pytest.approx(value, rel=1e-13)
    back = heterogeneous(epsilons, value, own)
    assert back.exact
    assert back.value == pytest.approx(total, rel=1e-9)


@SETTINGS
@given(st.lists(small, min_size=1, max_size=5), deltas)
def test_optimal_epsilon_is_just_enough(epsilons: list[float], delta: float) -> None:
    """At the reported epsilon delta is enough, and a little below it is not."""
    value = heterogeneous(epsilons, delta).value
    assert enumerated_delta(epsilons, value) <= delta
    if value > 0:
        assert enumerated_delta(epsilons, value * (1 - 1e-9)) >= delta * (1 - 1e-6) or value == basic(epsilons).epsilon


@SETTINGS
@given(st.integers(1, 400), st.floats(0.001, 0.5), deltas)
def test_closed_forms_are_above_the_optimum(rounds: int, epsilon: float, slack: float) -> None:
    """The closed forms never undercut the optimum; one with half of the logarithm does (below)."""
    best = optimal(epsilon, 0.0, rounds, slack)
    for method in ("best", "paper"):
        assert advanced(epsilon, rounds, slack, method=method).epsilon >= best * (1 - 1e-12)  # type: ignore[arg-type]
    assert advanced(epsilon, rounds, slack).epsilon <= basic([epsilon] * rounds).epsilon
    assert zcdp_to_dp(rounds * pure_to_zcdp(epsilon), slack) >= best * (1 - 1e-12)


def test_a_closed_form_with_half_the_logarithm_is_caught() -> None:
    def undercuts(share: float) -> bool:
        return any(
            k * pure_to_zcdp(e)
            + math.sqrt(2 * k * e * e * share * min(-math.log(d), math.log(math.e + math.sqrt(k) * e / d)))
            < min(optimal(e, 0.0, k, d), k * e) * (1 - 1e-12)
            for k, e, d in itertools.product((10, 100, 1000), (0.01, 0.1), (1e-2, 1e-6))
        )

    assert not undercuts(1.0)
    assert undercuts(0.5)


def test_the_middle_form_of_kov_by_its_own_argument() -> None:
    """`e^(-a^2/2V)/(1 + a/V) <= slack` at `a = sqrt(2 V log(e + sqrt(V)/slack))`, over a wide grid."""
    variances, slacks = np.logspace(-12, 3, 60), np.logspace(-30, -0.01, 60)
    for v, s in itertools.product(variances, slacks):
        log_term = math.log(math.e + math.sqrt(v) / s)
        a = math.sqrt(2 * v * log_term)
        assert -log_term - math.log1p(a / v) <= math.log(s)


@pytest.mark.parametrize(
    ("budget", "epsilon", "closed", "best"),
    [
        (1, 0.005, 1397, 2244),
        (1, 0.01, 349, 562),
        (1, 0.05, 13, 26),
        (1, 0.1, 3, 10),
        (3, 0.005, 11781, 16786),
        (3, 0.1, 29, 46),
    ],
)
def test_rounds_of_table_5_4_with_fixed_parameters(budget: float, epsilon: float, closed: int, best: int) -> None:
    """spec-confidence-and-composition section 5.4, the two columns that are not filters."""

    def kov(k: int) -> float:
        return advanced_heterogeneous([epsilon] * k, 1e-6, method="paper").epsilon

    assert kov(closed) <= budget < kov(closed + 1)
    assert optimal(epsilon, 0.0, best, 1e-6) <= budget < optimal(epsilon, 0.0, best + 1, 1e-6)


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-30, 1e-200])
@pytest.mark.parametrize("counts", [{0.1: 500, 0.037: 500}, {0.1: 30, 0.037: 20}, {0.5: 40, 0.001: 900}])
def test_lattice_encloses_the_exact_answer(counts: dict[float, int], delta: float) -> None:
    kinds = Counter(counts)
    loss = exact_loss(kinds)
    assert loss is not None
    exact = heterogeneous(list(kinds.elements()), delta).value
    tilt = tilt_for_delta(kinds, delta)
    above, below = lattice_loss(kinds, tilt, upper=True), lattice_loss(kinds, tilt, upper=False)
    for point in (0.9 * exact, 0.99 * exact, exact * (1 - 1e-6)):
        truth = loss.log_delta(point)
        assert below.log_delta(point) <= truth <= above.log_delta(point)
    assert above.log_delta(exact * (1 + 1e-3)) <= math.log(delta) or exact == pytest.approx(
        basic(list(kinds.elements())).epsilon
    )


def test_a_lattice_rounded_to_the_nearest_point_is_caught() -> None:
    """Plain rounding, neither up nor down, undercuts the exact delta: the enclosure above has power."""
    kinds = Counter({0.1037: 400})
    exact = exact_loss(kinds)
    rounded = exact_loss(Counter({0.1: 400}))
    assert exact is not None
    assert rounded is not None
    assert rounded.log_delta(8.0) < exact.log_delta(8.0)
    assert lattice_loss(kinds, tilt_for_epsilon(kinds, 8.0), upper=True).log_delta(8.0) >= exact.log_delta(8.0)


def test_many_different_epsilons_against_dp_accounting() -> None:
    rng = np.random.default_rng(7)
    epsilons = [round(float(e), 6) for e in rng.uniform(0.02, 0.3, 60)]
    ours = heterogeneous(epsilons, 1e-6)
    assert not ours.exact
    assert ours.slack < 0.01 * ours.value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from dp_accounting.pld.common import DifferentialPrivacyParameters
        from dp_accounting.pld.privacy_loss_distribution import from_privacy_parameters

        def theirs() -> float:
            total = None
            for e in epsilons:
                one = from_privacy_parameters(DifferentialPrivacyParameters(e, 0.0), value_discretization_interval=2e-4)
                total = one if total is None else total.compose(one)
            assert total is not None
            return float(total.get_epsilon_for_delta(1e-6))

        upper = theirs()
    assert ours.value <= upper * (1 + 1e-9)
    assert ours.value >= upper - 60 * 2e-4
    assert ours.value - ours.slack <= upper


def test_more_epsilons_than_the_lattice_takes_one_by_one_are_enclosed_too() -> None:
    """512 epsilons in close pairs are gathered to 256: above at the larger of each pair, below at the smaller."""
    pairs = [(0.02 + i / 4096, 0.0205 + i / 4096) for i in range(0, 1024, 4)]
    kinds = Counter(one for pair in pairs for one in pair)
    assert len(kinds) == 512
    tilt = tilt_for_epsilon(kinds, 18.0)
    smaller, larger = (Counter({pair[end]: 2 for pair in pairs}) for end in (0, 1))
    above, below = (lattice_loss(kinds, tilt, upper=upper).log_delta(18.0) for upper in (True, False))
    assert above == lattice_loss(larger, tilt, upper=True).log_delta(18.0)
    assert below == lattice_loss(smaller, tilt, upper=False).log_delta(18.0)
    assert below < above < below + 0.5


def test_a_hundred_thousand_rounds_in_well_under_a_second() -> None:
    optimal(0.001, 0.0, 1000, 1e-6)
    start = time.process_time()  # what others do on the machine does not count
    value = optimal(0.001, 1e-12, 100_000, 1e-6)
    assert time.process_time() - start < 0.5
    # Gaussian limit: mu = sqrt(k) epsilon, with what the deltas leave
    assert value == pytest.approx(gdp_to_dp(math.sqrt(1e5) * 0.001, 1e-6 - 1e5 * 1e-12), rel=1e-4)


@pytest.mark.parametrize("count", [1, 7, 40, 3000, 100_000])
@pytest.mark.parametrize("likely", [0.5, 0.5025, 0.75, 0.9999])
def test_binomial_log_probabilities_to_thirty_digits(count: int, likely: float) -> None:
    heads = sorted({0, 1, count // 2, int(count * likely), count - 1, count} & set(range(count + 1)))
    values = log_binomial(count, np.array(heads, dtype=float), likely, 1 - likely)
    with mp.workdps(40):
        p, q = mp.mpf(likely), mp.mpf(1 - likely)
        for j, value in zip(heads, values, strict=True):
            log_choose = mp.loggamma(count + 1) - mp.loggamma(j + 1) - mp.loggamma(count - j + 1)
            truth = log_choose + j * mp.log(p) + (count - j) * mp.log(q)
            assert abs(mp.mpf(float(value)) - truth) <= 1e-13 + 4e-15 * abs(truth)


@SETTINGS
@given(st.lists(st.tuples(small, deltas), min_size=1, max_size=8), deltas)
def test_order_does_not_matter_and_more_costs_more(rows: list[tuple[float, float]], slack: float) -> None:
    epsilons, own = [e for e, _ in rows], [d for _, d in rows]
    for compose in (lambda e, d: basic(e, d), lambda e, d: advanced_heterogeneous(e, slack, d)):
        assert compose(epsilons, own) == pytest.approx(compose(epsilons[::-1], own[::-1]), rel=1e-14)
        more = compose([*epsilons, 0.1], [*own, 1e-9])
        assert more.epsilon >= compose(epsilons, own).epsilon
        assert more.delta >= compose(epsilons, own).delta
    assert heterogeneous(epsilons, slack).value == pytest.approx(heterogeneous(epsilons[::-1], slack).value, rel=1e-12)
    assert heterogeneous(epsilons, slack).value <= heterogeneous([*epsilons, 0.1], slack).value * (1 + 1e-12)


def test_additive_notions() -> None:
    assert zcdp([0.1] * 10) == 1.0
    assert gdp([3.0, 4.0]) == pytest.approx(5.0, rel=1e-14)
    assert rdp([[0.1, 0.2]] * 10) == (1.0, 2.0)
    assert basic([0.1] * 10, [1e-7] * 10) == (1.0, 1e-6)


def test_ends() -> None:
    assert optimal(0.1, 1e-6, 100, 1e-6) == math.inf
    assert optimal(0.1, 0.0, 10, 0.0) == 1.0
    assert optimal(0.0, 0.0, 10, 1e-6) == 0.0
    assert optimal(0.1, 0.0, 0, 1e-6) == 0.0
    assert optimal_delta(0.1, 10, 1.0) == 0.0
    assert optimal_delta(0.1, 10, 5.0, 1e-3) == pytest.approx(1 - 0.999**10, rel=1e-12)
    assert heterogeneous([0.1, 0.2], 1e-9, [1e-6, 0.0]).value == math.inf
    assert heterogeneous([0.0, 0.0], 1e-9).value == 0.0
    mixed = [0.0, *(0.01 * i for i in range(1, 31))]
    assert heterogeneous(mixed, 1e-6).value == pytest.approx(heterogeneous(mixed[1:], 1e-6).value, rel=1e-12)
    assert heterogeneous_delta([0.1, 0.2], 0.3) == 0.0
    assert advanced(0.0, 5, 0.1).epsilon == 0.0
    assert advanced(800.0, 1, 0.1).epsilon == 800.0


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: basic([]), "epsilons"),
        (lambda: basic([0.1], [0.1, 0.1]), "epsilons and deltas"),
        (lambda: basic([0.1, -1]), r"epsilons\[1\]"),
        (lambda: advanced(0.1, 1.5, 0.1), "rounds"),
        (lambda: advanced(0.1, 2, 0.0), "delta_slack"),
        (lambda: advanced(0.1, 2, 0.1, method="other"), "method"),
        (lambda: optimal(0.1, 1.0, 2, 0.1), "delta"),
        (lambda: optimal(0.1, 0.0, 10**12, 0.1), "rounds"),
        (lambda: heterogeneous(0.1, 0.1), "epsilons"),
        (lambda: rdp([]), "curves"),
        (lambda: rdp([[0.1], [0.1, 0.2]]), "curves"),
        (lambda: zcdp("0.1"), "rhos"),
    ],
)
def test_wrong_input_is_named(call: Any, name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        call()


def test_the_share_of_the_larger_response_is_rounded_up() -> None:
    """A response at epsilon as a mixture of its neighbours on the lattice: the likelier answer keeps its mass."""
    rng = np.random.default_rng(14)
    with mp.workdps(50):
        for _ in range(300):
            step = float(10.0 ** rng.uniform(-5, -1))
            low = float(rng.integers(0, 50)) * step
            high, epsilon = low + step, low + float(rng.uniform(0, 1)) * step
            top_low, top, top_high = (1 / (1 + mp.exp(-mp.mpf(x))) for x in (low, epsilon, high))
            truth = (top - top_low) / (top_high - top_low)
            assert mp.mpf(_share(epsilon, low, high)) >= min(truth, mp.mpf(1))


def test_equal_rounds_that_sum_to_a_decimal_are_not_rounded_past_it() -> None:
    for epsilon, rounds, whole in ((0.05, 20, 1.0), (0.1, 10, 1.0), (0.3, 3, 0.9)):
        assert advanced(epsilon, rounds, 1e-6).epsilon == whole
        assert advanced_heterogeneous([epsilon] * rounds, 1e-6).epsilon == whole


def test_a_likelier_answer_that_is_certain_leaves_the_others_nothing() -> None:
    from holdfast.bounds.numerics.privacy_loss import log_binomial

    assert log_binomial(4, np.array([0.0, 4.0]), 1.0, 0.0).tolist() == [-math.inf, 0.0]
    for count in (3, 40, 1000):
        heads = np.arange(count + 1.0)
        exact = [math.lgamma(count + 1) - math.lgamma(h + 1) - math.lgamma(count - h + 1) for h in heads]
        exact += heads * math.log(0.7) + (count - heads) * math.log(0.3)
        np.testing.assert_allclose(log_binomial(count, heads, 0.7, 0.3), exact, rtol=1e-11, atol=1e-11)
