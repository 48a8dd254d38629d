"""The reusable holdout for rows that depend on each other: guess and check with intervals that know it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from holdfast.bounds.one_question.means import MeanFamily, Side, outwards
from holdfast.correlated.holdout.dependent_rows import DependentRows
from holdfast.data.values import summarise
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.holdout.error_budget import ErrorBudget
from holdfast.holdout.final import Finalists
from holdfast.holdout.intervals.procedure import OnRows, Procedure
from holdfast.holdout.questions import Guess, MeanQuestion, OneSided
from holdfast.holdout.ranks import Forecast, Ranks
from holdfast.holdout.reusable import ReusableHoldout, Show
from holdfast.holdout.transcript import Outcome, Transcript
from holdfast.mechanisms.answer import Answer


@dataclass
class DependentMean(MeanQuestion):
    """A question about a mean of dependent rows: the declared routes take the place of the families of i.i.d. rows."""

    rows: DependentRows

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.spread is not None:
            raise InvalidParameter("spread must be None, because no interval for dependent rows uses it")

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the routes that the declaration allows."""
        return tuple(self.rows.routes)

    def mean_family(self, name: str) -> MeanFamily:
        """Return the route's interval."""
        return self.rows.routes[name].family

    def chosen(self, near: float, log_share: float, binary: bool) -> str:
        """The narrowest route at this share; it depends on the declaration alone, so it is known before the data."""
        return self.rows.narrowest(log_share).name if self.family == "auto" else self.family


@dataclass(frozen=True, repr=False)
class PresentMean:
    """A question about the mean among the rows with a value, and its interval. Secret: its repr shows nothing.

    Write `A` for the mean over all rows of the value in [0, 1], 0 where there is none, `B` for the proportion of rows
    with a value, and `r = E[A]/E[B]` for the truth. The residual `v - r` of a row with a value, 0 for the others, lies
    in an interval of length 1 and has expected mean 0. So its mean `A - r B` is within the declared half-width `h` of
    0, as that of any fixed value is, and `r` lies between `(A - h)/B` and `(A + h)/B`. Only the residual at the true
    `r` has to obey its bound, so the share is not split.
    """

    question: DependentMean
    values: npt.NDArray[np.float64]
    present: npt.NDArray[np.bool_]

    def decide(self, asked: Guess | OneSided) -> Callable[[float], Outcome]:
        """Return what to do with a share."""
        question, n = self.question, len(self.values)
        length = question.high - question.low
        some = float(np.count_nonzero(self.present)) / n
        total = float(((self.values[self.present] - question.low) / length).sum()) / n

        def limits(log_share: float, side: Side) -> tuple[float, float]:
            if not some:
                return question.low, question.high
            reach = question.rows.narrowest(log_share).half_width(log_share, side) + 1e-12
            lower, upper = ((total + sign * reach) / some * length + question.low for sign in (-1, 1))
            return outwards(lower, upper, question.low, question.high)

        def decided(log_share: float) -> Outcome:
            route = question.rows.narrowest(log_share).name
            value = total / some * length + question.low if some else None
            procedure = OnRows(question.low, question.high, n, route, limits, value)
            return question.decide_among(procedure, asked, log_share)

        return decided


@dataclass(frozen=True, repr=False, eq=False)
class DependentFinalists(Finalists):
    """The columns of a final on dependent rows: every limit is that of the declared dependence."""

    rows: DependentRows | None = None

    def limits(self, index: int, log_share: float, side: Side, alike: bool) -> tuple[float, float]:
        """Return the declared half-width around the mean."""
        return self._around(float(self.means[index]), log_share, side, self.low, self.high)

    def gap_at_most(self, better: int, worse: int, log_share: float, alike: bool) -> float:
        """Return the limit of the difference, which is a mean of one value per row too."""
        length = self.high - self.low
        gap = float(self.means[better] - self.means[worse])
        return self._around(gap, log_share, "upper", -length, length)[1]

    def ranks(self, log_level: float, forecast: Forecast | None, alike: bool) -> Ranks:
        """Refused: the tests behind ranks are for independent rows."""
        raise QuestionRefused("ranks are certified for independent rows only; claim intervals or the winner instead")

    def _around(self, mean: float, log_share: float, side: Side, low: float, high: float) -> tuple[float, float]:
        assert self.rows is not None
        route = self.rows.narrowest(log_share)
        return route.family.ends(mean, self.n, log_share, low, high, side)


