"""The median mechanism without noise, corrected: small universes, exactly."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from holdfast.bounds.holdout.sparse_validate import median_rounds, median_size
from holdfast.bounds.numerics.exact import left_to_chance
from holdfast.core import arguments
from holdfast.core.copying import OneOwner
from holdfast.core.guarantee import Guarantee
from holdfast.data.values import column
from holdfast.errors import InvalidParameter
from holdfast.holdout.secret_state import read_state
from holdfast.mechanisms.answer import Answer

#: Room for floating point: a question is answered in public up to 2 alpha plus four of these, and a database is kept up
#: to one beyond the radius, so the faithful database is never lost and the median is always removed.
_ROOM = 1e-12


class MedianMechanism(OneOwner):
    """Answers questions about a population with finitely many possible rows (Figure 5 of Dwork et al. 2015).

    A question is a function with values in [0, 1] on the possible rows, and it asks for the mean of the function. The
    mechanism keeps a set of small databases of `size` rows that are consistent with its answers so far. Its public
    guess is the median of the means of the question over these databases. If the guess is within `2 alpha` of the
    sample's mean, with `alpha = tau/3`, the guess is the answer. Otherwise the answer is the sample's mean, rounded to
    the nearest multiple of `alpha`, and databases whose mean is farther than a radius from it are removed.

    The radius is corrected to `3 alpha/2`. `method="paper"` keeps the published radius for comparison and certifies
    nothing.

    Parameters
    ----------
    counts : array of int
        How often each element of the universe occurs in the sample. Kept, never shown.
    questions : int
        Questions in all, at least 2.
    tau : float
        Accuracy.
    confidence : float
        Probability that no answer is off by more; certified when the sample has `holdout.median-size` rows.
    method : str
        "best" (corrected) or "paper" (printed radius).
    size : int, optional
        Rows of the small databases, `ceil(log2(questions)/alpha^2)` unless given. Another size is not certified.
    limit : int
        Histograms at most: there are `C(size + |X| - 1, |X| - 1)` of them.

    Notes
    -----
    *The correction.* The printed radius is `2 alpha`. The median is then more than `2 alpha - alpha/2` from the
    answer, which is inside the radius, so it may stay and the same question can take the private branch forever.
    With radius `3 alpha/2` the median and everything beyond it goes: each private round at least halves the set. The
    database of `size` rows that is within `alpha` of the sample on all questions (Lemma 35) stays, because rounding
    adds `alpha/2`. `method="paper"` keeps the printed radius, for comparison, and certifies nothing.

    Examples
    --------
    >>> mechanism = MedianMechanism([740, 260], questions=10, tau=0.3)
    >>> answer = mechanism.query([0, 1])
    >>> round(answer.value, 6), answer.passed, mechanism.private_rounds
    (0.3, False, 1)
    >>> abs(mechanism.query([0, 1]).value - 0.26) < 0.2, mechanism.private_rounds
    (True, 1)
    """

    def __init__(
        self,
        counts: npt.ArrayLike,
        questions: int,
        tau: float,
        *,
        confidence: float = 0.95,
        method: Literal["best", "paper"] = "best",
        size: int | None = None,
        limit: int = 200_000,
    ) -> None:
        super().__init__()
        table = column(counts, "counts")
        if table.dtype.kind not in "iu" or len(table) < 2 or table.min() < 0 or table.sum() < 1:
            raise InvalidParameter(
                "counts must have one whole number, at least 0, for each possible row, and there must be at least "
                "two possible rows"
            )
        self._questions = arguments.whole("questions", questions, at_least=2, at_most=10**15)
        self._tau = arguments.real("tau", tau, at_least=1e-3, below=1)
        self._confidence = arguments.probability("confidence", confidence)
        self._beta = left_to_chance(self._confidence)
        self._method = arguments.choice("method", method, ("best", "paper"))
        self._alpha = self._tau / 3
        wanted = math.ceil(math.log2(self._questions) / self._alpha**2)
        self._size = wanted if size is None else arguments.whole("size", size, at_least=1, at_most=10**6)
        self._limit = arguments.whole("limit", limit, at_least=1, at_most=10**7)
        self._universe, self._n = len(table), int(table.sum())
        histograms = math.comb(self._size + self._universe - 1, self._universe - 1)
        if histograms > self._limit:
            raise InvalidParameter(
                f"the mechanism needs {histograms:.3g} histograms for {self._size} rows over a universe of "
                f"{self._universe} elements, but limit is {self._limit}; raise limit, or use another method, because "
                "this one is for small universes"
            )
        self._sample = table.astype(np.float64) / self._n
        self._certified = (
            self._method == "best"
            and self._size == wanted
            and self._n >= median_size(self._universe, self._questions, self._tau, self._beta)
        )
        self._databases = _histograms(self._size, self._universe)
        self._weights = _log_multinomials(self._databases)
        self._kept = np.ones(len(self._databases), dtype=np.bool_)
        self._asked = self._private = 0

    @property
    def n(self) -> int:
        """The number of rows of the sample."""
        return self._n

    @property
    def asked(self) -> int:
        """The number of questions answered so far."""
        return self._asked

    @property
    def private_rounds(self) -> int:
        """The number of questions whose answer came from the sample."""
        return self._private

    @property
    def round_bound(self) -> int:
        """The largest possible number of private rounds, that is of answers that come from the sample.

        In the corrected form each private round removes at least half of the `|X|**size` databases, where `|X|` is the
        number of possible rows.
        """
        whole = math.floor(self._size * math.log2(self._universe))
        return min(whole, int(median_rounds(self._universe, self._questions, self._tau))) if self._certified else whole

    def query(self, values: npt.ArrayLike) -> Answer:
        """Ask for the mean of a function, given by its value at each element of the universe (each possible row).

        Parameters
        ----------
        values : array of float
            In [0, 1], one for each element of the universe. They describe the question, not the sample.

        Returns
        -------
        Answer
            `passed` is True for a public answer, False for one from the sample; bottom after `questions` questions.
        """
        phi = column(values, "values")
        if phi.shape != (self._universe,):
            raise InvalidParameter(
                f"values must be a list of {self._universe} numbers, one for each element of the universe"
            )
        phi = phi.astype(np.float64)
        if not (phi.min() >= 0 and phi.max() <= 1):
            raise InvalidParameter("values must be in [0, 1] without missing values, but some are not")
        with self._alone():
            if self._asked >= self._questions:
                return self._answer(None, None)
            self._asked += 1
            means = self._databases[self._kept] @ phi / self._size
            public, private = _median(means, self._weights[self._kept]), float(self._sample @ phi)
            if abs(public - private) <= 2 * self._alpha + 4 * _ROOM:
                return self._answer(public, True)
            self._private += 1
            shown = self._alpha * math.floor(private / self._alpha + 0.5)
            radius = (2 if self._method == "paper" else 1.5) * self._alpha + _ROOM
            near = np.abs(means - shown) <= radius
            if near.any():
                self._kept[np.flatnonzero(self._kept)[~near]] = False
            return self._answer(shown, False)

    def _answer(self, value: float | None, public: bool | None) -> Answer:
        remaining = {"questions": self._questions - self._asked}
        known = {"universe": self._universe, "questions": self._questions, "tau": self._tau, "beta": self._beta}
        guarantee = Guarantee("holdout.median-size", known, "rows i.i.d.", certified=self._certified)
        interval = None
        if value is not None and self._certified:
            reach = self._tau + 8 * _ROOM
            interval = (max(0.0, value - reach), min(1.0, value + reach))
        return Answer(value, interval, guarantee, None, remaining, public)

    def state(self) -> dict[str, Any]:
        """Return the run as plain data. The data contain the sample's histogram, so store them as a secret."""
        with self._alone():
            return {
                "kind": "median-mechanism",
                "secret": True,
                "parameters": {
                    "counts": np.rint(self._sample * self._n).astype(int).tolist(),
                    "questions": self._questions,
                    "tau": self._tau,
                    "confidence": self._confidence,
                    "method": self._method,
                    "size": self._size,
                    "limit": self._limit,
                },
                "asked": self._asked,
                "private": self._private,
                "removed": np.flatnonzero(~self._kept).tolist(),
            }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> MedianMechanism:
        """Return the mechanism that `state()` described, ready for its next question."""
        stored = read_state(state, "median-mechanism", ("parameters", "asked", "private", "removed"))
        mechanism = cls(**stored["parameters"])
        mechanism._asked = arguments.whole("asked", stored["asked"], at_least=0, at_most=mechanism._questions)
        mechanism._private = arguments.whole("private", stored["private"], at_least=0, at_most=mechanism._asked)
        removed = np.asarray(stored["removed"], dtype=np.int64)
        if removed.size and not (removed.min() >= 0 and removed.max() < len(mechanism._kept)):
            raise InvalidParameter("state must be what median-mechanism.state() gave")
        mechanism._kept[removed] = False
        return mechanism

    def __repr__(self) -> str:
        return (
            f"MedianMechanism(n={self._n}, universe={self._universe}, questions={self._questions}, tau={self._tau:g}, "
            f"asked={self._asked}, private_rounds={self._private})"
        )


def _histograms(size: int, universe: int) -> npt.NDArray[np.float64]:
    """All ways to write `size` as an ordered sum of `universe` counts: where the bars stand between the stars."""
    if universe == 2:
        ones = np.arange(size + 1)
        return np.column_stack([size - ones, ones]).astype(np.float64)
    bars = np.array(list(combinations(range(size + universe - 1), universe - 1)), dtype=np.int64)
    edges = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), size + universe - 1)])
    return (np.diff(edges, axis=1) - 1).astype(np.float64)


def _log_multinomials(histograms: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How many databases have each histogram, as logarithms up to a common constant."""
    from scipy.special import gammaln

    return np.asarray(-gammaln(histograms + 1).sum(axis=1))


def _median(values: npt.NDArray[np.float64], log_weights: npt.NDArray[np.float64]) -> float:
    """The smallest value whose cumulative weight reaches half."""
    order = np.argsort(values, kind="stable")
    weights = np.cumsum(np.exp(log_weights[order] - log_weights.max()))
    return float(values[order[np.searchsorted(weights, weights[-1] / 2)]])
