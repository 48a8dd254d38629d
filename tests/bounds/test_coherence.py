"""Coherence bounds: exact oracles below them, inverses that agree, modes in order, and slips that are caught."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from holdfast.bounds import coherence
from holdfast.bounds.coherence import group_size, max_information
from holdfast.bounds.coherence.group_size import MODES, hypergeometric_tail, log_ratio, size_at, swap_tail, tolerance
from holdfast.bounds.coherence.planning import alpha_at, approx_epsilon_at, nats_budget, pure_epsilon_at
from holdfast.bounds.coherence.release import approx_size_at, log_delta_max, pure_size_at
from holdfast.errors import InvalidParameter

ACS = math.log(100) + 30
modest = settings(deadline=None, derandomize=True, max_examples=60)


def _log_choose(n: float, k: np.ndarray) -> np.ndarray:
    return gammaln(n + 1) - gammaln(np.asarray(k) + 1) - gammaln(n - np.asarray(k) + 1)


def exact_pointwise(n: int, m: int, a: float) -> float:
    """Largest probability, over the number of members below a threshold, that the halves differ by `a` there."""
    half = n // 2
    worst = 0.0
    for t in range(m + 1):
        w = np.arange(t + 1)[:, None]
        u = np.arange(m - t + 1)[None, :]
        rest = half - w - u
        inside = (rest >= 0) & (rest <= n - m)
        log_mass = _log_choose(t, w) + _log_choose(m - t, u) + _log_choose(n - m, np.clip(rest, 0, n - m))
        log_mass = log_mass - _log_choose(n, np.array(half))
        v = w + u
        empty = (v == 0) | (v == m)
        gap = np.abs(w / np.maximum(v, 1) - (t - w) / np.maximum(m - v, 1))
        worst = max(worst, float(np.exp(log_mass[inside & (empty | (gap >= a - 1e-12))]).sum()))
    return worst


@pytest.mark.parametrize(
    ("n", "m", "a"), [(20, 10, 0.7), (60, 30, 0.5), (100, 50, 0.4), (100, 99, 0.3), (400, 100, 0.3)]
)
def test_exact_pointwise_is_below_the_sharp_bound_and_that_below_claim_2(n: int, m: int, a: float) -> None:
    exact, q = exact_pointwise(n, m, a), math.exp(group_size.log_pointwise(n, m, a))
    assert exact <= q
    if (n, m) == (400, 100):
        assert exact == pytest.approx(0.003565007622, rel=1e-9)
    mu = 4 * math.exp(-m * a * a / 4.15)  # Claim 2 read backwards
    if mu < 1 and coherence.sampling_noise_size(a, mu).size <= m + 1e-6:
        assert q <= mu


@pytest.mark.parametrize(("n", "size"), [(14, 8), (14, 14), (12, 5)])
def test_distance_over_all_splits_is_below_the_sharp_bound(n: int, size: int) -> None:
    rng = np.random.default_rng(5)
    predictors = [np.cos(np.arange(size)), np.sign(np.arange(size) - size / 2 + 0.1), rng.uniform(-1, 1, size)]
    splits = np.zeros((math.comb(n, n // 2), n), dtype=bool)
    for i, chosen in enumerate(combinations(range(n), n // 2)):
        splits[i, list(chosen)] = True
    inside = splits[:, :size]
    for h in predictors:
        order = np.argsort(h)
        in_a = inside[:, order]
        n_a = in_a.sum(axis=1)
        c = np.cumsum(in_a, axis=1)[:, :-1]
        k = np.arange(1, size)
        with np.errstate(divide="ignore", invalid="ignore"):
            w1 = (np.abs(c * size - k * n_a[:, None]) * np.diff(h[order])).sum(axis=1) / (n_a * (size - n_a))
        w1[(n_a == 0) | (n_a == size)] = np.inf
        for alpha in (0.6, 1.0, 1.6, 1.9):
            failure = float(np.mean(w1 > alpha))
            assert failure <= math.exp(group_size.log_failure(n, size, alpha / 2)) + 1e-12


@modest
@given(
    half=st.integers(2, 3000),
    share=st.floats(0.0, 1.0),
    a=st.floats(0.01, 0.99),
)
def test_envelope_is_above_and_the_window_leaves_nothing_out(half: int, share: float, a: float) -> None:
    n = 2 * half
    m = max(2, min(n, round(share * n)))
    found = group_size._log_pointwise(n, m, a)
    v = np.arange(max(0, m - half), min(m, half) + 1, dtype=float)
    weight = _log_choose(m, v) + _log_choose(n - m, half - v) - _log_choose(n, np.array(half))
    larger = np.maximum(v, m - v)
    terms = weight + np.minimum(0, math.log(2) - 2 * a * a * v * (m - v) / m * larger / (larger + 1))
    full = float(np.logaddexp.reduce(terms))
    assert found == pytest.approx(min(0.0, full), abs=1e-7, rel=1e-7)
    assert math.log(max(m - 1, 1)) + full <= group_size.log_envelope(m, a) + 1e-7
    if m - 1 >= 8 / (3 * a * a):
        assert group_size.log_envelope(m + 1, a) <= group_size.log_envelope(m, a)


@pytest.mark.parametrize(("n", "alpha"), [(2000, 0.5), (2000, 1.2), (400, 1.9), (1000, 0.9)])
def test_the_bound_beyond_a_size_is_the_maximum_over_all_larger_sizes(n: int, alpha: float) -> None:
    every = np.array([group_size.log_failure(n, m, alpha / 2) for m in range(1, n + 1)])
    target = math.log(0.01)
    good = np.flatnonzero(np.maximum.accumulate(every[::-1])[::-1] <= target)
    expected = int(good[0]) + 1 if len(good) else math.inf
    assert group_size.smallest_size(n, alpha / 2, target) == expected
    for m in (n // 2, n - 3, n):
        if every[m - 1] < math.log(0.5):
            assert group_size.log_failure_beyond(n, m, alpha / 2) == pytest.approx(every[m - 1 :].max())


def test_no_group_of_one_or_two_is_ever_covered() -> None:
    assert group_size.log_failure(100, 1, 0.9) >= math.log(0.5)
    assert not group_size.holds_beyond(100, 1, 0.9, math.log(0.4))
    assert nats_budget(1.9, 0.0, 100, 1, "sharp")[0] <= 0


@modest
@given(
    alpha=st.floats(0.05, 1.95),
    beta=st.floats(1e-12, 1.0),
    groups=st.integers(1, 10_000),
    half=st.integers(500, 5_000_000),
    share=st.floats(0.01, 1.0),
    population=st.sampled_from(["large", "finite"]),
)
def test_epsilon_and_size_are_inverses_and_modes_ordered(
    alpha: float, beta: float, groups: int, half: int, share: float, population: coherence.Population
) -> None:
    n, lam = 2 * half, log_ratio(beta, groups)
    size = max(1, round(share * n))
    found = {mode: pure_epsilon_at(alpha, lam, n, size, mode, population) for mode in MODES}
    assert found["sharp"].epsilon >= found["corrected"].epsilon * (1 - 1e-12)
    assert found["corrected"].epsilon == pytest.approx(found["paper"].epsilon, rel=1e-9)
    for mode, plan in found.items():
        if plan.feasible:
            assert pure_size_at(alpha, lam, n, plan.epsilon, mode, population).size <= size
            if mode == "sharp" or plan.epsilon < 1:
                more = nats_budget(alpha, lam, n, size, mode)[0]
                assert max_information.pure_nats(plan.epsilon * (1 + 1e-9), n, lam + math.log(2), population) > more
        else:
            assert plan.reason
            assert pure_size_at(alpha, lam, n, 1e-12, mode, population).size > size * (1 - 1e-9)
    approx = {mode: approx_epsilon_at(alpha, lam, n, size, mode) for mode in MODES}
    assert approx["sharp"].epsilon >= approx["corrected"].epsilon * (1 - 1e-12) >= approx["paper"].epsilon * (1 - 1e-9)
    for mode, plan in approx.items():
        if plan.feasible:
            assert approx_size_at(alpha, lam, n, plan.epsilon, None, mode).size <= size
            assert plan.epsilon <= found[mode].epsilon * (1 + 1e-9) or plan.epsilon == 0.5


@modest
@given(alpha=st.floats(0.1, 1.9), nats=st.floats(0, 200), lam=st.floats(0, 200), half=st.integers(50, 10**6))
def test_sizes_are_ordered_and_monotone(alpha: float, nats: float, lam: float, half: int) -> None:
    n = 2 * half
    sizes = {mode: size_at(alpha, lam, nats, n, mode).size for mode in MODES}
    assert sizes["sharp"] <= sizes["corrected"]
    assert sizes["corrected"] == pytest.approx(sizes["paper"], rel=1e-9)  # 10.6 or 32/3 over alpha never binds
    for mode in MODES:
        assert size_at(alpha, lam, nats + 1, n, mode).size >= sizes[mode]
        assert size_at(alpha, lam + 1, nats, n, mode).size >= sizes[mode]
        assert size_at(min(1.99, alpha * 1.05), lam, nats, n, mode).size <= sizes[mode]


@pytest.mark.parametrize("mode", MODES)
def test_the_other_inverses_agree(mode: coherence.Mode) -> None:
    alpha = alpha_at(ACS, 5_000_000, 250_000, 0.05, mode, "large")
    assert pure_epsilon_at(alpha, ACS, 5_000_000, 250_000, mode).epsilon >= 0.05 * (1 - 1e-9)
    assert pure_epsilon_at(alpha * (1 - 1e-6), ACS, 5_000_000, 250_000, mode).epsilon < 0.05
    lam = coherence.pure_dp_groups(0.2, 5_000_000, 250_000, 0.01, mode, "large")
    assert pure_epsilon_at(0.2, lam, 5_000_000, 250_000, mode).epsilon >= 0.01 * (1 - 1e-9)
    assert pure_epsilon_at(0.2, lam + 1e-6, 5_000_000, 250_000, mode).epsilon < 0.01
    n = coherence.pure_dp_rows(0.2, math.exp(-30), 100, 0.01, 0.05, mode, "large")
    assert n % 2 == 0
    assert pure_epsilon_at(0.2, ACS, int(n), math.ceil(0.05 * n), mode).epsilon >= 0.01 * (1 - 1e-9)
    assert pure_epsilon_at(0.2, ACS, int(n) - 200, int(0.05 * (n - 200)), mode).epsilon < 0.01
    large = 10**11  # the ceiling is the limit of large n
    ceiling = coherence.epsilon_ceiling(0.2, 0.05, mode, "large")
    near = pure_epsilon_at(0.2, ACS, large, large // 20, mode).epsilon
    assert 0.998 * ceiling < near < ceiling


def test_ceiling_above_root_two_is_the_other_term() -> None:
    near = pure_epsilon_at(1.9, ACS, 10**11, 5 * 10**9, "paper").epsilon
    assert near == pytest.approx(coherence.epsilon_ceiling(1.9, 0.05, "paper"), rel=1e-3)
    assert near < 0.12  # the formula without its second term says 0.147


def test_small_data_table_of_the_specification() -> None:
    rows = [
        (30_000, 0.2, 6_000, None, 0.0267, 0.0378),
        (30_000, 0.2, 30_000, 0.0438, 0.1158, 0.1638),
        (30_000, 0.5, 1_500, 0.0032, 0.0488, 0.0689),
        (30_000, 0.5, 6_000, 0.0530, 0.1341, 0.1897),
        (30_000, 0.5, 30_000, 0.1531, 0.3330, 0.4709),
        (100_000, 0.2, 5_000, None, 0.0102, 0.0145),
        (100_000, 0.2, 20_000, 0.0158, 0.0483, 0.0682),
        (100_000, 0.2, 100_000, 0.0576, 0.1293, 0.1829),
        (10**6, 0.2, 50_000, 0.0114, 0.0275, 0.0389),
        (10**6, 0.2, 200_000, 0.0275, 0.0596, 0.0844),
        (10**6, 0.2, 10**6, 0.0662, 0.1381, 0.1953),
    ]
    for n, alpha, size, *expected in rows:
        found = [
            coherence.pure_dp_epsilon(alpha, 0.01, 20, n, size, mode, population).epsilon
            for mode, population in (("paper", "large"), ("sharp", "large"), ("sharp", "finite"))
        ]
        assert found == pytest.approx([x or 0.0 for x in expected], abs=0.6e-4)
    assert not coherence.pure_dp_epsilon(0.2, 0.01, 20, 30_000, 1_500, "sharp", "finite").feasible
    release = coherence.pure_dp_epsilon(0.2, math.exp(-30), 100, 10**7, 500_000, "paper")
    assert release.epsilon == pytest.approx(0.01326, abs=0.5e-5)  # erratum E24


def test_failure_probabilities_far_below_the_floating_range() -> None:
    lam = 5000.0  # beta = groups exp(-5000)
    plan = pure_epsilon_at(0.5, lam, 10**8, 10**8, "sharp", "finite")
    assert plan.feasible
    assert pure_size_at(0.5, lam, 10**8, plan.epsilon, "sharp", "finite").size <= 10**8
    assert log_delta_max(lam, 10**8, 0.01) < -10_000


def test_concentration_helpers_against_exact_tails() -> None:
    b, a, s = 100, 40, 50
    k = np.arange(0, a + 1)
    mass = np.exp(_log_choose(a, k) + _log_choose(b - a, s - k) - _log_choose(b, np.array(s)))
    for deviation in (2, 5, 8, 12):
        upper = float(mass[k >= 20 + deviation].sum())
        assert upper <= hypergeometric_tail(b, a, s, deviation)
        assert upper <= swap_tail(deviation, 1.0, s, b) <= math.exp(-4 * deviation**2 / b)


def test_theorem_8_outside_its_delta_says_nothing_and_theorem_15_reaches_further() -> None:
    given: dict[str, Any] = {"alpha": 0.5, "beta": 0.01, "groups": 10, "n": 10**6, "epsilon": 1e-4, "mode": "paper"}
    edge = float(coherence.approx_dp_size(**given).details["delta_max"])
    assert coherence.approx_dp_size(**given, delta=edge * 0.999).size < math.inf
    assert coherence.approx_dp_size(**given, delta=edge * 1.001).size == math.inf
    further = coherence.approx_dp_size(**given | {"mode": "corrected"}, delta=edge * 1000)
    assert further.size <= coherence.approx_dp_size(**given | {"mode": "corrected"}).size
    assert coherence.approx_dp_size(**given | {"mode": "corrected"}, delta=1e-3).size == math.inf
    loose = coherence.approx_dp_size(**given, order="any")
    assert loose.size > coherence.approx_dp_size(**given).size
    assert loose.details["delta_max"] == pytest.approx(edge / 2)
    # The doubled epsilon has to be in the range of the corollary; the footnotes do not say so.
    assert coherence.approx_dp_size(**given | {"epsilon": 0.25}, order="any").size < math.inf
    with pytest.raises(InvalidParameter, match="epsilon"):
        coherence.approx_dp_size(**given | {"epsilon": 0.26}, order="any")


def test_the_largest_delta_is_rounded_down() -> None:
    rng = np.random.default_rng(6)
    with mpmath.workdps(40):
        for _ in range(200):
            n, epsilon = 2 * int(rng.integers(2, 10**7)), float(rng.uniform(1e-6, 0.25))
            beta, groups = float(rng.uniform(1e-6, 1)), int(rng.integers(1, 1000))
            exact = (mpmath.mpf(epsilon) * mpmath.mpf(beta) / (120 * n * groups)) ** 2
            for order, share in (("invariant", 1), ("any", 2)):
                found = coherence.approx_dp_size(0.5, beta, groups, n, epsilon, order=order).details["delta_max"]
                assert (1 - mpmath.mpf(10) ** -12) * exact <= share * mpmath.mpf(found) <= exact
            plan = coherence.approx_dp_epsilon(0.5, beta, groups, n, n)
            if plan.feasible:
                exact = (mpmath.mpf(plan.epsilon) * mpmath.mpf(beta) / (120 * n * groups)) ** 2
                assert mpmath.mpf(plan.details["delta_max"]) <= exact


def test_wrong_input_names_the_parameter() -> None:
    good = {"alpha": 0.2, "beta": 0.05, "groups": 3, "n": 1000, "size": 100}
    for name, bad in (("alpha", 2.1), ("beta", 0.0), ("groups", 0), ("n", 999), ("size", 1001), ("mode", "best")):
        with pytest.raises(InvalidParameter, match=name):
            coherence.pure_dp_epsilon(**good | {name: bad})
    with pytest.raises(InvalidParameter, match="alpha"):
        coherence.pure_dp_epsilon(**good | {"alpha": 2.0}, mode="sharp")
    with pytest.raises(InvalidParameter, match=r"alpha must be a number in \(0, 2\) in the mode 'sharp', got 2"):
        tolerance(2.0, "sharp")
    assert tolerance(2.0, "corrected") == 2
    with pytest.raises(InvalidParameter, match="n must be given"):
        coherence.max_information_size(0.2, 0.05, 1, 1.0, mode="sharp")


def test_sizes_print_and_serialise() -> None:
    found = coherence.pure_dp_size(0.2, 0.05, 1, 1000, 0.1, "paper")
    assert found.vacuous
    assert "larger than n" in str(found)
    assert found.to_dict()["binding"] == "resolution"
    assert "no group size" in str(coherence.approx_dp_size(0.2, 0.05, 1, 1000, 0.1, 0.01, "paper"))
    assert coherence.add_remove_to_replace(0.1, 1e-6)[1] == pytest.approx((1 + math.exp(0.1)) * 1e-6)


@pytest.mark.parametrize("profiles", [2, 3, 5])
def test_every_cut_of_the_visible_profiles_is_paid_for(profiles: int) -> None:
    """A column with a missing value shows three profiles; a report then chooses between three cuts, not one."""
    n, alpha, beta, groups = 20_000, 0.5, 0.05, 4
    cuts = 2 ** (profiles - 1) - 1
    found = coherence.column_release_size(alpha, beta, groups, n, profiles, "sharp").rows
    assert found is not None
    failure = [math.exp(group_size.log_pointwise(n, m, alpha / 2)) * cuts for m in range(found - 1, found + 40)]
    assert failure[0] > beta / groups >= max(failure[1:])
    # The size by counting ones and zeros is for two profiles; where it is the smaller one it must not be used for more.
    n, alpha, lam = 1800, 0.2, math.log(20)
    closed = 16.6 * (math.log(4 * cuts) + lam) / alpha**2
    counted = 4 * math.sqrt(n * (math.log(4) + lam)) / alpha
    size = coherence.column_release_size(alpha, 0.05, 1, n, profiles, "corrected").size
    assert counted < closed
    assert size == pytest.approx(counted if profiles == 2 else closed)


@pytest.mark.parametrize("mode", MODES)
def test_the_largest_number_of_groups_is_itself_allowed(mode: coherence.Mode) -> None:
    lam = coherence.pure_dp_groups(0.5, 100_000, 20_000, 0.02, mode, "large")
    if mode == "sharp":
        assert pure_epsilon_at(0.5, lam, 100_000, 20_000, mode).epsilon >= 0.02
    else:
        assert pure_size_at(0.5, lam, 100_000, 0.02, mode).size <= 20_000
    assert coherence.pure_dp_groups(0.2, 1000, 100, 0.02, mode) == -math.inf


def test_adding_or_removing_a_row_is_half_of_replacing_one() -> None:
    epsilon, delta = coherence.add_remove_to_replace(0.3, 1e-9)
    assert epsilon == 0.6
    assert delta == pytest.approx((1 + math.exp(0.3)) * 1e-9, rel=1e-12)
    assert delta >= (1 + math.exp(0.3)) * 1e-9


def test_a_privacy_level_beyond_the_floating_range_never_shrinks_delta() -> None:
    """`e^705 * 1e-305` is above 1; read at `e^700` it would be 0.1."""
    for epsilon in (700.5, 705.0, 1e6):
        assert coherence.add_remove_to_replace(epsilon, 1e-305) == (2 * epsilon, 1.0)
        assert coherence.add_remove_to_replace(epsilon) == (2 * epsilon, 0.0)
    doubled, delta = coherence.add_remove_to_replace(700.0, 1e-305)
    assert doubled == 1400.0
    assert delta == pytest.approx(math.exp(700.0) * 1e-305)


def test_terms_of_a_column_release_are_those_of_the_bound() -> None:
    found = coherence.column_release_size(0.2, 0.05, 20, 100_000, 3, "corrected")
    bits = math.log(4) + math.log(3) + math.log(20 / 0.05)
    assert found.to_dict()["terms"] == pytest.approx(
        {"chance": 16.6 * bits / 0.04, "step": 32 / 0.6, "halves": 8.3 * bits, "floor": 40.0}
    )


def test_the_sharp_form_takes_any_privacy_level_above_zero() -> None:
    for epsilon in (0.0, -1.0):
        with pytest.raises(InvalidParameter, match="epsilon"):
            coherence.pure_dp_size(0.2, 0.05, 1, 1000, epsilon, mode="sharp")
    coherence.pure_dp_size(0.2, 0.05, 1, 1000, 1.5, mode="sharp")
    with pytest.raises(InvalidParameter, match="epsilon"):
        coherence.pure_dp_size(0.2, 0.05, 1, 1000, 1.5, mode="paper")
