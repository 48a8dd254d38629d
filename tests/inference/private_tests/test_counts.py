"""The door: what is a histogram, what is refused, and that nothing secret is shown."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests import NoisyCounts, column, cross, gaussian, histogram, release, table, tally
from holdfast.inference.private_tests.counts import Counts, codes, cross_codes, probabilities, protected_unit

SECRET = [731, 169, 57]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([3, -1], "at least 0"),
        ([3, 1.5], "whole numbers"),
        ([3, float("nan")], "whole numbers"),
        ([3, float("inf")], "whole numbers"),
        ([], "at least two cells"),
        ([7], "at least two cells"),
        ([0, 0], "at least one record"),
        (["3", "4"], "whole numbers"),
        ([True, False], "whole numbers"),
        ([[1, 2], [3]], "counts must be"),
        (None, "whole numbers"),
        ([2**60, 1], "whole numbers"),
        ([2**53, 2**53], "2\\*\\*53"),
        (np.ma.masked_array([1, 2], [True, False]), "masked"),
    ],
)
def test_wrong_counts(counts: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        histogram(counts)


def test_whole_floats_are_counts() -> None:
    assert histogram(np.array([3.0, 4.0])).n == 7


@pytest.mark.parametrize("counts", [[[1, 2]], [[1], [2]], [1, 2], [[[1]]]])
def test_wrong_tables(counts: Any) -> None:
    with pytest.raises(InvalidParameter):
        table(counts)


def test_a_table_may_have_an_empty_row() -> None:
    assert table([[0, 0], [1, 2]]).shape == (2, 2)


def test_n_is_public_and_right() -> None:
    assert histogram(SECRET, n=sum(SECRET)).n == 957
    with pytest.raises(InvalidParameter, match="sum of the counts"):
        histogram(SECRET, n=956)
    with pytest.raises(InvalidParameter, match="private total"):
        histogram(SECRET, n="unknown")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="adding or removing"):
        histogram(SECRET, neighbours="add-remove")
    with pytest.raises(InvalidParameter, match="replace-one, add-remove"):
        histogram(SECRET, neighbours="nearby")


def test_nothing_secret_is_shown() -> None:
    counts = histogram(SECRET)
    assert repr(counts) == str(counts) == "Counts(n=957, shape=(3,))"
    with pytest.raises(TypeError, match="private"):
        pickle.dumps(counts)
    for wrong in ({"n": 956}, {"n": "private"}, {"neighbours": "add-remove"}):
        with pytest.raises(InvalidParameter) as error:
            histogram(SECRET, **wrong)  # type: ignore[arg-type]
        assert not any(str(cell) in str(error.value) for cell in SECRET)
    with pytest.raises(ValueError, match="read-only"):
        counts.values[0] = 0


def test_counts_do_not_follow_the_array_they_came_from() -> None:
    array = np.array([1, 2])
    counts = histogram(array)
    array[0] = 9
    assert counts.values.tolist() == [1, 2]


def test_counts_check_themselves() -> None:
    with pytest.raises(InvalidParameter, match="sum to n"):
        Counts(np.array([1, 2]), 4)


ROWS = ["a", "b", "a", "c", "a", "b"]
COLUMNS = [0, 1, 1, 0, 0, 1]
EXPECTED = [[2, 1], [0, 2], [1, 0]]


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame({"r": ROWS, "c": COLUMNS}), pl.DataFrame({"r": ROWS, "c": COLUMNS})],
    ids=["pandas", "polars"],
)
def test_two_columns_of_a_frame(frame: Any) -> None:
    rows, columns = column(frame, "r"), column(frame, "c")
    found = cross(rows, columns, row_categories=["a", "b", "c"], column_categories=[0, 1])
    assert found.values.tolist() == EXPECTED
    assert tally(rows, ["a", "b", "c", "d"]).values.tolist() == [3, 2, 1, 0]
    with pytest.raises(InvalidParameter, match="no column 'x'"):
        column(frame, "x")


def test_lazy_and_categorical_columns() -> None:
    lazy = pl.LazyFrame({"r": ROWS, "c": COLUMNS})
    assert tally(column(lazy, "r"), ["a", "b", "c"]).n == 6
    with pytest.raises(InvalidParameter, match="no column"):
        column(lazy, "x")
    assert tally(pd.Series(ROWS, dtype="category"), ["a", "b", "c"]).values.tolist() == [3, 2, 1]
    assert tally(pl.Series(ROWS, dtype=pl.Categorical), ["a", "b", "c"]).values.tolist() == [3, 2, 1]
    assert tally(np.array(COLUMNS, dtype=np.uint8), np.array([0, 1])).values.tolist() == [3, 3]
    with pytest.raises(InvalidParameter, match="data frame"):
        column([1, 2], "x")


def test_columns_by_code() -> None:
    first, second = codes(ROWS, ["a", "b", "c"]), codes(COLUMNS, [0, 1])
    assert cross_codes(first, second, 3, 2).values.tolist() == EXPECTED
    with pytest.raises(InvalidParameter, match="the same length"):
        cross_codes(first, second[:3], 3, 2)


@pytest.mark.parametrize("values", [[*ROWS, "secret"], [*ROWS, None], [*ROWS, float("nan")]])
def test_categories_are_declared_and_never_discovered(values: Any) -> None:
    with pytest.raises(InvalidParameter, match="not declared") as error:
        tally(values, ["a", "b", "c"])
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("categories", [None, "abc", ["a"], ["a", "a"], [["a"], ["b"]]])
def test_wrong_categories(categories: Any) -> None:
    with pytest.raises(InvalidParameter, match="categories"):
        tally(ROWS, categories)


@pytest.mark.parametrize("values", ["abc", [], 3, [["a"]], np.zeros((2, 2)), {"a": 1}])
def test_wrong_columns(values: Any) -> None:
    with pytest.raises(InvalidParameter, match="values"):
        tally(values, ["a", "b"])


@pytest.mark.parametrize(
    ("p0", "words"),
    [
        ([0.5, 0.4], "sum to 1"),
        ([0.5, 0.5, 0.0], "cannot occur"),
        ([1.5, -0.5], "p0\\[1\\]"),
        ([1.0], "two cells"),
        ([0.5, float("nan")], "p0\\[1\\]"),
        ("half", "list of numbers"),
        ([1e-300, 1.0], "1e-250"),
        ([], "at least one number"),
    ],
)
def test_wrong_probabilities(p0: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        probabilities("p0", p0)


def test_probabilities_sum_to_one_exactly_enough() -> None:
    found = probabilities("p0", [1 / 3, 1 / 3, 0.3333333333])
    assert abs(found.sum() - 1) < 1e-15
    assert probabilities("p0", [[0.25, 0.25], [0.25, 0.25]]).tolist() == [0.25] * 4
    with pytest.raises(InvalidParameter, match="3 in all"):
        probabilities("p0", [0.5, 0.5], 3)


def test_public_margins_change_the_unit() -> None:
    assert protected_unit("both", "swap") == "swap"
    for margins in ("none", "rows", "columns"):
        assert protected_unit(margins, "person") == "person"  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="protects less"):
            protected_unit(margins, "swap")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="unit='swap'"):
        protected_unit("both", "person")


def test_a_release_keeps_the_shape() -> None:
    noisy = release([[520, 150], [170, 160]], rho=1)
    assert noisy.shape == (2, 2)
    assert noisy.n == 1000
    assert release(table([[520, 150], [170, 160]]), epsilon=1).shape == (2, 2)
    with pytest.raises(InvalidParameter, match="adding or removing"):
        release([1, 2], rho=1, neighbours="add-remove")


@pytest.mark.parametrize("values", [[1.0], [1.0, float("nan")], "ab", [[[1.0, 2.0]]]])
def test_wrong_noisy_counts(values: Any) -> None:
    with pytest.raises(InvalidParameter):
        NoisyCounts(values, 10, gaussian(1))


def test_noisy_counts_are_public_but_fixed() -> None:
    noisy = NoisyCounts(np.array([1.5, -2.0]), 10, gaussian(1))
    with pytest.raises(ValueError, match="read-only"):
        noisy.values[0] = 3
    again = pickle.loads(pickle.dumps(noisy))
    assert again.values.tolist() == [1.5, -2.0]
    assert again.noise == noisy.noise
    with pytest.raises(InvalidParameter, match="NoiseLaw"):
        NoisyCounts(np.array([1.5, -2.0]), 10, 800.0)  # type: ignore[arg-type]
