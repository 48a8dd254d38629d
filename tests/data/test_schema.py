from __future__ import annotations

import copy
import pickle

import pytest

from holdfast.data import table
from holdfast.data.schema import Column, Schema
from holdfast.errors import InvalidParameter


@pytest.mark.parametrize("name", ["", "a\n", " a", "a'b", 'a"b', "a`b", "a\\b", "a\x00", "\u200b", "x" * 201, 3, None])
def test_names_that_cannot_be_quoted_everywhere_are_refused(name: object) -> None:
    with pytest.raises(InvalidParameter):
        Column(name, "number")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["a b", "capital-gain", "größe", "a.b", "%s", "{x}", "select", "50%"])
def test_other_names_are_kept_letter_for_letter(name: str) -> None:
    assert Schema({name: "number"}).names == (name,)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("number", (1.0,)),
        ("boolean", (True,)),
        ("text", (1,)),
        ("text", "ab"),
        ("text", ()),
        ("text", ("a", "a")),
        ("text", ("a\x00",)),
        ("text", ("\ud800",)),
        ("integer", (2**53,)),
        ("integer", ("a",)),
        ("integer", (1.5,)),
        ("integer", (True,)),
    ],
)
def test_categories_of_the_wrong_kind_are_refused(kind: str, values: tuple[object, ...]) -> None:
    with pytest.raises(InvalidParameter):
        Column("c", kind, values)  # type: ignore[arg-type]


def test_a_schema_round_trips_and_does_not_change() -> None:
    schema = Schema([Column("sex", "text", ("f", "m")), Column("age", "integer", (1, 2)), Column("x", "number")])
    assert Schema.from_dict(schema.to_dict()) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert copy.deepcopy(schema) == schema
    assert {schema: 1}[Schema(schema.columns)] == 1
    assert schema != Schema({"x": "number"})
    with pytest.raises(AttributeError):
        schema.columns = ()
    with pytest.raises(AttributeError):
        del schema.columns


def test_whether_values_may_be_missing_is_declared_as_in_sql() -> None:
    schema = Schema({"age": "integer not null", "income": "number NULL", "sex": "text"})
    assert [column.nullable for column in schema] == [False, True, None]
    assert [column.may_be_missing for column in schema] == [False, True, True]
    assert Schema.from_dict(schema.to_dict()) == schema
    old = {"columns": [{"name": "age", "kind": "integer"}]}  # as ledgers hold it that were begun before
    assert Schema.from_dict(old)["age"].may_be_missing
    assert Schema.from_dict(old).to_dict() == old
    for words in ("integer maybe", "integer not", "whole number null"):
        with pytest.raises(InvalidParameter, match="kind of column 'age' must be one of"):
            Schema({"age": words})
    with pytest.raises(InvalidParameter, match="nullable of column 'age' must be true, false"):
        Column("age", "integer", nullable="no")  # type: ignore[arg-type]


def test_the_fingerprint_does_not_know_of_missing_values() -> None:
    """The same rows find their ledger, whatever was declared about them."""
    rows = {"age": [23, 35, 61], "income": [1.0, 2.0, 9.0]}
    declared = [None, {"age": "integer null", "income": "number"}, {"age": "integer not null", "income": "number null"}]
    assert len({table(rows, schema=one).fingerprint() for one in declared}) == 1


@pytest.mark.parametrize("columns", [[], {}, [1], [Column("a", "text"), Column("a", "number")]])
def test_wrong_schemas_are_refused(columns: object) -> None:
    with pytest.raises(InvalidParameter):
        Schema(columns)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "plain", [{}, {"columns": 3}, {"columns": [{}]}, {"columns": [{"name": "a", "kind": "x"}]}, [], None]
)
def test_wrong_plain_data_is_refused(plain: object) -> None:
    with pytest.raises(InvalidParameter):
        Schema.from_dict(plain)  # type: ignore[arg-type]
