"""Thresholdout as the paper's figures ran it: Gaussian noise, no kept threshold, no budget, and no guarantee."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from holdfast.core import arguments
from holdfast.core.copying import OneOwner
from holdfast.core.guarantee import Guarantee
from holdfast.data.values import Rows, column, summarise
from holdfast.errors import InvalidParameter
from holdfast.holdout.secret_state import read_state, source_state
from holdfast.holdout.thresholdout import ThresholdAnswers
from holdfast.mechanisms.answer import Answer
from holdfast.noise.entropy import Seeded, Source, resolve
from holdfast.noise.gaussian import discrete_gaussian
from holdfast.noise.grid import Grid

_STEPS = 4096
"""Steps of the grid in the standard deviation, at least: rounding is far below the noise."""
_FAR = 1e100


class GaussianThresholdout(OneOwner):
    """The variant behind Figures 2 to 4 of Dwork et al. 2015. No theorem covers it: every answer says so.

    If `|holdout - candidate| > threshold + N(0, noise)` the answer is `holdout + N(0, noise)`, both draws fresh;
    otherwise it is the candidate. With `threshold = 4/sqrt(n)` and `noise = 1/sqrt(n)` this is what the authors'
    experiment ran. It differs from their Figure 1 in everything that its proof needs: one noise scale instead of 2:4:1,
    no threshold noise that is kept, no budget, and values that may be unbounded. `Thresholdout` is Figure 1;
    `mechanisms.GaussianSparseVector` is a Gaussian sparse vector with a proof.

    Parameters
    ----------
    n : int
        Rows in the holdout.
    threshold, noise : float, optional
        `4/sqrt(n)` and `1/sqrt(n)` unless given. `noise` is a standard deviation.
    mode : str
        "paper-experiment", the only mode: a reminder where it is constructed.
    source : noise.Source, optional
        `noise.Seeded` in simulations.

    Notes
    -----
    Noise is discrete Gaussian on a grid with at least 4096 steps in its standard deviation.

    Examples
    --------
    >>> holdout = GaussianThresholdout(10_000)
    >>> holdout.threshold, holdout.noise
    (0.04, 0.01)
    >>> holdout.query_means(0.70, 0.70).guarantee.certified
    False
    """

    def __init__(
        self,
        n: int,
        threshold: float | None = None,
        noise: float | None = None,
        *,
        mode: Literal["paper-experiment"] = "paper-experiment",
        source: Source | None = None,
    ) -> None:
        super().__init__()
        arguments.choice("mode", mode, ("paper-experiment",))
        self._n = arguments.whole("n", n, at_least=1, at_most=10**15)
        root = math.sqrt(self._n)
        self._threshold = 4 / root if threshold is None else arguments.real("threshold", threshold, at_least=0)
        self._noise = 1 / root if noise is None else arguments.real("noise", noise, at_least=1e-100, at_most=1e100)
        self._grid = Grid(math.floor(math.log2(self._noise / _STEPS)))
        self._sigma = math.ceil(self._noise / float(self._grid.step))
        self._index = self._grid.near_index(self._threshold, "threshold")
        self._source = resolve(source)
        self._asked = self._overfits = 0

    @property
    def n(self) -> int:
        """Rows in the holdout."""
        return self._n

    @property
    def threshold(self) -> float:
        """The threshold; nothing about it is secret."""
        return self._threshold

    @property
    def noise(self) -> float:
        """Standard deviation of both noises."""
        return self._noise

    @property
    def asked(self) -> int:
        """Questions so far."""
        return self._asked

    @property
    def overfits(self) -> int:
        """How many of them were answered from the holdout."""
        return self._overfits

    def query(self, train_values: Rows, holdout_values: Rows) -> Answer:
        """Ask with values on training and holdout rows, any numbers up to 1e100 in size."""
        array = column(train_values, "train_values")
        candidate = summarise(array, n=max(1, array.size), low=-_FAR, high=_FAR, name="train_values").mean
        return self.query_values(candidate, holdout_values)

    def query_values(self, candidate: float, holdout_values: Rows) -> Answer:
        """Ask with any candidate and values on the holdout rows."""
        candidate = arguments.real("candidate", candidate)
        mean = summarise(holdout_values, n=self._n, low=-_FAR, high=_FAR, name="holdout_values").mean
        return self.query_means(candidate, mean)

    def query_means(self, candidate: float, holdout_mean: float) -> Answer:
        """Ask with the holdout's value computed elsewhere."""
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
        """Ask many questions at once, in two vectorised draws; no question depends on another.

        Examples
        --------
        >>> answers = GaussianThresholdout(10_000, threshold=0.1).query_batch([0.7, 0.9], [0.7, 0.2])
        >>> answers.overfit.tolist()
        [False, True]
        """
        try:
            guesses, means = np.asarray(candidates, dtype=np.float64), np.asarray(holdout_means, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidParameter("candidates and holdout_means must be one number per question") from None
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

    def _replay(self, values: npt.NDArray[np.float64], overfit: npt.NDArray[np.bool_]) -> Iterator[Answer]:
        for value, over in zip(values.tolist(), overfit.tolist(), strict=True):
            yield self._answer(value, over)

    def _answer(self, value: float, over: bool) -> Answer:
        public = {"n": self._n, "threshold": self._threshold, "noise": self._noise}
        return Answer(value, None, Guarantee("none", public, "no theorem", certified=False), passed=not over)

    def state(self) -> dict[str, Any]:
        """Return the run as plain data; with `noise.Seeded` the generator is in it, and then it is secret."""
        with self._alone():
            return {
                "kind": "gaussian-thresholdout",
                "secret": True,
                "parameters": {"n": self._n, "threshold": self._threshold, "noise": self._noise},
                "asked": self._asked,
                "overfits": self._overfits,
                "source": source_state(self._source),
            }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> GaussianThresholdout:
        """Continue from a state that `state()` returned."""
        kept = read_state(state, "gaussian-thresholdout", ("parameters", "asked", "overfits", "source"))
        source = None if kept["source"] is None else Seeded.from_state(kept["source"])
        holdout = cls(**kept["parameters"], source=source)
        holdout._asked = arguments.whole("asked", kept["asked"], at_least=0)
        holdout._overfits = arguments.whole("overfits", kept["overfits"], at_least=0, at_most=holdout._asked)
        return holdout

    def __repr__(self) -> str:
        return f"GaussianThresholdout(n={self._n}, threshold={self._threshold:g}, asked={self._asked}, certified=False)"
