"""The engine: ranks, plus-one p-values, ties, and what becomes of inconclusive resamples."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdfast.errors import InvalidParameter
from holdfast.inference import private_tests as pt
from holdfast.inference.private_tests.monte_carlo import (
    blocks,
    critical_value,
    generator,
    p_value,
    rank,
    rejects,
    resample,
)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(
    st.lists(st.integers(0, 6), min_size=19, max_size=120), st.integers(0, 6), st.sampled_from([0.05, 0.1, 0.3, 0.01])
)
def test_p_value_and_threshold_decide_alike_ties_included(values: list[int], observed: int, alpha: float) -> None:
    replicates = np.array(values, dtype=float)
    m = replicates.size
    if alpha * (m + 1) < 1:
        with pytest.raises(InvalidParameter, match="never reject"):
            rank(m, alpha)
        return
    p = p_value(float(observed), replicates)
    assert rejects(p, alpha) == (observed > critical_value(replicates, alpha))
    exact = Fraction(1 + sum(v >= observed for v in values), m + 1)
    assert p == float(exact)
    assert rejects(p, alpha) == (exact <= Fraction(str(alpha)))


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.integers(1, 20_000), st.integers(1, 999))
def test_rank_is_exact(m: int, thousandths: int) -> None:
    alpha = thousandths / 1000
    exact = math.ceil((m + 1) * (1 - Fraction(thousandths, 1000)))
    if exact > m:
        with pytest.raises(InvalidParameter, match="m must be at least"):
            rank(m, alpha)
    else:
        assert rank(m, alpha) == exact


def test_rank_names_a_size_that_works() -> None:
    for alpha in (0.05, 0.01, 0.003, 1 / 3):
        with pytest.raises(InvalidParameter, match="m must be at least") as error:
            rank(1, alpha)
        least = int(str(error.value).split("at least ")[1].split()[0])
        assert rank(least, alpha) <= least
        with pytest.raises(InvalidParameter):
            rank(least - 1, alpha)


def test_batches_agree_with_single_calls() -> None:
    rng = np.random.default_rng(1)
    replicates, observed = rng.chisquare(3, (50, 199)), rng.chisquare(5, 50)
    many = p_value(observed, replicates)
    assert many.tolist() == [p_value(observed[i], replicates[i]) for i in range(50)]
    assert critical_value(replicates, 0.05).tolist() == [critical_value(r, 0.05) for r in replicates]
    assert rejects(many, 0.05).tolist() == (observed > critical_value(replicates, 0.05)).tolist()


def _censored(rng: np.random.Generator) -> Any:
    """A statistic with a rule of thumb that fires more often where the statistic is large."""

    def draw(count: int) -> NDArray[np.float64]:
        values = rng.chisquare(1, count)
        return np.where(rng.random(count) < values / (1 + values), np.nan, values)

    return draw


def test_redrawing_keeps_the_level_and_minus_infinity_does_not() -> None:
    """12,000 tests at .05 among conclusive data; limits at 5.1 standard errors, an error rate below 1e-6."""
    trials, m, alpha = 12_000, 19, 0.05
    rng = np.random.default_rng(2)
    draw = _censored(rng)
    redrawn = ranked_below = skipped = 0
    observed = resample(draw, trials).values
    for value in observed:
        found = resample(draw, m)
        assert found.failed is None
        assert found.values.size == m
        redrawn += rejects(p_value(value, found.values), alpha)
        raw = draw(m)
        ranked_below += rejects(p_value(value, np.where(np.isnan(raw), -np.inf, raw)), alpha)
        valid = raw[~np.isnan(raw)]
        skipped += rejects(p_value(value, valid), alpha)
    limit = 5.1 * math.sqrt(alpha * (1 - alpha) / trials)
    assert abs(redrawn / trials - alpha) < limit
    assert skipped / trials < alpha + limit
    assert ranked_below / trials > alpha + limit  # power: the wrong rule is found out


def test_policies() -> None:
    rng = np.random.default_rng(3)
    draw = _censored(rng)
    assert resample(draw, 99, on_null="fail").failed == "the rule of thumb fired on a resample"
    skipped = resample(draw, 99, on_null="skip")
    assert skipped.drawn == 99
    assert skipped.values.size == 99 - skipped.inconclusive
    redrawn = resample(draw, 99)
    assert redrawn.values.size == 99
    assert redrawn.drawn > 99
    with pytest.raises(InvalidParameter, match="on_null"):
        resample(draw, 99, on_null="minus infinity")  # type: ignore[arg-type]


def test_inconclusive_replicates_of_a_fitted_model_are_left_out_or_end_the_test_and_it_says_so() -> None:
    """Noise of variance 20 on a smallest expected count just above 5: about half of the replicates fall below."""
    noisy = pt.NoisyCounts(np.array([9.0, 30.0, 61.0]), 100, pt.gaussian(0.05))

    def run(on_null: Any) -> pt.TestResult:
        rng = np.random.default_rng(1)
        return pt.mc_minimum_chi_square(noisy, pt.HardyWeinberg(), m=99, on_null=on_null, rng=rng)

    skipped, failed, redrawn = run("skip"), run("fail"), run("redraw")
    left_out = skipped.details["inconclusive"]
    assert 0 < left_out < 99 == skipped.details["drawn"]
    assert f"{left_out} of 99 resamples were inconclusive and left out" in skipped.warnings
    assert skipped.p_value is not None
    assert (skipped.p_value * (99 - left_out + 1)) % 1 == pytest.approx(0)
    assert failed.p_value is None
    assert failed.reject is None
    assert failed.null_returned is not None
    assert failed.null_returned.startswith("the rule of thumb fired on a resample. The release is spent")
    assert redrawn.details["drawn"] > 99
    assert not any("left out" in warning for warning in redrawn.warnings)


def test_redrawing_gives_up() -> None:
    calls = []

    def hopeless(count: int) -> NDArray[np.float64]:
        calls.append(count)
        return np.full(count, np.nan)

    found = resample(hopeless, 19)
    assert found.failed is not None
    assert found.failed.startswith("the rule of thumb fired on 1900 of 1900")
    assert sum(calls) == found.drawn == 1900
    assert resample(hopeless, 19, on_null="skip").failed == "the rule of thumb fired on every resample"


def test_blocks_cover_everything_once() -> None:
    covered = [i for part in blocks(100_000, 4_000) for i in range(part.start, part.stop)]
    assert covered == list(range(100_000))
    assert [part.stop - part.start for part in blocks(3, 10**9)] == [1, 1, 1]


def test_the_stream_is_a_generator() -> None:
    assert isinstance(generator(None), np.random.Generator)
    with pytest.raises(InvalidParameter, match="Generator"):
        generator(7)  # type: ignore[arg-type]
