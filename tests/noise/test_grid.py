from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.errors import InvalidParameter
from holdfast.noise import (
    Grid,
    GridGaussian,
    GridLaplace,
    Seeded,
    discrete_gaussian,
    discrete_laplace,
    gaussian_on_grid,
    laplace_on_grid,
)

FRACTIONS = st.fractions(min_value=-1000, max_value=1000, max_denominator=10**6)
FLOATS = st.floats(min_value=-1e6, max_value=1e6)
EXPONENTS = st.integers(-12, 6)
POSITIVE = st.fractions(min_value=Fraction(1, 10**6), max_value=10**4, max_denominator=10**6)
QUICK = settings(deadline=None, max_examples=200, derandomize=True)


@given(a=FRACTIONS, b=FRACTIONS, exponent=EXPONENTS)
@example(a=Fraction(1, 2), b=Fraction(3, 2), exponent=0)
@example(a=Fraction(-1, 2), b=Fraction(1, 2), exponent=0)
@QUICK
def test_rounding_moves_no_further_than_the_sensitivity(a: Fraction, b: Fraction, exponent: int) -> None:
    grid = Grid(exponent)
    assert abs(grid.index(a) - grid.index(b)) <= math.ceil(abs(a - b) / grid.step)
    assert abs(grid.index(a) * grid.step - a) <= grid.step / 2
    if a != b:
        assert abs(grid.index(a) - grid.index(b)) <= grid.sensitivity_steps(abs(a - b))


def test_halves_to_even_would_break_it() -> None:
    """The counterexample of the module's text: Python's and NumPy's rounding move by 2 where the sensitivity is 1."""
    assert abs(round(1.5) - round(0.5)) == 2
    assert np.rint(1.5) - np.rint(0.5) == 2
    assert Grid(0).index(1.5) - Grid(0).index(0.5) == 1


@given(values=st.lists(FLOATS, min_size=1, max_size=20), exponent=EXPONENTS)
@example(values=[0.49999999999999994, -0.5, 0.5, 1.5, -1.5, 2.5, -0.50000000000000011, -5e-324, 5e-324], exponent=0)
@example(values=[4503599627370495.5, -4503599627370495.5, 9007199254740993.0], exponent=0)
@example(values=[-1e-300, 1e-300, 0.0, -0.0], exponent=900)
@QUICK
def test_arrays_round_like_fractions(values: list[float], exponent: int) -> None:
    grid = Grid(exponent)
    assert grid.indices(values).tolist() == [math.floor(Fraction(v) / grid.step + Fraction(1, 2)) for v in values]
    assert [grid.index(v) for v in values] == grid.indices(np.array(values)).tolist()


@pytest.mark.parametrize("exponent", [-20, -1, 0, 1, 5, 61, 62, 63, 300])
def test_whole_arrays_round_exactly(exponent: int) -> None:
    grid = Grid(exponent)
    values = [0, 1, -1, 2, 3, 15, 16, 17, -15, -16, -17, 2**40 + 1, -(2**40) - 1]
    assert grid.indices(np.array(values)).tolist() == [grid.index(v) for v in values]
    assert grid.indices(np.array([1, 2], dtype=np.uint8)).tolist() == [grid.index(1), grid.index(2)]


def test_answers_stay_finite_at_the_ends_of_the_doubles() -> None:
    largest = float(np.finfo(np.float64).max)
    for value, end in ((1.7e308, largest), (-1.7e308, -largest)):
        assert laplace_on_grid(1, 1).release(value) == value
        assert Grid(900).value(2**130 if end > 0 else -(2**130)) == end
        assert Grid(1000).values(np.array([2**60 if end > 0 else -(2**60)])).tolist() == [end]
    assert GridLaplace(Grid(600), 5, 5).variance == math.inf
    assert GridGaussian(Grid(-3), 5, 5).variance == 25 / 64


def test_single_values_are_refused_where_arrays_are() -> None:
    for value in (2.0**61, -(2.0**61), 2.0**62, 1e300):
        try:
            expected: list[int] | None = Grid(0).indices([value]).tolist()
        except InvalidParameter:
            expected = None
        if expected is None:
            with pytest.raises(InvalidParameter, match=r"within 2\*\*61 steps"):
                Grid(0).near_index(value)
        else:
            assert [Grid(0).near_index(value)] == expected


