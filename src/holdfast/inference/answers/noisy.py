"""Many adaptively chosen means with Gaussian or Laplace noise: one simultaneous interval, a refusal at the end.

The values are scaled to [0, 1], get noise, are clipped and scaled back. Laplace noise gives pure
differential privacy.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Literal, Self

from holdfast.accounting.costs import GDP, Cost, PureDP
from holdfast.bounds import interval
from holdfast.bounds.interval.signs import RowLaw
from holdfast.bounds.interval.width import Width
from holdfast.bounds.numerics.exact import float_down, up
from holdfast.core import arguments
from holdfast.data.values import Rows
from holdfast.errors import InvalidParameter
from holdfast.inference.answers.answerer import VALUE_ERROR, Answerer, exact_mean, exact_means
from holdfast.mechanisms.additive import Laplace
from holdfast.mechanisms.answer import Answer
from holdfast.noise.entropy import Source
from holdfast.noise.grid import Grid
from holdfast.noise.laplace import discrete_laplace
from holdfast.noise.rounded_gaussian import fine_grid, rounded_gaussian


class NoisyAnswers(Answerer):
    """Base of the Gaussian and the Laplace method."""

    width: Width
    grid: Grid

    @property
    def method(self) -> str:
        """The theorem on which the plan depends."""
        return self.width.method

    @property
    def half_width(self) -> float:
        """Half the length of every interval, as a proportion of the declared range, rounding included."""
        return up(self.width.half_width + float(self.grid.step) / 2 + VALUE_ERROR, 2)

    def half_width_of(self, question: int) -> float:
        """Return the half-width of question number `question`. In a plan with a fixed number of questions it is the
        same for all.
        """
        arguments.whole("question", question, at_least=1, at_most=self.questions)
        return self.half_width

    def sigma(self, question: int) -> float:
        """Return the noise scale of question number `question`, counted from 1, as a proportion of the declared
        range.
        """
        return self.width.sigma_of(question)

    @abstractmethod
    def cost(self, question: int) -> Cost:
        """Return the privacy cost of question number `question`, for replacing one row. A ledger can record it."""

    def mean(self, values: Rows, low: float = 0.0, high: float = 1.0) -> Answer:
        """Answer a question about the mean of a function of the rows, with noise.

        Parameters
        ----------
        values : array or iterable of arrays
            The function's value on each of the `n` rows.
        low, high : float
            The range of the function, declared without looking at the rows. The interval is that much wider.

        Returns
        -------
        Answer
            A noisy value clipped to the range, and an interval that holds for every answer at once.

        Raises
        ------
        BudgetExhausted
            All planned questions have been asked. Nothing changes.
        InvalidParameter
            A value outside the range, NaN, or the wrong number of rows. Nothing is spent.
        """
        low, high = arguments.value_range(low, high)
        mean = exact_mean(values, self.n, low, high)
        return self.answer_to(self._take(), mean, low, high)

    def means(self, table: Any, low: float = 0.0, high: float = 1.0) -> tuple[Answer, ...]:
        """Answer the means of several functions that were chosen together, one column of `table` for each.

        The answers are the same as from `mean` of each column in turn, but faster. Either all columns are answered or
        none.
        """
        low, high = arguments.value_range(low, high)
        means = exact_means(table, self.n, low, high)
        first = self._take(len(means))
        return tuple(self.answer_to(first + i, mean, low, high) for i, mean in enumerate(means))

    def answer_to(self, question: int, mean: Fraction, low: float, high: float) -> Answer:
        """Answer question number `question`, counted from 1, given its exact mean as a proportion of the range.

        This is for callers that count the questions themselves, such as the ledger of a guard. Use each number only
        once.
        """
        share = min(max(self.grid.value(self._noisy(question, mean)), 0.0), 1.0)
        value = min(max(low + (high - low) * share, low), high)
        # a few roundings of numbers no larger than the ends of the range
        half = up((high - low) * self.half_width, 4) + 4 * math.ulp(max(abs(low), abs(high)))
        return Answer(
            value,
            (max(value - half, low), min(value + half, high)),
            self.width.guarantee,
            self.cost(question),
            {"questions": self.questions - question},
        )

    @abstractmethod
    def _noisy(self, question: int, mean: Fraction) -> int:
        """The exact mean plus noise, as an index of the grid."""


GaussianMethod = Literal[
    "best",
    "earlier",
    "sign-comparison",
    "scheduled",
    "posterior-shift",
    "jung",
    "bns",
    "russo-zou-kl",
    "russo-zou",
    "xu-raginsky",
    "dfh",
]


def _cap(privacy: Any) -> GDP | None:
    """A cap on the privacy of all answers together; as a state stores it, or as a cost."""
    cap = Cost.from_dict(dict(privacy)) if isinstance(privacy, Mapping) else privacy
    if cap is not None and (not isinstance(cap, GDP) or cap.is_zero):
        raise InvalidParameter(f"privacy must be a GDP cost with mu above 0, such as GDP(0.05), got {cap!r}")
    return cap


_GAUSSIAN: dict[str, Callable[..., Width]] = {
    "sign-comparison": interval.sign_comparison,
    "scheduled": interval.scheduled,
    "posterior-shift": interval.posterior_shift,
    "jung": interval.jung,
    "bns": interval.bns,
    "russo-zou-kl": interval.russo_zou_kl,
    "russo-zou": interval.russo_zou,
    "xu-raginsky": interval.xu_raginsky,
    "dfh": interval.dfh,
}


_LAWS = ("identical", "independent")


class GaussianAnswers(NoisyAnswers):
    """Answers up to `questions` adaptively chosen means of `n` rows with Gaussian noise.

    With probability `confidence` all intervals hold, whatever the analyst does with the answers. The rows must be
    independent and identically distributed, and nothing else that is computed from them may reach the analyst. The plan
    fixes noise scales that fall from question to question. `mu` says how private all answers together are.

    Parameters
    ----------
    n : int
        Rows of the sample.
    questions : int
        How many questions may be asked; one more is refused.
    confidence : float
        Probability that all intervals hold, in (0, 1).
    method : str
        "best" (default): the narrowest of "sign-comparison" (Theorem D), "scheduled" (Theorem B) and "posterior-shift"
        (Theorem A, constant noise). "earlier": the smaller of the last two, which "best" was before Theorem D, or with
        `privacy` the first search under a cap; a stored plan of that time goes on with it. The others are the published
        bounds in their best valid form.
    rows : str
        What is promised about the rows: "identical" (default), independent and identically distributed; "independent",
        independent, each of its own distribution. Theorem D has a slightly wider form for the latter.
    rounds : int, optional
        In how many rounds of equal size the answers are seen. The questions of a round must be chosen before any of its
        answers, and are asked together with `means`. The noise is then smaller (Theorem D with rounds). For few rounds
        `SplitAnswers` with the same rounds is narrower: for 1,000 means of 100,000 rows at 95% it has .0103, .0163
        and .0230 in 2, 5 and 10 rounds, where this has .0220, .0278 and .0295; from 18 rounds on this is
        narrower. `answer_plan(..., rounds=r)` compares them.
    privacy : GDP, optional
        A cap on what all answers together may cost. It is a ceiling: of the plans that are tried the narrowest is
        made, which spends less than the cap where spending more would widen the intervals. A looser cap widens no
        interval by more than a relative 2e-3. `mu` is what is spent.
    source : noise.Source, optional
        Where the randomness comes from; the operating system if not given. `noise.Seeded` for simulations only.

    Notes
    -----
    Noise is a real Gaussian number rounded to a grid (`noise.rounded_gaussian`), as the theorems need; the
    rounding is in the half-width.

    Examples
    --------
    >>> answers = GaussianAnswers(n=100_000, questions=1000, confidence=0.95)
    >>> round(answers.half_width, 4), answers.method
    (0.0312, 'interval.sign-comparison')
    >>> import numpy as np
    >>> answer = answers.mean(np.arange(100_000) % 4 == 0)
    >>> answer.interval[0] < 0.25 < answer.interval[1], answer.remaining
    (True, {'questions': 999})
    >>> private = GaussianAnswers(n=100_000, questions=50, confidence=0.95, privacy=GDP(0.0275))
    >>> round(private.half_width, 4), private.mu <= 0.0275
    (0.0158, True)
    >>> GaussianAnswers(n=100_000, questions=1000, confidence=95)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: confidence must be a number in (0, 1), got 95
    """

    kind: ClassVar[str] = "gaussian"

    def __init__(
        self,
        n: int,
        questions: int,
        confidence: float,
        *,
        method: GaussianMethod = "best",
        rows: RowLaw = "identical",
        rounds: int | None = None,
        privacy: GDP | None = None,
        source: Source | None = None,
    ) -> None:
        super().__init__(n, questions, confidence, source)
        self._method = arguments.choice("method", method, ("best", "earlier", *_GAUSSIAN))
        self.privacy = _cap(privacy)
        self.rows: RowLaw = "identical" if arguments.choice("rows", rows, _LAWS) == "identical" else "independent"
        self.rounds = None if rounds is None else arguments.whole("rounds", rounds, at_least=1, at_most=self.questions)
        if self.rounds is not None and self._method != "best":
            raise InvalidParameter(f"method must be 'best' if answers come in rounds, got {self._method!r}")
        if self.privacy is not None and (self._method not in ("best", "earlier") or self.rounds is not None):
            raise InvalidParameter(
                "privacy needs method='best' and no rounds, because the privacy cap decides the noise"
            )
        self.width = self._planned()
        self.grid = fine_grid(self.width.least_sigma)

    def _planned(self) -> Width:
        size = self.n, self.questions, self.beta
        if self.privacy is not None:
            search: Literal["best", "earlier"] = "earlier" if self._method == "earlier" else "best"
            return interval.private_means(*size, self.privacy.mu, rows=self.rows, method=search)
        if self.rounds is not None:
            noisy = interval.best_noise(*size, rows=self.rows)
            together = interval.sign_comparison_rounds(*size, self.rounds, rows=self.rows)
            return min(noisy, together, key=lambda width: width.half_width)
        if self._method == "best":
            return interval.best_noise(*size, rows=self.rows)
        if self._method == "earlier":
            widths = [interval.scheduled(*size), interval.posterior_shift(*size)]
            return min(widths, key=lambda width: width.half_width)
        if self._method == "sign-comparison" and self.rows == "independent":
            return interval.sign_comparison_independent(*size)
        return _GAUSSIAN[self._method](*size)

    @property
    def batch(self) -> int:
        """The number of questions in a round, which `means` answers together; 1 if there are no rounds."""
        return 1 if self.rounds is None else -(-self.questions // self.rounds)

    @property
    def mu(self) -> float:
        """The privacy of all answers together: they are `mu`-Gaussian differentially private for replacing one row."""
        return interval.total_mu(self.width)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments that make this plan again."""
        plain = {"n": self.n, "questions": self.questions, "confidence": self.confidence, "method": self._method}
        return plain | {"rows": self.rows} | ({} if self.rounds is None else {"rounds": self.rounds}) | self._capped()

    def _capped(self) -> dict[str, Any]:
        """The cap, where there is one: states of earlier versions knew none."""
        return {} if self.privacy is None else {"privacy": self.privacy.to_dict()}

    def state(self) -> dict[str, Any]:
        """Return the plan and the progress as plain data, for `from_state`. The data contain nothing about rows."""
        return super().state() | ({} if self.privacy is None else {"search": self._method})

    @classmethod
    def _progress(cls) -> tuple[str, ...]:
        return (*super()._progress(), "search")

    @classmethod
    def from_state(cls, state: Mapping[str, Any], source: Source | None = None) -> Self:
        """Return the method that `state()` described.

        A state from before Theorem D, or from the first version of the search under a privacy cap, continues with its
        own plan.
        """
        if isinstance(state, Mapping) and state.get("kind") == cls.kind:
            first_search = state.get("privacy") is not None and "search" not in state
            if ("rows" not in state or first_search) and state.get("method", "best") == "best":
                state = dict(state) | {"method": "earlier"}
        return super().from_state(state, source)

    def _count(self, count: int = 1) -> int:
        if self.rounds is not None and count != min(self.batch, self.questions - self.asked):
            left = self.questions - self.asked
            if left > 0:
                raise InvalidParameter(
                    f"table must have the {min(self.batch, left)} questions of a whole round, all chosen together, "
                    f"got {count}"
                )
        return super()._count(count)

    def cost(self, question: int) -> GDP:
        """Return the privacy cost of a question, `1/(n sigma)`-Gaussian differential privacy.

        The noise is a real Gaussian number, and rounding it afterwards changes nothing about the cost.
        """
        return GDP(up(1 / (self.n * self.sigma(question)), 4))

    def _noisy(self, question: int, mean: Fraction) -> int:
        return rounded_gaussian(Fraction(self.sigma(question)), self.grid, mean=mean, source=self._source)


