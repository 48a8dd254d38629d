"""Theorem B: the schedule against its own conditions, recomputed in another way."""

from __future__ import annotations

import itertools
import json
import math
import time

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from holdfast.bounds import interval
from holdfast.bounds.interval.posterior_shift import Boundary, Schedule, excess, scheduled_rows
from holdfast.errors import InvalidParameter

PRINTED = Boundary(1000, 0.05, 0.0859, 4.05, 0.267, 3.56)


def test_boundary_vectors() -> None:
    """spec-tighter-widths 7: C(x, r), C(0, V), x1(v) and sigma(v)."""
    assert float(excess(np.array([0.3]), np.array([0.05]), 0.2)[0][0]) == pytest.approx(0.03838376866, rel=1e-9)
    at_zero = excess(np.zeros(1), np.array([0.0859]), 3.56**2 * 0.0859)[0][0]
    assert float(at_zero) == pytest.approx(5.998376949e-05, rel=1e-9)
    v = 0.0859 * np.array([1 / 8, 1 / 2, 7 / 8, 1.0])
    np.testing.assert_allclose(PRINTED.crossing(v), [0.38295399, 0.56479016, 0.83048363, 1.04417379], atol=5e-9)
    np.testing.assert_allclose(PRINTED.scale(v), [0.15072963, 0.10680409, 0.04185589, 0.0], atol=5e-9)


def test_middle_scale_of_the_printed_schedule() -> None:
    parameters = (0.08592345, 3.94444606, 0.27634093, 3.56109087)
    schedule = interval.scheduled(6400, 640, 0.05, parameters=parameters).schedule
    assert schedule is not None
    assert schedule.sigma(321) == pytest.approx(0.0241404, rel=3e-6)


@pytest.mark.parametrize(("x", "r", "c"), [(0.0, 0.01, 0.3), (0.2, 0.05, 0.3), (0.7, 0.02, 0.3), (0.5, 1e-6, 0.3)])
def test_excess_by_quadrature(x: float, r: float, c: float) -> None:
    s = math.sqrt(r)
    ends = ((math.sqrt(c) - x) / s, (-math.sqrt(c) - x) / s)
    right = quad(lambda z: ((x + s * z) ** 2 - c) * norm.pdf(z), max(ends[0], -12), 40, epsabs=1e-15)[0]
    left = quad(lambda z: ((x + s * z) ** 2 - c) * norm.pdf(z), -40, min(ends[1], 12), epsabs=1e-15)[0]
    value, slope, bend = (float(a[0]) for a in excess(np.array([x]), np.array([r]), c))
    assert value == pytest.approx(left + right, rel=1e-7, abs=1e-14)
    h = 1e-5
    up, down = (float(excess(np.array([x + d]), np.array([r]), c)[0][0]) for d in (h, -h))
    assert slope == pytest.approx((up - down) / (2 * h), rel=1e-5, abs=1e-9)
    assert bend == pytest.approx((up - 2 * value + down) / h**2, rel=1e-3, abs=1e-4)


def _allowed(free: Boundary, v: float) -> float:
    """sigma(v) by a plain grid over x, from the definition; at most a hair above the true least value."""
    rest = free.horizon - v

    def used(x: float) -> float:
        return free.shift_weight * float(excess(np.array([x]), np.array([rest]), free.threshold)[0][0])

    end = float(brentq(lambda x: used(x) - 1, 0.0, 3.0, xtol=1e-14))
    if end >= 1:
        return 0.0
    x = np.linspace(0, end, 4001)
    spent = free.shift_weight * excess(x, np.full_like(x, rest), free.threshold)[0]
    return float(np.min((1 - x) / (free.noise_level + (1 - np.minimum(spent, 1)) / free.noise_weight)))


def _obeys_the_theorem(schedule: Schedule, n: int, questions: range, tolerance: float) -> bool:
    """Whether `sigma_j <= sigma(v_j)` at the given questions, with v_j summed from the released scales."""
    free = schedule.boundary
    assert free is not None
    tau = schedule.half_width
    v = np.cumsum(1 / (16 * n**2 * schedule.sigmas() ** 2)) / tau**2
    if v[-1] > free.horizon:
        return False
    return all(schedule.sigma(j) / tau <= _allowed(free, float(v[j - 1])) * (1 + tolerance) for j in questions)


