"""Effective sizes and widths for dependent rows against the exact distribution of sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.correlated import (
    autoregressive_start_ratio,
    beta_mixing_width,
    effective_n_blocks,
    effective_n_chain,
    effective_n_chain_summary,
    effective_n_colours,
    effective_n_stationary,
    fixed_question_half_width,
    fixed_question_width,
    mixing_coefficients,
    mixing_sum,
    time_split_bias,
    two_state_coefficients,
)
from holdfast.bounds.correlated.effective_size import tail_sum
from holdfast.errors import InvalidParameter
from tests.bounds.correlated_laws import (
    coefficients,
    law_of_sum,
    operator_norm,
    random_chain,
    stationary,
    tails,
)

quiet = settings(deadline=None, derandomize=True, max_examples=60)


def _violations(effective_n: float, law: np.ndarray, n: int, top: int, ratio: float = 1.0) -> int:
    """How many deviations are likelier than `2 c exp(-2 n_eff t^2)`; that is the width's claim at every share."""
    return sum(
        p > min(1.0, 2 * ratio * math.exp(-2 * effective_n * t * t)) * (1 + 1e-9) + 1e-13 for t, p in tails(law, n, top)
    )


def test_no_chain_breaks_a_width_and_independent_rows_break_theirs() -> None:
    rng = np.random.default_rng(6)
    broken, worst = 0, {"chain": 0.0, "stationary": 0.0}
    for _ in range(400):
        matrix = random_chain(rng)
        k, n, top = len(matrix), int(rng.integers(5, 60)), int(rng.choice([1, 2]))
        # questions that vary with the row, and the one that goes along with the slowest direction
        values = (
            rng.integers(0, top + 1, size=(n, k)) if rng.random() < 0.5 else np.tile(np.arange(k) > 0, (n, 1)) * top
        )
        pi = stationary(matrix)
        start = pi if rng.random() < 0.5 else np.eye(k)[rng.integers(k)]
        law = law_of_sum(matrix, start, values.astype(int))
        deltas = coefficients(matrix, n)
        chain = effective_n_chain(n, deltas)
        assert _violations(chain, law, n, top) == 0
        assert _violations(effective_n_chain(n, deltas[:2]), law, n, top) == 0, "coefficients carried on"
        lag = int(rng.integers(1, 4))
        if deltas[lag - 1] < 1:
            assert _violations(effective_n_chain_summary(n, mixing_sum(lag, deltas[lag - 1])), law, n, top) == 0
        broken += _violations(float(n), law, n, top)
        for t, p in tails(law, n, top):
            bound = 2 * math.exp(-2 * chain * t * t)
            worst["chain"] = max(worst["chain"], p / bound if bound < 1 else 0.0)
        norm = operator_norm(matrix)
        if norm < 1:
            ratio = 1.0 if start is pi else float((start / pi).max())
            spectral = effective_n_stationary(n, norm)
            centre = float(sum(pi @ values[i] for i in range(n)) / (n * top))
            for t, p in tails(law, n, top, centre):
                bound = min(1.0, 2 * ratio * math.exp(-2 * spectral * t * t))
                assert p <= bound * (1 + 1e-9) + 1e-13
                worst["stationary"] = max(worst["stationary"], p / bound if bound < 1 else 0.0)
    assert broken > 800, "the width of independent rows must be seen to fail"
    assert worst["chain"] > 0.2
    assert worst["stationary"] > 0.2


def test_the_width_is_the_tail_bound_turned_round() -> None:
    matrix = np.array([[0.9, 0.1], [0.2, 0.8]])
    n, pi = 40, np.array([2 / 3, 1 / 3])
    law = law_of_sum(matrix, pi, np.tile([0, 1], (n, 1)))
    means = np.arange(n + 1) / n
    for share in (0.5, 0.1, 1e-2, 1e-4):
        wide = fixed_question_width(effective_n_chain(n, coefficients(matrix, n)), share)
        assert law[np.abs(means - 1 / 3) > wide].sum() <= share
    naive = fixed_question_width(n, 0.1)
    assert law[np.abs(means - 1 / 3) > naive].sum() > 0.1


