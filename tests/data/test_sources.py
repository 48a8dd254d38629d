"""What is no table is refused when it is opened, in words that name the column and show no row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import holdfast as hf
from holdfast.data.expressions import Expression, expression, numpy_columns, python_rows, to_json, tree
from holdfast.data.fingerprint import Content, held
from holdfast.data.schema import Column, Schema, category
from holdfast.data.statistics import Count, FixedSum
from holdfast.data.statistics.request import end
from holdfast.data.values import summarise
from holdfast.errors import InvalidParameter, SampleUnavailable

SECRET = "the secret of row 77"
ENGINES: tuple[Any, ...] = ("numpy", "polars")
RAGGED = np.array([None, [1], [1, 2]], dtype=object)


@pytest.mark.parametrize(
    ("source", "engine", "said"),
    [
        (7, None, "source must be a mapping of columns, a data frame, a file or an address, got a int"),
        ([1, 2], None, "source must be a mapping of columns, a data frame, a file or an address, got a list"),
        ({"a": [1], "b": [1, 2]}, "polars", "source must have columns of the same length, and each column must have"),
        ({"a": [1], "b": [1, 2]}, "numpy", "source must have columns that all have the same length"),
        ({"a": [1, SECRET]}, "polars", "column 'a' must have only numbers, only truth values or only texts"),
        ({"a": [1, SECRET]}, "numpy", "column 'a' must have only numbers, only truth values or only texts"),
        ({"a": [1, True]}, "polars", "column 'a' must have only numbers, only truth values or only texts"),
        ({"a": [1, True]}, "numpy", "column 'a' must have only numbers, only truth values or only texts"),
        ({"a": [10**400, 1.5]}, "polars", "column 'a' must have numbers that fit into a double-precision"),
        ("ftp://bucket/rows.parquet", None, "source must be a file on this machine or begin with postgresql://"),
        (f"snowflake://{SECRET}@there", None, "table must be the name of the table with the rows in the database"),
        ({"a": np.zeros((2, 2))}, "numpy", "column 'a' must be a one-dimensional array"),
        ({"a": [[1], [1, 2]]}, "numpy", "column 'a' must be a one-dimensional array"),
        ({"a": SECRET}, "numpy", "column 'a' must be a one-dimensional array"),
        ({"a": RAGGED}, "numpy", "source must have a column of numbers, truth values, texts or dates, and has none"),
        ({"a": np.array([1j])}, "numpy", "source must have a column of numbers, truth values, texts or dates, and has"),
        ({"a": np.array([1], np.uint64)}, "numpy", "source must have a column of numbers"),
        ({"a": [f"{SECRET} \ud800"]}, "numpy", "column 'a' must have texts in valid Unicode"),
        (
            {"a": [f"{SECRET} \ud800"]},
            "polars",
            "source must have columns of the same length, and each column must have",
        ),
        ("rows.txt", None, "source must be a .parquet or .csv file or a folder of Parquet files: rows.txt"),
    ],
)
def test_what_is_no_table(source: Any, engine: Any, said: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        hf.data.table(source, engine=engine)
    assert str(caught.value).startswith(said)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_table_is_named_in_a_database_alone(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_csv(tmp_path / "rows.csv")
    for source, engine in (({"a": [1]}, "polars"), ({"a": [1]}, "numpy"), (tmp_path / "rows.csv", "polars")):
        with pytest.raises(
            InvalidParameter, match=f"table must be left out for a source that the engine {engine} reads"
        ):
            hf.data.table(source, engine=engine, table="people")
    for table in ("", "  ", "a\0b", 7):
        with pytest.raises(InvalidParameter, match="table must be the name of the table with the rows"):
            hf.data.table("postgresql://nobody@127.0.0.1:9/none", table=table)  # type: ignore[arg-type]


def test_an_address_that_cannot_be_read_is_not_shown() -> None:
    with pytest.raises(InvalidParameter, match="source must be an address such as postgresql://user@host") as caught:
        hf.data.table(f"postgresql://ann:{SECRET}@127.0.0.1:9/none?no_such_option=1", table="people")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("engine", ["polars", "numpy"])
@pytest.mark.parametrize(
    ("values", "kind", "found"),
    [([1.5], "integer", "number"), ([True], "integer", "boolean"), (["a"], "number", "text"), ([1], "date", "integer")],
)
def test_a_declared_kind_is_the_one_that_is_there(engine: Any, values: list[Any], kind: Any, found: str) -> None:
    with pytest.raises(
        InvalidParameter,
        match=f"schema must declare column 'a' with the kind {found}, which it has in the source, got {kind}",
    ):
        hf.data.table({"a": values}, engine=engine, schema={"a": kind})
    assert hf.data.table({"a": [1]}, engine=engine, schema={"a": "number"}).schema["a"].kind == "number"


def test_rows_in_any_form_are_the_same_sample(tmp_path: Path) -> None:
    masked = np.ma.array([20, 0, 40], mask=[False, True, False])
    plain = hf.data.table({"age": [20, None, 40], "s": ["a", None, "a"]})
    pl.DataFrame({"age": [20, None, 40], "s": ["a", None, "a"]}).write_csv(tmp_path / "rows.csv")
    asked = [Count("age > 30"), FixedSum("age", 0.0, 64.0, 32.0), Count("s = 'a'")]
    others = [
        hf.data.table({"age": masked, "s": ["a", None, "a"]}),
        hf.data.table({"age": masked.astype(np.uint8), "s": ["a", None, "a"]}, engine="numpy"),
        hf.data.table(pl.LazyFrame({"age": [20, None, 40], "s": ["a", None, "a"]})),
        hf.data.table(pl.DataFrame({"age": [20, None, 40], "s": pl.Series(["a", None, "a"], dtype=pl.Categorical)})),
        hf.data.table(pa.table({"age": [20, None, 40], "s": pa.array(["a", None, "a"]).dictionary_encode()})),
        hf.data.table(tmp_path / "rows.csv", engine="duckdb"),
    ]
    for other in others:
        assert other.measure(asked) == plain.measure(asked)
        assert other.fingerprint() == plain.fingerprint()
        other.close()


def test_a_sum_over_some_rows_is_that_of_those_rows() -> None:
    rows = {"x": [1.0, 2.0, 4.0, 8.0], "s": ["a", "b", "a", None]}
    some = "case when s = 'a' then x end"
    found = {name: hf.data.table(rows, engine=name).measure([FixedSum(some, 0.0, 8.0, 0.0)]) for name in ENGINES}
    assert found["numpy"] == found["polars"] == [(5 * 2**30 // 8,)]


def test_arrow_columns_without_rows_and_with_codes() -> None:
    for kind, empty in (("integer", pa.int64()), ("boolean", pa.bool_()), ("number", pa.float64())):
        values, missing = held(Column("a", kind), pa.array([], empty))  # type: ignore[arg-type]
        assert (np.asarray(values).size, missing) == (0, None)
    coded = pa.array(["a", None, "b", "a"]).dictionary_encode()
    plain, gone = held(Column("s", "text"), pa.array(["a", None, "b", "a"]))
    values, missing = held(Column("s", "text"), coded)
    assert (values.distinct, values.codes.tolist()) == (plain.distinct, plain.codes.tolist())  # type: ignore[union-attr]
    assert missing.tolist() == gone.tolist() == [False, True, False, False]  # type: ignore[union-attr]


def test_an_expression_is_one_in_every_form() -> None:
    schema = Schema({"age": "integer"})
    made = expression("age < 40", schema)
    assert isinstance(made, Expression)
    for form in (made, made.node, to_json(made.node)):
        assert expression(form, schema) == made
    assert expression(tree.Name("age"), schema).kind == "number"
    with pytest.raises(InvalidParameter, match="columns of the schema, got 'age'"):
        expression(made, Schema({"height": "number"}))
    sample = hf.data.table({"age": [20, 50]})
    assert sample.measure([Count(made.node), Count(made), Count("age < 40")]) == [(1,)] * 3


@pytest.mark.parametrize(("kind", "value"), [("boolean", 1), ("boolean", "true"), ("boolean", None)])
def test_a_category_of_truth_values_is_one(kind: Any, value: Any) -> None:
    with pytest.raises(InvalidParameter, match="categories must be true or false for a boolean column"):
        category("categories", value, kind)
    assert category("categories", True, kind) is True


def test_numbers_have_no_categories() -> None:
    with pytest.raises(InvalidParameter, match="categories must be left out for a column of kind number"):
        category("categories", 1.5, "number")


def test_an_end_of_a_range_is_a_number_that_every_engine_has() -> None:
    assert (end("low", 0), end("low", -0.0), end("low", 2.0**-100)) == (0.0, 0.0, 2.0**-100)
    for value in (2.0**-101, -1e-40, 5e-324):
        with pytest.raises(InvalidParameter, match=r"low must be 0 or a number with a size of at least 2\*\*-100"):
            end("low", value)


def test_truth_values_outside_the_range_are_refused_as_numbers_are() -> None:
    for values in (np.array([True, False]), np.array([1.0, 0.0])):
        for low, high in ((0.5, 2.0), (-1.0, 0.5)):
            with pytest.raises(InvalidParameter, match="values must lie in"):
                summarise(values, n=2, low=low, high=high)
    assert summarise(iter([np.array([]), np.array([True, False])]), n=2).mean == 0.5


def test_columns_of_another_kind_are_not_read_and_not_shown() -> None:
    for column, wrong in (
        (Column("a", "number"), np.array([SECRET])),
        (Column("a", "boolean"), np.array([1.0])),
        (Column("a", "integer"), np.zeros((2, 2), dtype=int)),
    ):
        with pytest.raises(
            InvalidParameter, match=f"column 'a' must be a one-dimensional array of kind {column.kind}"
        ) as caught:
            numpy_columns.read(column, wrong)
        assert SECRET not in str(caught.value)
    with pytest.raises(InvalidParameter, match="column 'a' must hold texts"):
        numpy_columns.read(Column("a", "text"), np.array([SECRET, 7], dtype=object))
    with pytest.raises(InvalidParameter, match="a text column must hold texts"):
        python_rows.read(7, "text")


def test_what_holds_rows_shows_their_number_alone() -> None:
    read = numpy_columns.read(Column("a", "text"), np.array([SECRET, SECRET]))
    assert repr(read) == "Values(2 rows)"
    content = Content()
    assert repr(content) == "Content(n=0)"


@pytest.mark.parametrize("name", ["none.csv", "a" * 300 + ".csv", "a" * 300 + ".parquet", "a\0b.csv"])
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_file_that_cannot_be_there(tmp_path: Path, engine: Any, name: str) -> None:
    with pytest.raises(SampleUnavailable, match=r"there is no file .*, or the file cannot be read"):
        hf.data.table(tmp_path / name, engine=engine)
