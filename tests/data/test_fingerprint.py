"""The digest of a sample: blind to what does not matter, and to nothing else."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.data import Schema, table
from holdfast.data.files import CHANGED
from holdfast.data.fingerprint import Content, Texts, held, mix
from holdfast.data.schema import Column
from holdfast.errors import SampleUnavailable
from tests.data import kept
from tests.data.expressions.odd_rows import SCHEMA, TEXTS
from tests.data.expressions.odd_rows import rows as odd_rows

VALUES: dict[str, Any] = {
    "number": st.none() | st.floats(allow_nan=True, allow_infinity=True),
    "integer": st.none() | st.integers(-(2**63), 2**63 - 1),
    "boolean": st.none() | st.booleans(),
    "text": st.none()
    | st.sampled_from(TEXTS)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
}
SMALL = Schema({"x": "number", "i": "integer", "b": "boolean", "s": "text"})
ROWS = st.lists(st.fixed_dictionaries({c.name: VALUES[c.kind] for c in SMALL}), min_size=1, max_size=6)
quick = settings(max_examples=60, deadline=None, derandomize=True)


def digest(rows: list[dict[str, Any]], schema: Schema = SMALL, engine: str = "polars") -> str:
    if engine == "numpy":
        return table(kept.arrays(rows, schema), engine="numpy", schema=schema).fingerprint()
    return table(kept.arrow(rows, schema), schema=schema).fingerprint()


def same(one: Any, other: Any) -> bool:
    """Whether two values count as the same: NaN is missing, minus zero is zero."""
    one, other = (None if isinstance(v, float) and math.isnan(v) else v for v in (one, other))
    return bool(one == other)


@quick
@given(ROWS, st.randoms())
def test_order_of_rows_and_columns_does_not_matter(rows: list[dict[str, Any]], random: Random) -> None:
    shuffled = random.sample(rows, len(rows))
    turned = Schema(random.sample(SMALL.columns, len(SMALL)))
    assert digest(rows) == digest(shuffled) == digest(shuffled, turned) == digest(shuffled, engine="numpy")


@quick
@given(ROWS, st.data())
def test_any_single_change_matters(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.sampled_from(SMALL.columns))
    value = data.draw(VALUES[column.kind])
    changed = [dict(row) for row in rows]
    changed[at][column.name] = value
    assert (digest(changed) == digest(rows)) == same(value, rows[at][column.name])


@quick
@given(ROWS, st.data())
def test_a_row_more_or_twice_or_values_that_change_places_matter(
    rows: list[dict[str, Any]], data: st.DataObject
) -> None:
    again = data.draw(st.sampled_from(rows))
    assert digest([*rows, again]) != digest(rows)
    one, other = data.draw(st.sampled_from(rows)), data.draw(st.sampled_from(rows))
    swapped = [dict(row) for row in rows]
    first, second = rows.index(one), rows.index(other)
    swapped[first]["i"], swapped[second]["i"] = other["i"], one["i"]
    if first != second and one["i"] != other["i"] and not all(same(one[n], other[n]) for n in ("x", "b", "s")):
        assert digest(swapped) != digest(rows)


def test_names_and_kinds_matter_and_declared_values_do_not() -> None:
    columns = {"a": [1, 2], "b": ["x", "y"]}
    sample = table(columns).fingerprint()
    assert table({"c": [1, 2], "b": ["x", "y"]}).fingerprint() != sample
    assert table(columns, schema={"a": "number", "b": "text"}).fingerprint() != sample
    assert table(columns, schema={"a": "integer"}).fingerprint() != sample
    from holdfast.data import Column

    named = Schema([Column("b", "text", values=("x", "y")), Column("a", "integer")])
    assert table(columns, schema=named).fingerprint() == sample


def test_files_under_any_name_and_format(tmp_path: Path) -> None:
    rows = odd_rows(Random(5), 2000)
    wanted = table(kept.parquet(tmp_path / "a.parquet", rows)).fingerprint()
    for path in (
        kept.csv(tmp_path / "b.csv", rows[::-1]),
        kept.parquet(tmp_path / "z y.parquet", rows[1000:] + rows[:1000]),
    ):
        for engine in ("polars", "duckdb"):
            assert table(path, schema=SCHEMA, engine=engine).fingerprint() == wanted  # type: ignore[arg-type]
    folder = tmp_path / "parts"
    folder.mkdir()
    for at in range(4):
        kept.parquet(folder / f"{at}.parquet", rows[at::4])
    assert table(folder).fingerprint() == table(folder, engine="duckdb").fingerprint() == wanted
    assert table(kept.duckdb(tmp_path / "c.duckdb", rows), table="rows").fingerprint() == wanted
    frame = pl.read_parquet(tmp_path / "a.parquet")
    assert table(frame.with_columns(pl.col("s").cast(pl.Categorical))).fingerprint() == wanted
    assert table(frame.to_pandas(use_pyarrow_extension_array=True)).fingerprint() == wanted


def test_the_digest_is_pinned() -> None:
    """Ledgers are found by it, so it may not change from version to version or from processor to processor."""
    columns = {"age": [23, None], "x": [0.5, -0.0], "b": [True, False], "name": ["Zoë", ""]}
    assert table(columns).fingerprint() == "53711caf5d0fa3fd58c3cfbc9f8dd31384bab57169d8af29eda3dc7840b90ac5"


def test_one_changed_number_always_changes_every_lane() -> None:
    """Given the rest of a row each lane is a bijection of a value; a missing one is another number in each."""
    schema, random = Schema({"i": "integer", "b": "boolean"}), np.random.default_rng(1)
    for _ in range(200):
        one, other = random.integers(-(2**63), 2**63, 2, dtype=np.int64)
        lanes = [Content.of(schema, {"i": (np.array([v]), None), "b": (np.array([True]), None)}) for v in (one, other)]
        assert all(a != b for a, b in zip(*(lane.sums for lane in lanes), strict=True))
    values = random.integers(0, 2**64, 10_000, dtype=np.uint64)
    values = np.unique(np.concatenate([values, np.arange(10_000, dtype=np.uint64)]))
    mixed = values.copy()
    mix(mixed)
    assert np.unique(mixed).size == values.size


def test_lanes_of_rows_look_random() -> None:
    """Sums of consecutive whole numbers: every bit is one half of the time; error rate 1e-6 a bit by Hoeffding."""
    schema, runs = Schema({"i": "integer"}), 2000
    sums = [Content.of(schema, {"i": (np.arange(at, at + 3), None)}).sums for at in range(runs)]
    bits = np.array([[(lane >> bit) & 1 for lane in one for bit in range(64)] for one in sums])
    allowed = math.sqrt(math.log(2 * 256 / 1e-6) / (2 * runs))
    assert np.abs(bits.mean(axis=0) - 0.5).max() < allowed
    broken = np.array([[(3 * at + 3) >> bit & 1 for bit in range(64)] for at in range(runs)])  # nothing mixed
    assert np.abs(broken.mean(axis=0) - 0.5).max() > allowed


def test_texts_are_coded_once() -> None:
    texts = Texts.of(["a", None, "b", "a"])
    assert texts.codes.tolist() == [0, 1, 2, 0]
    assert list(texts.distinct) == ["a", "", "b"]


def test_a_sample_that_lost_rows_has_no_digest(tmp_path: Path) -> None:
    sample = table({"x": [1.0, 2.0]}, engine="numpy")
    sample.n = 3
    with pytest.raises(SampleUnavailable, match=CHANGED[:30]):
        sample.fingerprint()


_WITHOUT_PANDAS = """
import sys
import polars as pl
from holdfast.data import Schema
from holdfast.data import fingerprint

