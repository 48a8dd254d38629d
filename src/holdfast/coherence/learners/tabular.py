"""Models trained on the release: any scikit-learn estimator, the usual ones by name, and naive Bayes from counts."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.coherence.distance import numbers
from holdfast.coherence.encoding import Matrix, Values
from holdfast.coherence.learners.attackers import (
    CoinFlip,
    Constant,
    Linkage,
    Membership,
    NearestRecord,
    Predictor,
    report_table,
)
from holdfast.coherence.table import Table
from holdfast.coherence.target import Lens, Target
from holdfast.core import arguments
from holdfast.core.extras import named_extras
from holdfast.errors import InvalidParameter

# --- Scores -----------------------------------------------------------------------------------------------------------
# From what models give to predictions in [-1, 1]: the sign says yes or no, the size how sure.


def from_probability(probability: Any) -> NDArray[np.float64]:
    """Return the prediction `2p - 1` in [-1, 1] for a probability `p`.

    Examples
    --------
    >>> from_probability([0, 0.75])
    array([-1. ,  0.5])
    """
    p = numbers("probability", probability)
    if p.size and (p.min() < -1e-9 or p.max() > 1 + 1e-9):
        raise InvalidParameter("probability must be in [0, 1], but some values are not")
    return np.clip(2 * p - 1, -1, 1)


def from_labels(labels: Any, positive: Any = True) -> NDArray[np.float64]:
    """Return the prediction 1 for the positive label and -1 for any other label.

    Examples
    --------
    >>> from_labels(["ill", "well"], positive="ill")
    array([ 1., -1.])
    """
    return np.where(np.asarray(labels) == positive, 1.0, -1.0)


def from_scores(scores: Any, low: float, high: float) -> NDArray[np.float64]:
    """Return predictions in [-1, 1] for scores with the known range [low, high], which is stretched to [-1, 1].

    Examples
    --------
    >>> from_scores([0, 5, 10], 0, 10)
    array([-1.,  0.,  1.])
    """
    low, high = arguments.real("low", low), arguments.real("high", high)
    s = numbers("scores", scores)
    if not low < high or (s.size and (s.min() < low or s.max() > high)):
        raise InvalidParameter("scores must be in [low, high], with low below high, but some are not")
    return 2 * (s - low) / (high - low) - 1


def from_log_odds(scores: Any) -> NDArray[np.float64]:
    """Return the prediction `tanh(s / 2)` for log-odds or for any other unbounded score `s`.

    For log-odds this is exactly `2p - 1`, where `p` is the probability. Any other score is mapped into (-1, 1).

    Examples
    --------
    >>> from_log_odds([0.0, np.log(3)]).round(12)
    array([0. , 0.5])
    """
    return np.tanh(numbers("scores", scores) / 2)


# --- Tabular ----------------------------------------------------------------------------------------------------------

#: The usual models: dotted name of the estimator, its options, and whether it wants standardised one-hot columns.
MODELS: Mapping[str, tuple[str, dict[str, Any], bool]] = {
    "nearest-neighbour": ("sklearn.neighbors.KNeighborsClassifier", {"n_neighbors": 1}, True),
    "tree": ("sklearn.tree.DecisionTreeClassifier", {}, False),
    "small-tree": ("sklearn.tree.DecisionTreeClassifier", {"max_depth": 4}, False),
    "forest": ("sklearn.ensemble.RandomForestClassifier", {"n_estimators": 50}, False),
    "regularised-forest": (
        "sklearn.ensemble.RandomForestClassifier",
        {"n_estimators": 50, "min_samples_leaf": 50},
        False,
    ),
    "boosting": ("sklearn.ensemble.GradientBoostingClassifier", {}, False),
    "logistic": ("sklearn.linear_model.LogisticRegression", {"max_iter": 1000}, True),
}


@dataclass(frozen=True, eq=False)
class Estimator:
    """A learner that trains a scikit-learn classifier on the report, to predict the target from the columns of the
    lens.

    The classifier is cloned for each split. If it has a `random_state`, that comes from the seed of the audit. How
    columns become numbers depends only on the report, never on the other half.

    Parameters
    ----------
    estimator : estimator, or str
        An estimator, or the dotted name of one, with `options` for its parameters.
    prediction : str
        "confidence": `2p - 1` from `predict_proba`, or `tanh(s/2)` from `decision_function`; "label": 1 or -1. They
        give different distances (the paper's section 5: 1.56 with labels, .98 with confidences): never mix them.
    standard : bool
        Text as one column a value and every column standardised, for distances and linear models; otherwise text as
        codes, for trees.
    name : str
        What tables call it.
    options : mapping
        Parameters of an estimator given by name.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> report = {"age": [20, 30, 40, 50], "ill": [0, 0, 1, 1]}
    >>> learner = Estimator(DecisionTreeClassifier(), name="tree")
    >>> h = learner(report, Lens("age", ("age",)), Target("ill = 1"), np.random.default_rng(1))
    >>> h(Table.of({"age": [25, 45]}))
    array([-1.,  1.])
    """

    estimator: Any
    prediction: str = "confidence"
    standard: bool = False
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        arguments.choice("prediction", self.prediction, ["confidence", "label"])
        if not isinstance(self.estimator, str) and not hasattr(self.estimator, "fit"):
            raise InvalidParameter("estimator must be a scikit-learn estimator or its dotted name")
        short = self.estimator.rpartition(".")[2] if isinstance(self.estimator, str) else type(self.estimator).__name__
        object.__setattr__(self, "name", self.name or short)

    def __call__(self, report: Any, lens: Lens, target: Target | None, rng: np.random.Generator) -> Predictor:
        """The predictor that the report gives for this lens."""
        table, truth = report_table(report, lens, target)
        if truth.all() or not truth.any():  # one class only: every model would say the same
            value = 1.0 if truth.all() else -1.0
            return lambda rows: np.full(rows.rows, value)
        matrix = Matrix.of(table, lens.columns, one_hot=self.standard, standard=self.standard)
        model = self.fresh()
        if "random_state" in model.get_params():
            model.set_params(random_state=int(rng.integers(2**31 - 1)))
        model.fit(matrix(table), truth.astype(np.int64))
        return _Fitted(model, matrix, self.prediction)

    def fresh(self) -> Any:
        """Return an untrained copy of the estimator.

        If scikit-learn has no such estimator or it cannot be made, an error is raised.
        """
        with named_extras():
            from sklearn.base import clone
        if not isinstance(self.estimator, str):
            return clone(self.estimator)
        module, _, name = self.estimator.rpartition(".")
        try:
            return getattr(importlib.import_module(module), name)(**self.options)
        except (ImportError, AttributeError, ValueError) as error:
            raise InvalidParameter(f"estimator {self.estimator!r} cannot be imported") from error
        except TypeError as error:
            raise InvalidParameter(f"estimator {self.estimator!r} cannot be made with these options") from error


@dataclass(frozen=True, eq=False, repr=False)
class _Fitted:
    """A trained model as a predictor."""

    model: Any
    matrix: Matrix
    prediction: str

    def __call__(self, rows: Table) -> NDArray[np.float64]:
        """The predictor that the report gives for this lens."""
        seen = self.matrix(rows)
        if self.prediction == "label":
            return np.where(np.asarray(self.model.predict(seen)) == 1, 1.0, -1.0)
        if hasattr(self.model, "predict_proba"):
            yes = list(self.model.classes_).index(1)
            return np.asarray(2 * self.model.predict_proba(seen)[:, yes] - 1, dtype=np.float64)
        if hasattr(self.model, "decision_function"):
            return from_log_odds(self.model.decision_function(seen))
        raise InvalidParameter("the estimator gives neither probabilities nor scores; use prediction='label'")


@dataclass(frozen=True)
class NaiveBayes:
    """A naive Bayes learner that uses counts of each column by the target, with `smoothing` added to every count.

    It reads a table, or the noisy counts of `curators.PrivateNaiveBayes`.

    Examples
    --------
    >>> report = {"town": ["A", "A", "B", "B"], "ill": [1, 1, 0, 0]}
    >>> h = NaiveBayes()(report, Lens("town", ("town",)), Target("ill = 1"))
    >>> h(Table.of({"town": ["A", "B"]}))
    array([ 0.5, -0.5])
    """

    smoothing: float = 1.0
    name: str = "naive-bayes"

    def __call__(self, report: Any, lens: Lens, target: Target | None) -> Predictor:
        """The predictor that the report gives for this lens."""
        if hasattr(report, "naive_bayes"):
            return report.naive_bayes(lens, target, self.smoothing)  # type: ignore[no-any-return]
        table, truth = report_table(report, lens, target)
        known = {name: Values.of(table[name]) for name in lens.columns}
        counts = {
            name: np.stack(
                [
                    np.bincount(values.codes(table[name])[truth == y], minlength=values.distinct.size + 1)
                    for y in (False, True)
                ]
            )
            for name, values in known.items()
        }
        return bayes_predictor(known, counts, np.array([(~truth).sum(), truth.sum()], dtype=float), self.smoothing)


def bayes_predictor(
    known: Mapping[str, Values], counts: Mapping[str, NDArray[Any]], prior: NDArray[Any], smoothing: float
) -> Predictor:
    """Return the predictor of naive Bayes: `tanh` of half the log-odds. A value that was never counted adds nothing."""
    base = np.log(prior + smoothing)
    ratios: dict[str, NDArray[np.float64]] = {}
    for name, table in counts.items():
        smooth = table + smoothing
        shares = np.log(smooth) - np.log(smooth.sum(axis=1, keepdims=True))
        ratios[name] = np.append(shares[1] - shares[0], 0.0)  # code -1 reads the last entry

    def predict(rows: Table) -> NDArray[np.float64]:
        odds = np.full(rows.rows, base[1] - base[0])
        for name, values in known.items():
            odds += ratios[name][values.codes(rows[name])]
        return np.tanh(odds / 2)

    return predict


_ATTACKERS = {
    "linkage": Linkage,
    "membership": Membership,
    "nearest-record": NearestRecord,
    "constant": Constant,
    "coin-flip": CoinFlip,
    "naive-bayes": NaiveBayes,
}
NAMES = (*_ATTACKERS, *MODELS)
"""Names of built-in learners."""


def named(name: str, **options: Any) -> Any:
    """Return the built-in learner, or the scikit-learn classifier, with the given name.

    Examples
    --------
    >>> named("linkage").name, named("forest").options["n_estimators"]
    ('linkage', 50)
    >>> named("sklearn.svm.SVC", C=2.0).name
    'SVC'
    """
    how = {key: options.pop(key) for key in ("prediction", "standard") if key in options}
    if name in _ATTACKERS and not how:
        return _ATTACKERS[name](**options)
    if name in MODELS:
        dotted, defaults, standard = MODELS[name]
        return Estimator(dotted, name=name, options={**defaults, **options}, **{"standard": standard, **how})
    if "." in name:
        return Estimator(name, options=options, **how)
    raise InvalidParameter(
        f"learner must be one of {', '.join(NAMES)}, or the dotted name of a scikit-learn classifier, got {name!r}"
    )


def learner_of(given: Any) -> Any:
    """Return a learner, given as a name, an estimator or a callable.

    Examples
    --------
    >>> learner_of("linkage").name
    'linkage'
    """
    if isinstance(given, str):
        return named(given)
    if hasattr(given, "fit") and hasattr(given, "get_params"):
        return Estimator(given)
    if callable(given):
        return given
    raise InvalidParameter(f"a learner must be a name, an estimator or a callable, got a {type(given).__name__}")


def learners_of(given: Any) -> dict[str, Any]:
    """Named learners from one or several: callables, names of built-in ones, scikit-learn estimators."""
    if isinstance(given, Mapping):
        named = {str(name): learner_of(learner) for name, learner in given.items()}
    else:
        several = [given] if isinstance(given, str) or not isinstance(given, Sequence) else list(given)
        learners = [learner_of(learner) for learner in several]
        named = {}
        for learner in learners:
            name = getattr(learner, "name", None) or getattr(learner, "__name__", None) or type(learner).__name__
            if name in named:
                raise InvalidParameter(
                    f"learners must have distinct names, but {name!r} occurs twice; use a mapping to name them"
                )
            named[str(name)] = learner
    if not named:
        raise InvalidParameter("learners is empty, but it must hold at least one learner")
    return named
