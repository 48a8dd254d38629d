"""The kind `histogram`: noisy proportions of declared cells. One cost for all cells, an interval for each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from holdfast.accounting import Cost, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.numerics.exact import decimal_fraction
from holdfast.data.schema import Column, Schema
from holdfast.data.statistics import Contingency, Statistic
from holdfast.data.statistics import Histogram as Bins
from holdfast.data.statistics.counts import categories_of
from holdfast.errors import InvalidParameter
from holdfast.guard.questions.base import BoundQuestion, Measured, Question, Settled, Situation
from holdfast.guard.questions.expressions import label_of, listed
from holdfast.guard.questions.fields import (
    NULLS,
    CategoriesInput,
    ColumnInput,
    FlagInput,
    NumbersInput,
    Spend,
    TextInput,
)
from holdfast.guard.questions.noisy import about_rows, spend_of, unit_interval
from holdfast.guard.questions.words import WHERE_PRESENT, expression_text
from holdfast.holdout.intervals.conditional import conditional_interval
from holdfast.mechanisms.additive import Gaussian, Laplace
from holdfast.noise.grid import Grid
from holdfast.noise.inputs import fits_vector

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy

OTHER = "other"


@dataclass(frozen=True)
class Histogram(Question):
    """Ask for the proportion of the population in each declared cell (a category, or a bin of a number), each with an
    interval.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> one = hf.accounting.PureDP(1.0)
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10, privacy=one, spend=one))
    >>> sorted(guard.ask(hf.guard.histogram("age", edges=[20, 40, 60])).value)
    ['[20, 40)', '[40, 60]', 'other']
    """

    kind: ClassVar[str] = "histogram"
    title: ClassVar[str] = "Histogram"
    purpose: ClassVar[str] = "Shares of declared categories or bins, with noise."
    answered = "private"
    place: ClassVar[int] = 21
    example: ClassVar[Mapping[str, Any]] = {"kind": "histogram", "column": "age", "edges": [18, 30, 45, 60, 90]}

    column: Annotated[
        str,
        ColumnInput(
            label="Column",
            help="The column. A column of numbers needs --edges; any other column needs declared categories.",
            argument=True,
        ),
    ]
    categories: Annotated[
        Sequence[Any] | None,
        CategoriesInput(
            label="Categories, with commas",
            help="All categories of the column, separated by commas (default: those that the policy or schema "
            "declares). Rows with any other value are counted in one more cell.",
            metavar="A,B,C",
        ),
    ] = None
    edges: Annotated[
        Sequence[float] | None,
        NumbersInput(
            label="Or edges of bins, with commas",
            help="For a column of numbers: the edges of the bins, in increasing order, separated by commas. Rows "
            "outside all bins are counted in one more cell.",
            placeholder="0, 10, 20",
        ),
    ] = None
    spend: Spend = None
    where_present: Annotated[
        bool,
        FlagInput(
            label="Leave them out: shares among the rows that have a value",
            help="Leave out the rows where the column is null (missing). Proportions are then proportions of the "
            "other rows.",
            group=NULLS,
        ),
    ] = False
    null_as: Annotated[
        Any,
        TextInput(
            label="Or count them in the cell",
            help="The cell in which missing values are counted: a category, or the label of another cell.",
            placeholder="other",
            group=NULLS,
        ),
    ] = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the schema and the policy."""
        categories = self.categories
        if categories is None and self.edges is None and policy.columns and self.column in policy.columns:
            categories = policy.columns[self.column].categories
        cells = cells_of(self.column, categories, self.edges, schema, self.null_as, self.where_present)
        bound_class = NoisyPresentHistogram if cells.where_present else NoisyHistogram
        return bound_class(cells, spend_of(self.spend, policy))

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line with the column or the expression."""
        cells = asked["cells"]
        what = ", ".join(cells["columns"]) if "columns" in cells else expression_text(cells["expression"])
        return f"histogram of {what}" + (WHERE_PRESENT if cells.get("where_present") else "")

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence that says what the numbers of the cells mean."""
        return "Shares of the population, each between the two ends that are shown."