def _mean(matrix: np.ndarray, gap: int, values: np.ndarray, before: np.ndarray) -> float:
    """Expected mean of a question whose rows begin `gap` steps after one with the distribution `before`."""
    law, total = before @ np.linalg.matrix_power(matrix, gap), 0.0
    for value in values:
        total += law @ value
        law = law @ matrix
    return float(total / len(values))


@pytest.mark.parametrize("gap", [1, 2, 5])
def test_bias_after_a_split_in_time(gap: int) -> None:
    rng = np.random.default_rng(gap)
    for _ in range(40):
        matrix, n = random_chain(rng), int(rng.integers(2, 20))
        k = len(matrix)
        values, first = rng.random((n, k)), rng.dirichlet(np.ones(k))
        deltas = coefficients(matrix, n + gap)
        bias = time_split_bias(n, gap, deltas)
        assert bias <= time_split_bias(n, gap, deltas[:1]) + 1e-12

        for x in range(k):
            assert abs(_mean(matrix, gap, values, np.eye(k)[x]) - _mean(matrix, gap, values, first)) <= bias + 1e-12


def test_bias_is_reached() -> None:
    # two states, value = state: given the last training row the means differ by exactly the coefficients
    flips, n, gap = np.array([[0.9, 0.1], [0.1, 0.9]]), 10, 3
    means = [_mean(flips, gap, np.tile([0.0, 1.0], (n, 1)), np.eye(2)[x]) for x in range(2)]
    assert abs(means[1] - means[0]) == pytest.approx(time_split_bias(n, gap, [0.8]), rel=1e-12)


def test_blocks_and_colours_against_exact_laws() -> None:
    from scipy.stats import binom

    # equal coins inside blocks: the worst there is, and a multiple of a binomial
    blocks, size = 12, 5
    n = blocks * size
    law = np.zeros(n + 1)
    law[::size] = binom.pmf(np.arange(blocks + 1), blocks, 0.4)
    assert _violations(effective_n_blocks([size] * blocks), law, n, 1) == 0
    assert _violations(float(n), law, n, 1) > 0
    # 1-dependent rows: x_i = 1 if both of two neighbouring coins show 1
    both, n = np.zeros((2, 31)), 30
    both[0, 0] = both[1, 0] = 0.5
    for _ in range(n):
        after = np.zeros_like(both)
        after[0] += 0.5 * (both[0] + both[1])
        after[1] += 0.5 * both[0]
        after[1, 1:] += 0.5 * both[1, :-1]
        both = after
    law = both.sum(axis=0)
    assert law.sum() == pytest.approx(1)
    assert _violations(effective_n_colours(n, 2), law, n, 1) == 0


def test_gaussian_start_ratio_is_the_largest_density_ratio() -> None:
    for phi in (0.3, -0.6, 0.9):
        for gap in (1, 3):
            for x in (0.0, 0.7, -1.5):
                a = phi**gap
                y = x / a + np.linspace(-40, 40, 400_001)
                log = -((y - a * x) ** 2) / (2 * (1 - a * a)) + y * y / 2 - 0.5 * math.log(1 - a * a)
                found = autoregressive_start_ratio(x, phi, gap)
                assert found >= math.exp(log.max()) * (1 - 1e-12)
                assert found == pytest.approx(math.exp(log.max()), rel=1e-5)
    assert autoregressive_start_ratio(0.5, 0.0) == pytest.approx(1.0)
    assert autoregressive_start_ratio(100.0, 0.5) == math.inf


def test_run_length_search_agrees_with_trying_all() -> None:
    def slow(delta: list[float], n: int) -> float:
        sums = [0.0]
        for t in range(1, n):
            sums.append(sums[-1] + delta[t - 1])
        best = 0.0
        for s in range(1, n + 1):
            ends = [*range(s, n, s), n]
            square = sum((e - b + sums[n - e]) ** 2 for b, e in zip([0, *ends], ends, strict=False))
            best = max(best, n * n / square)
        return best

    rng = np.random.default_rng(1)
    for _ in range(30):
        n = int(rng.integers(1, 300))
        rate = float(rng.choice([0.1, 0.5, 0.9, 0.99]))
        deltas = [rate**t for t in range(1, n + 1)]
        found, best = effective_n_chain(n, deltas), slow(deltas, n)
        assert found <= best
        assert found >= 0.999 * best


