"""Practice rows: the same questions at no cost, on rows made from the declared schema alone.

Code, dashboards and agents are debugged on them before anything is spent. Nothing about the guarded rows enters: the
columns, their kinds, declared ranges and categories, and the number of rows are public, and all values are drawn evenly
from them. Every answer is marked, and none is certified.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from holdfast.data.sample import Sample
from holdfast.data.schema import Column, Schema
from holdfast.data.tables import table
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.columns import DeclaredColumn
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Question

MOST_ROWS = 200_000
"""Practice rows at most: more would only take longer to make."""
PRACTICE = "practice rows, made from the declared schema: the answer is not about the guarded rows"
_MISSING = 0.1
_FIRST_DAY = date(1930, 1, 1)
_DAYS = 36_525
"""Practice dates are of these hundred years: no range of dates is declared."""


def marked(answer: GuardedAnswer) -> GuardedAnswer:
    """Return the same answer, marked as one from practice rows."""
    guarantee = replace(answer.guarantee, assumption=PRACTICE, certified=False)
    return replace(answer, guarantee=guarantee, details={**answer.details, "practice": True})


def practice_rows(schema: Schema, policy: Policy, n: int, variant: int = 0) -> tuple[Sample, Policy]:
    """Practice rows, and the policy that they are asked under.

    Parameters
    ----------
    schema : Schema
        The columns of the real rows.
    policy : Policy
        The real policy. Boards and reserved rows are left out: they need the rows that they are about.
    n : int
        The number of real rows, which is public; the widths of intervals follow from it. At most 200,000 are made.
    variant : int
        The same number makes the same rows; another one makes others.

    Examples
    --------
    >>> schema = Schema({"age": "integer not null", "sex": "text not null"})
    >>> rows, policy = practice_rows(schema, Policy(questions=5, columns={"age": {"low": 0, "high": 100}}), 5000)
    >>> rows.n, policy.questions
    (5000, 5)
    """
    rng, size = np.random.default_rng(variant), min(n, MOST_ROWS)
    declared = policy.columns or {}
    # Every column says whether values may be missing, so that nothing about it is read off the practice rows.
    columns = [replace(column, nullable=column.may_be_missing) for column in schema]
    rows = {column.name: _values(column, declared.get(column.name), size, rng) for column in columns}
    known = Question.kinds()
    kinds = tuple(kind for kind in policy.kinds or () if not known[kind].needs_board and not known[kind].needs_contest)
    plain = replace(policy, boards=None, kinds=kinds, reserve=0.0, reserve_by=None, expires=None)
    return table(rows, schema=Schema(columns)), plain


def _values(column: Column, declared: DeclaredColumn | None, n: int, rng: np.random.Generator) -> list[Any]:
    """Values of one column, drawn evenly from what is declared."""
    categories = column.values if declared is None or declared.categories is None else declared.categories
    bounds = (0.0, 1.0) if declared is None or declared.bounds is None else declared.bounds
    values: list[Any]
    if column.kind == "boolean":
        values = (rng.random(n) < 0.5).tolist()
    elif categories:
        values = [categories[at] for at in rng.integers(0, len(categories), n)]
    elif column.kind == "integer":
        low, high = (0, 100) if declared is None or declared.bounds is None else (int(bounds[0]), int(bounds[1]))
        values = rng.integers(low, high + 1, n).tolist()
    elif column.kind == "number":
        values = rng.uniform(*bounds, n).tolist()
    elif column.kind == "text":
        values = [f"practice {at}" for at in rng.integers(0, 10, n)]
    elif column.kind == "date":
        values = [_FIRST_DAY + timedelta(days=days) for days in rng.integers(0, _DAYS, n).tolist()]
    else:
        start = datetime(_FIRST_DAY.year, 1, 1, tzinfo=UTC if column.kind == "timestamptz" else None)
        values = [start + timedelta(seconds=second) for second in rng.integers(0, _DAYS * 86_400, n).tolist()]
    if column.may_be_missing:
        gone = rng.random(n) < _MISSING
        values = [None if missing else value for value, missing in zip(values, gone, strict=True)]
    return values