class NoisyHistogram(BoundQuestion):
    """Counts with noise; every interval is a function of its noisy count alone."""

    def __init__(self, cells: Cells, cost: Cost) -> None:
        self.cost = cost
        self.question = {"kind": "histogram", **cells.to_dict(), "spend": cost.to_dict()}
        self.statistics: tuple[Statistic, ...] = (cells.statistic,)
        self._cells, self._noise = cells, _noise(cost)

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Noise for every cell; the share is split evenly over the cells."""
        labels = self._cells.labels
        share, off = self._parts(situation)
        exact = np.array(prepared[0], dtype=np.int64)
        noisy = self._noise.law.release(exact, source=situation.source).tolist()
        ends = [list(self._ends(one, noisy, off, situation.n, share)) for one in noisy]
        value = dict(zip(labels, self._shares(noisy, situation.n), strict=True))
        guarantee = situation.guarantee(
            "transfer.interleaved", log_share=round(share, 6), interval=self._interval, cells=len(labels)
        )
        near = self._noise.half_width(situation.rows_share, len(labels))
        n = situation.n
        rows = {one: [max(0.0, c - near), min(float(n), c + near)] for one, c in zip(labels, noisy, strict=True)}
        details = {"about_rows": about_rows(situation, rows, "counts of rows")}
        return Settled(value, dict(zip(labels, ends, strict=True)), guarantee, details=details)

    _interval = "kl"

    def _ends(self, one: float, noisy: Sequence[float], off: float, n: int, share: float) -> tuple[float, float]:
        """The interval of one cell, from the noisy counts of all."""
        return unit_interval(n).over((one - off) / n, (one + off) / n, share)

    def _shares(self, noisy: Sequence[float], n: int) -> list[float]:
        return [min(max(one / n, 0.0), 1.0) for one in noisy]

    def half_width(self, situation: Situation) -> float:
        """Of a cell that holds half of the rows, where it is largest."""
        share, off = self._parts(situation)
        n, many = situation.n, len(self._cells.labels)
        rest = [n / 2 / (many - 1)] * (many - 1)
        lower, upper = self._ends(n / 2, [n / 2, *rest], off, n, share)
        return (upper - lower) / 2

    def _parts(self, situation: Situation) -> tuple[float, float]:
        many = len(self._cells.labels)
        return situation.log_share - math.log(many) - 1e-12, self._noise.half_width(situation.noise_share, many)


class NoisyPresentHistogram(NoisyHistogram):
    """Shares among the rows with a value: a cell's noisy count over that of all cells, which hold no other rows.

    The interval of a cell is that of every count of it, and of the other cells together, that the noise leaves possible
    (`conditional_interval`): all counts lie within one distance of the noisy ones at once. `half_width` is that of a
    sample whose rows all have a value.
    """

    _interval = "kl, rows with a value"

    def _ends(self, one: float, noisy: Sequence[float], off: float, n: int, share: float) -> tuple[float, float]:
        others, rest = len(noisy) - 1, sum(noisy) - one
        return conditional_interval((one - off, one + off), (rest - others * off, rest + others * off), n, share)

    def _shares(self, noisy: Sequence[float], n: int) -> list[float]:
        positive = [max(one, 0.0) for one in noisy]
        total = sum(positive)
        return [one / total if total else 1 / len(positive) for one in positive]


def _noise(cost: Cost) -> Laplace | Gaussian:
    """Noise on one count: a replaced row moves two of them by one, so each is worth half of the cost.

    Counts are whole numbers on a grid of ones. Nothing is rounded, and so the noise does not grow with the cells, as
    it must where a vector of any numbers is rounded.
    """
    match cost:
        case PureDP(epsilon):
            pure = Laplace(sensitivity=1, epsilon=decimal_fraction(epsilon) / 2, grid=Grid(0))
            fits_vector("scale", pure.law.scale_steps)
            return pure
        case ZCDP(rho):
            normal = Gaussian(sensitivity=1, rho=decimal_fraction(rho) / 2, grid=Grid(0))
            fits_vector("scale", normal.law.sigma_steps)
            return normal
    raise InvalidParameter(f"spend must be a PureDP or ZCDP, got {cost!r}")


@dataclass(frozen=True)
class Cells:
    """What to count, and what to call each count."""

    statistic: Contingency | Bins
    labels: tuple[str, ...]

    @property
    def where_present(self) -> bool:
        """Whether only rows with a value count."""
        return self.statistic.where_present

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in one spelling."""
        return {"cells": self.statistic.to_dict(), "labels": list(self.labels)}


