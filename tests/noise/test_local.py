from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from holdfast.errors import InvalidParameter
from holdfast.noise import (
    Grid,
    Seeded,
    flip_bits,
    leaky_response,
    local_gaussian,
    local_laplace,
    one_hot_gaussian,
    one_hot_laplace,
    randomized_response,
)
from holdfast.noise.local import declared_range
from tests.noise.laws import LEVEL, chi_square

N = 300_000


@pytest.mark.parametrize("categories", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0, 0.5, 3])
def test_randomized_response_has_its_law(categories: int, epsilon: float) -> None:
    a = math.exp(epsilon)
    for truth in (0, categories - 1):
        law = np.full(categories, 1 / (a + categories - 1))
        law[truth] *= a
        answers = randomized_response(np.full(N, truth), categories, epsilon, source=Seeded(truth))
        assert chi_square(np.bincount(answers, minlength=categories), law * N) > LEVEL
        if epsilon:
            wrong = np.roll(law, 1)
            assert chi_square(np.bincount(answers, minlength=categories), wrong * N) < LEVEL


def test_randomized_response_keeps_the_shape_and_the_truth() -> None:
    values = np.arange(12).reshape(3, 4)
    assert (randomized_response(values, 12, 200) == values).all()
    assert randomized_response(3, 5, 200).tolist() == 3


def test_flipped_bits_are_independent_with_the_right_rate() -> None:
    keep = math.exp(0.5) / (1 + math.exp(0.5))
    answers = flip_bits(np.tile([1, 0], (N, 1)), 1, source=Seeded(1))
    joint = np.bincount(answers[:, 0] * 2 + answers[:, 1], minlength=4)
    law = np.array([(1 - keep) * keep, (1 - keep) ** 2, keep * keep, keep * (1 - keep)])
    assert chi_square(joint, law * N) > LEVEL
    assert chi_square(joint, law[::-1] * N) < LEVEL
    assert answers.dtype == np.uint8
    assert (flip_bits(np.array([[True, False]]), 400) == [[1, 0]]).all()


@pytest.mark.parametrize("bit", [0, 1])
def test_leaky_response_has_the_table(bit: int) -> None:
    epsilon, delta = 0.7, 0.1
    a = math.exp(epsilon)
    law = np.array([delta, (1 - delta) * a / (1 + a), (1 - delta) / (1 + a), 0])
    answers = leaky_response(np.full(N, bit), epsilon, delta, source=Seeded(2))
    seen = np.bincount(answers, minlength=4)
    assert seen[3 if bit == 0 else 0] == 0
    order = [0, 1, 2] if bit == 0 else [3, 2, 1]
    assert chi_square(seen[order], law[:3] * N) > LEVEL


def test_numeric_values_are_clipped_and_noised() -> None:
    values = np.array([-5.0, 0.25, 9.0] * 60_000)
    clipped = np.clip(values, 0, 1)
    for released, variance in (
        (local_laplace(values, 0, 1, 2, source=Seeded(3)), 2 / 4),
        (local_gaussian(values, 0, 1, 0.5, source=Seeded(4)), 1.0),
    ):
        noise = released - clipped
        assert abs(noise.mean()) < 6 * math.sqrt(variance / values.size)
        assert abs((noise**2).mean() / variance - 1) < 0.002 + 6 * math.sqrt(5 / values.size)


def test_one_hot_rows() -> None:
    values = np.array([0, 2, 1] * 20_000)
    truth = np.eye(3)[values]
    for released, variance in (
        (one_hot_laplace(values, 3, 1, source=Seeded(5)), 8.0),
        (one_hot_gaussian(values, 3, 0.5, source=Seeded(6)), 2.0),
    ):
        assert released.shape == (60_000, 3)
        noise = released - truth
        assert abs(noise.mean()) < 6 * math.sqrt(variance / noise.size)
        assert abs((noise**2).mean() / variance - 1) < 0.002 + 6 * math.sqrt(5 / noise.size)
    whole = one_hot_laplace(values, 3, 1, grid=Grid(0), source=Seeded(5))
    assert (whole == np.floor(whole)).all()


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: randomized_response([0, 3], 3, 1), "values"),
        (lambda: randomized_response([-1], 3, 1), "values"),
        (lambda: randomized_response([0.5], 3, 1), "values"),
        (lambda: randomized_response([0], 1, 1), "categories"),
        (lambda: randomized_response([0], 2, -1), "epsilon"),
        (lambda: flip_bits([2], 1), "bits"),
        (lambda: leaky_response([0], 1, 1.5), "delta"),
        (lambda: local_laplace([0.5], 1, 0, 1), "high"),
        (lambda: local_laplace(["secret-row-17"], 0, 1, 1), "values"),
        (lambda: local_gaussian([[0.5], [0.5, 0.5]], 0, 1, 1), "values"),
        (lambda: local_laplace(np.ma.masked_array([0.5], [True]), 0, 1, 1), "masked"),
        (lambda: randomized_response([[0], [0, 1]], 3, 1), "values"),
        (lambda: local_laplace([0.5], 0, 1, 1, default=2), "default"),
        (lambda: one_hot_laplace([0], 2, 1, grid=3), "grid"),
        (lambda: local_gaussian([0.5], 0, 1, 0), "rho"),
        (lambda: one_hot_laplace([0], 2, 1, grid=Grid(1)), "grid"),
        (lambda: one_hot_gaussian([0], 2, 1, grid=Grid(1)), "grid"),
    ],
)
def test_wrong_input(call: object, word: str) -> None:
    with pytest.raises(InvalidParameter, match=word) as caught:
        call()  # type: ignore[operator]
    assert "0.5" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("release", [local_laplace, local_gaussian])
def test_missing_values_take_the_declared_default(release: Any) -> None:
    """NaN and None are no error, which would say something about a row: the middle, or what was declared."""
    given = [0.5, math.nan, None, 10**400, -math.inf, "?"]
    for default, filled in ((None, 2.0), (0.25, 0.25)):
        values = np.array([0.5, filled, filled, 4.0, 0.0, filled])
        expected = release(values, 0, 4, 1, source=Seeded(8))
        assert (release(np.array(given, dtype=object), 0, 4, 1, default=default, source=Seeded(8)) == expected).all()
    assert (release([0.5, math.nan], 0, 4, 1, source=Seeded(8)) == release([0.5, 2.0], 0, 4, 1, source=Seeded(8))).all()


def test_there_are_at_most_as_many_categories_as_half_a_word_holds() -> None:
    assert 0 <= int(randomized_response([0], 1 << 62, 1)[0]) < 1 << 62
    for categories in (1, (1 << 62) + 1):
        with pytest.raises(InvalidParameter, match="categories"):
            randomized_response([0], categories, 1)


def test_the_value_of_those_who_give_none_lies_in_the_range() -> None:
    assert declared_range(-1.0, 3.0, None) == (-1.0, 3.0, 1.0)
    assert declared_range(-1.0, 3.0, -1.0) == (-1.0, 3.0, -1.0)
    assert declared_range(-1.0, 3.0, 3.0) == (-1.0, 3.0, 3.0)
    for default in (-1.1, 3.1):
        with pytest.raises(InvalidParameter, match="default"):
            declared_range(-1.0, 3.0, default)