class DependentHoldout(ReusableHoldout):
    """A `ReusableHoldout` whose rows may depend on each other in a declared way.

    With probability at least `confidence` the intervals of all answers hold together, whatever the analyst does with
    the answers. Questions are means of one value per row. Each value must be computed from its row alone (it may depend
    on the row's place). The target is the expected mean. Metrics (`check_metric`) are refused, because their intervals
    are for independent rows.

    The guarantee assumes the declared dependence (`DependentRows`), which no data can certify. The dependence must be
    declared before the rows are looked at. The training rows must be separated by a split that respects it
    (`holdfast.correlated.holdout.splits`).

    Parameters
    ----------
    rows : DependentRows
        How the holdout's rows depend on each other.
    questions, confidence, failures, low, high, final, expected_failures
        As for `ReusableHoldout`. No rows are reserved: a random part of dependent rows says something about the rest.

    Notes
    -----
    The argument of guess and check needs one thing of the rows: for a *fixed* question, an interval that misses
    with a probability of at most the question's share. Given the transcript so far the question is fixed,
    whatever the dependence of the rows. So the intervals for independent rows are replaced by those of the
    declared dependence (`DependentRows`), and everything else stays the same. No noise, no quilt and no influence
    enters.

    Examples
    --------
    A thousand families of four, any dependence inside a family:

    >>> from holdfast.correlated import DependentRows
    >>> holdout = DependentHoldout(DependentRows.blocks([4] * 1000), questions=100)
    >>> answer = holdout.check([1, 1, 1, 0] * 1000, guess=0.74)
    >>> answer.passed, round(answer.half_width, 4)
    (True, 0.1536)
    >>> print(answer.guarantee.assumption)
    1000 independent blocks of 4 rows, any dependence inside; the holdout was not used before
    """

    def __init__(
        self,
        rows: DependentRows,
        questions: int | None = None,
        confidence: float = 0.95,
        failures: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
        *,
        final: float = 0.5,
        expected_failures: float = 1.0,
    ) -> None:
        if not isinstance(rows, DependentRows):
            raise InvalidParameter(f"rows must be DependentRows, got a {type(rows).__name__}")
        self._rows = rows
        super().__init__(
            rows.n, questions, confidence, failures, low, high, final=final, expected_failures=expected_failures
        )

    @property
    def rows(self) -> DependentRows:
        """The declared dependence of the rows."""
        return self._rows

    def check_present(
        self,
        values: npt.ArrayLike,
        present: npt.ArrayLike,
        guess: float,
        tolerance: float | None = None,
        *,
        low: float | None = None,
        high: float | None = None,
        show: Show = "value",
        key: str | None = None,
    ) -> Answer:
        """Check your guess of the mean among the rows that have a value. Which rows have one may depend on anything.

        The default tolerance is that of a mean over all rows, because the number of rows with a value is not shown. A
        failed check shows both ends of the interval, rounded outward.

        Examples
        --------
        >>> from holdfast.correlated import DependentRows
        >>> holdout = DependentHoldout(DependentRows.blocks([4] * 1000), questions=100)
        >>> holdout.check_present([1, 1, 0, 0] * 1000, [True, True, True, False] * 1000, guess=0.66).passed
        True
        """
        question = self._present("check", low, high)
        asked = question.guess(guess, tolerance, show, None)
        return self._asked_present(question, asked, values, present, key)

    def claim_present(
        self,
        values: npt.ArrayLike,
        present: npt.ArrayLike,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        low: float | None = None,
        high: float | None = None,
        key: str | None = None,
    ) -> Answer:
        """Check the claim that the mean among the rows that have a value is at least (or at most) a number. The
        answer is yes or no.
        """
        if (at_least is None) == (at_most is None):
            raise InvalidParameter("exactly one of at_least and at_most must be given")
        question = self._present("claim", low, high)
        name, bound = ("at_least", at_least) if at_least is not None else ("at_most", at_most)
        return self._asked_present(question, question.claim(name, bound), values, present, key)

    def _present(self, kind: str, low: float | None, high: float | None) -> DependentMean:
        return self._question(kind, "auto", None, *self._range(low, high), False)

    def _asked_present(
        self,
        question: DependentMean,
        asked: Guess | OneSided,
        values: npt.ArrayLike,
        present: npt.ArrayLike,
        key: str | None,
    ) -> Answer:
        inside = np.asarray(present, dtype=np.bool_)
        if inside.shape != (self._n,):
            raise InvalidParameter(f"present must have True or False for each of {self._n} rows")
        try:
            given = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.full(self._n, np.nan)  # something is no number: that is refused with what is out of range
        if given.shape != (self._n,):
            raise InvalidParameter(f"values must have one number per row, {self._n} in all, got shape {given.shape}")

        def read() -> PresentMean:
            # Rows without a value are read as the least one: they are checked with the rest and then left out.
            column = np.where(inside, given, question.low)
            summarise(column, n=self._n, low=question.low, high=question.high, name="values")
            return PresentMean(question, column, inside)

        impossible = partial(question.refuse_impossible, asked)
        return self._ask(question.describe(asked) | {"where_present": True}, key, read, asked, impossible=impossible)

    def state(self, *, secrets: bool = False) -> dict[str, Any]:
        """Return the declaration, the plan and the transcript as plain data for JSON. `from_state` reads them back
        exactly.
        """
        return super().state(secrets=secrets) | {"rows": self._rows.to_dict()}

    @classmethod
    def _planned(cls, state: Mapping[str, Any]) -> Self:
        plan = {name: state[name] for name in ("questions", "confidence", "failures", "low", "high")}
        later = {name: state[name] for name in ("final", "expected_failures") if name in state}
        plan |= later or {"final": 0.0}
        holdout = cls(DependentRows.from_dict(state["rows"]), **plan)
        if holdout.n != state["n"]:
            raise InvalidParameter(
                f"state must be unchanged since state() returned it, but its n = {state['n']!r} does not fit its rows"
            )
        return holdout

    def _transcript(self, budget: ErrorBudget, failures: int | None) -> Transcript:
        return Transcript(budget, failures, f"{self._rows.model}; the holdout was not used before", self._terms)

    def _terms(self, family: str) -> dict[str, Any]:
        """What a guarantee says about the rows; a final uses several routes, and a winner's name none."""
        if family in self._rows.routes:
            return self._rows.terms(family)
        return {"effective_n": round(self._rows.effective_n, 6)}

    def _has_sign_test(self) -> bool:
        return False

    def _paired_family(self, family: str, spread: float | None) -> str:
        return family

    def _finalists(self, columns: npt.NDArray[np.float64], low: float, high: float, binary: bool) -> Finalists:
        return DependentFinalists(columns.shape[1], low, high, False, columns=columns, rows=self._rows)

    def _question(
        self, kind: str, family: str, spread: float | None, low: float, high: float, binary: bool
    ) -> DependentMean:
        return DependentMean(kind, family, spread, low, high, binary, self._n, self._rows)

    def _metric(self, procedure: Procedure) -> NoReturn:
        raise QuestionRefused(
            "for dependent rows only means of one value per row are certified: the interval of a metric needs "
            "independent rows"
        )
