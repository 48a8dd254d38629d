"""Random expressions over odd rows: every engine agrees with the interpreter, bit for bit and NULL for NULL.

Values are compared with `==`: minus zero and zero are one number in the language, and every other double that compares
equal has the same bits. There are no NaN.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import polars as pl
import pytest

from holdfast.data.expressions import checked, polars_columns, to_text, tree
from holdfast.data.expressions.checking import Expression
from tests.data.expressions import engines
from tests.data.expressions.odd_rows import SCHEMA, TEXTS, expressions, rows

#: Ibis 12 calls names of DuckDB 2 and pandas 3 that are on their way out; pyspark leaves sockets to be collected.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:ibis",
    "ignore:The copy keyword is deprecated:DeprecationWarning",
    "ignore:unclosed <socket:ResourceWarning",
)


@cache
def _case(seed: int, count: int) -> tuple[engines.Rows, list[Expression], engines.Values]:
    random = Random(seed)
    held, asked = rows(random, 100), expressions(random, count) + _hostile_texts(random)
    return held, asked, engines.by_python(held, asked)


def _hostile_texts(random: Random) -> list[Expression]:
    """Texts that would leave their quotes, if any engine let them; rows hold many of them as they are."""
    texts = [text for text in TEXTS if text]
    texts += ["".join(random.choices("'\"\\`;-/*%${}\n\tab", k=random.randint(1, 8))) for _ in range(20)]
    column = tree.Name("s")
    asked = [tree.Comparison("=", column, tree.Text(text)) for text in texts]
    asked += [tree.In(column, tuple(tree.Text(text) for text in texts))]
    asked += [tree.Call("contains", (column, tree.Text(text))) for text in texts[::3]]
    return [checked(node, SCHEMA) for node in asked]


def _differences(asked: list[Expression], wanted: engines.Values, got: engines.Values) -> list[str]:
    assert len(wanted) == len(got)
    return [
        to_text(expression.node)
        for expression, these, those in zip(asked, wanted, got, strict=True)
        if len(these) != len(those) or any(type(a) is not type(b) or a != b for a, b in zip(these, those, strict=True))
    ]


def test_numpy_agrees() -> None:
    held, asked, wanted = _case(1, 1_000)
    assert _differences(asked, wanted, engines.by_numpy(held, asked)) == []


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_polars_agrees(engine: str) -> None:
    held, asked, wanted = _case(1, 1_000)
    assert _differences(asked, wanted, engines.by_polars(held, asked, engine)) == []


def test_polars_agrees_where_a_batch_holds_one_value() -> None:
    """polars then keeps one number for the whole column, and has other code for it."""
    held, asked, _ = _case(2, 250)
    for row in held[:12]:
        same = [row] * 3
        wanted = engines.by_python(same, asked)
        assert _differences(asked, wanted, engines.by_polars(same, asked)) == []
        assert _differences(asked, [values[:1] for values in wanted], engines.by_polars(same[:1], asked)) == []


def test_duckdb_agrees() -> None:
    held, asked, wanted = _case(3, 250)
    assert _differences(asked, wanted, engines.by_duckdb(held, asked)) == []


def test_postgres_agrees(postgres_url: str) -> None:
    held, asked, wanted = _case(4, 250)
    assert _differences(asked, wanted, engines.by_postgres(postgres_url, held, asked)) == []


@pytest.mark.xdist_group("spark")
def test_spark_agrees(spark_session: Any) -> None:
    held, asked, wanted = _case(5, 50)
    assert _differences(asked, wanted, engines.by_spark(spark_session, held, asked)) == []


def test_a_plain_division_in_polars_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """polars divides by one number through its reciprocal; the same rows and expressions find it."""
    held, asked, wanted = _case(1, 1_000)
    right = polars_columns._Compiler.of

    def wrong(self: Any, node: tree.Node) -> pl.Expr:
        if isinstance(node, tree.Arithmetic) and node.sign == "/":
            below = self.of(node.right)
            return self.of(node.left) / pl.when(below != 0.0).then(below)
        return right(self, node)

    monkeypatch.setattr(polars_columns._Compiler, "of", wrong)
    assert _differences(asked, wanted, engines.by_polars(held, asked)) != []


def test_functions_that_skip_null_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    held, asked, wanted = _case(1, 1_000)
    right = polars_columns._Compiler._call

    def wrong(self: Any, name: str, arguments: tuple[tree.Node, ...]) -> pl.Expr:
        if name == "least":
            return pl.min_horizontal(*(self.of(argument) for argument in arguments))
        return right(self, name, arguments)

    monkeypatch.setattr(polars_columns._Compiler, "_call", wrong)
    assert _differences(asked, wanted, engines.by_polars(held, asked)) != []


def _deep() -> list[Expression]:
    def nested(wrap: Any, times: int, inner: tree.Node) -> tree.Node:
        for _ in range(times):
            inner = wrap(inner)
        return inner

    i, b, s = tree.Name("i"), tree.Name("b"), tree.Name("s")
    nodes = [
        nested(lambda below: tree.Arithmetic("-", i, below), 99, tree.Name("j")),
        nested(lambda below: tree.Arithmetic("+", below, i), 99, tree.Name("j")),
        nested(lambda below: tree.Case(((b, tree.Number(1)),), below), 99, i),
        nested(lambda below: tree.Or((b, tree.And((tree.Name("c"), below)))), 49, b),
        nested(tree.Not, 99, b),
        nested(lambda below: tree.Call("lower", (below,)), 99, s),
        nested(tree.Minus, 99, i),
        tree.And(tuple(tree.Comparison("<>", i, tree.Number(at)) for at in range(150))),
        tree.In(i, tuple(tree.Number(at) for at in range(400))),
    ]
    return [checked(node, SCHEMA) for node in nodes]


def test_depth_at_the_limit_compiles_everywhere(postgres_url: str) -> None:
    held, asked = rows(Random(6), 20), _deep()
    wanted = engines.by_python(held, asked)
    assert _differences(asked, wanted, engines.by_numpy(held, asked)) == []
    assert _differences(asked, wanted, engines.by_polars(held, asked)) == []
    assert _differences(asked, wanted, engines.by_duckdb(held, asked)) == []
    assert _differences(asked, wanted, engines.by_postgres(postgres_url, held, asked)) == []


@pytest.mark.xdist_group("spark")
def test_depth_at_the_limit_compiles_on_spark(spark_session: Any) -> None:
    held, asked = rows(Random(6), 20), _deep()
    assert _differences(asked, engines.by_python(held, asked), engines.by_spark(spark_session, held, asked)) == []
