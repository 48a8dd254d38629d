"""A private test of counts: goodness of fit, or independence of two columns; its p-value survives the looking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.accounting import Cost
from holdfast.data.schema import Schema
from holdfast.data.statistics import Contingency
from holdfast.data.statistics.declared_categories import Categories, categories_of
from holdfast.errors import InvalidParameter
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Bound, Measured, Question, Settled, Situation
from holdfast.guard.questions.cells import listed
from holdfast.guard.questions.spending import amount, spend_of
from holdfast.inference.private_tests.counts import Counts, probabilities
from holdfast.inference.private_tests.gof_methods import gof
from holdfast.inference.private_tests.independence_methods import independence
from holdfast.inference.private_tests.result import TestResult
from holdfast.noise.entropy import Source

Name = Literal["gof", "independence"]


@dataclass(frozen=True)
class Test(Question):
    """Test privately whether a column follows given probabilities, or whether two columns are independent.

    Parameters
    ----------
    name : str
        "gof" for one column and `p0`, "independence" for two columns.
    columns : sequence of str
        One column of text, whole numbers or truth values, or two.
    categories : sequence, optional
        The declared categories of each column; the schema's where None. Rows with anything else count with the last
        category, so that every row is in the table.
    p0 : sequence of float, optional
        The null probabilities of the categories, in order.
    alpha : float
        The level.
    spend : PureDP or ZCDP, optional
        What the answer may cost; the policy's `spend` if not given.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"side": ["left", "right"] * 5000})
    >>> some = hf.accounting.PureDP(0.02)
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10, privacy=some, spend=some))
    >>> question = hf.guard.test("gof", ["side"], categories=[["left", "right"]], p0=[0.8, 0.2])
    >>> guard.ask(question).details["rejected"]
    True
    """

    __test__: ClassVar[bool] = False  # not a class of tests, whatever its name makes pytest think
    kind: ClassVar[str] = "test"

    name: Name
    columns: Sequence[str]
    categories: Sequence[Sequence[Any] | None] | None = None
    p0: Sequence[float] | None = None
    alpha: float = 0.05
    spend: Cost | None = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> Bound:
        """Check against the schema and the policy."""
        many = {"gof": 1, "independence": 2}[check.choice("name", self.name, ("gof", "independence"))]
        if isinstance(self.columns, str) or not isinstance(self.columns, Sequence) or len(self.columns) != many:
            raise InvalidParameter(f"columns must be a list of {many} for {self.name}")
        given = [None] * many if self.categories is None else list(listed("categories", self.categories))
        if len(given) != many:
            raise InvalidParameter(
                f"categories must have one list for each of {many} columns, in order, got {len(given)}"
            )
        declared = tuple(
            categories_of(
                schema, column, None if categories is None else tuple(listed("categories of a column", categories))
            )
            for column, categories in zip(self.columns, given, strict=True)
        )
        if any(len(categories) < 2 for categories in declared):
            raise InvalidParameter("categories must be at least two for each column: nothing can be tested with one")
        if (self.p0 is None) != (self.name == "independence"):
            raise InvalidParameter("p0 must be given for gof, and only there")
        null = None if self.p0 is None else probabilities("p0", list(listed("p0", self.p0)), len(declared[0])).tolist()
        alpha = check.probability("alpha", self.alpha)
        return PrivateTest(tuple(self.columns), declared, null, alpha, spend_of(self.spend, policy))


class PrivateTest(Bound):
    """Counts get noise once; the test sees the noisy counts alone, and its p-value is corrected for the run so far."""

    def __init__(
        self,
        columns: tuple[str, ...],
        categories: tuple[Categories, ...],
        p0: list[float] | None,
        alpha: float,
        cost: Cost,
    ) -> None:
        self.cost = cost
        self.question = {
            "kind": "test",
            "name": "independence" if p0 is None else "gof",
            "columns": list(columns),
            "categories": [list(one) for one in categories],
            "p0": p0,
            "alpha": alpha,
            "spend": cost.to_dict(),
        }
        self.statistics = (Contingency(columns, categories),)
        self._sizes, self._p0, self._alpha = tuple(len(one) for one in categories), p0, alpha
        self._amount = amount(cost)

    def prepare(self, measured: Measured, n: int, source: Source | None = None) -> TestResult:
        """Noise, and the test on noisy counts: it may simulate its null a thousand times."""
        counts = Counts(_folded(measured[0], self._sizes), n)
        shared: dict[str, Any] = {"alpha": self._alpha, "source": source} | self._amount
        return independence(counts, **shared) if self._p0 is None else gof(counts, self._p0, **shared)

    warms_late = True

    def warm(self, situation: Situation, prepared: TestResult | None = None) -> None:
        """Correct the p-value once: after a concentrated cap that takes a second."""
        if prepared is not None and prepared.p_value is not None:
            situation.belief.adjusted(prepared.p_value, situation.progress, situation.spent)

    def settle(self, found: TestResult, situation: Situation) -> Settled:
        """The test's p-value, and what it is worth after everything that was released before."""
        adjusted = None
        if found.p_value is not None:
            adjusted = situation.belief.adjusted(found.p_value, situation.progress, situation.spent)
        guarantee = situation.guarantee("p-value.adjusted", alpha=self._alpha, level=found.level)
        if found.level != "exact":
            guarantee = replace(guarantee, assumption=f"{guarantee.assumption}; the test's own level is {found.level}")
        passed = None if adjusted is None else adjusted <= self._alpha
        result = {k: v for k, v in found.to_dict().items() if k not in ("cost", "n")}
        return Settled(adjusted, None, guarantee, passed=None, details={"rejected": passed, "test": result})

    def half_width(self, situation: Situation) -> None:
        """A test has no interval."""
        return None


def _folded(cells: Sequence[int], sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """The table without its cells for other rows, which are added to the last category of each column."""
    table = np.array(cells, dtype=np.int64).reshape(tuple(size + 1 for size in sizes))
    for axis, size in enumerate(sizes):
        kept = np.take(table, range(size), axis=axis)
        last = [slice(None)] * table.ndim
        last[axis] = slice(size - 1, size)
        kept[tuple(last)] += np.take(table, [size], axis=axis)
        table = kept
    return table


__all__ = ["PrivateTest", "Test"]
