"""Odometers against exact crossing probabilities, with advanced composition misused as one next to them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.filters import loss_drift
from holdfast.bounds.odometers import (
    delta_split,
    free_offset_reading,
    inversion_factor,
    inversion_reading,
    lecuyer_reading,
    line_reading,
    mixture_reading,
    range_of,
    reading,
    renyi_reading,
    rogers_reading,
    rruv16_reading,
    stitched_reading,
    zcdp_reading,
)
from holdfast.errors import InvalidParameter

Boundary = Callable[[float, float], float]
"""A reading as a function of drift and V."""

SETTINGS = settings(deadline=None, max_examples=60, derandomize=True)
EPSILON, ROUNDS, DELTA = 0.01, 10_000, 0.05


def crossing(boundary: Boundary, both_sides: bool) -> float:
    """The exact probability that the loss of randomized response ever leaves the boundary in 10,000 looks.

    Dynamic programme over the number of likelier answers; paths are taken out at the first crossing.
    """
    top = 1 / (1 + math.exp(-EPSILON))
    law = np.zeros(ROUNDS + 2)
    law[0] = 1.0
    crossed = 0.0
    drift = loss_drift(EPSILON)
    for t in range(1, ROUNDS + 1):
        law[1 : t + 1] = law[1 : t + 1] * (1 - top) + law[:t] * top
        law[0] *= 1 - top
        limit = boundary(t * drift, t * EPSILON**2) / EPSILON
        if math.isinf(limit):
            continue
        first = math.floor((limit + t) / 2) + 1
        if first <= t:
            crossed += float(law[first : t + 1].sum())
            law[first : t + 1] = 0
        last = math.ceil((t - limit) / 2) - 1
        if both_sides and last >= 0:
            crossed += float(law[: last + 1].sum())
            law[: last + 1] = 0
    return crossed


def advanced_composition(drift: float, squares: float) -> float:
    """Wrong on purpose: right at a time fixed in advance, wrong when looked at along the way."""
    return drift + math.sqrt(2 * squares * math.log(1 / DELTA))


def line_through(point: float) -> Boundary:
    slope = math.log(1 / DELTA)
    return lambda drift, squares: drift + math.sqrt(point * slope / 2) + squares * math.sqrt(slope / (2 * point))


@pytest.mark.parametrize(
    ("name", "boundary", "both_sides", "expected"),
    [
        ("line at 1", line_through(1.0), False, 0.0317),
        ("line at 1/2", line_through(0.5), False, 0.0442),
        ("mixture", lambda d, v: mixture_reading(d, v, DELTA, 0.05), False, 0.0138),
        ("mixture, both sides", lambda d, v: mixture_reading(d, v, DELTA, 0.05), True, None),
        ("stitched", lambda d, v: stitched_reading(d, v, DELTA, 1e-4), False, 0.0021),
        ("inversion", lambda d, v: d + _factor(100, DELTA, "reviewed") * math.sqrt(v), False, 0.0016),
        ("inversion, sharp", lambda d, v: d + _factor(100, DELTA, "sharp") * math.sqrt(v), True, None),
        ("free offset", lambda d, v: free_offset_reading(d, v, 0.05, DELTA), True, None),
        ("rogers", lambda d, v: rogers_reading(d, v, 100, DELTA), True, None),
    ],
)
def test_exact_crossing_probability(name: str, boundary: Boundary, both_sides: bool, expected: float | None) -> None:
    """spec-confidence-and-composition section 11: (1e-2, 1e4 rounds, 0.05), from an exact dynamic programme."""
    probability = crossing(boundary, both_sides)
    assert probability <= DELTA
    if expected is not None:
        assert probability == pytest.approx(expected, abs=5e-5)


def test_advanced_composition_is_not_an_odometer() -> None:
    """The same programme that passes every odometer rejects it: 14.3% at a nominal 5%."""
    probability = crossing(advanced_composition, False)
    assert probability > 2 * DELTA
    assert probability == pytest.approx(0.1430, abs=5e-5)


_factor = functools.cache(inversion_factor)


def worst_crossing(boundary: Boundary, unit: float, last: int) -> float:
    """The largest crossing probability over adversaries who choose rounds of `unit` or `2 unit` from the losses so far.

    Backward induction over (V, loss) on the lattice. The drift is taken at its bound V/2, which every reading allows.
    """
    tops = [1 / (1 + math.exp(-step * unit)) for step in (1, 2)]
    reach = 2 * last + 3
    later: list[np.ndarray[Any, Any]] = []
    losses = np.arange(-reach, reach + 1) * unit
    for level in range(last, -1, -1):
        squares = level * unit**2
        value = np.zeros(2 * reach + 1)
        for step, (cost, top) in enumerate(zip((1, 4), tops, strict=True), start=1):
            if level + cost <= last:
                after = later[cost - 1]
                value = np.maximum(value, top * np.roll(after, -step) + (1 - top) * np.roll(after, step))
        if level > 0:
            value = np.where(losses > boundary(squares / 2, squares), 1.0, value)
        later = [value, *later[:3]]
    return float(later[0][reach])


@pytest.mark.parametrize(
    ("name", "boundary"),
    [
        ("line", line_through(0.5)),
        ("mixture", lambda d, v: mixture_reading(d, v, DELTA, 0.05)),
        ("stitched", lambda d, v: stitched_reading(d, v, DELTA, 0.0025)),
        ("inversion", lambda d, v: d + _factor(20, DELTA, "reviewed") * math.sqrt(v)),
        ("inversion, sharp", lambda d, v: d + _factor(20, DELTA, "sharp") * math.sqrt(v)),
    ],
)
def test_no_adaptive_adversary_crosses_more_often(name: str, boundary: Boundary) -> None:
    assert 0 < worst_crossing(boundary, 0.05, 400) <= DELTA


def test_an_adaptive_adversary_breaks_advanced_composition_at_once() -> None:
    assert worst_crossing(advanced_composition, 0.05, 400) > 1.5 * DELTA


@pytest.mark.parametrize(("n", "slack"), [(10_000, 5e-7), (100, 0.05), (6, 0.3), (10**9, 1e-300)])
def test_inversion_factor_is_the_root(n: int, slack: float) -> None:
    with mp.workdps(40):
        for method, cells in (("reviewed", 2), ("sharp", mp.mpf(1) / 2)):
            s = mp.mpf(inversion_factor(n, slack, method))  # type: ignore[arg-type]

            def failure(s: Any, cells: Any = cells) -> Any:
                return 2 * mp.sqrt(mp.e) * (1 + cells * s * mp.log(n)) * mp.exp(-s * s / 2)

            assert failure(s) <= slack
            assert failure(s * (1 - mp.mpf("1e-12"))) >= slack * (1 - mp.mpf("1e-9")) or s == 1


def test_the_sharp_count_of_cells() -> None:
    """Its proof, step by step: cells cover the range, and inside a cell the exponent is within 1/2 of s^2/2."""
    for s in (1.5, 3.0, 6.2, 20.0):
        width = math.log((s + 1) / (s - 1))
        assert width >= 2 / s
        for ratio in np.linspace(1, (s + 1) / (s - 1), 50):
            x = s - 1  # times 1/a; the cell starts at a = 1
            assert x * s * ratio - (x * ratio) ** 2 / 2 >= s * s / 2 - 0.5 - 1e-12


def test_delta_is_split_soundly() -> None:
    """What the dissertation prints adds up to more than delta; the default does not."""
    for n, delta in ((6, 0.3), (100, 0.05), (10_000, 1e-6)):
        assert sum(delta_split(n, delta)) <= delta * (1 + 1e-15)
        assert sum(delta_split(n, delta)) == pytest.approx(delta, rel=1e-12)
        assert sum(delta_split(n, delta, "paper")) > delta
        assert min(delta_split(n, delta)) > 0


def test_mixture_is_tighter_than_the_free_offset_everywhere() -> None:
    for squares in np.logspace(-8, 2, 40):
        for slack in (1e-12, 1e-6, 0.05, 0.3):
            assert mixture_reading(0.0, squares, slack, 0.01) <= free_offset_reading(0.0, squares, 0.01, slack)


def test_ville_is_never_above_lecuyer() -> None:
    orders = [1.5, 2, 3, 4, 6, 8, 16, 32, 64]
    for rho in np.logspace(-4, 2, 30):
        for slack in (1e-9, 1e-6, 0.01):
            curve = [float(rho) * a for a in orders]
            assert renyi_reading(orders, curve, slack).value <= lecuyer_reading(orders, curve, slack).value


def test_renyi_weights() -> None:
    orders, curve = [2.0, 8.0], [0.2, 0.8]
    favoured = renyi_reading(orders, curve, 1e-6, [1e-3, 0.999])
    assert favoured.order == 8.0
    assert favoured.value == pytest.approx(0.8 - math.log(0.999e-6) / 7, rel=1e-12)
    assert favoured.to_dict() == {"value": favoured.value, "order": 8.0}
    with pytest.raises(InvalidParameter, match="weights"):
        renyi_reading(orders, curve, 1e-6, [0.9, 0.2])


@SETTINGS
@given(
    st.floats(-4, -0.5).map(lambda x: 10.0**x),
    st.integers(1, 5000),
    st.integers(6, 10**6),
    st.floats(-12, -0.6).map(lambda x: 10.0**x),
)
def test_readings_grow_and_are_ordered(epsilon: float, count: int, n: int, delta: float) -> None:
    read = functools.partial(reading, epsilon=epsilon, n=n, delta=delta)
    for name in ("basic", "mixture", "line", "zcdp", "free-offset", "combined"):
        assert read(name, rounds=count) <= read(name, rounds=count + 1) * (1 + 1e-12), name
    squares = count * epsilon**2
    if 1 / n**2 <= squares <= 1:
        assert read("inversion-sharp", rounds=count) <= read("inversion", rounds=count)
        assert read("inversion", rounds=count) <= read("rogers", rounds=count)
    assert read("rogers", rounds=count) <= read("rruv16", rounds=count) * (1 + 1e-12) or squares > 1
    assert read("combined", rounds=count) <= read("basic", rounds=count)
    assert reading("mixture", epsilon, count, n, delta / 10) >= read("mixture", rounds=count)


def test_a_smaller_delta_reads_more() -> None:
    for name in ("rogers", "inversion", "inversion-sharp", "rruv16", "mixture", "stitched", "line", "zcdp"):
        assert reading(name, 0.1, 50, 1000, 1e-8) > reading(name, 0.1, 50, 1000, 1e-6)  # type: ignore[arg-type]


def test_outside_the_range_the_printed_fallback_is_used() -> None:
    n, delta = 100, 1e-6
    for squares in (1e-6, 4.0):
        fallback = free_offset_reading(0.5, squares, 1 / n**2, delta_split(n, delta).outside)
        for read in (rogers_reading, rruv16_reading, inversion_reading):
            assert read(0.5, squares, n, delta) == fallback
    assert zcdp_reading(2.0, n, delta) == rogers_reading(2.0, 4.0, n, delta)


def test_ends() -> None:
    assert reading("combined", 0.0, 10, 100, 1e-6) == 0.0
    assert reading("mixture", 0.1, 0, 100, 1e-6) == 0.0
    assert stitched_reading(0.0, 1e-5, 1e-6, 1e-4) == math.inf
    assert reading("stitched", 0.01, 1, 100, 1e-6) < math.inf
    assert reading("basic", 0.1, 10, 100, 1e-6) == 1.0
    assert line_reading(0.0, 0.0, 0.5) > 0


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: reading("none", 0.1, 1, 100, 1e-6), "name"),
        (lambda: reading("rogers", 0.1, 1, 5, 1e-6), "n"),
        (lambda: reading("rogers", 0.1, 1, 100, 0.4), "delta"),
        (lambda: reading("mixture", 0.1, 1, 100, 1e-6, gamma=0), "gamma"),
        (lambda: reading("rogers", -0.1, 1, 100, 1e-6), "epsilon"),
        (lambda: reading("rogers", 0.1, -1, 100, 1e-6), "rounds"),
        (lambda: rogers_reading(-1, 0, 100, 1e-6), "drift"),
        (lambda: mixture_reading(0, -1, 1e-6), "squares"),
        (lambda: stitched_reading(0, 0, 1e-6, 0), "start"),
        (lambda: line_reading(0, 0, 1e-6, 0), "target"),
        (lambda: inversion_factor(1, 0.1), "n"),
        (lambda: renyi_reading([2], [0.1, 0.2], 0.1), "orders and epsilons"),
        (lambda: lecuyer_reading([1], [0.1], 0.1), "orders"),
        (lambda: delta_split(100, 0.1, "none"), "method"),
    ],
)
def test_wrong_input_is_named(call: Any, name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        call()


def test_boundaries_are_never_below_the_truth() -> None:
    rng = np.random.default_rng(12)
    with mp.workdps(50):
        for _ in range(200):
            drift, squares, gamma = (float(x) for x in 10.0 ** rng.uniform(-6, 1, 3))
            slack = float(10.0 ** rng.uniform(-12, -1))
            d, v, g, log_term = mp.mpf(drift), mp.mpf(squares), mp.mpf(gamma), -mp.log(mp.mpf(slack))
            mixture = d + mp.sqrt(2 * (v + g) * (mp.log((v + g) / g) / 2 + log_term))
            y = (mp.sqrt(2 * log_term + 2) - mp.sqrt(2 * log_term)) ** 2
            line = d + mp.sqrt(y * log_term / 2) + v * mp.sqrt(log_term / (2 * y))
            for found, truth in (
                (mixture_reading(drift, squares, slack, gamma), mixture),
                (line_reading(drift, squares, slack), line),
            ):
                assert truth <= found <= truth * (1 + mp.mpf(10) ** -13)


def test_ranges_end_where_a_double_still_counts_rows() -> None:
    assert range_of(6) == 6
    assert range_of(10**18) == 10**18
    for n in (5, 10**18 + 1):
        with pytest.raises(InvalidParameter, match="n must be"):
            range_of(n)
