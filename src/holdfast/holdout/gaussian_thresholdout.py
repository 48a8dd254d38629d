"""Thresholdout as the paper's figures ran it: Gaussian noise and no kept threshold; certified for a planned run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from holdfast.bounds.holdout.thresholdout import gaussian_threshold_accuracy, gaussian_threshold_width
from holdfast.bounds.interval.signs import SIGN_ASSUMPTION
from holdfast.bounds.numerics.exact import left_to_chance, up
from holdfast.core import arguments
from holdfast.core.copying import OneOwner
from holdfast.core.guarantee import Guarantee
from holdfast.data.values import Rows, column, summarise
from holdfast.errors import BudgetExhausted, GuaranteeUnavailable, InvalidParameter
from holdfast.holdout.secret_state import read_state, source_state
from holdfast.holdout.thresholdout import ThresholdAnswers
from holdfast.inference.answers.answerer import VALUE_ERROR, exact_mean
from holdfast.mechanisms.answer import Answer
from holdfast.noise.entropy import Seeded, Source, resolve
from holdfast.noise.gaussian import discrete_gaussian
from holdfast.noise.grid import Grid
from holdfast.noise.rounded_gaussian import fine_grid, rounded_gaussian

_STEPS = 4096
"""Steps of the grid in the standard deviation, at least: rounding is far below the noise."""
_FAR = 1e100


class GaussianThresholdout(OneOwner):
    """Thresholdout with Gaussian noise, the variant behind Figures 2 to 4 of Dwork et al. 2015.

    If `|holdout - candidate| > threshold + N(0, noise)`, the answer is `holdout + N(0, noise)`, with fresh noise each
    time. Otherwise the answer is the candidate. The authors' experiment used `threshold = 4/sqrt(n)` and `noise =
    1/sqrt(n)`.

    If `questions` is given, the run can be certified: the values must lie in [0, 1], and all shown values together are
    within `accuracy` of their population values (`holdout.gaussian-threshold-accuracy`). If `questions` is not given,
    no theorem covers the run, and every answer says so. `ThresholdAnswers` draws noise once for each question and
    certifies smaller errors.

    Parameters
    ----------
    n : int
        Rows in the holdout.
    threshold, noise : float, optional
        `4/sqrt(n)` and `1/sqrt(n)` unless given. `noise` is a standard deviation.
    mode : str
        "paper-experiment", the only mode: a reminder where it is constructed.
    questions : int, optional
        How many questions may be asked in a certified run; one more is refused.
    overfits : int, optional
        The number of overfits with which a certified run ends; as many as questions if not given.
    confidence : float
        Probability that all intervals of a certified run hold, in (0, 1).
    source : noise.Source, optional
        `noise.Seeded` in simulations.

    Notes
    -----
    It differs from the authors' Figure 1 in everything that the proof of Figure 1 needs: one noise scale instead
    of 2:4:1, no threshold noise that is kept, no budget, and values that may be unbounded. `Thresholdout` is
    Figure 1; `mechanisms.GaussianSparseVector` is a Gaussian sparse vector with a proof.

    Noise is discrete Gaussian on a grid with at least 4096 steps in its standard deviation. In a certified run it is a
    real Gaussian added to the exact mean and rounded afterwards, as the theorem needs.

    Examples
    --------
    >>> holdout = GaussianThresholdout(10_000)
    >>> holdout.threshold, holdout.noise
    (0.04, 0.01)
    >>> holdout.query_means(0.70, 0.70).guarantee.certified
    False
    >>> planned = GaussianThresholdout(10_000, questions=1000, overfits=10)
    >>> answer = planned.query_values(0.3, [1.0, 0.0] * 5000)
    >>> round(planned.accuracy, 3), answer.guarantee.certified, answer.remaining
    (0.171, True, {'questions': 999, 'overfits': 9})
    """

    def __init__(
        self,
        n: int,
        threshold: float | None = None,
        noise: float | None = None,
        *,
        mode: Literal["paper-experiment"] = "paper-experiment",
        questions: int | None = None,
        overfits: int | None = None,
        confidence: float = 0.95,
        source: Source | None = None,
    ) -> None:
        super().__init__()
        arguments.choice("mode", mode, ("paper-experiment",))
        self._n = arguments.whole("n", n, at_least=1, at_most=10**15)
        root = math.sqrt(self._n)
        self._threshold = 4 / root if threshold is None else arguments.real("threshold", threshold, at_least=0)
        self._noise = 1 / root if noise is None else arguments.real("noise", noise, at_least=1e-100, at_most=1e100)
        self._confidence = arguments.real("confidence", confidence, above=0, below=1)
        self._plan = self._planned(questions, overfits)
        self._grid = fine_grid(self._noise) if self._plan else Grid(math.floor(math.log2(self._noise / _STEPS)))
        self._sigma = math.ceil(self._noise / float(self._grid.step))
        self._index = self._grid.near_index(self._threshold, "threshold")
        self._source = resolve(source)
        self._asked = self._overfits = 0

    def _planned(self, questions: int | None, overfits: int | None) -> dict[str, Any]:
        """The arguments of the theorem; empty where no run was planned."""
        if questions is None:
            if overfits is not None:
                raise InvalidParameter("overfits needs questions too: a certified run is planned with both")
            return {}
        asked = arguments.whole("questions", questions, at_least=1, at_most=10**9)
        spoken = asked if overfits is None else arguments.whole("overfits", overfits, at_least=1, at_most=asked)
        size: dict[str, Any] = {
            "n": self._n,
            "questions": asked,
            "budget": spoken,
            "beta": left_to_chance(self._confidence),
        }
        plan = size | {"threshold": self._threshold, "noise": self._noise}
        if not math.isfinite(gaussian_threshold_accuracy(**plan)):
            raise GuaranteeUnavailable(
                f"{asked} questions with threshold {self._threshold:g} and noise {self._noise:g} cannot be certified; "
                f"the threshold must be more than {-float(ndtri(size['beta'] / asked)):.3g} times the noise, and the "
                "noise between 0.001/sqrt(n) and 1000/sqrt(n)"
            )
        return plan

    @property
    def accuracy(self) -> float | None:
        """How far any shown value may be from its population value; None if no number of questions was planned."""
        return up(self._half_width + self._threshold) if self._plan else None

    @property
    def _half_width(self) -> float:
        """How far a noisy value may be from the truth, rounding of values and answers included."""
        return up(gaussian_threshold_width(**self._plan) + float(self._grid.step) / 2 + VALUE_ERROR, 2)

    @property
    def n(self) -> int:
        """The number of rows in the holdout."""
        return self._n

    @property
    def threshold(self) -> float:
        """The threshold of the comparison, which is public."""
        return self._threshold

    @property
    def noise(self) -> float:
        """The standard deviation of both noises: that of the comparison and that of the shown value."""
        return self._noise

    @property
    def asked(self) -> int:
        """The number of questions asked so far."""
        return self._asked

    @property
    def overfits(self) -> int:
        """The number of questions that were answered with a holdout value."""
        return self._overfits

    def query(self, train_values: Rows, holdout_values: Rows) -> Answer:
        """Ask a question, given one value for each training row and for each holdout row.

        In a certified run the values must be in [0, 1]. Otherwise they may be at most 1e100 in size.
        """
        array = column(train_values, "train_values")
        candidate = summarise(array, n=max(1, array.size), low=-_FAR, high=_FAR, name="train_values").mean
        return self.query_values(candidate, holdout_values)

    def query_values(self, candidate: float, holdout_values: Rows) -> Answer:
        """Ask a question, given a candidate value from any source outside the holdout and one value for each holdout
        row.
        """
        if self._plan:
            return self._certified(candidate, holdout_values)
        candidate = arguments.real("candidate", candidate)
        mean = summarise(holdout_values, n=self._n, low=-_FAR, high=_FAR, name="holdout_values").mean
        return self.query_means(candidate, mean)

    def query_means(self, candidate: float, holdout_mean: float) -> Answer:
        """Ask a question whose holdout value was computed elsewhere.

        This is not possible in a certified run, which has to compute the exact mean itself.
        """
        self._require_no_plan()
        candidate = arguments.real("candidate", candidate)
        guess, index = self._grid.near_index(candidate), self._grid.near_index(holdout_mean)
        with self._alone():
            over = abs(index - guess) > self._index + discrete_gaussian(self._sigma, source=self._source)
            value = candidate
            if over:
                value = self._grid.value(index + discrete_gaussian(self._sigma, source=self._source))
            self._asked, self._overfits = self._asked + 1, self._overfits + over
            return self._answer(value, over)

    def query_batch(self, candidates: npt.ArrayLike, holdout_means: npt.ArrayLike) -> ThresholdAnswers:
        """Ask many questions at once. No question may depend on the answer to another one of the batch.

        The noise is drawn in two vectorised calls. This is not possible in a certified run.

        Examples
        --------
        >>> answers = GaussianThresholdout(10_000, threshold=0.1).query_batch([0.7, 0.9], [0.7, 0.2])
        >>> answers.overfit.tolist()
        [False, True]
        """
        self._require_no_plan()
        try:
            guesses, means = np.asarray(candidates, dtype=np.float64), np.asarray(holdout_means, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidParameter(
                "candidates and holdout_means must each be a list with one number for each question"
            ) from None
        if guesses.ndim != 1 or guesses.shape != means.shape:
            raise InvalidParameter("candidates and holdout_means must be one number per question, equally many")
        indices = self._grid.indices(means)
        gaps = np.abs(indices - self._grid.indices(guesses))
        with self._alone():
            overfit = gaps > self._index + discrete_gaussian(self._sigma, len(gaps), source=self._source)
            values = guesses.copy()
            shown = discrete_gaussian(self._sigma, int(overfit.sum()), source=self._source)
            values[overfit] = self._grid.values(indices[overfit] + shown)
            self._asked, self._overfits = self._asked + len(gaps), self._overfits + int(overfit.sum())
        return ThresholdAnswers(values, overfit, len(values), lambda: self._replay(values, overfit))

    def _require_no_plan(self) -> None:
        if self._plan:
            raise InvalidParameter(
                "values that were computed elsewhere cannot be used in a run with planned questions; use query or "
                "query_values, or make the run without questions"
            )

    def _certified(self, candidate: float, holdout_values: Rows) -> Answer:
        """The same comparison and answer with real Gaussian noise on the exact mean, and an interval."""
        candidate = arguments.real("candidate", candidate, at_least=0, at_most=1)
        mean = exact_mean(holdout_values, self._n, name="holdout_values")
        noise, plan = Fraction(self._noise), self._plan
        with self._alone():
            if self._asked >= plan["questions"] or self._overfits >= plan["budget"]:
                raise BudgetExhausted(
                    "the planned questions or overfits are used up; this holdout answers nothing further"
                )
            excess = abs(mean - Fraction(candidate)) - Fraction(self._threshold)
            over = rounded_gaussian(noise, self._grid, mean=excess, source=self._source) > 0
            value, half = candidate, self._half_width
            if over:
                value = self._grid.value(rounded_gaussian(noise, self._grid, mean=mean, source=self._source))
                value = min(max(value, 0.0), 1.0)
            else:  # rounding raises the threshold by half a step
                half = up(half + self._threshold + float(self._grid.step) / 2, 2)
            self._asked, self._overfits = self._asked + 1, self._overfits + over
            left = {"questions": plan["questions"] - self._asked, "overfits": plan["budget"] - self._overfits}
        law = SIGN_ASSUMPTION.format(rows="independent and identically distributed") + "; guesses from other rows"
        guarantee = Guarantee("holdout.gaussian-threshold-accuracy", plan, law)
        interval = max(value - half, 0.0), min(value + half, 1.0)
        return Answer(value, interval, guarantee, None, left, passed=not over)

    def _replay(self, values: npt.NDArray[np.float64], overfit: npt.NDArray[np.bool_]) -> Iterator[Answer]:
        for value, over in zip(values.tolist(), overfit.tolist(), strict=True):
            yield self._answer(value, over)

    def _answer(self, value: float, over: bool) -> Answer:
        public = {"n": self._n, "threshold": self._threshold, "noise": self._noise}
        return Answer(value, None, Guarantee("none", public, "no theorem", certified=False), passed=not over)

    def state(self) -> dict[str, Any]:
        """Return the run as plain data.

        If the noise comes from `noise.Seeded`, the generator is part of the data, and then they are secret.
        """
        with self._alone():
            return {
                "kind": "gaussian-thresholdout",
                "secret": True,
                "parameters": self._parameters(),
                "asked": self._asked,
                "overfits": self._overfits,
                "source": source_state(self._source),
            }

    def _parameters(self) -> dict[str, Any]:
        plain = {"n": self._n, "threshold": self._threshold, "noise": self._noise}
        if not self._plan:
            return plain
        size = {"questions": self._plan["questions"], "overfits": self._plan["budget"]}
        return plain | size | {"confidence": self._confidence}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> GaussianThresholdout:
        """Continue from a state that `state()` returned."""
        stored = read_state(state, "gaussian-thresholdout", ("parameters", "asked", "overfits", "source"))
        source = None if stored["source"] is None else Seeded.from_state(stored["source"])
        holdout = cls(**stored["parameters"], source=source)
        holdout._asked = arguments.whole("asked", stored["asked"], at_least=0)
        holdout._overfits = arguments.whole("overfits", stored["overfits"], at_least=0, at_most=holdout._asked)
        return holdout

    def __repr__(self) -> str:
        certified = bool(self._plan)
        plain = f"n={self._n}, threshold={self._threshold:g}, asked={self._asked}, certified={certified}"
        return f"GaussianThresholdout({plain})"
