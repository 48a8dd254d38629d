"""A scorer for `scoring=` whose every score was checked on one reusable holdout."""

from __future__ import annotations

import threading
from typing import Any

from holdfast.errors import InvalidParameter
from holdfast.holdout import ReusableHoldout
from holdfast.integrations.sklearn.metric import Metric, metric
from holdfast.integrations.sklearn.overlap import overlap
from holdfast.mechanisms.answer import Answer
from holdfast.mechanisms.shared import Shared


class HoldoutScorer(Shared):
    """Score estimators on guarded rows: the score on the rows that scikit-learn hands over is only the guess.

    Called as `scorer(estimator, X, y)`, as `GridSearchCV`, `cross_val_score` and others call what they get as
    `scoring=`. The score on `X, y` is the guess; it is checked on the holdout; what is returned is the answer's
    value: the guess if it passed, the corrected value if not. Once the planned questions or failures are used up it
    raises `BudgetExhausted`, which searches with `error_score=nan` record as a missing score.

    The scorer is one budget. `copy.deepcopy` and `sklearn.base.clone` return the same object, threads may share it,
    and it is not pickled: a copy in another process would spend the same confidence twice. `n_jobs` with processes
    is what `ReusableHoldoutSearch` is for.

    Parameters
    ----------
    holdout : ReusableHoldout
        The plan and its state; `holdout.n` must be the number of holdout rows.
    X_holdout, y_holdout : array-like
        The guarded rows. They must not be among those that models are fitted or guessed on. A shared array or frame
        is noticed and refused, copied rows are not.
    metric : str or Metric
        "accuracy" and the other names of `metric`, or an own `RowMetric`.
    tolerance : float, optional
        What a pass certifies; by default the holdout's own choice for each question.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> X, y = make_classification(3000, random_state=0)
    >>> scorer = HoldoutScorer(ReusableHoldout(n=1000, questions=8), X[2000:], y[2000:])
    >>> search = GridSearchCV(LogisticRegression(), {"C": [0.01, 1]}, scoring=scorer, cv=4).fit(X[:2000], y[:2000])
    >>> len(scorer.answers), scorer.answers[0].passed
    (8, True)
    """

    _not_pickled = (
        "a HoldoutScorer is not pickled: a copy in another process would spend the same confidence twice; "
        "use n_jobs=1, threads (joblib.parallel_config('threading')) or ReusableHoldoutSearch"
    )

    def __init__(
        self,
        holdout: ReusableHoldout,
        X_holdout: Any,
        y_holdout: Any,
        metric: str | Metric = "accuracy",
        tolerance: float | None = None,
    ) -> None:
        self._metric = _resolve(metric)
        if not isinstance(holdout, ReusableHoldout):
            raise InvalidParameter(f"holdout must be a ReusableHoldout, got a {type(holdout).__name__}")
        rows = len(y_holdout)
        if holdout.n != rows:
            raise InvalidParameter(f"y_holdout must have the holdout's {holdout.n} rows, got {rows}")
        self._holdout, self._tolerance = holdout, tolerance
        self._X, self._y = X_holdout, y_holdout
        self._answers: list[Answer] = []
        self._lock = threading.Lock()

    @property
    def holdout(self) -> ReusableHoldout:
        """The plan and what is left of it."""
        return self._holdout

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Every answer so far, in the order in which scores were asked for."""
        return tuple(self._answers)

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The guarded score of a fitted estimator, greater is better."""
        if overlap(X, self._X):
            raise InvalidParameter("X must not share rows with X_holdout: a guess must not come from the holdout")
        answer = self.ask(estimator, self._metric.point(self._metric.evidence(estimator, X, y)))
        return float("nan") if answer.value is None else self._metric.signed(answer.value)

    def ask(self, estimator: Any, guess: float) -> Answer:
        """Check a guess of this estimator's metric that you have from elsewhere, and return the whole answer."""
        evidence = self._metric.evidence(estimator, self._X, self._y)
        with self._lock:
            answer = self._metric.ask(self._holdout, evidence, guess, self._tolerance)
            self._answers.append(answer)
        return answer

    def __repr__(self) -> str:
        return f"HoldoutScorer({self._holdout!r}, metric={self._metric.name!r})"


def _resolve(which: str | Metric) -> Metric:
    return which if isinstance(which, Metric) else metric(which)


__all__ = ["HoldoutScorer"]
