"""A scorer for `scoring=` whose every score was checked on one reusable holdout."""

from __future__ import annotations

import secrets
import threading
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

from holdfast.core.copying import SharedOnCopy
from holdfast.errors import HoldfastError, InvalidParameter, LedgerUnavailable
from holdfast.holdout import ReusableHoldout
from holdfast.integrations.sklearn.metric import Metric, metric, overlap
from holdfast.mechanisms.answer import Answer


class HoldoutScorer(SharedOnCopy):
    """A scikit-learn scorer that checks scores on guarded rows. The score on the rows that scikit-learn gives is
    only the guess.

    Use it as `scoring=` in `GridSearchCV`, `cross_val_score` and others, which call `scorer(estimator, X, y)`. The
    score on `X, y` is checked on the holdout. The scorer returns the guess if it passed, otherwise the corrected value.
    When the planned questions or failures are used up, it raises `BudgetExhausted`, which searches with
    `error_score=nan` record as a missing score. When you need no more scores, `close` gives every score exactly, with
    its interval.

    If a model or a metric raises an error on guarded rows, or gives values outside the metric's range, this depends on
    these rows. So the error is replaced by a `ValuesRefused` with a fixed text, it is charged, and later intervals are
    wider.

    The scorer is one budget. `copy.deepcopy` and `sklearn.base.clone` return the same object, and threads may share it.
    With `n_jobs` it may be sent to other processes: there it computes the values of the rows and asks this process,
    which alone has the budget. It cannot be stored: a scorer that is loaded after this process has ended answers
    nothing.

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
    >>> exact = scorer.close()
    >>> exact[0].half_width < scorer.answers[0].half_width
    True
    """

    _not_copied = "a {name} travels to other processes of this machine, and is not for storing"

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
        self._desk: _Desk | None = None

    @property
    def holdout(self) -> ReusableHoldout:
        """The holdout, with its plan and what is left of it."""
        return self._holdout

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All answers so far, in the order in which scores were asked for."""
        return tuple(self._answers)

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The guarded score of a fitted estimator, greater is better."""
        guess, evidence = evidence_of(self._metric, estimator, X, y, self._X, self._y)
        answer = self._ask(evidence, guess)
        return float("nan") if answer.value is None else self._metric.signed(answer.value)

    def ask(self, estimator: Any, guess: float) -> Answer:
        """Check your own guess of this estimator's metric, and return the whole answer."""
        if self._metric.two_classes:
            self._metric.check_labels(estimator.classes_)
        return self._ask(self._metric.on_holdout(estimator, self._X, self._y), guess)

    def _ask(self, evidence: Any, guess: float) -> Answer:
        with self._lock:
            answer = self._metric.question(self._holdout, evidence, guess, self._tolerance)
            self._answers.append(answer)
        return answer

    def close(self) -> tuple[Answer, ...]:
        """End the run, and show every score that was asked for exactly, with its interval. No more questions can be
        asked.
        """
        with self._lock:
            mine = {id(answer): at for at, answer in enumerate(self._answers)}
            before = self._holdout.transcript
            exact = self._holdout.close()
            exact_of = {mine[id(old)]: new for old, new in zip(before, exact, strict=True) if id(old) in mine}
            return tuple(exact_of[at] for at in sorted(exact_of))

    def __reduce_ex__(self, protocol: Any) -> Any:
        with self._lock:
            if self._desk is None:
                self._desk = _Desk(self)
            return ScorerElsewhere, (self._desk.address, self._desk.key, self._metric, self._X, self._y)

    def __repr__(self) -> str:
        return f"HoldoutScorer({self._holdout!r}, metric={self._metric.name!r})"


class ScorerElsewhere:
    """A `HoldoutScorer` in another process: it computes what the rows say and asks the process that has the budget."""

    def __init__(self, address: Any, key: bytes, chosen: Metric, X: Any, y: Any) -> None:
        self._address, self._key, self._metric, self._X, self._y = address, key, chosen, X, y

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The guarded score of a fitted estimator, greater is better."""
        guess, evidence = evidence_of(self._metric, estimator, X, y, self._X, self._y)
        try:
            with Client(self._address, authkey=self._key) as line:
                line.send((evidence, guess))
                reply = line.recv()
        except (OSError, EOFError):
            raise LedgerUnavailable(
                "the process that has this scorer's budget has ended, so this copy cannot be used; make a new "
                "scorer, because a HoldoutScorer cannot be stored"
            ) from None
        if isinstance(reply, Exception):
            raise reply
        return float("nan") if reply is None else self._metric.signed(reply)


class _Desk:
    """Answers copies of a scorer in other processes of this machine, one connection after the other."""

    def __init__(self, scorer: HoldoutScorer) -> None:
        self.key = secrets.token_bytes(32)
        self._scorer = scorer
        self._listener = Listener(authkey=self.key)
        self.address = self._listener.address
        threading.Thread(target=self._serve, name="holdfast-scorer", daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                line = self._listener.accept()
            except (OSError, EOFError):
                return
            except Exception:  # somebody without the key
                continue
            with line:
                self._answer(line)

    def _answer(self, line: Connection[Any, Any]) -> None:
        """Ask for one copy. Whatever goes wrong with it, the next copy is answered."""
        try:
            evidence, guess = line.recv()
            line.send(self._told(evidence, guess))
        except (EOFError, OSError, TypeError, ValueError):  # it has ended, or said something else
            return

    def _told(self, evidence: Any, guess: Any) -> Any:
        try:
            return self._scorer._ask(evidence, guess).value
        except HoldfastError as error:
            return error


def evidence_of(chosen: Metric, estimator: Any, X: Any, y: Any, X_holdout: Any, y_holdout: Any) -> tuple[float, Any]:
    """Return the guess on the rows that were handed over, and what the holdout's rows say. The latter is secret."""
    if overlap(X, X_holdout):
        raise InvalidParameter("X must not share rows with X_holdout, because a guess must not come from the holdout")
    return chosen.point(chosen.evidence(estimator, X, y)), chosen.on_holdout(estimator, X_holdout, y_holdout)


def _resolve(which: str | Metric) -> Metric:
    return which if isinstance(which, Metric) else metric(which)
