"""Digests of columns: equal for the same values whatever holds them, and kept only where they tell samples apart."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy.special import ive

from holdfast.data import Column, Schema, table
from holdfast.data.fingerprint import BLOCK, CELLS, LEAST, ColumnSummary, Texts, added, sketch, summaries
from tests.data import kept

N = 400


def summary(values: Any, kind: Any = "integer") -> ColumnSummary:
    held = Texts.of(values) if kind == "text" else np.asarray(values)
    return ColumnSummary.of(Column("any", kind), (held, None))


def digests(rows: dict[str, Any], **options: Any) -> set[str]:
    with table(rows, **options) as sample:
        return set(sample.identity().column_digests.values())


def test_the_same_values_in_any_order_part_name_and_kind() -> None:
    random = np.random.default_rng(1)
    ages = random.integers(-(10**6), 10**6, N)
    whole = summary(ages)
    assert whole.is_informative()
    shuffled = random.permutation(ages)
    for other in (
        summary(shuffled),
        summary(shuffled[:150]) + summary(shuffled[150:]),
        summary(ages.astype(float), "number"),
        summary([str(one) for one in ages], "text"),
        summary([f"{one}.0" for one in ages], "text"),
        ColumnSummary.from_dict(whole.to_dict()),
        ColumnSummary() + whole,
    ):
        assert other.digest() == whole.digest()
        assert (other.low, other.high, other.cells.tolist()) == (whole.low, whole.high, whole.cells.tolist())
    changed = ages.copy()
    changed[7] += 1
    assert summary(changed).digest() != whole.digest()
    assert summary(ages[:-1]).digest() != whole.digest()
    assert digests({"a": ages}) == digests({"b": shuffled.astype(float), "c": [1] * N})


def test_numbers_that_are_not_whole_and_their_decimal_texts() -> None:
    values = np.round(np.random.default_rng(2).normal(size=N), 3)
    one, other = summary(values, "number"), summary([f"{value}" for value in values], "text")
    assert one.digest() == other.digest()
    assert one.low is None
    assert summary([*values[:-1], np.inf], "number").is_informative()
    odd = ["1_0", "0x1", "", "-", "+", ".5", "5.", "1e3", "٣", "9" * 31, "-0", "-9223372036854775809"]
    assert len(set(sketch_of(odd))) == len(odd)
    assert sketch_of(["-9223372036854775808"]) == sketch(Column("k", "integer"), [_batch([-(2**63)])]).hashes


def sketch_of(texts: list[str]) -> tuple[int, ...]:
    return sketch(Column("k", "text"), [{"k": (Texts.of(texts), None)}]).hashes


def _batch(values: list[int]) -> dict[str, Any]:
    return {"k": (np.array(values), None)}


def test_missing_values_count() -> None:
    values = np.random.default_rng(3).normal(size=N)
    with_none = np.where(np.arange(N) < 5, np.nan, values)
    assert summary(with_none, "number").missing == 5
    assert summary(with_none, "number").digest() != summary(values[5:], "number").digest()
    assert digests({"x": [None, *range(7, 3 * N, 2)][:N]}) == set()


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(N, dtype=int),
        np.arange(N),
        np.arange(1, N + 1),
        np.arange(N)[::-1] * 5 - 100,
        np.random.default_rng(4).permutation(N) + 2**62,
        np.arange(N) % 2,
        np.arange(N) % 53,
        np.arange(N) // 7,
        np.arange(N) // 8 + 1000,
        np.repeat(np.random.default_rng(5).integers(0, 10**9, 40), 10),
        np.random.default_rng(6).integers(0, LEAST - 1, N),
        np.random.default_rng(6).integers(0, 2, N),
    ],
    ids=str,
)
def test_what_unrelated_samples_have_too_is_not_informative(values: np.ndarray) -> None:
    for kind in ("integer", "number", "text"):
        if kind != "number" or abs(values).max() < 2**53:
            assert not summary([str(one) for one in values] if kind == "text" else values, kind).is_informative(), kind


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(7).integers(18, 90, N),
        np.delete(np.arange(N + 3), [5, 70, 200]),
        np.append(np.arange(1, N), 10**6),
        np.random.default_rng(8).lognormal(10, 1, N),
        np.repeat(np.random.default_rng(9).integers(0, 10**9, 20_000), 2),
        [f"person {one}" for one in range(N)],
    ],
    ids=["ages", "with gaps", "one odd", "incomes", "twice each", "names"],
)
def test_what_tells_samples_apart_is_informative(values: Any) -> None:
    kind = "text" if isinstance(values, list) else "number" if values.dtype == float else "integer"
    assert summary(values, kind).is_informative()


def test_two_unrelated_samples_do_not_coincide() -> None:
    """The bound of the module: each value that occurs costs a factor below 0.165, whatever its mean count."""
    means = np.exp(np.linspace(math.log(1e-6), math.log(1e6), 20_000))
    log_agreement = np.log(ive(0, 2 * means))  # exp(-2m) I0(2m), scaled by exp(-2m)
    factor = np.exp(log_agreement / -np.expm1(-means))
    assert factor.max() < 0.165
    assert 0.165**LEAST * (math.sqrt(4 * math.pi * 2**32) + 1) < 1e-19


def test_the_bound_is_met_where_it_can_be_measured() -> None:
    """Two samples of one Poisson distribution agree in all of 3 values as often as computed: error rate 1e-6, fixed
    seed.

    A distribution without the condition on the size; a factor of twice the square root would be rejected.
    """
    random, runs, mean = np.random.default_rng(10), 40_000, 1.0
    one, other = random.poisson(mean, (runs, 3)), random.poisson(mean, (runs, 3))
    computed = float(ive(0, 2 * mean)) ** 3
    slack = math.sqrt(math.log(2e6) / (2 * runs))
    measured = float((one == other).all(axis=1).mean())
    assert abs(measured - computed) < slack
    assert abs(measured - math.sqrt(computed)) > slack


def test_all_engines_agree(tmp_path: Path) -> None:
    random = Random(11)
    schema = Schema({"i": "integer", "x": "number", "s": "text", "b": "boolean", "few": "text"})
    rows = [
        {
            "i": random.randrange(10**9),
            "x": random.choice([None, random.gauss(0, 1), 3.0]),
            "s": random.choice([None, f"p{random.randrange(10**6)}"]),
            "b": random.random() < 0.5,
            "few": random.choice("abc"),
        }
        for _ in range(3000)
    ]
    path = kept.parquet(tmp_path / "rows.parquet", rows, schema)
    wanted = table(kept.arrays(rows, schema), engine="numpy", schema=schema).identity().column_digests
    assert set(wanted) == {"i", "x", "s"}
    assert table(path).identity().column_digests == wanted
    assert table(path, engine="duckdb").identity().column_digests == wanted
    assert "i" not in table(path).identity().numbered
    assert "k" in table({"k": list(range(50))}).identity().numbered
    assert "k" not in table({"k": [True, False]}).identity().numbered


def test_summaries_of_parts_add_up() -> None:
    schema = Schema({"x": "number", "b": "boolean"})
    held = {"x": (np.random.default_rng(12).normal(size=N), None), "b": (np.zeros(N, dtype=bool), None)}
    parts = [{name: (values[at::3], None) for name, (values, _) in held.items()} for at in range(3)]
    whole = summaries(schema, held)
    assert set(whole) == {"x"}
    made: dict[str, ColumnSummary] = {}
    for part in parts:
        made = added(made, summaries(schema, part))
    assert made["x"].digest() == whole["x"].digest()
    assert int(made["x"].cells.sum()) == N
    assert len(made["x"].cells) == CELLS


def test_a_block_without_values_does_not_hide_a_running_number() -> None:
    values = np.concatenate([np.arange(BLOCK), np.full(BLOCK, np.nan), np.arange(BLOCK, BLOCK + 10)])
    assert summary(values, "number").is_numbered()
    assert not summary(np.append(values, 0.5), "number").is_numbered()


def test_rows_are_counted_by_cell_as_long_as_a_column_may_be_balanced() -> None:
    random = np.random.default_rng(13)
    few, many = random.integers(0, 10**9, 400), random.integers(0, 10**9, 2 * BLOCK)
    balanced = random.permutation(np.repeat(few, 4 * BLOCK // 400))
    parts = [summary(part) for part in np.array_split(balanced, 3)]
    assert not (parts[0] + parts[1] + parts[2]).is_informative()
    assert not summary(balanced).is_informative()
    assert summary(balanced[1:]).is_informative()
    for one, other in ((summary(many), parts[0]), (parts[0], summary(many))):
        assert (one + other).is_informative()
    assert np.count_nonzero(summary(many).cells) > CELLS * 7 // 8
    assert int(summary(many).cells.sum()) < 2 * BLOCK