def test_whole_numbers_beyond_doubles_keep_their_last_bit() -> None:
    assert Grid(0).indices(np.array([2**60 + 1])).tolist() == [2**60 + 1]
    assert Grid(0).index(np.longdouble(2**60) + 1) == 2**60 + 1 or np.finfo(np.longdouble).nmant < 60
    assert Grid(62).indices(np.array([2**61, 2**61 - 1, -(2**61)])).tolist() == [1, 0, 0]
    assert Grid(63).indices(np.array([2**61, -(2**61)])).tolist() == [0, 0]
    assert Grid(-100).index(Fraction(1, 3)) == (2**101 // 3 + 1) // 2


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="long doubles are doubles here")
def test_long_doubles_are_refused_in_arrays() -> None:
    """Rounding them to doubles first would not commute with whole shifts."""
    with pytest.raises(InvalidParameter, match="64 bits"):
        Grid(0).indices(np.array([1], dtype=np.longdouble))


def test_there_and_back() -> None:
    grid = Grid(-10)
    indices = np.array([-5, 0, 7, 2**40])
    assert grid.indices(grid.values(indices)).tolist() == indices.tolist()
    assert grid.value(-5) == -5 / 1024


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: Grid(0.5), "exponent"),
        (lambda: Grid(2000), "exponent"),
        (lambda: Grid(0).index(float("nan")), "finite"),
        (lambda: Grid(0).index("1"), "finite"),
        (lambda: Grid(0).indices([float("inf")]), "finite"),
        (lambda: Grid(0).indices(["a"]), "whole numbers"),
        (lambda: Grid(-40).indices([1e30]), "2\\*\\*61"),
        (lambda: Grid(-40).indices([2**40]), "2\\*\\*61"),
        (lambda: Grid(0).sensitivity_steps(0), "sensitivity"),
        (lambda: laplace_on_grid(-1, 1), "sensitivity"),
        (lambda: laplace_on_grid(1, 0), "epsilon"),
        (lambda: laplace_on_grid(1, 1, dimension=0), "dimension"),
        (lambda: gaussian_on_grid(1), "exactly one"),
        (lambda: gaussian_on_grid(1, rho=1, sigma=1), "exactly one"),
        (lambda: gaussian_on_grid(1, rho=0), "rho"),
        (lambda: gaussian_on_grid(1, sigma=-1), "sigma"),
        (lambda: GridLaplace(Grid(0), 0, 1), "scale_steps"),
        (lambda: GridLaplace(3, 5, 5), "grid"),
        (lambda: GridGaussian(None, 5, 5), "grid"),
        (lambda: laplace_on_grid(1, 1, 3), "grid"),
        (lambda: gaussian_on_grid(1, rho=1, grid=3), "grid"),
        (lambda: laplace_on_grid(1e-320, 1), "sensitivity and epsilon"),
        (lambda: laplace_on_grid(1, Fraction(10**400)), "sensitivity and epsilon"),
        (lambda: gaussian_on_grid(1e-320, rho=1), "sensitivity and rho"),
        (lambda: gaussian_on_grid(1, sigma=1e-320), "sensitivity and sigma"),
        (lambda: laplace_on_grid(1, Fraction(1, 10**400)), "epsilon needs noise"),
        (lambda: gaussian_on_grid(1, rho=Fraction(1, 10**800)), "rho needs noise"),
        (lambda: gaussian_on_grid(1, sigma=1e308, grid=Grid(-900)), "sigma needs noise"),
        (lambda: Grid(0).indices([[1.0], [1.0, 2.0]]), "whole numbers"),
        (lambda: Grid(0).indices(np.ma.masked_array([1.0], [True])), "masked"),
        (lambda: GridGaussian(Grid(0), 1, -1), "sensitivity_steps"),
    ],
)
def test_wrong_input(call: object, word: str) -> None:
    with pytest.raises(InvalidParameter, match=word):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("value", [1234.5678e300, [1234.5678e300]])
