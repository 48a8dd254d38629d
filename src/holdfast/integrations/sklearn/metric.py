"""What a score is, per row or as a statistic, so that a holdout can check it: a range, and an interval that holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.core import arguments
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.holdout import ReusableHoldout
from holdfast.holdout.intervals.procedure import Procedure
from holdfast.holdout.metrics.classification import auc, f1, precision, recall
from holdfast.mechanisms.answer import Answer

# --- Metric -----------------------------------------------------------------------------------------------------------

Array = npt.NDArray[Any]


class _NoEvidence(HoldfastError):
    """Guarded rows gave no evidence; nobody outside of this module sees it."""


def missing(rows: int) -> Array:
    """A column without values: what a holdout is asked about where computing one raised an error."""
    return np.full(rows, np.nan)


@dataclass(frozen=True)
class Metric(ABC):
    """A score of a fitted estimator on rows with known labels.

    `evidence` computes one entry per row next to the model. `point` turns the evidence into the plain score, and `ask`
    turns it into a question to the holdout. A loss has `greater_is_better` False, and its score is its negative, as in
    scikit-learn.

    Examples
    --------
    >>> accuracy = metric("accuracy")
    >>> accuracy.name, accuracy.low, accuracy.high, accuracy.greater_is_better
    ('accuracy', 0.0, 1.0, True)
    """

    name: str
    low: float
    high: float
    greater_is_better: bool

    @property
    def two_classes(self) -> bool:
        """Whether the metric is defined for two classes only."""
        return False

    def check_labels(self, y: Any) -> None:
        """Raise an error if the metric is not defined for these labels.

        Use it only for rows that are not guarded, because the message counts their classes.
        """
        classes = len(np.unique(np.asarray(y))) if self.two_classes else 2
        if classes != 2:
            raise InvalidParameter(f"metric must be defined for the classes of y; {self.name} needs two, got {classes}")

    @abstractmethod
    def evidence(self, estimator: Any, X: Any, y: Any) -> Array:
        """Return one entry per row: the value of the row, or the model's response for the row."""

    @abstractmethod
    def point(self, evidence: Array) -> float:
        """Return the metric on these rows, without a guarantee."""

    @abstractmethod
    def ask(self, holdout: ReusableHoldout, evidence: Array, guess: float, tolerance: float | None) -> Answer:
        """Check `guess` on the holdout's rows."""

    @abstractmethod
    def finalist(self, evidence: Any) -> Any:
        """Return what a final or a batch of the holdout compares: one value per row, or a metric with its own
        interval.
        """

    @property
    def declared(self) -> dict[str, Any]:
        """Return what is declared to the holdout about the values of finalists."""
        return {}

    def on_holdout(self, estimator: Any, X: Any, y: Any) -> Array | None:
        """Return the evidence on guarded rows, or None if the model or the metric raises an error there.

        Such an error depends on guarded rows and may quote them, so it is not passed on. The holdout is then asked
        about missing values instead, and it charges for that.
        """
        try:
            return self.evidence(estimator, X, y)
        except Exception:
            return None

    def finalists(self, found: Mapping[str, Array | None], rows: int) -> dict[str, Any]:
        """Return what a final or a batch compares for several candidates.

        If one of them has no evidence, or its evidence is refused, none of them has values.
        """
        try:
            return {name: self.finalist(self._required(evidence)) for name, evidence in found.items()}
        except Exception:
            return dict.fromkeys(found, missing(rows))

    def question(
        self, holdout: ReusableHoldout, evidence: Array | None, guess: float, tolerance: float | None
    ) -> Answer:
        """Check `guess` on the holdout's rows. If there is no evidence, the holdout is asked about missing values
        instead.
        """
        try:
            return self.ask(holdout, self._required(evidence), guess, tolerance)
        except HoldfastError as error:
            if not isinstance(error, _NoEvidence):
                raise
        except Exception:
            pass
        range_ = {name: value for name, value in self.declared.items() if name != "binary"}
        return holdout.check(missing(holdout.n), guess, tolerance, **range_)

    @staticmethod
    def _required(evidence: Array | None) -> Array:
        if evidence is None:
            raise _NoEvidence("there is no evidence on the guarded rows")
        return evidence

    def signed(self, value: float) -> float:
        """Return the value as a score for scikit-learn, for which greater is better."""
        return value if self.greater_is_better else -value

    def score(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the plain score of an estimator. A greater score is better."""
        return self.signed(self.point(self.evidence(estimator, X, y)))


@dataclass(frozen=True)
class RowMetric(Metric):
    """A metric that is the mean of one value per row in a declared range.

    With `binary` the values are 0 or 1. With `pair` the metric needs two classes.

    Examples
    --------
    >>> import numpy as np
    >>> closeness = RowMetric("closeness", 0, 1, True, lambda model, X, y: 1 - np.clip(abs(model.predict(X) - y), 0, 1))
    >>> closeness.low, closeness.high
    (0, 1)
    """

    rows: Callable[[Any, Any, Any], Array]
    binary: bool = False
    pair: bool = False

    @property
    def two_classes(self) -> bool:
        """Whether the metric needs two classes, as declared."""
        return self.pair

    def evidence(self, estimator: Any, X: Any, y: Any) -> Array:
        """Return the per-row values."""
        if self.pair:
            self.check_labels(estimator.classes_)
        return np.asarray(self.rows(estimator, X, y))

    def point(self, evidence: Array) -> float:
        """Return the mean of the values, moved into the declared range."""
        return min(max(float(np.mean(evidence)), self.low), self.high)

    def finalist(self, evidence: Any) -> Any:
        """Return the per-row values."""
        return evidence

    @property
    def declared(self) -> dict[str, Any]:
        """Return the declared range, and whether the values are 0 or 1."""
        return {"low": self.low, "high": self.high, "binary": self.binary}

    def ask(self, holdout: ReusableHoldout, evidence: Array, guess: float, tolerance: float | None) -> Answer:
        """Check a guess of the mean on the holdout."""
        return holdout.check(evidence, guess, tolerance, low=self.low, high=self.high, binary=self.binary)


@dataclass(frozen=True)
class StatisticMetric(Metric):
    """A metric for two classes that is not a mean of one value per row: AUC, F1, precision or recall.

    `response(estimator, X)` is the model's response for each row. `procedure(labels, responses)` returns the metric
    with its interval, and `plain(labels, responses)` the plain statistic. Labels are 1 for the last of the model's
    classes and 0 otherwise.

    Examples
    --------
    >>> auc = metric("roc-auc")
    >>> isinstance(auc, StatisticMetric), auc.low, auc.high
    (True, 0.0, 1.0)
    """

    response: Callable[[Any, Any], Array]
    procedure: Callable[[Array, Array], Procedure]
    plain: Callable[[Array, Array], float]

    @property
    def two_classes(self) -> bool:
        """Whether the metric needs two classes: this one always does."""
        return True

    def evidence(self, estimator: Any, X: Any, y: Any) -> Array:
        """Return the label and the response of each row, as two columns."""
        self.check_labels(estimator.classes_)
        positive = np.asarray(y) == estimator.classes_[-1]
        return np.column_stack([positive.astype(np.float64), self.response(estimator, X)])

    def point(self, evidence: Array) -> float:
        """Return the statistic on these rows."""
        return float(self.plain(evidence[:, 0], evidence[:, 1]))

    def finalist(self, evidence: Any) -> Any:
        """Return the statistic with its interval."""
        return self.procedure(evidence[:, 0], evidence[:, 1])

    def ask(self, holdout: ReusableHoldout, evidence: Array, guess: float, tolerance: float | None) -> Answer:
        """Check a guess of the statistic on the holdout.

        The default tolerance is three times the smallest one that a mean over all rows could certify.
        """
        if tolerance is None:
            tolerance = min(3 * holdout.least_tolerance(family="hoeffding"), self.high - self.low)
        try:
            procedure = self.finalist(evidence)
        except Exception:
            raise _NoEvidence("the evidence on the guarded rows has no interval") from None
        return holdout.check_metric(procedure, guess, tolerance)


def metric(name: str, bound: float | None = None) -> Metric:
    """Return the metric with the given name.

    Parameters
    ----------
    name : str
        "accuracy"; "brier" (two classes); "log-loss", "absolute-error" and "squared-error", whose per-row values are
        clipped to `[0, bound]`; "roc-auc", "f1", "precision", "recall" (two classes, the last one is positive).
        scikit-learn's names of these, such as "accuracy_score" or "neg_log_loss", are understood.
    bound : float, optional
        The largest per-row loss, for the three that have no bound of their own.

    Examples
    --------
    >>> metric("log-loss", bound=5).high, metric("accuracy").greater_is_better
    (5.0, True)
    """
    name = arguments.metric(name, tuple(sorted([*_PLAIN, *_CLIPPED])))
    if name in _PLAIN:
        if bound is not None:
            raise InvalidParameter(f"bound must be None for {name}, because this metric has its own range, got {bound}")
        return _PLAIN[name]
    if bound is None:
        raise InvalidParameter(
            f"bound must be given for {name}: write metric({name!r}, bound=...), which clips each row's loss to the "
            "bound"
        )
    bound = arguments.real("bound", bound, above=0)
    return RowMetric(name, 0.0, bound, False, partial(_CLIPPED[name], bound=bound))


def _right(estimator: Any, X: Any, y: Any) -> Array:
    return np.asarray(np.equal(estimator.predict(X), np.asarray(y)))


def _squared_distance(estimator: Any, X: Any, y: Any) -> Array:
    positive = np.asarray(y) == estimator.classes_[-1]
    return np.asarray(np.square(_positive_probability(estimator, X) - positive))


def _surprise(estimator: Any, X: Any, y: Any, bound: float) -> Array:
    probability = np.asarray(estimator.predict_proba(X))
    classes, truth = np.asarray(estimator.classes_), np.asarray(y)
    place = np.searchsorted(classes, truth).clip(0, len(classes) - 1)
    seen = np.where(classes[place] == truth, probability[np.arange(len(truth)), place], 0.0)
    # A probability below exp(-bound) costs the bound, a class that was never seen too.
    return np.asarray(np.minimum(bound, -np.log(np.maximum(seen, np.exp(-bound)))))


def _distance(estimator: Any, X: Any, y: Any, bound: float) -> Array:
    return np.asarray(np.minimum(bound, np.abs(_residuals(estimator, X, y))))


def _squared_error(estimator: Any, X: Any, y: Any, bound: float) -> Array:
    return np.asarray(np.minimum(bound, np.square(_residuals(estimator, X, y))))


def _residuals(estimator: Any, X: Any, y: Any) -> Array:
    # As floats: differences of small or unsigned whole numbers would wrap around.
    return np.asarray(np.asarray(estimator.predict(X), dtype=np.float64) - np.asarray(y, dtype=np.float64))


def _positive_probability(estimator: Any, X: Any) -> Array:
    return np.asarray(np.asarray(estimator.predict_proba(X))[:, -1])


def _positive_score(estimator: Any, X: Any) -> Array:
    """Decision values where the model has them, else probabilities: AUC only needs their order."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X))
    return _positive_probability(estimator, X)


def _positive_prediction(estimator: Any, X: Any) -> Array:
    return np.asarray(np.equal(estimator.predict(X), estimator.classes_[-1]), dtype=np.float64)


def _plain_auc(labels: Array, responses: Array) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(labels, responses))