LaplaceMethod = Literal["best", "jung", "bns", "dfh"]
_LAPLACE: dict[str, Callable[..., Width]] = {"jung": interval.jung, "bns": interval.bns, "dfh": interval.dfh}
#: Steps of the grid in the sensitivity, as a power of two: rounding changes scale and width by less than 1e-6.
_FINE = 21


class LaplaceAnswers(NoisyAnswers):
    """Answers up to `questions` adaptively chosen means of `n` rows with Laplace noise of one scale.

    The intervals are about twice as wide as those of `GaussianAnswers`, because no posterior-shift bound is proved for
    Laplace noise. The best valid form of the published theorems is used instead. Every answer is
    `epsilon`-differentially private with `delta` 0.

    Parameters
    ----------
    n : int
        Rows of the sample.
    questions : int
        How many questions may be asked; one more is refused.
    confidence : float
        Probability that all intervals hold, in (0, 1).
    method : str
        "best" (default): the smallest of "jung", "bns" and "dfh".
    source : noise.Source, optional
        Where the randomness comes from; the operating system if not given. `noise.Seeded` for simulations only.

    Notes
    -----
    Noise is the exact discrete Laplace of `noise/`; these theorems need privacy and a tail, which it has, so no
    continuous distribution is needed. What its grid adds is in the half-width.

    Examples
    --------
    >>> answers = LaplaceAnswers(n=100_000, questions=100, confidence=0.95)
    >>> round(answers.half_width, 4), answers.method
    (0.0701, 'interval.jung')
    >>> answers.cost(1)
    PureDP(epsilon=0.00...)
    """

    kind: ClassVar[str] = "laplace"

    def __init__(
        self,
        n: int,
        questions: int,
        confidence: float,
        *,
        method: LaplaceMethod = "best",
        source: Source | None = None,
    ) -> None:
        super().__init__(n, questions, confidence, source)
        self._method = arguments.choice("method", method, ("best", *_LAPLACE))
        names = tuple(_LAPLACE) if self._method == "best" else (self._method,)
        widths = [partial(_LAPLACE[name], noise="laplace")(self.n, self.questions, self.beta) for name in names]
        self.width = min(widths, key=lambda width: width.half_width)
        self.grid = Grid(-(self.n - 1).bit_length() - _FINE)
        # at most the privacy loss that the width was computed for, so the scale is at least its own
        self._mechanism = Laplace(
            Fraction(1, self.n), float_down(1 / (self.n * Fraction(self.width.sigma))), grid=self.grid
        )

    @property
    def half_width(self) -> float:
        """Half the length of every interval, as a proportion of the declared range.

        The noise that is drawn has a slightly larger scale than the plan, and the half-width includes this.
        """
        excess = float(self._mechanism.law.scale_steps * self.grid.step / Fraction(self.width.sigma)) - 1
        step = float(self.grid.step)
        # |K| steps has a tail below that of the continuous distribution but for one step; the mean is rounded by half a
        # step
        return up(self.width.half_width * (1 + max(excess, 0.0)) + 1.5 * step + VALUE_ERROR, 8)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments that make this plan again."""
        return {"n": self.n, "questions": self.questions, "confidence": self.confidence, "method": self._method}

    def cost(self, question: int) -> PureDP:
        """Return the privacy cost of a question: pure differential privacy, the same for every question."""
        arguments.whole("question", question, at_least=1, at_most=self.questions)
        return self._mechanism.cost

    def _noisy(self, question: int, mean: Fraction) -> int:
        return self.grid.index(mean) + discrete_laplace(self._mechanism.law.scale_steps, source=self._source)
