"""Sketches of row keys: they find what they promise to find, with the probability they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from holdfast.data import Column, table
from holdfast.data.fingerprint import SIZE, Sketch, Texts, sketch
from holdfast.errors import InvalidParameter

KEY = Column("id", "integer")


def sketched(keys: np.ndarray, size: int = SIZE) -> Sketch:
    return sketch(KEY, [{"id": (keys, None)}], size)


def missed(size: int, shared: int, only_one: int, only_other: int, runs: int = 4000) -> int:
    random, times = np.random.default_rng(7), 0
    for _ in range(runs):
        keys = random.integers(-(2**62), 2**62, shared + only_one + only_other)
        one, other = keys[: shared + only_one], np.concatenate([keys[:shared], keys[shared + only_one :]])
        times += not sketched(one, size).overlaps(sketched(other, size))
    return times


@pytest.mark.parametrize(("size", "shared", "one", "other"), [(8, 5, 20, 20), (8, 5, 40, 5), (16, 3, 30, 30)])
def test_shared_keys_are_missed_no_more_often_than_stated(size: int, shared: int, one: int, other: int) -> None:
    """The stated probability bounds it; error rate 1e-6 by Hoeffding. A sketch half as large breaks the bound."""
    runs, union = 4000, shared + one + other
    stated = math.comb(union - shared, size) / math.comb(union, size)
    slack = math.sqrt(math.log(1e6) / (2 * runs))
    assert stated <= math.exp(-size * shared / union)
    assert missed(size, shared, one, other) / runs <= stated + slack
    assert missed(size // 2, shared, one, other) / runs > stated + slack


def test_disjoint_samples_are_told_apart() -> None:
    keys = np.random.default_rng(1).permutation(200_000)
    assert not sketched(keys[:100_000]).overlaps(sketched(keys[100_000:]))


def test_half_a_percent_is_found_and_small_samples_are_exact() -> None:
    keys = np.random.default_rng(2).permutation(400_000)
    assert sketched(keys[:200_000]).overlaps(sketched(keys[198_000:398_000]))
    assert sketched(keys[:2000]).overlaps(sketched(keys[1999:3999]))


def test_parts_make_the_same_sketch_as_the_whole() -> None:
    keys = np.random.default_rng(3).integers(0, 10**12, 50_000)
    parts = sketch(KEY, [{"id": (keys[at::7], None)} for at in range(7)])
    assert parts == sketched(keys) == sketched(keys[::-1])
    assert len(parts.hashes) == SIZE
    assert Sketch.from_dict(parts.to_dict()) == parts
    assert str(parts.hashes[0]) not in repr(parts)


def test_missing_keys_are_no_overlap() -> None:
    one = table({"k": ["a", None], "x": [1, 2]}, row_key="k")
    other = table({"k": ["b", None], "x": [1, 2]}, row_key="k", engine="numpy")
    numbers = [table({"k": [at, float("nan")]}, row_key="k").key_sketch() for at in (1.5, 2.5)]
    assert not one.key_sketch().overlaps(other.key_sketch())  # type: ignore[union-attr,arg-type]
    assert not numbers[0].overlaps(numbers[1])  # type: ignore[union-attr,arg-type]


def test_keys_are_found_under_another_name_and_engine() -> None:
    one = table({"person": ["a", "b"], "x": [1, 2]}, row_key="person").key_sketch()
    other = table({"id": ["c", "b"]}, row_key="id", engine="numpy").key_sketch()
    assert one is not None
    assert other is not None
    assert one.overlaps(other)


def test_no_row_key_no_sketch() -> None:
    assert table({"x": [1]}).key_sketch() is None
    with pytest.raises(InvalidParameter, match="row_key must be the name of a column of the data, got"):
        table({"x": [1]}, row_key="y")
    with pytest.raises(InvalidParameter, match="a stored sketch"):
        Sketch.from_dict({"hashes": ["zz"], "below": "0"})


def test_a_key_stored_as_text_is_still_the_same_key() -> None:
    """To write the keys as texts must not hide that rows are shared."""
    texts = ["-3", "0", "7.0", "4503599627370497", "007"]
    as_text = sketch(Column("id", "text"), [{"id": (Texts.of(texts), None)}])
    assert as_text.hashes == sketched(np.array([-3, 0, 7, 2**52 + 1])).hashes


def test_a_key_declared_a_number_is_still_the_same_key() -> None:
    """Otherwise another declaration of the same column would hide that rows are shared."""
    keys = np.array([-3, 0, 7, 2**52 + 1])
    whole = sketched(keys)
    numbers = sketch(Column("id", "number"), [{"id": (np.array([-3.0, -0.0, 7.0, 2.0**52 + 1]), None)}])
    assert numbers.hashes == whole.hashes
    others = [-2.5, 0.5, 1e300, -1e300, np.inf, np.nan, 2.0**63]
    apart = sketch(Column("id", "number"), [{"id": (np.array(others), None)}])
    assert len(apart.hashes) == len(others) - 1
    assert not apart.overlaps(whole)
