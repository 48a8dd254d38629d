"""The kind `test`: a private test of counts. Its p-value is corrected for everything that was released before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.accounting import Cost
from holdfast.core import arguments
from holdfast.data.schema import Schema
from holdfast.data.statistics import Contingency
from holdfast.data.statistics.counts import Categories, categories_of
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.guard.questions.base import BoundQuestion, Measured, Question, Settled, Situation
from holdfast.guard.questions.expressions import label_of, listed
from holdfast.guard.questions.fields import (
    CategoryListsInput,
    ChoiceInput,
    ColumnsInput,
    FlagInput,
    NumberInput,
    NumbersInput,
    Spend,
    TextsInput,
)
from holdfast.guard.questions.noisy import amount, spend_of
from holdfast.guard.questions.words import number
from holdfast.inference.private_tests.counts import Counts, probabilities
from holdfast.inference.private_tests.goodness_of_fit import gof
from holdfast.inference.private_tests.independence_tests import independence
from holdfast.inference.private_tests.noise_law import noise_of
from holdfast.inference.private_tests.reach import Reach, gof_reach, independence_reach
from holdfast.inference.private_tests.result import TestResult
from holdfast.noise.entropy import Source

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy

_NAMES = {"independence": "two columns are independent", "gof": "one column has given shares"}


@dataclass(frozen=True)
class Test(Question):
    """Test privately whether a column follows given probabilities, or whether two columns are independent.

    The answer is a p-value, corrected for everything that was released before. It is certified if the level of the
    uncorrected test is proved.

    For "gof" it is proved. The null distribution and the noise are known completely, so the p-value `(1 + #)/(1 + m)`
    among `m` simulated noisy tables is exact by exchangeability. For levels that are too small for `m` simulations, a
    proved bound on tail probabilities is used.

    For "independence" the margins are not known. The null distribution is simulated from fitted margins (pure privacy;
    an empirical level) or replaced by its limit (zCDP; an asymptotic level), and neither is certified. Only for levels
    that are too small for both, certified bounds on tail probabilities are used.

    If the p-value of a test cannot be as small as the current level requires, the test is refused and nothing is spent,
    unless `allow_powerless` is given. `Guard.estimate` says in advance whether a test can reject.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"side": ["left", "right"] * 5000})
    >>> some = hf.accounting.PureDP(0.02)
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10, privacy=some, spend=some))
    >>> question = hf.guard.test("gof", ["side"], categories=[["left", "right"]], p0=[0.8, 0.2])
    >>> estimate = guard.estimate(question).test
    >>> estimate["can_reject"], estimate["certified"]
    (True, True)
    >>> guard.ask(question).details["rejected"]
    True
    """

    __test__: ClassVar[bool] = False  # not a class of tests, whatever its name makes pytest think
    kind: ClassVar[str] = "test"
    title: ClassVar[str] = "Private test"
    purpose: ClassVar[str] = "Does a column follow given shares; are two columns independent?"
    answered = "private"
    place: ClassVar[int] = 23
    slow_estimate: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {
        "kind": "test",
        "name": "gof",
        "columns": ["arm"],
        "categories": [["drug", "none"]],
        "p0": [0.5, 0.5],
        "allow_powerless": True,
    }

    name: Annotated[
        Literal["gof", "independence"],
        ChoiceInput(
            label="Test whether",
            help="The test: gof (goodness of fit: do the values of a column follow given probabilities?) or "
            "independence (of two columns).",
            argument=True,
            choices=_NAMES,
        ),
    ]
    columns: Annotated[
        Sequence[str],
        ColumnsInput(
            label="Column",
            help="One column for a goodness-of-fit test, two for a test of independence.",
            option="--column",
            metavar="COLUMN",
        ),
    ]
    categories: Annotated[
        Sequence[Sequence[Any] | None] | None,
        CategoryListsInput(
            label="Its categories, with commas",
            help="All categories of a column (default: those that the schema declares). Give the option once for "
            "each column, in order. Rows with any other value are counted in the last category.",
            metavar="A,B,C",
        ),
    ] = None
    p0: Annotated[
        Sequence[float] | None,
        NumbersInput(
            label="Shares, with commas, for given shares",
            help="For a goodness-of-fit test: the probabilities of the categories under the null hypothesis, "
            "separated by commas.",
            placeholder="0.5, 0.3, 0.2",
        ),
    ] = None
    alpha: Annotated[float, NumberInput(label="Level", help="The significance level.", above=0, below=1)] = 0.05
    spend: Spend = None
    null_as: Annotated[
        Sequence[Any] | None,
        TextsInput(
            label="Its missing values count as",
            help="The category in which missing values of a column are counted. Give the option once for each column.",
            metavar="A",
        ),
    ] = None
    allow_powerless: Annotated[
        bool,
        FlagInput(
            label="Ask even if no rows could make the test reject",
            help="Run the test even if it could not reject for any rows, because there are too few rows or too "
            "little privacy budget. Without this option such a test is refused.",
        ),
    ] = False

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the schema and the policy."""
        many = {"gof": 1, "independence": 2}[arguments.choice("name", self.name, ("gof", "independence"))]
        if isinstance(self.columns, str) or not isinstance(self.columns, Sequence) or len(self.columns) != many:
            raise InvalidParameter(
                f"columns must be a list of {'one column' if many == 1 else 'two columns'} for the test {self.name}"
            )
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
            raise InvalidParameter(
                "categories must be at least two for each column, because a test compares categories"
            )
        if (self.p0 is None) != (self.name == "independence"):
            raise InvalidParameter("p0 must be given for the test gof, and must be left out for independence")
        null = None if self.p0 is None else probabilities("p0", list(listed("p0", self.p0)), len(declared[0])).tolist()
        alpha = arguments.probability("alpha", self.alpha)
        if not isinstance(self.allow_powerless, bool):
            raise InvalidParameter(f"allow_powerless must be true or false, got {str(self.allow_powerless)[:60]!r}")
        places = _null_places(self.columns, declared, self.null_as, schema)
        cost = spend_of(self.spend, policy)
        return PrivateTest(tuple(self.columns), declared, null, alpha, cost, n, places, self.allow_powerless)

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line with the test and its columns."""
        what = "independence of" if asked["name"] == "independence" else "shares of"
        return f"{what} {' and '.join(asked['columns'])}"

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence with the decision and the p-value."""
        verdicts = {True: "The null hypothesis is rejected.", False: "The null hypothesis is not rejected."}
        p_value = answer["value"]
        after = f" The p-value, corrected for everything asked before, is {number(p_value)}."
        decided = verdicts.get(answer["details"].get("rejected"), "The test decided nothing.")
        return decided + ("" if p_value is None else after)

    @classmethod
    def effect_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
        """Return an empty text, because the sentence about the p-value already says that it is corrected."""
        return ""


