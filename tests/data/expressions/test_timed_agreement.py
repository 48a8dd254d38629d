"""Three hundred random expressions with dates, decimals and functions of text: the same on every engine.

They are compared with the interpreter, which has Python's own calendar, remainder and regular expressions where the
engines have arithmetic (`lowering`): bit for bit and NULL for NULL.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random
from typing import Any

import pytest

from holdfast.data.expressions import tree
from holdfast.data.expressions.checking import Expression
from tests.data.expressions import engines
from tests.data.expressions.test_agreement import _differences
from tests.data.expressions.timed_rows import SCHEMA, expressions, rows

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:ibis",
    "ignore:The copy keyword is deprecated:DeprecationWarning",
    "ignore:unclosed <socket:ResourceWarning",
)

COUNT = 300


@cache
def _case() -> tuple[engines.Rows, list[Expression], engines.Values]:
    random = Random(20)
    held, asked = rows(random, 80), expressions(random, COUNT)
    return held, asked, engines.by_python(held, asked, SCHEMA)


def test_the_expressions_are_of_every_sort_and_tell_rows_apart() -> None:
    _, asked, wanted = _case()
    used = Counter(
        node.function if isinstance(node, tree.Call) else getattr(node, "sign", "")
        for one in asked
        for node in tree.walk(one.node)
    )
    parts = ("year", "quarter", "month", "day", "weekday", "days", "hour", "minute", "second", "seconds")
    texts = ("like", "ilike", "substring", "trim", "lower", "concat", "length")
    numbers = ("round", "ln", "log2", "log10", "sqrt", "%", "cast", "date", "timestamp", "timestamptz")
    assert all(used[name] > 0 for name in (*parts, *texts, *numbers)), used
    assert sum(len(set(values)) > 2 for values in wanted) > COUNT / 2


def test_numpy_agrees() -> None:
    held, asked, wanted = _case()
    assert _differences(asked, wanted, engines.by_numpy(held, asked, SCHEMA)) == []


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_polars_agrees(engine: str) -> None:
    held, asked, wanted = _case()
    assert _differences(asked, wanted, engines.by_polars(held, asked, engine, SCHEMA)) == []


def test_duckdb_agrees() -> None:
    held, asked, wanted = _case()
    assert _differences(asked, wanted, engines.by_duckdb(held, asked, SCHEMA)) == []


def test_postgres_agrees(postgres_url: str) -> None:
    held, asked, wanted = _case()
    assert _differences(asked, wanted, engines.by_postgres(postgres_url, held, asked, SCHEMA)) == []


@pytest.mark.xdist_group("spark")
def test_spark_agrees(spark_session: Any) -> None:
    held, asked, wanted = _case()
    got = engines.by_spark(spark_session, held, asked, SCHEMA, whole_stage=False)
    assert _differences(asked, wanted, got) == []
    some = [at for at, one in enumerate(asked) if one.facts[one.node].copies < 60][:40]
    got = engines.by_spark(spark_session, held, [asked[at] for at in some], SCHEMA)
    assert _differences([asked[at] for at in some], [wanted[at] for at in some], got) == []
