"""The searches return points that pass their own test."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from holdfast.bounds.numerics.search import (
    crossing,
    first_at_least,
    first_whole,
    minimise,
    simplex,
    smallest,
    spaced,
    turning_point,
)

quick = settings(max_examples=100, deadline=None, derandomize=True)


@given(st.floats(1e-300, 1e300), st.floats(0.1, 3))
@quick
def test_first_at_least_is_the_first(target: float, power: float) -> None:
    def f(x: float) -> float:
        return math.exp(min(power * math.log(x), 709.0)) if x else 0.0

    x = first_at_least(f, target, 0.0, 1e308)
    if x < 1e308:
        assert f(x) >= target
        assert f(math.nextafter(x, 0.0)) < target


@given(st.integers(1, 10**18), st.integers(1, 100), st.integers(1, 10**18))
@quick
def test_first_whole_is_the_first(turns: int, start: int, limit: int) -> None:
    first = max(turns, start)
    assert first_whole(lambda n: n >= turns, start) == first
    limit = max(limit, start)
    assert first_whole(lambda n: n >= turns, start, limit=limit) == (first if first <= limit else None)


@given(st.floats(-50, 50), st.floats(0.01, 100), st.booleans())
@quick
def test_crossing_brackets_the_root(root: float, steep: float, plateau: bool) -> None:
    def f(x: float) -> float:
        if plateau and x < root - 1:
            return -math.inf
        return math.expm1(min(steep * (x - root), 600.0))

    low, high = crossing(f, -60.0, 60.0, 1e-10)
    assert f(low) < 0 <= f(high)
    assert high - low <= 1e-10
    assert low <= root <= high


def test_crossing_takes_few_evaluations() -> None:
    count = 0

    def f(x: float) -> float:
        nonlocal count
        count += 1
        return x**3 - 2

    crossing(f, 0.0, 2.0, 1e-12)
    assert count < 30


def test_smallest_with_infinite_ends() -> None:
    def f(x: float) -> float:
        return (x - 0.31) ** 2 if 0.3 < x < 2 else math.inf

    x, value = smallest(f, spaced(-5.0, 5.0, 41))
    assert x == pytest.approx(0.31, abs=1e-6)
    assert value == f(x)
    assert smallest(lambda x: math.inf, [0.0, 1.0])[1] == math.inf


def test_minimise_keeps_the_start_when_nothing_is_better() -> None:
    value, x = minimise(lambda x: 0.0 if tuple(x) == (1.0, 2.0) else 1.0, [(1.0, 2.0)])
    assert (x, value) == ((1.0, 2.0), 0.0)


def test_values_beyond_the_stand_in_for_infinity_are_kept() -> None:
    # the local searches use 1e30 for infinity; it must never come back as a value
    assert smallest(lambda x: 1e160 * (1 + x * x), [-1.0, 0.5, 1.0])[1] >= 1e160
    assert minimise(lambda x: 1e160 if x[0] <= 0 else math.inf, [(0.0,)])[0] == 1e160


def test_the_search_for_whole_numbers_ends_at_ten_to_the_eighteen() -> None:
    assert turning_point(lambda k: -1.0, 10) == 10**18
    assert turning_point(lambda k: -1.0, 10, limit=50) == 50
    assert turning_point(lambda k: 1.0, 10) == 0


def _added(terms: Iterable[float]) -> float:
    total = 0.0
    for term in terms:
        total += term
    return total


KINDS: dict[str, Callable[[list[float]], float]] = {
    "bowl": lambda x: _added((i + 0.3) * (v - 1.7) ** 2 for i, v in enumerate(x)),
    "valley": lambda x: _added((1 - v) ** 2 for v in x) + _added(100 * (b - a * a) ** 2 for a, b in pairwise(x)),
    "kinks": lambda x: _added((i + 0.3) * abs(v + 0.9) for i, v in enumerate(x)),
    "steps": lambda x: float(round(_added((v - 0.4) ** 2 for v in x), 2)),
    "stairs": lambda x: float(math.floor(_added(20 * (v - 0.3) ** 2 for v in x))),
    "rough": lambda x: _added(v * v for v in x) + 2 * math.sin(40 * _added(x)),
    "edge": lambda x: 1e30 if min(x) < 0 else _added(math.exp(v) - 3 * v for v in x),
}


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_the_simplex_takes_the_steps_of_scipy(kind: str, size: int) -> None:
    """To the last digit: smooth, bent, rough and flat functions, ties, shrinking, and runs that end for each reason."""
    rng = np.random.default_rng(size)
    ends = ((2000, 4000, 1e-9), (40, 4000, 1e-9), (2000, 57, 1e-9), (2000, 4000, 1e-3))
    for steps, calls, spread in [*ends, *([(100, 4000, 1e-3)] * (20 if kind == "stairs" else 0))]:
        start = [0.0, *rng.normal(0, 2, size - 1).tolist()]
        options: Any = {"xatol": spread, "fatol": 1e-13, "maxiter": steps, "maxfev": calls}

        def f(x: NDArray[np.float64]) -> float:
            return KINDS[kind](x.tolist())

        theirs: Any = minimize(f, np.array(start), method="Nelder-Mead", options=options)
        ours = simplex(KINDS[kind], start, spread=spread, tolerance=1e-13, most_steps=steps, most_calls=calls)
        assert ours == theirs.x.tolist()