class PrivateTest(BoundQuestion):
    """Counts get noise once; the test sees the noisy counts alone, and its p-value is corrected for the run so far."""

    def __init__(
        self,
        columns: tuple[str, ...],
        categories: tuple[Categories, ...],
        p0: list[float] | None,
        alpha: float,
        cost: Cost,
        n: int,
        null_as: tuple[int | None, ...] | None = None,
        allow_powerless: bool = False,
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
        if any(at is not None for at in null_as or ()):
            self.question["null_as"] = list(null_as or ())
        self.statistics = (Contingency(columns, categories, null_as),)
        self._sizes, self._p0, self._alpha = tuple(len(one) for one in categories), p0, alpha
        self._amount, self._n, self._allow_powerless = amount(cost), n, allow_powerless
        self._noise = noise_of(rho=self._amount.get("rho"), epsilon=self._amount.get("epsilon"))
        self._reach: Reach | None = None

    def _reach_of(self, level: float) -> Reach:
        if self._p0 is not None:
            return gof_reach(self._n, self._p0, self._noise, level)
        return independence_reach(self._n, (self._sizes[0], self._sizes[1]), self._noise, level)

    def _reach_now(self, situation: Situation) -> Reach:
        return self._reach_of(situation.budget.level(self._alpha, situation.course, situation.spent))

    def require_useful(self, situation: Situation) -> None:
        """Refuse a test that no rows could make reject, unless it was asked for."""
        reach = self._reach_now(situation)
        if self._allow_powerless:
            return
        if self._reach is not None and self._reach.can_reject and self._reach.least_p_value > reach.level:
            raise QuestionRefused(
                "other answers were given while this test was prepared, so its p-value must now be at most "
                f"{reach.level:.2g}, and it was prepared for p-values of at least {self._reach.least_p_value:.2g}; "
                "ask it again; nothing was spent"
            )
        if reach.can_reject:
            return
        raise QuestionRefused(
            f"this test could not reject, whatever the rows are: to keep alpha = {self._alpha:g} after everything "
            f"that this guard may release, its uncorrected p-value must be at most {reach.level:.2g}, and "
            f"{_smallest(reach)}; {'; '.join(reach.advice)}; `allow_powerless` runs it anyway; nothing was spent"
        )

    def prospect(self, situation: Situation) -> Mapping[str, Any]:
        """The level that the p-value must reach, the smallest that it can be, how often the test is inconclusive."""
        return self._reach_now(situation).to_dict()

    def prepare(self, measured: Measured, n: int, source: Source | None = None) -> TestResult:
        """Noise, and the test on noisy counts, as `warm` chose it: it may simulate its null for half a second."""
        counts = Counts(_folded(measured[0], self._sizes), n)
        reach = self._reach or self._reach_of(self._alpha)
        chosen: dict[str, Any] = {"method": reach.method, "m": reach.m}
        shared: dict[str, Any] = {"alpha": self._alpha, "source": source} | self._amount | chosen
        return independence(counts, **shared) if self._p0 is None else gof(counts, self._p0, **shared)

    warms_late = True

    def warm(self, situation: Situation, prepared: TestResult | None = None) -> None:
        """Choose the test by the level that it must reach; then correct its p-value, which may take a second.

        The choice is made before the rows are read and goes by what anyone may know, so every choice is valid.
        """
        if prepared is None:
            self._reach = self._reach_now(situation)
        elif prepared.p_value is not None:
            situation.budget.adjusted(prepared.p_value, situation.course, situation.spent)

    def settle(self, found: TestResult, situation: Situation) -> Settled:
        """Return the test's p-value, and what it is worth after everything that was released before."""
        adjusted = None
        if found.p_value is not None:
            adjusted = situation.budget.adjusted(found.p_value, situation.course, situation.spent)
        guarantee = situation.guarantee("p-value.adjusted", alpha=self._alpha, level=found.level)
        if found.level != "exact":
            assumption = f"{guarantee.assumption}; {_UNPROVED[found.level]}"
            guarantee = replace(guarantee, assumption=assumption, certified=False)
        passed = None if adjusted is None else adjusted <= self._alpha
        result = {k: v for k, v in found.to_dict().items() if k not in ("cost", "n")}
        return Settled(adjusted, None, guarantee, passed=None, details={"rejected": passed, "test": result})

    def half_width(self, situation: Situation) -> None:
        """A test has no interval."""
        return None


def _null_places(
    columns: Sequence[str], categories: Sequence[Categories], null_as: Any, schema: Schema
) -> tuple[int | None, ...]:
    """For each column the place that its missing values count at; None for the last one, where other rows count."""
    given = [None] * len(columns) if null_as is None else list(listed("null_as", null_as))
    if len(given) != len(columns):
        raise InvalidParameter(f"null_as must have one entry for each of {len(columns)} columns, got {len(given)}")
    places: list[int | None] = []
    for name, declared, value in zip(columns, categories, given, strict=True):
        same = [at for at, one in enumerate(declared) if value in (label_of(one), one) and value is not None]
        if value is not None and not same:
            raise InvalidParameter(f"null_as must be a category of column {name!r}, got {str(value)[:60]!r}")
        if value is None and schema[name].may_be_missing:
            raise InvalidParameter(
                f"by the schema, values of column {name!r} may be missing; give null_as, a list with a category for "
                f"each column, such as {declared[-1]!r}, in which missing values are counted; nothing was spent"
            )
        places.append(same[0] if same and schema[name].may_be_missing and same[0] < len(declared) - 1 else None)
    return tuple(places)


_UNPROVED = {
    "asymptotic": "the test's own level is asymptotic: it holds in the limit and is not proved at this number of rows",
    "empirical": "the test's own level is empirical: the null is simulated from margins fitted to the same noisy "
    "table, and its level was measured, not proved",
}


def _smallest(reach: Reach) -> str:
    if reach.inconclusive >= 1:
        return "its rule of thumb fires on every noisy table"
    return f"the smallest that it can give is {reach.least_p_value:.2g}"


def _folded(cells: Sequence[int], sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """The table without its cells for other rows, which are added to the last category of each column."""
    table = np.array(cells, dtype=np.int64).reshape(tuple(size + 1 for size in sizes))
    for axis, size in enumerate(sizes):
        inside = np.take(table, range(size), axis=axis)
        last = [slice(None)] * table.ndim
        last[axis] = slice(size - 1, size)
        inside[tuple(last)] += np.take(table, [size], axis=axis)
        table = inside
    return table