def _plain_share(labels: Array, responses: Array, function: str) -> float:
    import sklearn.metrics

    return float(getattr(sklearn.metrics, function)(labels, responses, zero_division=0.0))


_PLAIN: dict[str, Metric] = {
    "accuracy": RowMetric("accuracy", 0.0, 1.0, True, _right, binary=True),
    "brier": RowMetric("brier", 0.0, 1.0, False, _squared_distance, pair=True),
    "roc-auc": StatisticMetric("roc-auc", 0.0, 1.0, True, _positive_score, auc, _plain_auc),
}
for _name, _procedure in {"f1": f1, "precision": precision, "recall": recall}.items():
    _PLAIN[_name] = StatisticMetric(
        _name, 0.0, 1.0, True, _positive_prediction, _procedure, partial(_plain_share, function=f"{_name}_score")
    )
_CLIPPED: dict[str, Callable[..., Array]] = {
    "log-loss": _surprise,
    "absolute-error": _distance,
    "squared-error": _squared_error,
}


# --- Overlap ----------------------------------------------------------------------------------------------------------
# Do two tables lie in the same memory? Then rows of one are rows of the other.


def overlap(a: Any, b: Any) -> bool:
    """Return whether two tables share memory, as slices of one table do; False where that cannot be seen.

    It catches the mistake that is easy to make: a guess or a fit on the very array, frame or slice that is held out.
    Rows that were copied (picked by a list, shuffled, split by `train_test_split`) leave no trace, so False proves
    nothing.

    Examples
    --------
    >>> table = np.zeros((6, 2))
    >>> overlap(table, table[4:]), overlap(table[:4], table[4:]), overlap(table, table.copy())
    (True, False, False)
    """
    if a is b:
        return True
    first, second = _memory(a), _memory(b)
    if first is None or second is None:
        return False
    most: Any = 10_000  # numpy's types know the two special values only
    try:
        return np.shares_memory(first, second, max_work=most)
    except np.exceptions.TooHardError:
        return False


def _memory(table: Any) -> npt.NDArray[Any] | None:
    """An array in the table's own memory: itself, a frame's first column, or the entries of a sparse matrix."""
    if hasattr(table, "iloc"):
        try:
            table = np.asarray(table.iloc[:, 0] if getattr(table, "ndim", 1) == 2 else table)
        except (TypeError, ValueError, IndexError):
            return None
    elif hasattr(table, "tocsr"):
        table = getattr(table, "data", None)
    return table if isinstance(table, np.ndarray) else None