@quiet
@given(st.integers(1, 10**7), st.floats(0.0, 0.999), st.floats(0.0, 0.999))
def test_effective_rows_fall_with_dependence(n: int, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert effective_n_chain(n, [high]) <= effective_n_chain(n, [low]) * (1 + 1e-9)
    assert effective_n_stationary(n, high) <= effective_n_stationary(n, low)
    assert 1 <= effective_n_chain(n, [high]) <= n
    summary = effective_n_chain_summary(n, tail_sum([high]))
    assert summary <= effective_n_chain(n, [high]) * (1 + 1e-9)
    assert effective_n_chain_summary(n, 0.0) >= n * (1 - 1e-9)


@quiet
@given(st.integers(1, 10**12), st.integers(1, 50))
def test_effective_rows_grow_with_rows(n: int, more: int) -> None:
    for deltas in ([0.9], [1.0, 0.7, 0.4]):
        assert effective_n_chain(n + more, deltas) >= effective_n_chain(n, deltas) * (1 - 1e-6)


@quiet
@given(st.floats(1.0, 1e9), st.floats(1e-12, 0.5), st.floats(1.0, 50.0), st.floats(0.0, 0.2))
def test_width_is_monotone(size: float, share: float, ratio: float, bias: float) -> None:
    here = fixed_question_width(size, share, ratio, bias)
    assert here >= fixed_question_width(2 * size, share, ratio, bias)
    assert here >= fixed_question_width(size, min(2 * share, 0.9), ratio, bias)
    assert here >= fixed_question_width(size, share, 1.0, 0.0)
    assert here == fixed_question_half_width(size, math.log(share), ratio, bias)


def test_a_million_rows_and_more() -> None:
    assert effective_n_chain(10**18, [0.9]) == pytest.approx(10**18 * 9 / (9 + 9) ** 2, rel=1e-6)
    assert time_split_bias(10**18, 1, [0.9]) <= 9.1 / 10**18
    assert time_split_bias(10**9, 1, [0.999999]) == pytest.approx(999_999 / 10**9, rel=1e-9)
    assert time_split_bias(10**9, 1, [0.3], "hold") == pytest.approx(0.3)


def test_never_forgetting_says_nothing_and_nothing_wrong() -> None:
    assert effective_n_chain(1000, [1.0]) == 1.0
    assert mixing_sum(5, 1.0) == math.inf
    assert effective_n_chain(1000, [0.3], "hold") < effective_n_chain(1000, [0.3])
    assert tail_sum([0.3], "hold") == math.inf


def test_coefficients_go_on_by_an_upper_bound() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        matrix = random_chain(rng)
        true = np.array(coefficients(matrix, 40))
        for declared in (1, 3, 7):
            assert np.all(mixing_coefficients(list(true[:declared]), 40) >= true - 1e-12)
            assert tail_sum(list(true[:declared])) >= true.sum() - 1e-9
        for lag in (1, 2, 5):
            if true[lag - 1] < 1:
                assert mixing_sum(lag, true[lag - 1]) >= true.sum() - 1e-9
    assert two_state_coefficients(0.3, 0.9, 3) == pytest.approx([0.2, 0.04, 0.008])


def test_beta_mixing_against_a_chain() -> None:
    # for a stationary chain beta(a) <= the mean of the distance to stationarity after a steps
    matrix, pi, n = np.array([[0.6, 0.4], [0.3, 0.7]]), np.array([3 / 7, 4 / 7]), 400
    betas, power = [], np.eye(2)
    for _ in range(30):
        power = power @ matrix
        betas.append(float(sum(pi[x] * 0.5 * np.abs(power[x] - pi).sum() for x in range(2))))
    law = law_of_sum(matrix, pi, np.tile([0, 1], (n, 1)))
    means = np.arange(n + 1) / n
    for share in (0.1, 1e-3):
        wide = beta_mixing_width(n, share, betas)
        assert wide < 0.5
        assert law[np.abs(means - 4 / 7) > wide].sum() <= share
    assert beta_mixing_width(n, 1e-3, betas) > beta_mixing_width(n, 0.1, betas)
    assert beta_mixing_width(3, 0.1, [0.9, 0.9, 0.0]) == math.inf


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: effective_n_blocks([3, 0]), "sizes"),
        (lambda: effective_n_blocks([2.5]), "sizes"),
        (lambda: effective_n_chain(10, []), "deltas"),
        (lambda: effective_n_chain(10, [1.5]), "deltas"),
        (lambda: effective_n_chain(10, [0.5], run=11), "run"),
        (lambda: effective_n_stationary(10, 1.0), "operator_norm"),
        (lambda: effective_n_colours(10, 0), "colours"),
        (lambda: fixed_question_width(10, 0.0), "share"),
        (lambda: fixed_question_width(10, 0.1, 0.5), "start_ratio"),
        (lambda: time_split_bias(10, 0, [0.5]), "gap"),
        (lambda: mixing_sum(0), "lag"),
    ],
)
def test_wrong_input_names_the_parameter(call: object, name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        call()  # type: ignore[operator]


@pytest.mark.parametrize(("deltas", "tail"), [([1 - 1e-7], "markov"), ([0.5], "hold"), ([1.0, 1 - 1e-8], "markov")])
def test_a_chain_that_forgets_too_slowly_for_the_lags_written_out(deltas: list[float], tail: str) -> None:
    """Rows beyond a million lags enter by a bound on their sum, never by what the first million add up to."""
    n = 2_500_000
    lags = np.arange(1, n)
    if tail == "hold":
        values = np.full(n - 1, deltas[-1])
    else:
        rounds, rest = np.divmod(lags, len(deltas))
        values = deltas[-1] ** rounds * np.concatenate([[1.0], deltas])[rest]
    sums = np.concatenate([[0.0], np.cumsum(values)])
    for run in (100, 400_000):
        ends = np.minimum(np.arange(run, n + run, run), n)
        lengths = np.diff(np.concatenate([[0], ends]))
        exact = n / float(np.sum((lengths + sums[n - ends]) ** 2) / n)
        found = effective_n_chain(n, deltas, tail, run)  # type: ignore[arg-type]
        assert 0.4 * exact < found <= exact


def test_beta_mixing_pays_for_the_coupling_and_for_both_tails() -> None:
    betas = [0.5 * 0.7**a for a in range(80)]
    for n, share in ((1000, 0.05), (10**6, 1e-4)):
        apart = next(a for a, value in enumerate(betas, start=1) if n * value <= share / 2)
        width = beta_mixing_width(n, share, betas)
        assert width == pytest.approx(math.sqrt(apart * math.log(4 / share) / (2 * n)), rel=1e-12)
        # coupling n beta(a), and the tail 2 exp(-2 (n/a) w^2) of a colours, make up the share
        assert n * betas[apart - 1] + 2 * math.exp(-2 * n / apart * width**2) <= share
        assert n * betas[apart - 2] > share / 2
    # within half of the share the lag may be used, between half and all of it not
    assert beta_mixing_width(100, 0.5, [0.0024]) == pytest.approx(math.sqrt(math.log(8) / 200))
    assert beta_mixing_width(100, 0.5, [0.004]) == math.inf


def test_ratio_and_bias_widen() -> None:
    plain = fixed_question_width(100, 0.01)
    assert plain == pytest.approx(math.sqrt(math.log(200) / 200), rel=1e-12)
    assert fixed_question_width(100, 0.01, 7.0) == pytest.approx(math.sqrt(math.log(1400) / 200), rel=1e-12)
    assert fixed_question_width(100, 0.01, 7.0, 0.03) == pytest.approx(
        0.03 + math.sqrt(math.log(1400) / 200), rel=1e-12
    )
