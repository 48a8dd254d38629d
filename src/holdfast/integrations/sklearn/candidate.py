"""One candidate of a search: fitted, guessed and evaluated on the holdout's rows, next to each other in one worker."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast import check
from holdfast.integrations.sklearn.metric import Array, Metric

GUESSES = ("validation", "train", "cross-validation")


@dataclass(frozen=True)
class Rows:
    """Features and labels of one part of the data."""

    X: Any
    y: Any


@dataclass(frozen=True, repr=False)
class Fitted:
    """What a worker hands back. `evidence` is about the holdout's rows and therefore secret; no repr shows it."""

    estimator: Any
    guess: float
    evidence: Array | None
    fit_time: float
    score_time: float
    error: str | None = None


def _failed(start: float, error: str) -> Fitted:
    return Fitted(None, float("nan"), None, time.perf_counter() - start, 0.0, error)


@dataclass(frozen=True)
class Job:
    """How every candidate of a search is fitted, guessed and evaluated."""

    fit: Rows
    validation: Rows | None
    holdout: Rows
    metric: Metric
    guess: str | Callable[[Any, Any, Any], float]
    cv: Any
    fit_params: dict[str, Any]
    raise_errors: bool

    def run(self, estimator: Any) -> Fitted:
        """Fit one candidate; an error in its fit or its score is recorded unless it is to be raised."""
        start = time.perf_counter()
        try:
            estimator.fit(self.fit.X, self.fit.y, **self.fit_params)
        except Exception as error:
            if self.raise_errors:
                raise
            # The fit has not seen the holdout: its words may be shown.
            return _failed(start, f"{type(error).__name__}: {error}")
        fitted = time.perf_counter()
        try:
            guess = self._guess(estimator)
            evidence = self.metric.evidence(estimator, self.holdout.X, self.holdout.y)
        except Exception as error:
            if self.raise_errors:
                raise
            # These words may quote a row of the holdout: only the kind of error is kept.
            return _failed(start, f"{type(error).__name__} while scoring")
        return Fitted(estimator, guess, evidence, fitted - start, time.perf_counter() - fitted)

    def _guess(self, estimator: Any) -> float:
        if callable(self.guess):
            return check.real("guess", float(self.guess(estimator, self.fit.X, self.fit.y)))
        if self.guess == "cross-validation":
            return self._cross_validated(estimator)
        rows = self.fit if self.guess == "train" or self.validation is None else self.validation
        return check.real("guess", self.metric.point(self.metric.evidence(estimator, rows.X, rows.y)))

    def _cross_validated(self, estimator: Any) -> float:
        from sklearn.model_selection import cross_val_score

        scores = cross_val_score(
            estimator, self.fit.X, self.fit.y, scoring=self.metric.score, cv=self.cv, params=self.fit_params or None
        )
        return self.metric.signed(float(np.mean(scores)))


__all__ = ["GUESSES", "Fitted", "Job", "Rows"]
