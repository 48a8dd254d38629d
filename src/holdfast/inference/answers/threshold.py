"""Thresholdout with a certified accuracy: a guess that the data agree with is shown again, any other gets a noisy mean.

Two forms, both proved in docs/papers/adaptive-widths.md. "A Thresholdout of useful size": what is shown is a function
of a noisy mean and of the guess, so an analyst of this algorithm is one of those that the theorem about the noisy means
covers. "A Thresholdout with few failures": exact means of one part of the rows decide, and the patterns of passes and
failures are counted; noisy means of the other part are shown for failures.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from holdfast.accounting.costs import GDP
from holdfast.bounds.holdout.coded_threshold import CodedPlan, coded_plan
from holdfast.bounds.interval.signs import RowLaw
from holdfast.bounds.numerics.exact import up
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.data.values import Rows, with_gaps
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.inference.answers.answerer import VALUE_ERROR, exact_mean
from holdfast.inference.answers.noisy import GaussianAnswers, GaussianMethod
from holdfast.mechanisms.answer import Answer
from holdfast.noise.entropy import Source
from holdfast.noise.rounded_gaussian import fine_grid

ThresholdMethod = Literal[GaussianMethod, "coded"]
_CODED_ASSUMPTION = (
    "rows independent and identically distributed; plan fixed before the first answer; guesses from other rows; fresh "
    "noise; nothing else computed from these rows reaches the analyst; the run ends with the last planned failure"
)


class ThresholdAnswers(GaussianAnswers):
    """Checks guesses of up to `questions` means against noisy means of `n` rows, with a certified accuracy.

    If a guess is within `threshold` of the noisy mean, it passes and is shown again. Otherwise the noisy mean is shown.
    With probability `confidence` all shown values are within `accuracy` of their population values. The accuracy is the
    half-width of `GaussianAnswers`, plus the threshold if the guess passed. There is no budget of overfits, so every
    question may fail. The guesses must come from other rows. The intervals are wider than those of `GaussianAnswers`;
    use this class if a guess should be kept when it is right.

    With `failures`, the run ends after that many failures, and while they are few the accuracy is better: at 10,000
    rows, 1,000 questions and 10 failures all shown values are within .098, without `failures` within .142. Then the
    rows are divided into two parts when the plan is made. The exact mean of one part decides whether a guess passes.
    The other part is read only for the noisy means of failures. In this case the rows must be independent and
    identically distributed, and the analyst may see only the passes, the failures and the values, not `state()`.

    Parameters
    ----------
    n : int
        Rows of the sample.
    questions : int
        How many questions may be asked; one more is refused.
    confidence : float
        Probability that all intervals hold, in (0, 1).
    threshold : float, optional
        How far a guess may be from the noisy mean, as a part of the declared range, in [0, 1); `4/sqrt(n)`, as in the
        published experiments, if not given, and at most 0.5.
    failures : int, optional
        After how many failures the run ends. If given, the form with two parts is used where it has the smaller
        accuracy; otherwise nothing ends the run.
    method : str
        As for `GaussianAnswers`, or "coded", the form with two parts, which needs `failures`.
    rows, source
        As for `GaussianAnswers`.

    Notes
    -----
    The reusable holdout's Thresholdout serves the same purpose, but certifies nothing at such sizes.

    Examples
    --------
    >>> import numpy as np
    >>> answers = ThresholdAnswers(n=10_000, questions=1000, confidence=0.95)
    >>> answers.threshold, answers.accuracy < 0.15
    (0.04, True)
    >>> values = np.arange(10_000) % 4 == 0
    >>> far = answers.check(values, guess=0.9)
    >>> far.passed, far.interval[0] < 0.25 < far.interval[1], far.remaining
    (False, True, {'questions': 999})
    >>> few = ThresholdAnswers(n=10_000, questions=1000, confidence=0.95, failures=10)
    >>> few.coded, round(few.accuracy, 3), few.remaining
    (True, 0.098, {'questions': 1000, 'failures': 10})
    """

    kind: ClassVar[str] = "threshold"

    def __init__(
        self,
        n: int,
        questions: int,
        confidence: float,
        *,
        threshold: float | None = None,
        failures: int | None = None,
        method: ThresholdMethod = "best",
        rows: RowLaw = "identical",
        source: Source | None = None,
    ) -> None:
        self._plan: CodedPlan | None = None
        plain: Any = "best" if arguments.choice("method", method, get_args(ThresholdMethod)) == "coded" else method
        super().__init__(n, questions, confidence, method=plain, rows=rows, source=source)
        usual = min(4 / math.sqrt(self.n), 0.5)
        self.threshold = usual if threshold is None else arguments.real("threshold", threshold, at_least=0, below=1)
        self.failed = 0
        self.failures: int | None = None
        self._seed = 0
        self._in_reserve: npt.NDArray[np.bool_] | None = None
        if failures is not None:
            failures = arguments.whole("failures", failures, at_least=1, at_most=self.questions)
        if method == "coded" and (failures is None or self.rows != "identical"):
            raise InvalidParameter(
                f"method 'coded' needs failures and identically distributed rows, got failures={failures!r} and "
                f"rows={self.rows!r}"
            )
        if failures is not None:
            if method not in ("best", "coded"):
                raise InvalidParameter(f"failures must be left out unless method is 'best' or 'coded', got {failures}")
            self._code(failures, required=method == "coded")

    def _code(self, failures: int, required: bool) -> None:
        """Take the form with two parts, if it is asked for or has the smaller accuracy."""
        plan = None
        if self.rows == "identical":
            plan = coded_plan(self.n, self.questions, failures, self.beta, self.threshold)
        if plan is None and required:
            raise InvalidParameter(
                f"n must be at least 2 for method='coded', so that each of the two parts has a row, got {self.n}"
            )
        if plan is None or not (required or plan.accuracy < self.accuracy):
            return
        self._plan, self.failures = plan, failures
        self.width, self.grid = plan.values, fine_grid(plan.values.least_sigma)
        self._seed = self._source.word() << 64 | self._source.word()

    @property
    def coded(self) -> bool:
        """Whether one part of the rows decides and another part is shown, so that failures are counted."""
        return self._plan is not None

    @property
    def accuracy(self) -> float:
        """How far any shown value may be from the population value, as a proportion of the declared range."""
        if self._plan is not None:
            return max(self._pass_width(self._plan), self.half_width)
        return up(self.half_width + self.threshold)

    @staticmethod
    def _pass_width(plan: CodedPlan) -> float:
        return up(plan.pass_width + VALUE_ERROR, 2)

    @property
    def mu(self) -> float:
        """The privacy of all answers together, `mu`-Gaussian differential privacy for replacing one row; infinite if
        coded.
        """
        return math.inf if self.coded else super().mu

    def cost(self, question: int) -> GDP:
        """Return the privacy cost of a question, `1/(n sigma)`-Gaussian differential privacy.

        In a plan that counts failures this is refused, because there exact means decide, and those are not private.
        """
        self._require_noisy()
        return super().cost(question)

    @property
    def remaining(self) -> dict[str, float]:
        """What may still be asked: questions and, if they are limited, failures."""
        left: dict[str, float] = {"questions": self.questions - self.asked}
        return left if self.failures is None else left | {"failures": self.failures - self.failed}

    def parameters(self) -> dict[str, Any]:
        """Return the arguments that make this plan again."""
        plain = super().parameters() | {"threshold": self.threshold}
        return plain if self.failures is None else plain | {"method": "coded", "failures": self.failures}

    def state(self) -> dict[str, Any]:
        """Return the plan and the progress as plain data, for `from_state`.

        The data contain nothing about rows except which of them are reserved.
        """
        return super().state() | ({"failed": self.failed, "order": f"{self._seed:032x}"} if self.coded else {})

    @classmethod
    def _progress(cls) -> tuple[str, ...]:
        return (*super()._progress(), "failed", "order")

    def _restore(self, state: Mapping[str, Any]) -> None:
        super()._restore(state)
        if self.failures is None:
            return
        most = min(self.failures, self.asked)
        self.failed = arguments.whole("failed", state.get("failed"), at_least=0, at_most=most)
        order = state.get("order")
        if not isinstance(order, str) or re.fullmatch("[0-9a-f]{32}", order) is None:
            raise InvalidParameter("order in the state must be 32 hexadecimal digits")
        self._seed = int(order, 16)
        self._in_reserve = None

    def mean(self, values: Rows, low: float = 0.0, high: float = 1.0) -> Answer:
        """Answer a question with the noisy mean itself. A plan that counts failures refuses this; use `check`."""
        self._require_noisy()
        return super().mean(values, low, high)

    def means(self, table: Any, low: float = 0.0, high: float = 1.0) -> tuple[Answer, ...]:
        """Answer several questions with their noisy means. A plan that counts failures refuses this; use `check`."""
        self._require_noisy()
        return super().means(table, low, high)

    def _require_noisy(self) -> None:
        if self.coded:
            raise InvalidParameter(
                "a plan that counts failures has no noisy means and no privacy cost; use check(values, guess), or "
                "make the plan without failures; nothing was spent"
            )

    def check(self, values: Rows, guess: float, low: float = 0.0, high: float = 1.0) -> Answer:
        """Check a guess of the mean of a function of the rows.

        Parameters
        ----------
        values : array or iterable of arrays
            The function's value on each of the `n` rows.
        guess : float
            The guess, inside the range, from other rows.
        low, high : float
            The range of the function, declared without looking at the rows.

        Returns
        -------
        Answer
            `passed` with the guess as value, or the noisy mean; and an interval that holds for every answer at once.

        Raises
        ------
        BudgetExhausted
            All planned questions have been asked, or all planned failures have happened. Nothing changes.
        InvalidParameter
            A guess or value outside the range, NaN, or the wrong number of rows. Nothing is spent. Where failures are
            counted, values are moved into the range instead, a missing one to `low`: an error would be an answer.
        """
        low, high = arguments.value_range(low, high)
        guess = arguments.real("guess", guess, at_least=low, at_most=high)
        if self._plan is not None:
            return self._check_in_parts(self._plan, values, guess, low, high)
        noisy = self.mean(values, low, high)
        guarantee = Guarantee(
            "holdout.planned-threshold-accuracy",
            {"n": self.n, "questions": self.questions, "beta": self.beta, "threshold": self.threshold},
            self.width.assumption + "; guesses from other rows",
            self.width.certified,
        )
        reach = (high - low) * self.threshold
        if abs(noisy.value - guess) > reach:
            return Answer(noisy.value, noisy.interval, guarantee, noisy.cost, noisy.remaining, passed=False)
        half = up((high - low) * self.accuracy, 8) + 8 * math.ulp(max(abs(low), abs(high)))
        interval = max(guess - half, low), min(guess + half, high)
        return Answer(guess, interval, guarantee, noisy.cost, noisy.remaining, passed=True)

    @property
    def _reserve(self) -> npt.NDArray[np.bool_]:
        """Which rows are reserved: a random part, so that rows which were sorted are independent of the part again."""
        assert self._plan is not None
        if self._in_reserve is None:
            # raw words and a stable sort, as for `SplitAnswers`: a state gives the same parts in later releases
            order = np.argsort(np.random.PCG64(self._seed).random_raw(self.n), kind="stable")
            self._in_reserve = np.zeros(self.n, dtype=bool)
            self._in_reserve[order[: self._plan.reserved]] = True
        return self._in_reserve

    def _check_in_parts(self, plan: CodedPlan, values: Any, guess: float, low: float, high: float) -> Answer:
        array = _clipped(values, low, high)
        if array.shape[0] != self.n:
            raise InvalidParameter(f"values must be one number for each of {self.n} rows; nothing was spent")
        guarantee = Guarantee(
            "holdout.coded-threshold-accuracy",
            {"n": self.n, "questions": self.questions, "budget": self.failures, "beta": self.beta}
            | {"threshold": self.threshold},
            _CODED_ASSUMPTION,
        )
        length = Fraction(high) - Fraction(low)
        with self._alone():
            if self.asked < self.questions and self.failed == self.failures:
                raise BudgetExhausted(
                    f"the run has ended, because {self.failed} of {self.failures} planned failures have happened"
                )
            if self.asked == self.questions:
                self._count()  # refuses
            decides = exact_mean(array[~self._reserve], plan.explored, low, high)
            passed = abs(Fraction(low) + decides * length - Fraction(guess)) <= Fraction(self.threshold) * length
            self._count()
            if not passed:
                self.failed += 1
            turn, remaining = self.failed, self.remaining
        if passed:
            half = up((high - low) * self._pass_width(plan), 8) + 8 * math.ulp(max(abs(low), abs(high)))
            interval = max(guess - half, low), min(guess + half, high)
            return Answer(guess, interval, guarantee, None, remaining, passed=True)
        # reserved rows are read here and nowhere else
        noisy = self.grid.value(self._noisy(turn, exact_mean(array[self._reserve], plan.reserved, low, high)))
        value = min(max(low + (high - low) * min(max(noisy, 0.0), 1.0), low), high)
        half = up((high - low) * self.half_width, 4) + 4 * math.ulp(max(abs(low), abs(high)))
        return Answer(
            value, (max(value - half, low), min(value + half, high)), guarantee, None, remaining, passed=False
        )


def _clipped(values: Any, low: float, high: float) -> npt.NDArray[np.float64]:
    """One number per row, clipped to the range; a missing one is `low`.

    An error about values would depend on rows: it would be an answer that the count of answers knows nothing of.
    """
    return np.clip(np.nan_to_num(with_gaps(values, "values"), nan=low), low, high)