def test_errors_do_not_show_the_statistic(value: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        laplace_on_grid(1, 1).release(np.array(value) if isinstance(value, list) else value * 1e10)  # type: ignore
    assert "1234" not in str(caught.value)


def test_a_float_sensitivity_is_never_read_too_small() -> None:
    """0.1 prints as one tenth but is a little more; 0.7 is a little less. Whichever is larger counts."""
    for value in (0.1, 0.7, 0.3):
        steps = Grid(-60).sensitivity_steps(value)
        assert steps >= Fraction(value) * 2**60
        assert steps >= Fraction(str(value)) * 2**60
    for n in (3, 7, 49, 10_000):  # of a third, a float's decimal and binary value are both too small
        assert Grid(-80).sensitivity_steps(1 / n) >= Fraction(2**80, n)
    assert [Grid(-80).sensitivity_steps(x) for x in (0.25, 3.0, 1)] == [2**78, 3 * 2**80, 2**80]
    assert Grid(0).sensitivity_steps(1.7e308) >= 1.7e308


@given(sensitivity=POSITIVE, epsilon=POSITIVE, dimension=st.sampled_from([1, 2, 10, 1000]))
@QUICK
def test_laplace_costs_at_most_what_was_declared(sensitivity: Fraction, epsilon: Fraction, dimension: int) -> None:
    mechanism = laplace_on_grid(sensitivity, epsilon, dimension=dimension)
    assert mechanism.epsilon <= epsilon
    scale = mechanism.scale_steps * mechanism.grid.step
    assert 1 <= scale / (sensitivity / epsilon) < Fraction(1001, 1000)
    coarse = laplace_on_grid(sensitivity, epsilon, Grid(3), dimension=dimension)
    assert coarse.epsilon <= epsilon
    assert coarse.sensitivity_steps >= sensitivity / 8


@given(sensitivity=POSITIVE, rho=POSITIVE, dimension=st.sampled_from([1, 2, 10, 1000]))
@QUICK
def test_gaussian_costs_at_most_what_was_declared(sensitivity: Fraction, rho: Fraction, dimension: int) -> None:
    mechanism = gaussian_on_grid(sensitivity, rho=rho, dimension=dimension)
    assert mechanism.rho <= rho
    ideal = sensitivity**2 / (2 * rho)
    assert 1 <= (mechanism.sigma_steps * mechanism.grid.step) ** 2 / ideal < Fraction(1001, 1000) ** 2
    from_sigma = gaussian_on_grid(sensitivity, sigma=rho, dimension=dimension)
    assert from_sigma.rho <= sensitivity**2 / (2 * rho**2)
    assert 1 <= from_sigma.sigma_steps * from_sigma.grid.step / rho < Fraction(1001, 1000)
    assert gaussian_on_grid(sensitivity, rho=rho, grid=Grid(3), dimension=dimension).rho <= rho


@given(
    a=st.lists(FRACTIONS, min_size=3, max_size=3), move=st.lists(FRACTIONS, min_size=3, max_size=3), exponent=EXPONENTS
)
@QUICK
def test_vectors_move_no_further_than_their_sensitivity(a: list[Fraction], move: list[Fraction], exponent: int) -> None:
    grid = Grid(exponent)
    if not any(move):
        return
    steps = [abs(grid.index(x + m) - grid.index(x)) for x, m in zip(a, move, strict=True)]
    total = sum(abs(m) for m in move)
    assert sum(steps) <= laplace_on_grid(total, 1, grid, dimension=3).sensitivity_steps
    euclid = Fraction(math.sqrt(sum(m * m for m in move))) * Fraction(10**12 + 1, 10**12)
    assert sum(s * s for s in steps) <= gaussian_on_grid(euclid, rho=1, grid=grid, dimension=3).sensitivity_steps ** 2


def test_the_allowance_of_two_coordinates_is_needed() -> None:
    """From (0.4995, 0.4995) by 4.001 in each: the indices move by 5 in each, which is 7.07 steps, although the vector
    moved by 5.66. An allowance of one step, the square root rounded down, would say 7."""
    grid = Grid(0)
    start, move = Fraction(4995, 10_000), Fraction(4001, 1000)
    steps = grid.index(start + move) - grid.index(start)
    assert steps == 5
    length = Fraction(math.isqrt(2 * 4001**2) + 1, 1000)
    declared = gaussian_on_grid(length, rho=1, grid=grid, dimension=2).sensitivity_steps
    assert declared == 8
    assert 2 * steps**2 <= declared**2
    assert 2 * steps**2 > (declared - 1) ** 2


def test_release_is_index_plus_noise() -> None:
    laplace = laplace_on_grid(1, 1, Grid(-4))
    assert laplace.release(0.3, source=Seeded(1)) == (5 + discrete_laplace(16, source=Seeded(1))) / 16
    values = np.array([[0.3, -0.3], [2.0, 5.0]])
    noise = discrete_laplace(16, 4, source=Seeded(2)).reshape(2, 2)
    assert (laplace.release(values, source=Seeded(2)) == (np.array([[5, -5], [32, 80]]) + noise) / 16).all()
    gaussian = gaussian_on_grid(1, sigma=2, grid=Grid(-4))
    assert gaussian.sigma == 2
    assert gaussian.release(Fraction(3, 10), source=Seeded(1)) == (5 + discrete_gaussian(32, source=Seeded(1))) / 16
    assert gaussian.release(values, source=Seeded(3)).shape == (2, 2)


def test_releases_have_the_stated_spread() -> None:
    for mechanism in (laplace_on_grid(0.01, 0.5), gaussian_on_grid(0.01, rho=0.1)):
        released = mechanism.release(np.full(200_000, 0.37), source=Seeded(5))
        assert abs(released.mean() - 0.37) < 6 * math.sqrt(mechanism.variance / 200_000)
        # The average of squares has relative standard deviation below sqrt(5/n).
        assert abs(((released - 0.37) ** 2).mean() / mechanism.variance - 1) < 6 * math.sqrt(5 / 200_000)


def test_plain_data() -> None:
    mechanism = laplace_on_grid(1, 1, Grid(0))
    assert mechanism == GridLaplace(Grid(0), 1, 1)
    assert mechanism.to_dict() == {
        "noise": "discrete-laplace",
        "grid_exponent": 0,
        "scale_steps": 1,
        "sensitivity_steps": 1,
    }
    assert gaussian_on_grid(1, sigma=3, grid=Grid(0)).to_dict()["sigma_steps"] == 3


@pytest.mark.parametrize("sigma", [0.3, 0.7, 1.0, 3.0])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_discrete_gaussian_is_as_concentrated_as_the_continuous_one(sigma: float, shift: int) -> None:
    """Canonne, Kamath and Steinke's theorem, numerically: every Rényi divergence is at most alpha D^2 / (2 sigma^2)."""
    k = np.arange(-400, 401, dtype=float)
    log_p = -0.5 * (k / sigma) ** 2
    log_z = np.logaddexp.reduce(log_p)
    log_q = -0.5 * ((k - shift) / sigma) ** 2
    for alpha in (1.01, 1.5, 2.0, 4.0, 10.0):
        log_moment = np.logaddexp.reduce(alpha * log_p + (1 - alpha) * log_q) - log_z
        assert log_moment / (alpha - 1) <= alpha * shift**2 / (2 * sigma**2) * (1 + 1e-9)


def test_indices_end_at_two_to_the_61() -> None:
    """So that the sum of an index and noise of the same size still fits 64 bits."""
    grid, end = Grid(-1), 2**60  # two steps a unit
    far = math.nextafter(2.0**60, math.inf)
    for sign in (1, -1):
        assert grid.near_index(sign * end) == sign * 2**61
        assert grid.indices(np.array([sign * end])).tolist() == [sign * 2**61]
        assert grid.indices(np.array([sign * float(end)])).tolist() == [sign * 2**61]
        for beyond in (sign * (end + 1), sign * far):
            with pytest.raises(InvalidParameter):
                grid.near_index(beyond)
            with pytest.raises(InvalidParameter):
                grid.indices(np.array([beyond]))
