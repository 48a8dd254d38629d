"""Sensitivities of selection scores against every small data set, and private choices."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from holdfast.bounds.p_value import largest_epsilon
from holdfast.errors import InvalidParameter
from holdfast.inference import AfterLooking
from holdfast.inference.after_looking.selection import (
    Scores,
    alternatives,
    choose,
    covariances,
    mean_differences,
    products,
)
from holdfast.noise import Seeded


def largest_move(score: Callable[[Any, Any], Scores], rows: list[tuple[float, float]], n: int) -> float:
    """The largest change of the score over every data set of `n` rows and every replacement of one row.

    Scores do not depend on the order of rows, so multisets stand for data sets.
    """

    def value(data: tuple[tuple[float, float], ...]) -> float:
        table = np.array(data)
        return float(score(table[:, :1], table[:, 1]).values[0])

    worst = 0.0
    for rest in itertools.combinations_with_replacement(rows, n - 1):
        values = [value((*rest, row)) for row in rows]
        worst = max(worst, max(values) - min(values))
    return worst


CORNERS = [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0), (0.0, 1.0)]
BITS = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (0.5, 0.5)]
GROUPS = [(-1.0, 0.0), (-1.0, 1.0), (1.0, 0.0), (1.0, 1.0), (0.0, 0.0)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_products(n: int) -> None:
    worst = largest_move(products, CORNERS, n)
    bound = products([[1.0]] * n, [1.0] * n).sensitivity
    assert worst <= bound == pytest.approx(2.0)
    assert worst >= (1.0 if n == 1 else 1.99)  # attained as soon as the rest does not cancel


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_covariances(n: int) -> None:
    worst = largest_move(covariances, BITS, n)
    bound = covariances([[1.0]] * n, [1.0] * n).sensitivity
    assert worst <= bound == pytest.approx(1 - 1 / n, abs=1e-9)
    assert worst >= 0.5 * bound - 1e-9


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("floor", [1, 2, 3])
def test_mean_differences(n: int, floor: int) -> None:
    def score(x: Any, y: Any) -> Scores:
        return mean_differences(x, y, smallest_group=floor)

    worst = largest_move(score, GROUPS, n)
    bound = score([[1.0]] * n, [1.0] * n).sensitivity
    assert worst <= bound == pytest.approx(4 / (floor + 1))
    if n >= 2 * floor + 1:
        assert worst >= 0.7 * bound  # no other constant of this form would do


def test_a_wrong_sensitivity_is_seen() -> None:
    assert largest_move(products, CORNERS, 4) > 1.5
    assert largest_move(lambda x, y: mean_differences(x, y, smallest_group=1), GROUPS, 4) > 4 / 3


def test_chi_square_has_no_useful_sensitivity() -> None:
    def chi_square(x: Any, y: Any) -> float:
        a, b = x - x.mean(), y - y.mean()
        scale = (a @ a) * (b @ b)
        return float(len(x) * (a @ b) ** 2 / scale) if scale else 0.0

    alone = np.array([1.0] + [0.0] * 99)
    assert chi_square(alone, alone) == pytest.approx(100)
    assert chi_square(np.zeros(100), np.zeros(100)) == 0


def test_values_are_clipped_and_chi_square_numerator() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 2, (200, 3)), rng.integers(0, 2, 200)
    a = [(x[:, j] * y).sum() * ((1 - x[:, j]) * (1 - y)).sum() for j in range(3)]
    b = [(x[:, j] * (1 - y)).sum() * ((1 - x[:, j]) * y).sum() for j in range(3)]
    np.testing.assert_allclose(covariances(x, y).values, np.abs(np.subtract(a, b)) / 200, atol=1e-9)
    wild = products([[1e9], [1.0]], [1.0, 1.0])
    assert wild.values[0] == 2.0


def test_scores_hide_themselves() -> None:
    scores = products([[0.123456]] * 3, [1.0] * 3)
    assert "0.37" not in repr(scores)
    with pytest.raises(TypeError, match="not stored"):
        pickle.dumps(scores)


@pytest.mark.parametrize("method", ["permute-and-flip", "exponential", "geometric", "laplace"])
def test_choice_finds_a_strong_feature_and_records_its_cost(method: Any) -> None:
    rng = np.random.default_rng(3)
    label = rng.choice([-1.0, 1.0], 4000)
    features = rng.choice([-1.0, 1.0], (4000, 20))
    features[:, 11] = label
    looking = AfterLooking(4000)
    scores = products(features, label, names=[f"f{j}" for j in range(20)])
    choice = choose(scores, 0.05, method=method, looking=looking, source=Seeded(4))
    assert (choice.index, choice.name, choice.values) == (11, "f11", 20)
    assert looking.entries[0].cost == choice.cost
    assert looking.entries[0].values == 20
    again = AfterLooking(4000).record(choice)
    assert again.level() == looking.level()
    assert "chosen with" in str(choice)
    assert choice.to_dict()["cost"]["epsilon"] == 0.05


def test_a_recorded_choice_is_never_worse_than_bonferroni() -> None:
    for epsilon in (0.001, 0.05, 1.0, 50.0):
        looking = AfterLooking(1000).record(_cost(epsilon), values=100)
        assert looking.level().value >= 0.05 / 100 * (1 - 1e-12)
        assert looking.adjusted(1e-6) <= 1e-4 * (1 + 1e-12)
        assert looking.level().value >= AfterLooking(1000).record(_cost(epsilon)).level().value


def _cost(epsilon: float) -> Any:
    from holdfast.accounting import PureDP

    return PureDP(epsilon)


def test_wrong_input_changes_nothing() -> None:
    looking = AfterLooking(3)
    scores = products([[1.0, 2.0]] * 3, [1.0] * 3)
    for wrong in (
        lambda: choose(scores, 0.0, looking=looking),
        lambda: choose(scores, -1.0, looking=looking),
        lambda: choose(scores, 0.1, method="best", looking=looking),  # type: ignore[arg-type]
        lambda: choose([0.1, 0.2], 0.1, looking=looking),  # type: ignore[arg-type]
        lambda: choose(products([[1.0]] * 4, [1.0] * 4), 0.1, looking=looking),
        lambda: products([[1.0]], [1.0, 2.0]),
        lambda: products([[float("nan")]], [1.0]),
        lambda: products(np.empty((0, 3)), []),
        lambda: products([["a"]], [1.0]),
        lambda: products([[1.0]], [1.0], bound=0),
        lambda: products([[1.0]], [1.0], names=["a", "b"]),
        lambda: covariances([[1.0]], [1.0], low=1, high=0),
        lambda: mean_differences([[1.0]], [0.5]),
        lambda: mean_differences([[1.0]], [1.0], smallest_group=0),
        lambda: alternatives(1000, 0, 0.1),
        lambda: alternatives(0, 10, 0.1),
    ):
        with pytest.raises(InvalidParameter):
            wrong()
    assert looking.entries == ()


@pytest.mark.parametrize("masked", ["features", "label"])
@pytest.mark.parametrize("score", [products, covariances, mean_differences])
def test_a_masked_array_is_refused_and_not_read_below_its_mask(score: Callable[..., Scores], masked: str) -> None:
    given = {"features": np.array([[1.0], [0.0]]), "label": np.array([1.0, 0.0])}
    given[masked] = np.ma.masked_equal(given[masked], 0.0)
    with pytest.raises(InvalidParameter, match="a number in every place, but one of them is a masked array"):
        score(*given.values())


def test_alternatives_and_planning() -> None:
    found = alternatives(10_000, 1000, 0.01)
    assert found.to_dict()["bonferroni"]["level"] == pytest.approx(5e-5)
    assert found.to_dict()["naive"]["valid"] is False
    epsilon = largest_epsilon(0.05, 0.005, 10_000)
    assert AfterLooking(10_000).record(_cost(epsilon)).level().value >= 0.005


def test_sensitivities_hold_the_rounding_of_sums() -> None:
    """Two floating-point sums of n terms can each be off by about n units: more than 0 must be added."""
    x = np.full((1000, 2), 0.1)
    label = np.arange(1000) % 2
    assert products(x, label).sensitivity >= 2 + 1000 * 1000 * 2.0**-52
    assert covariances(x, label).sensitivity >= (1 - 1 / 1000) + 1000 * 1000 * 2.0**-52
    assert mean_differences(x, label, smallest_group=10).sensitivity >= 4 / 11 + 100 * 1000 * 2.0**-52