@pytest.mark.parametrize(("n", "k", "beta"), [(400, 40, 0.05), (100_000, 1000, 0.001), (10_000, 5000, 0.2)])
def test_schedule_obeys_the_theorem(n: int, k: int, beta: float) -> None:
    schedule = interval.scheduled(n, k, beta).schedule
    assert schedule is not None
    probes = range(1, k + 1, max(1, k // 40))
    assert _obeys_the_theorem(schedule, n, probes, 1e-6)
    louder = Schedule(schedule.half_width, schedule.counts, tuple(1.01 * s for s in schedule.scales), schedule.boundary)
    assert not _obeys_the_theorem(louder, n, probes, 1e-6)  # wrong on purpose
    quieter = Schedule(schedule.half_width, schedule.counts, tuple(0.9 * s for s in schedule.scales), schedule.boundary)
    assert not _obeys_the_theorem(quieter, n, probes, 1e-6)


@pytest.mark.parametrize(("n", "k", "beta"), [(50, 1, 0.05), (50, 2, 0.3), (1000, 30, 1e-6), (10**6, 10**5, 0.01)])
def test_never_wider_than_constant_noise(n: int, k: int, beta: float) -> None:
    constant, falling = interval.posterior_shift(n, k, beta), interval.scheduled(n, k, beta)
    assert falling.half_width <= constant.half_width
    assert falling.schedule is not None
    assert sum(falling.schedule.counts) == k
    scales = falling.schedule.scales
    assert all(a >= b for a, b in itertools.pairwise(scales))
    assert falling.sigma == scales[0]


def test_width_scales_like_one_over_root_n() -> None:
    here, there = interval.scheduled(100, 40, 0.05), interval.scheduled(40_000, 40, 0.05)
    assert here.half_width / there.half_width == pytest.approx(20, rel=1e-12)
    assert scheduled_rows(40, there.half_width, 0.05) == 40_000


def test_more_cells_are_not_worse() -> None:
    parameters = (0.0859, 4.05, 0.267, 3.56)
    widths = [
        interval.scheduled(10**5, 1000, 0.05, parameters=parameters, cells=c).half_width for c in (100, 1000, 8000)
    ]
    assert widths[0] > widths[1] > widths[2] > 0.0497


def test_any_parameters_give_a_valid_but_wider_schedule() -> None:
    best = interval.scheduled(400, 40, 0.05).half_width
    for parameters in [(0.05, 3.0, 0.5, 3.0), (0.2, 3.5, 0.2, 4.0), (0.02, 4.0, 0.9, 2.0)]:
        width = interval.scheduled(400, 40, 0.05, parameters=parameters)
        assert width.half_width > best
        assert width.schedule is not None
        assert _obeys_the_theorem(width.schedule, 400, range(1, 41, 5), 1e-6)


@pytest.mark.parametrize(
    "parameters", [(1.0, 2.0, 0.5), (0.1, 3.0, 1.0, 3.0), (0.1, -3.0, 0.5, 3.0), (0.1, 1e9, 0.5, 3.0)]
)
def test_wrong_parameters(parameters: tuple[float, ...]) -> None:
    with pytest.raises(InvalidParameter, match="parameters"):
        interval.scheduled(400, 40, 0.05, parameters=parameters)


def test_schedule_is_plain_data() -> None:
    schedule = interval.scheduled(400, 40, 0.05).schedule
    assert schedule is not None
    plain = json.loads(json.dumps(schedule.to_dict()))
    again = Schedule(schedule.half_width, tuple(plain["counts"]), tuple(plain["scales"]), schedule.boundary)
    assert again == schedule
    assert len(again.sigmas()) == 40
    with pytest.raises(InvalidParameter, match="question"):
        schedule.sigma(41)
    with pytest.raises(InvalidParameter, match="question"):
        schedule.sigma(0)


def test_a_million_questions_take_no_longer() -> None:
    """The cost is the table and the search, not the number of questions; ten seconds allow for a slow machine."""
    start = time.process_time()
    interval.scheduled(10**6, 987_654, 0.05)
    assert time.process_time() - start < 10
