"""A search over parameters that scores every candidate through one reusable holdout."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, Self

from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid, ParameterSampler, check_cv, train_test_split
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from holdfast import check
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.holdout import ReusableHoldout
from holdfast.integrations.sklearn.candidate import GUESSES, Fitted, Job, Rows
from holdfast.integrations.sklearn.metric import Metric, metric
from holdfast.integrations.sklearn.overlap import overlap
from holdfast.integrations.sklearn.results import Scored, lower_end, results


def _has(name: str) -> Callable[[Any], bool]:
    def check_it(self: Any) -> bool:
        getattr(self.best_estimator_ if hasattr(self, "best_estimator_") else self.estimator, name)
        return True

    return check_it


def _one_a_row(value: Any, rows: int) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, dict)) and len(value) == rows


def _share_or_count(name: str, size: Any, rows: int) -> float | int:
    """A share of the rows, or their number: scikit-learn would complain about its own `test_size` instead."""
    if isinstance(size, Integral) and not isinstance(size, bool):
        return check.whole(name, size, at_least=1, at_most=max(rows - 1, 1))
    try:
        return check.probability(name, size)
    except InvalidParameter as error:
        raise InvalidParameter(f"{error}; a whole number of type int counts rows") from None


class ReusableHoldoutSearch(MetaEstimatorMixin, BaseEstimator):
    """Search a grid, or random draws from distributions, and believe every score.

    Rows are split once: a part to fit on, a part for guesses, and the holdout. Every candidate is fitted, its score is
    guessed without the holdout, and the guess is checked on the holdout; all intervals hold at once with the
    confidence. The winner is the candidate with the greatest certified lower end, and `best_estimator_` is the very
    model that was certified, not a refit.

    Parameters
    ----------
    estimator : estimator
        What to tune.
    param_grid : dict or list of dict
        A grid as for `GridSearchCV`; with `n_iter`, lists or distributions as for `RandomizedSearchCV`.
    n_iter : int, optional
        Number of random draws. Without it every point of the grid is tried.
    metric : str or Metric
        "accuracy", another name of `holdfast.integrations.sklearn.metric`, or an own metric.
    guess : str or callable
        Where guesses come from: "validation" (a part of the training rows, kept out of the fit), "train" (the rows of
        the fit: poor for models that memorise), "cross-validation", or `guess(estimator, X, y) -> float`.
    holdout_size : float or int
        Rows for the holdout, unless `fit` is given the holdout. A share or a number.
    validation_size : float or int
        Rows of the rest for guesses, with `guess="validation"`.
    confidence : float
        Probability that every interval of the search holds.
    failures : int, optional
        Failed guesses that the plan pays for; without it a series does.
    tolerance : float, optional
        What a pass certifies; by default the holdout's own choice.
    holdout : ReusableHoldout, optional
        An earlier plan to go on with, when its rows are given to `fit`. By default a new plan with one question a
        candidate.
    cv : int, splitter or iterable, optional
        For `guess="cross-validation"`.
    n_jobs : int, optional
        Candidates at a time. Workers fit and predict; only this process asks the holdout, in the candidates' order.
    error_score : float or "raise"
        The score of a candidate whose fit failed.
    random_state : int, RandomState or None
        For the split and the draws. Not privacy noise: there is none here.

    Attributes
    ----------
    cv_results_ : dict of arrays
        `params`, `param_*`, `guess`, `mean_test_score` (the guarded score, NaN where refused), `holdout_low`,
        `holdout_high`, `holdout_passed`, `refused` (why, or empty), `tied_with_best` (intervals overlap),
        `rank_test_score`, `mean_fit_time`, `mean_score_time`.
    best_estimator_, best_index_, best_params_, best_score_, best_interval_
        The honest winner.
    answers_ : list of Answer or None
        One entry a candidate.
    holdout_ : ReusableHoldout
        The plan and what is left of it. It does not travel with a pickle; `holdout_.state()` hands it over.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_classification(6000, random_state=0)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> search = ReusableHoldoutSearch(tree, {"max_depth": [1, 3, 5]}, random_state=0).fit(X, y)
    >>> search.best_params_, bool(search.best_interval_[0] <= search.best_score_ <= search.best_interval_[1])
    ({'max_depth': 5}, True)
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        n_iter: int | None = None,
        metric: str | Metric = "accuracy",
        guess: str | Callable[[Any, Any, Any], float] = "validation",
        holdout_size: float | int = 0.3,
        validation_size: float | int = 0.25,
        confidence: float = 0.95,
        failures: int | None = None,
        tolerance: float | None = None,
        holdout: ReusableHoldout | None = None,
        cv: Any = None,
        n_jobs: int | None = None,
        error_score: float | str = math.nan,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.n_iter = n_iter
        self.metric = metric
        self.guess = guess
        self.holdout_size = holdout_size
        self.validation_size = validation_size
        self.confidence = confidence
        self.failures = failures
        self.tolerance = tolerance
        self.holdout = holdout
        self.cv = cv
        self.n_jobs = n_jobs
        self.error_score = error_score
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, X_holdout: Any = None, y_holdout: Any = None, **fit_params: Any) -> Self:
        """Fit every candidate and ask the holdout about each.

        Parameters
        ----------
        X, y : array-like
            Rows to fit and guess on; without `X_holdout`, also the holdout's rows come from here, by a random split.
        X_holdout, y_holdout : array-like, optional
            The holdout's rows. They must not be among `X`; a shared array or frame is refused, copied rows go
            unnoticed.
        **fit_params
            Handed to the estimator's `fit`; what has one entry a row, such as `sample_weight`, is split with the rows.

        Notes
        -----
        Without `X_holdout` every call draws a split and a plan of its own, and its confidence is for that call alone.
        Several searches of one data set whose grids follow each other's results are one analysis: hold rows out once,
        give them to every `fit` and go on with one plan (`holdout=`).

        """
        self._check(y)
        y = column_or_1d(y, warn=True)
        type_of_target(y, input_name="y", raise_unknown=True)
        candidates, job = self._candidates(), self._prepare(X, y, X_holdout, y_holdout, fit_params)
        plan = self.holdout
        if plan is None:
            # One plan for grids of any size: more failures than candidates cannot come.
            failures = (
                None
                if self.failures is None
                else min(check.whole("failures", self.failures, at_least=0), len(candidates))
            )
            plan = ReusableHoldout(len(job.holdout.y), len(candidates), self.confidence, failures)
        scored: list[Scored] = []
        asked = plan.asked
        best: tuple[float, int, Any] | None = None
        for params, fitted in zip(candidates, self._fit_all(job, candidates), strict=True):
            line = self._ask(plan, job, params, fitted, strict=plan.asked == asked)
            low = lower_end(job.metric, line.answer)
            if low is not None and (best is None or low > best[0]):
                best = (low, len(scored), fitted.estimator)
            scored.append(line)
        self._report_failed_fits(scored)
        if best is None:
            raise BudgetExhausted(
                f"no candidate of {len(candidates)} has a certified score: {scored[0].refused or 'no answer'}; "
                "plan more failures, more rows or better guesses"
            )
        self._publish(job.metric, scored, best, plan)
        return self

    def _check(self, y: Any) -> None:
        if not callable(self.guess):
            check.choice("guess", self.guess, GUESSES)
        if self.holdout is not None and not isinstance(self.holdout, ReusableHoldout):
            raise InvalidParameter(f"holdout must be a ReusableHoldout or None, got a {type(self.holdout).__name__}")
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")  # scikit-learn's own words

    def _prepare(self, X: Any, y: Any, X_holdout: Any, y_holdout: Any, fit_params: dict[str, Any]) -> Job:
        chosen = self.metric if isinstance(self.metric, Metric) else metric(self.metric)
        if (X_holdout is None) != (y_holdout is None):
            raise InvalidParameter("X_holdout and y_holdout must be given together")
        if X_holdout is None:
            if self.holdout is not None:
                raise InvalidParameter("X_holdout must be given when a holdout is: its rows are the same each time")
            X, X_holdout, y, y_holdout, fit_params = self._split(X, y, "holdout_size", fit_params)
        elif overlap(X, X_holdout):
            raise InvalidParameter("X must not share rows with X_holdout: a certified model must not have seen them")
        rows = len(y_holdout)
        if self.holdout is not None and self.holdout.n != rows:
            raise InvalidParameter(f"y_holdout must have the holdout's {self.holdout.n} rows, got {rows}")
        chosen.check_labels(y)  # here and not while scoring, where errors may quote guarded rows
        validation = None
        if self.guess == "validation":
            X, X_guess, y, y_guess, fit_params = self._split(X, y, "validation_size", fit_params)
            validation = Rows(X_guess, y_guess)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        return Job(
            Rows(X, y),
            validation,
            Rows(X_holdout, y_holdout),
            chosen,
            self.guess,
            cv,
            fit_params,
            self.error_score == "raise",
        )

    def _split(self, X: Any, y: Any, name: str, fit_params: dict[str, Any]) -> Any:
        """Rows for the first part and for the second, and the first part of what `fit` gets one entry a row of."""
        size = _share_or_count(name, getattr(self, name), len(y))
        per_row = [name for name, value in fit_params.items() if _one_a_row(value, len(y))]
        # Not stratified: a stratified holdout would not be independent rows of the population.
        parts = train_test_split(
            X, y, *(fit_params[name] for name in per_row), test_size=size, random_state=self.random_state
        )
        return *parts[:4], fit_params | dict(zip(per_row, parts[4::2], strict=True))

    def _candidates(self) -> list[Mapping[str, Any]]:
        if self.n_iter is None:
            return list(ParameterGrid(self.param_grid))
        draws = check.whole("n_iter", self.n_iter, at_least=1)
        return list(ParameterSampler(self.param_grid, draws, random_state=self.random_state))

    def _fit_all(self, job: Job, candidates: Sequence[Mapping[str, Any]]) -> Iterator[Fitted]:
        base = clone(self.estimator)
        made = (clone(base).set_params(**clone(dict(params), safe=False)) for params in candidates)
        run: Iterator[Fitted] = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(job.run)(estimator) for estimator in made
        )
        return run

    def _ask(self, plan: ReusableHoldout, job: Job, params: Mapping[str, Any], fitted: Fitted, strict: bool) -> Scored:
        answer, refused = None, ""
        if fitted.evidence is None:
            refused = f"fit failed: {fitted.error}"
        else:
            try:
                answer = job.metric.ask(plan, fitted.evidence, fitted.guess, self.tolerance)
                refused = "" if answer.value is not None else "failures used up"
            except BudgetExhausted as error:
                refused = str(error)
            except InvalidParameter as error:
                # Say wrong input at once; but once answers are paid for, a tolerance that failures have made too small
                # must not throw them away.
                if strict or job.raise_errors:
                    raise
                refused = str(error)
        return Scored(params, fitted.guess, answer, refused, fitted.fit_time, fitted.score_time)

    def _report_failed_fits(self, scored: Sequence[Scored]) -> None:
        failed = [line.refused for line in scored if line.refused.startswith("fit failed")]
        if len(failed) == len(scored):
            kind = TypeError if failed[0].startswith("fit failed: TypeError") else ValueError
            raise kind(f"all {len(failed)} candidates failed; the first: {failed[0]}")
        if failed:
            text = f"{len(failed)} of {len(scored)} candidates failed; the first: {failed[0]}"
            warnings.warn(text, FitFailedWarning, stacklevel=3)

    def _publish(
        self, chosen: Metric, scored: list[Scored], best: tuple[float, int, Any], plan: ReusableHoldout
    ) -> None:
        self.metric_, self.holdout_ = chosen, plan
        _, self.best_index_, self.best_estimator_ = best
        self.answers_ = [line.answer for line in scored]
        failed_score = math.nan if self.error_score == "raise" else float(self.error_score)
        self.cv_results_ = results(chosen, scored, self.best_index_, failed_score)
        self.best_params_ = dict(scored[self.best_index_].params)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_interval_ = (
            float(self.cv_results_["holdout_low"][self.best_index_]),
            float(self.cv_results_["holdout_high"][self.best_index_]),
        )
        self.n_candidates_ = len(scored)

    def score(self, X: Any, y: Any = None) -> float:
        """The plain score of the winner on rows of your own; no guarantee, no cost."""
        check_is_fitted(self, "best_estimator_")
        return self.metric_.score(self.best_estimator_, X, y)

    def _delegate(self, name: str, X: Any) -> Any:
        check_is_fitted(self, "best_estimator_")
        return getattr(self.best_estimator_, name)(X)

    @available_if(_has("predict"))
    def predict(self, X: Any) -> Any:
        """Predict with the winner."""
        return self._delegate("predict", X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Class probabilities from the winner."""
        return self._delegate("predict_proba", X)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of class probabilities from the winner."""
        return self._delegate("predict_log_proba", X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Decision values from the winner."""
        return self._delegate("decision_function", X)

    @available_if(_has("transform"))
    def transform(self, X: Any) -> Any:
        """Transform with the winner."""
        return self._delegate("transform", X)

    @property
    def classes_(self) -> Any:
        """Class labels of the winner."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features that the winner was fitted on."""
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} object has no n_features_in_ attribute before fit")
        return int(self.best_estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """Names of the features that the winner was fitted on, if they had names."""
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} object has no feature_names_in_ attribute before fit")
        return self.best_estimator_.feature_names_in_

    def __getstate__(self) -> dict[str, Any]:
        # A pickled search predicts and reports; its budget stays here, because a copy would spend it twice.
        state = dict(super().__getstate__())
        state.pop("holdout_", None)
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.target_tags = inner.target_tags
        tags.target_tags.required = True
        tags.target_tags.multi_output = False
        tags.non_deterministic = False
        return tags


__all__ = ["ReusableHoldoutSearch"]