columns = {"a": [1, None, 3], "x": [0.5, 1.5, None], "b": [True, None, False], "s": ["u", None, "v"]}
schema = Schema({"a": "integer", "x": "number", "b": "boolean", "s": "text"})
held = fingerprint.batch(schema, list(columns), pl.DataFrame(columns).to_arrow())
assert [held[name][0].tolist() for name in "axb"] == [[1, 0, 3], [0.5, 1.5, 0.0], [True, False, False]]
for name, values in columns.items():
    assert held[name][1].tolist() == [value is None for value in values]
texts = held["s"][0]
assert [texts.distinct[code] for code in texts.codes][::2] == ["u", "v"]
assert "pandas" not in sys.modules
"""


def test_columns_of_arrow_are_read_without_pandas() -> None:
    """It is there with much else, and to import it would be most of what a small sample's fingerprint takes."""
    ran = subprocess.run([sys.executable, "-c", _WITHOUT_PANDAS], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("kind", "values"),
    [("integer", [9, 5, 7, 6]), ("number", [9.0, 5.5, 7.5, 6.5]), ("boolean", [False, True, True, True])],
)
def test_a_part_of_an_arrow_column_is_read_as_that_part(kind: Any, values: list[Any]) -> None:
    """Arrow leaves anything in the place of a missing value, and a part begins in the middle of its buffers."""
    whole = pa.array(values)
    missing = pa.Array.from_buffers(whole.type, 4, [pa.py_buffer(bytes([0b1011])), whole.buffers()[1]])
    found, absent = held(Column("c", kind), missing.slice(1))
    zero = type(values[0])(0)
    assert found.tolist() == [values[1], zero, values[3]]
    assert absent is not None
    assert absent.tolist() == [False, True, False]
    plain, none = held(Column("c", kind), whole.slice(2))
    assert (plain.tolist(), none) == (values[2:], None)


def test_a_part_of_an_arrow_column_of_texts() -> None:
    found, absent = held(Column("s", "text"), pa.array(["u", "v", None, "w"]).slice(1))
    assert absent is not None
    assert absent.tolist() == [False, True, False]
    assert isinstance(found, Texts)
    assert [found.distinct[code] for code in found.codes][::2] == ["v", "w"]
    assert set(found.codes.tolist()) <= set(range(len(found.distinct)))
