"""Doors of the local tests: answers as they arrive, raw columns with a randomizer, sums; and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import holdfast as hf
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests import local
from holdfast.inference.private_tests.null_models import HardyWeinberg, Homogeneity, Independence
from holdfast.mechanisms.local import BitFlip, OneHotGaussian, OneHotLaplace, RandomizedResponse
from holdfast.noise import Seeded
from holdfast.noise.entropy import Source

U3 = [1 / 3] * 3


def randomizers(d: int) -> list[Any]:
    return [RandomizedResponse(d, 2), BitFlip(d, 2), OneHotLaplace(d, 2), OneHotGaussian(d, 2)]


def test_the_clients_side_is_one_module() -> None:
    names = {"RandomizedResponse", "BitFlip", "LocalLaplace", "LocalGaussian", "OneHotLaplace", "OneHotGaussian"}
    assert names <= set(hf.mechanisms.local.__all__)
    assert hf.mechanisms.local.RandomizedResponse(4, 1).release(2) in range(4)


@pytest.mark.parametrize("randomizer", randomizers(3), ids=lambda r: type(r).__name__)
def test_collecting_is_releasing_and_receiving(randomizer: Any) -> None:
    values = np.array(["a", "b", "c", "a", "c"] * 40)
    codes = np.array([0, 1, 2, 0, 2] * 40)
    straight = local.received(randomizer.release(codes, Seeded(1)), randomizer)
    for column in (values, values.tolist(), pd.Series(values), pl.Series(values)):
        collected = local.collect(column, ["a", "b", "c"], randomizer, source=Seeded(1))
        assert collected.n == straight.n == 200
        assert np.array_equal(collected.sums, straight.sums)
    raw = local.gof(randomizer.release(codes, Seeded(1)), U3, randomizer=randomizer, method="asymptotic")
    assert raw.statistic == local.gof(straight, U3, method="asymptotic").statistic
    assert raw.cost == randomizer.cost


def test_undeclared_values_count_in_a_declared_category() -> None:
    three, six = RandomizedResponse(3, 2), RandomizedResponse(6, 2)
    whole = local.collect(["a", "c", "c"] * 50, ["a", "b", "c"], three, source=Seeded(1))
    gaps = local.collect(["a", None, "z"] * 50, ["a", "b", "c"], three, other="c", source=Seeded(1))
    assert np.array_equal(whole.sums, gaps.sums)
    both: dict[str, Any] = {"row_categories": [0, 1, 2], "column_categories": ["x", "y"], "randomizer": six}
    whole = local.collect_pairs([0, 1, 2], ["x", "y", "y"], **both, source=Seeded(1))
    gaps = local.collect_pairs([0, 1, 9], ["x", "y", None], **both, other_row=2, other_column="y", source=Seeded(1))
    assert np.array_equal(whole.sums, gaps.sums)
    with pytest.raises(InvalidParameter, match="declared categories only"):
        local.collect(["a", "z"], ["a", "b", "c"], three)


@pytest.mark.parametrize("randomizer", randomizers(6), ids=lambda r: type(r).__name__)
def test_pairs(randomizer: Any) -> None:
    rng = np.random.default_rng(1)
    rows, columns = rng.integers(0, 3, 3000), rng.integers(0, 2, 3000)
    pairs = local.collect_pairs(
        rows, columns, row_categories=[0, 1, 2], column_categories=[0, 1], randomizer=randomizer, source=Seeded(2)
    )
    flat = local.received(randomizer.release(2 * rows + columns, Seeded(2)), randomizer, shape=(3, 2))
    assert pairs.shape == (3, 2)
    assert np.array_equal(pairs.sums, flat.sums)
    answers = randomizer.release(2 * rows + columns, Seeded(2))
    first = local.independence(pairs, method="asymptotic")
    second = local.independence(answers, randomizer=randomizer, shape=(3, 2), method="asymptotic")
    assert first.statistic == second.statistic
    assert first.details["degrees"] == 2
    reshaped = local.Collected(pairs.sums.ravel(), 3000, randomizer)
    assert local.independence(reshaped, shape=(3, 2), method="asymptotic").p_value == first.p_value


def test_blocks_do_not_change_the_law_of_a_collection() -> None:
    # More rows than one block holds: every person still answers once.
    flips = BitFlip(1 << 16, 4)
    found = local.collect(np.zeros(100, dtype=int), list(range(1 << 16)), flips, source=Seeded(3))
    assert found.n == 100
    assert found.sums.max() <= 100


class Untouchable(Source):
    """A source that must not be asked."""

    __slots__ = ()

    def word(self) -> int:
        raise AssertionError("a value was randomized")

    def words(self, count: int) -> Any:
        raise AssertionError("a value was randomized")


def test_wrong_columns_are_refused_before_anything_is_released() -> None:
    vote = RandomizedResponse(3, 1)
    for values, categories, message in (
        (["a", "z"], ["a", "b", "c"], "declared categories"),
        (["a", None], ["a", "b", "c"], "declared categories"),
        (["a"], ["a", "b"], "2 categories"),
        ([], ["a", "b", "c"], "at least one"),
    ):
        with pytest.raises(InvalidParameter, match=message) as error:
            local.collect(values, categories, vote, source=Untouchable())
        assert "'z'" not in str(error.value)
    with pytest.raises(InvalidParameter, match="the same length"):
        local.collect_pairs(
            [0, 1], [0], row_categories=[0, 1], column_categories=[0, 1], randomizer=RandomizedResponse(4, 1)
        )


@pytest.mark.parametrize(
    ("sums", "n", "randomizer", "message"),
    [
        ([1, 2], 3, RandomizedResponse(3, 1), "3 in all"),
        ([1, 2, 3], 7, RandomizedResponse(3, 1), "add up"),
        ([1.5, 2, 2.5], 6, RandomizedResponse(3, 1), "whole numbers"),
        ([-1, 4, 3], 6, RandomizedResponse(3, 1), "whole numbers"),
        ([7, 4, 3], 6, BitFlip(3, 1), "whole numbers"),
        ([np.nan, 4, 3], 6, OneHotLaplace(3, 1), "finite"),
        (["a", 4, 3], 6, OneHotLaplace(3, 1), "numbers"),
        ([1, 2, 3], 0, BitFlip(3, 1), "n must be"),
        ([1, 2, 3], 6, "rr", "randomizer must be"),
    ],
)
def test_wrong_sums(sums: Any, n: Any, randomizer: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        local.Collected(sums, n, randomizer)


def test_wrong_questions() -> None:
    vote = RandomizedResponse(4, 1)
    answers = local.Collected([30, 20, 25, 25], 100, vote)
    for wrong, message in (
        ({"p0": [0.5, 0.5]}, "4 in all"),
        ({"p0": [0.5, 0.5, 0.1, 0.1]}, "sum to 1"),
        ({"p0": [0.5, 0.5, 0, 0]}, "p0"),
        ({"alpha": 0}, "alpha"),
        ({"method": "guess"}, "method"),
        ({"m": 10, "method": "monte-carlo"}, "m must be at least 19"),
        ({"rng": 3}, "rng"),
        ({"minimum_expected": -1}, "minimum_expected"),
        ({"randomizer": BitFlip(4, 1)}, "another randomizer"),
    ):
        arguments: dict[str, Any] = {"p0": [0.25] * 4} | wrong
        with pytest.raises(InvalidParameter, match=message):
            local.gof(answers, **arguments)
    with pytest.raises(InvalidParameter, match="randomizer was not given"):
        local.gof([0, 1, 2], U3)
    with pytest.raises(InvalidParameter, match="answers"):
        local.gof([0, 1, 7], U3, randomizer=RandomizedResponse(3, 1))
    with pytest.raises(InvalidParameter, match="about pairs"):
        local.independence(answers)
    with pytest.raises(InvalidParameter, match="shape"):
        local.independence([0, 1, 2], randomizer=vote, shape=(3, 2))
    with pytest.raises(InvalidParameter, match="4 cells"):
        local.independence(answers, shape=(3, 2))
    with pytest.raises(InvalidParameter, match="the answers have the shape"):
        local.independence(local.Collected([[3, 2], [2, 3]], 10, vote), shape=(4, 1))
    with pytest.raises(InvalidParameter, match="null model"):
        local.general(answers, "independence")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="one group"):
        local.general(answers, Homogeneity(2, 2))
    with pytest.raises(InvalidParameter, match="got 1 groups and 3 categories"):
        local.general(answers, HardyWeinberg())
    coin = RandomizedResponse(2, 1)
    with pytest.raises(InvalidParameter, match="row_randomizer"):
        local.separate_independence([[1, 2], [3, 4]], BitFlip(2, 1), coin)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="2 by 2"):
        local.separate_independence([[1, 2, 3], [3, 4, 5]], coin, coin)
    with pytest.raises(InvalidParameter, match="the same length"):
        local.separate_independence(([0, 1], [0]), coin, coin)


def test_small_numbers_of_people_never_give_nan() -> None:
    for randomizer in (RandomizedResponse(4, 0.01), BitFlip(4, 0.01), OneHotLaplace(4, 0.01), OneHotGaussian(4, 1e-4)):
        for n in (1, 3):
            sums = local.simulate_sums(n, [0.25] * 4, randomizer, 5, np.random.default_rng(n))
            for row in sums:
                answers = local.Collected(row.reshape(2, 2), n, randomizer)
                for method in ("asymptotic", "monte-carlo"):
                    for found in (
                        local.gof(answers, [0.25] * 4, method=method, m=19),  # type: ignore[arg-type]
                        local.independence(answers, method=method, m=19),  # type: ignore[arg-type]
                    ):
                        assert found.inconclusive or 0 <= found.p_value <= 1  # type: ignore[operator]


def test_an_empty_row_of_answers() -> None:
    coin = RandomizedResponse(2, 1)
    found = local.separate_independence([[0, 0], [30, 31]], coin, coin, minimum_expected=0)
    assert found.inconclusive
    pair = local.general(local.Collected([0, 0, 50, 50], 100, RandomizedResponse(4, 1)), Independence(2, 2))
    assert pair.p_value is not None


def test_two_answers_a_person() -> None:
    coin, die = RandomizedResponse(2, 1), RandomizedResponse(3, 1)
    rng = np.random.default_rng(4)
    first, second = coin.release(rng.integers(0, 2, 500), Seeded(1)), die.release(rng.integers(0, 3, 500), Seeded(2))
    table = np.zeros((2, 3), dtype=int)
    np.add.at(table, (first, second), 1)
    by_person = local.separate_independence((first, second), coin, die)
    assert by_person.statistic == local.separate_independence(table, coin, die).statistic
    assert by_person.details["degrees"] == 2