def cells_of(
    column: Any, categories: Any, edges: Any, schema: Schema, null_as: Any = None, where_present: Any = False
) -> Cells:
    """Return the cells of a column: its declared categories, or bins between edges; and where its missing values count.

    Examples
    --------
    >>> cells_of("sex", ["f", "m"], None, Schema({"sex": "text not null"})).labels
    ('f', 'm', 'other')
    >>> cells_of("age", None, [18, 40, 65], Schema({"age": "integer null"}), null_as="other").labels
    ('[18, 40)', '[40, 65]', 'other')

    A declared category may itself be called "other":

    >>> cells_of("sex", ["f", "other"], None, Schema({"sex": "text not null"})).labels
    ('f', 'other', 'any other')
    """
    if not isinstance(column, str) or column not in schema:
        raise InvalidParameter(f"column must be the name of a column of the data, got {str(column)[:60]!r}")
    if edges is not None:
        if categories is not None:
            raise InvalidParameter(
                "categories and edges must not both be given: a cell is either a category or a range of numbers"
            )
        bins = Bins(f'"{column}"', tuple(listed("edges", edges)))
        ends = bins.edges
        last = len(ends) - 2
        spelt = [_number(end) for end in ends]
        labels = _with_rest([f"[{spelt[i]}, {spelt[i + 1]}{']' if i == last else ')'}" for i in range(last + 1)])
        null_at, counted = nulls_of(schema[column], labels, labels, null_as, where_present)
        return Cells(replace(bins, null_as=null_at, where_present=counted), labels)
    known = schema[column]
    if categories is None and known.values is None and known.kind != "boolean":
        raise InvalidParameter(
            f"categories or edges must be given for column {column!r}, because the cells must be declared and are "
            "never read from the rows"
        )
    declared = categories_of(schema, column, None if categories is None else tuple(listed("categories", categories)))
    labels = _with_rest([label_of(one) for one in declared])
    null_at, counted = nulls_of(known, (*declared, labels[-1]), labels, null_as, where_present)
    return Cells(Contingency((column,), (declared,), (null_at,), counted), labels)


def nulls_of(
    column: Column, cells: Sequence[Any], labels: Sequence[str], null_as: Any, where_present: Any
) -> tuple[int | None, bool]:
    """Where the missing values of a column count: the place of a cell, None for the last one; and whether nowhere.

    Raises
    ------
    InvalidParameter
        Values of the column may be missing, and nothing says where they count; or what says so is no cell.
    """
    if not isinstance(where_present, bool):
        raise InvalidParameter(f"where_present must be true or false, got a {type(where_present).__name__}")
    if where_present and null_as is not None:
        raise InvalidParameter(
            "null_as and where_present must not both be given: rows with missing values are either counted in a cell "
            "or left out"
        )
    if null_as is not None:
        same = [at for at, label in enumerate(labels) if null_as in (label, cells[at])]
        if not same:
            shown = ", ".join(map(repr, labels[:6])) + (", ..." if len(labels) > 6 else "")
            raise InvalidParameter(f"null_as must be one of the cells {shown}, got {str(null_as)[:60]!r}")
        return (same[0] if column.may_be_missing and same[0] < len(labels) - 1 else None), False
    if column.may_be_missing and not where_present:
        raise InvalidParameter(
            f"by the schema, values of column {column.name!r} may be missing; choose how such rows are counted: "
            f"where_present=true (they are left out), null_as={labels[-1]!r} (in the cell of all other rows), or "
            f"null_as={labels[0]!r} or another cell; nothing was spent"
        )
    return None, where_present and column.may_be_missing


def _with_rest(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels and one more for every other row; a cell that shared its label would be lost from the answer."""
    rest = OTHER
    while rest in labels:
        rest = f"any {rest}"
    return (*labels, rest)


def _number(end: float) -> str:
    """As short as tells it apart from every other number."""
    short = f"{end:g}"
    return short if float(short) == end else repr(end)
