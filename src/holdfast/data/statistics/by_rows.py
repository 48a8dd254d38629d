"""What a request means: its result by the interpreter, one row at a time."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.data.schema import Schema
from holdfast.data.statistics.plan import Exact
from holdfast.data.statistics.request import Row, Statistic


def of_rows(statistic: Statistic, rows: Iterable[Row], schema: Schema) -> Exact:
    """The exact result by the interpreter, row by row: what each request means, and the oracle for every engine.

    Examples
    --------
    >>> from holdfast.data.statistics import Count
    >>> of_rows(Count("b"), [{"b": True}], Schema({"b": "boolean"}))
    Exact(1 secret numbers)
    """
    results, added = [0] * statistic.size(schema), statistic.adds(schema)
    for row in rows:
        for at, amount in added(row):
            results[at] += amount
    return Exact(results)


__all__ = ["of_rows"]
