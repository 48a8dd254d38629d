"""A search over parameters that ends with one certified final on held-out rows."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    ParameterGrid,
    ParameterSampler,
    check_cv,
    train_test_split,
)
from sklearn.utils import _safe_indexing, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.holdout import ReusableHoldout
from holdfast.holdout.final import FinalResult, split_of
from holdfast.integrations.sklearn.metric import Array, Metric, metric, overlap

# --- Candidate --------------------------------------------------------------------------------------------------------
# One candidate of a search: fitted, guessed and evaluated on the holdout's rows, next to each other in one worker.

_TRIED = 100
"""Rows of the fit on which scoring is tried."""
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
    guess: str | Callable[[Any, Any, Any], float] | None
    cv: Any
    fit_params: dict[str, Any]
    raise_errors: bool
    groups: Any = None
    """The groups of the rows to fit on, for cross-validation."""

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
        try:  # none of it reads the holdout: what cannot be scored at all shows on rows that the fit has seen
            guess = self._guess(estimator)
            few = np.arange(min(len(self.fit.y), _TRIED))
            self.metric.evidence(estimator, _safe_indexing(self.fit.X, few), _safe_indexing(self.fit.y, few))
        except Exception as error:
            if self.raise_errors:
                raise
            return _failed(start, f"{type(error).__name__} while scoring")
        # An error on the holdout's rows depends on them: the candidate has no evidence, which the holdout charges.
        evidence = self.metric.on_holdout(estimator, self.holdout.X, self.holdout.y)
        return Fitted(estimator, guess, evidence, fitted - start, time.perf_counter() - fitted)

    def _guess(self, estimator: Any) -> float:
        if self.guess is None:
            return math.nan
        if callable(self.guess):
            return arguments.real("guess", float(self.guess(estimator, self.fit.X, self.fit.y)))
        if self.guess == "cross-validation":
            return self._cross_validated(estimator)
        rows = self.fit if self.guess == "train" or self.validation is None else self.validation
        return arguments.real("guess", self.metric.point(self.metric.evidence(estimator, rows.X, rows.y)))

    def _cross_validated(self, estimator: Any) -> float:
        from sklearn.model_selection import cross_val_score

        scores = cross_val_score(
            estimator,
            self.fit.X,
            self.fit.y,
            groups=self.groups,
            scoring=self.metric.score,
            cv=self.cv,
            params=self.fit_params or None,
        )
        return self.metric.signed(float(np.mean(scores)))


# --- Results ----------------------------------------------------------------------------------------------------------
# The results of a search as scikit-learn lays them out, with what was certified and what failed.


@dataclass(frozen=True, repr=False)
class Line:
    """One candidate of a search. What it showed on the holdout is secret until the run ends."""

    params: Mapping[str, Any]
    round: int
    fitted: Fitted

    @property
    def name(self) -> str:
        """What it is called: the same for the same parameters, in whatever order they are given."""
        return ", ".join(f"{key}={value!r}" for key, value in sorted(self.params.items())) or "as it is"

    @property
    def refused(self) -> str:
        """Why it has no score; empty where it has one."""
        return "" if self.fitted.error is None else f"fit failed: {self.fitted.error}"


def results(
    chosen: Metric, lines: Sequence[Line], best: int, final: FinalResult | None, failed: float, reserves: bool
) -> dict[str, Any]:
    """Return the results as scikit-learn's searches lay them out. Scores are shown once the run has ended.

    Where rows are reserved, the scores are those of the finalists on these rows: what others show on all rows would
    tell something of the reserves of later phases.
    """
    columns: dict[str, Any] = {
        "mean_fit_time": np.array([line.fitted.fit_time for line in lines]),
        "mean_score_time": np.array([line.fitted.score_time for line in lines]),
    }
    for name in sorted({name for line in lines for name in line.params}):
        column: npt.NDArray[Any] = np.empty(len(lines), dtype=object)
        column[:] = [line.params.get(name) for line in lines]
        columns[f"param_{name}"] = np.ma.MaskedArray(column, mask=[name not in line.params for line in lines])
    score = np.full(len(lines), math.nan)
    low, high = score.copy(), score.copy()
    if final is not None:
        for at, line in enumerate(lines):
            evidence = line.fitted.evidence
            if evidence is None:
                score[at] = failed
            elif line.name in final.values:
                score[at] = chosen.signed(final.values[line.name])
            elif not reserves:
                score[at] = chosen.signed(chosen.point(evidence))
            ends = (final.interval or {}).get(line.name) or (final.winner_interval if at == best else None)
            if ends is not None:
                low[at], high[at] = sorted(chosen.signed(end) for end in ends)
    return columns | {
        "params": [dict(line.params) for line in lines],
        "round": np.array([line.round for line in lines]),
        "guess": np.array([chosen.signed(line.fitted.guess) for line in lines]),
        "mean_test_score": score,
        "holdout_low": low,
        "holdout_high": high,
        "refused": np.array([line.refused for line in lines], dtype=object),
        "rank_test_score": _ranks(score),
    }


def _ranks(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
    """1 for the greatest score; ties share the smaller rank; what has no score comes last."""
    known = np.where(np.isnan(scores), -math.inf, scores)
    return (np.searchsorted(np.sort(-known), -known, side="left") + 1).astype(np.int32)


def narrow(grid: Mapping[str, Any] | Sequence[Mapping[str, Any]], winner: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return a finer grid around a winner: for each number the middles between it and its neighbours; all else stays.

    Numbers that are all positive and spread over a factor of ten or more are halved on a logarithmic scale.

    Examples
    --------
    >>> narrow({"depth": [2, 4, 8], "C": [0.01, 1.0, 100.0]}, {"depth": 4, "C": 1.0})
    {'depth': [3, 4, 6], 'C': [0.1, 1.0, 10.0]}
    """
    grids = [grid] if isinstance(grid, Mapping) else list(grid)
    narrowed: dict[str, list[Any]] = {}
    for name, value in winner.items():
        listed = [listing.get(name, ()) for listing in grids]
        values = [v for listing in listed if hasattr(listing, "__iter__") for v in listing]
        tried: list[Any] = sorted({v for v in values if isinstance(v, Real) and not isinstance(v, bool)})
        if value not in tried or len(tried) < 2:
            narrowed[name] = [value]
            continue
        place = tried.index(value)
        around = [tried[at] for at in (place - 1, place + 1) if 0 <= at < len(tried)]
        wide = tried[0] > 0 and tried[-1] >= 10 * tried[0]
        middles = [math.sqrt(value * other) if wide else (value + other) / 2 for other in around]
        if all(isinstance(v, Integral) for v in tried):
            middles = [round(middle) for middle in middles]
        narrowed[name] = sorted({*middles, value})
    return narrowed


# --- Search -----------------------------------------------------------------------------------------------------------


def _has(name: str) -> Callable[[Any], bool]:
    def check_it(self: Any) -> bool:
        getattr(self.best_estimator_ if hasattr(self, "best_estimator_") else self.estimator, name)
        return True

    return check_it


def _one_a_row(value: Any, rows: int) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, dict)) and len(value) == rows


def _has_distributions(grid: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> bool:
    """Whether some parameter is drawn from a distribution instead of a list."""
    grids = [grid] if isinstance(grid, Mapping) else grid
    return any(hasattr(value, "rvs") for part in grids for value in part.values())


def _share_or_count(name: str, size: Any, rows: int) -> float | int:
    """A share of the rows, or their number: scikit-learn would complain about its own `test_size` instead."""
    if isinstance(size, Integral) and not isinstance(size, bool):
        return arguments.whole(name, size, at_least=1, at_most=max(rows - 1, 1))
    try:
        return arguments.probability(name, size)
    except InvalidParameter as error:
        raise InvalidParameter(f"{error}; to give a number of rows, use a whole number of type int") from None


class PlanElsewhere:
    """Stands in a pickled search for a plan that stayed where it was: such a search predicts, and is not fitted."""

    def __repr__(self) -> str:
        return "PlanElsewhere()"


Grid = Mapping[str, Any] | Sequence[Mapping[str, Any]]
Refine = Callable[[int, dict[str, Any]], Grid]


class ReusableHoldoutSearch(MetaEstimatorMixin, BaseEstimator):
    """Search a grid, random draws, or several rounds of them, and report one certified score.

    The rows are split once into a part to fit on and the holdout. A search of one round fits every candidate and ends
    with one final on the holdout. The winner is the candidate with the best score there. Its interval holds whichever
    candidate won, and `loss_at_most_` bounds what the choice may have lost. Nothing is spent before the final, so the
    interval is never wider than with Bonferroni's correction. With several rounds, each round shows only the name of
    its winner, the next grid is made from it, and the final is between the winners. `best_estimator_` is the model that
    was certified, not a refit. The result does not depend on the order of the grid.

    Parameters
    ----------
    estimator : estimator
        What to tune.
    param_grid : dict or list of dict
        A grid as for `GridSearchCV`; with `n_iter`, lists or distributions as for `RandomizedSearchCV`.
    n_iter : int, optional
        Number of random draws a round; what is drawn twice is tried once. Without it every point of the grid is tried.
    rounds : int
        How many rounds of search. After the first each has the grid that `refine` gives.
    refine : callable, optional
        `refine(round, winner) -> grid` for the rounds after the first, numbered from 2; `winner` are the parameters
        that won the round before. By default a finer grid around the winner.
    metric : str or Metric
        "accuracy", another name of `holdfast.integrations.sklearn.metric`, or an own metric.
    guess : str or callable
        With several rounds: where scores come from that say who is expected to win. "validation" (a part of the
        training rows, kept out of the fit), "train", "cross-validation", or `guess(estimator, X, y) -> float`. A search
        of one round needs none.
    holdout_size : float or int
        Rows for the holdout, unless `fit` is given the holdout. A part or a number.
    validation_size : float or int
        Rows of the rest for guesses, with several rounds and `guess="validation"`.
    confidence : float
        Probability that everything the search says holds.
    claims : str, list or mapping
        What the final claims, as for `ReusableHoldout.final`: "winner", "intervals", "ranks", or parts of several.
    holdout : ReusableHoldout, optional
        An earlier plan to go on with, when its rows are given to `fit`. Then every round is a batch of that plan, and
        `finish` ends it. By default a new plan, which `fit` ends.
    cv : int, splitter or iterable, optional
        For `guess="cross-validation"`.
    n_jobs : int, optional
        Candidates at a time. Workers fit and predict; only this process asks the holdout.
    error_score : float or "raise"
        The score of a candidate whose fit failed, or that cannot be scored on rows that it was fitted on. An error on
        the holdout's rows alone depends on these rows: `fit` ends with a `ValuesRefused`, which is charged.
    random_state : int, RandomState or None
        For the split and the draws. Not privacy noise: there is none here.

    Attributes
    ----------
    cv_results_ : dict of arrays
        `params`, `param_*`, `round`, `guess`, `mean_test_score` (exact, once the run has ended; of the finalists alone
        where the plan reserves rows), `holdout_low`, `holdout_high` (where an interval was claimed), `refused` (why
        there is no score, or empty), `rank_test_score`, `mean_fit_time`, `mean_score_time`.
    best_estimator_, best_index_, best_params_, best_score_
        The winner, and its exact score on the holdout.
    best_interval_ : tuple or None
        Holds the winner's score in the population; None before the run has ended, or where it was not claimed.
    loss_at_most_ : float or None
        By how much the truly best candidate of the final can be better than the winner.
    ranks_ : dict or None
        The best and the worst rank of each finalist, where ranks were claimed.
    result_ : FinalResult or None
        Everything that the final showed.
    holdout_ : ReusableHoldout
        The plan. It does not travel with a pickle; `holdout_.state()` hands it over.

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
        param_grid: Grid,
        *,
        n_iter: int | None = None,
        rounds: int = 1,
        refine: Refine | None = None,
        metric: str | Metric = "accuracy",
        guess: str | Callable[[Any, Any, Any], float] = "validation",
        holdout_size: float | int = 0.3,
        validation_size: float | int = 0.25,
        confidence: float = 0.95,
        claims: Any = "winner",
        holdout: ReusableHoldout | None = None,
        cv: Any = None,
        n_jobs: int | None = None,
        error_score: float | str = math.nan,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.n_iter = n_iter
        self.rounds = rounds
        self.refine = refine
        self.metric = metric
        self.guess = guess
        self.holdout_size = holdout_size
        self.validation_size = validation_size
        self.confidence = confidence
        self.claims = claims
        self.holdout = holdout
        self.cv = cv
        self.n_jobs = n_jobs
        self.error_score = error_score
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        X_holdout: Any = None,
        y_holdout: Any = None,
        groups_holdout: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit every candidate, and end with a final on the holdout. If you gave a plan to continue with, there is no
        final.

        Parameters
        ----------
        X, y : array-like
            Rows to fit and guess on; without `X_holdout`, also the holdout's rows come from here, by a random split.
        groups : array-like, optional
            One label per row of `X`, for rows that belong together: visits of a patient, pages of a document. Every
            split keeps groups whole, and groups are the units of the holdout: what is certified is the mean over
            groups of their rows' mean score. For metrics that are a mean over rows.
        groups_holdout : array-like, optional
            The groups of the holdout's rows, where these are given. They must not be among `groups`.
        X_holdout, y_holdout : array-like, optional
            The holdout's rows. They must not be among `X`; a shared array or frame is refused, copied rows go
            unnoticed.
        **fit_params
            Handed to the estimator's `fit`; what has one entry per row, such as `sample_weight`, is split with the
            rows.

        Notes
        -----
        Without `X_holdout` every call draws a split and a plan of its own, and its confidence is for that call alone.
        Several searches of one data set whose grids follow each other's results are one analysis: use rounds, or hold
        rows out once, give them to every `fit` and go on with one plan (`holdout=`).

        """
        rounds = self._check(y)
        y = column_or_1d(y, warn=True)
        type_of_target(y, input_name="y", raise_unknown=True)
        batches = rounds > 1 or self.holdout is not None
        job, held = self._prepare(X, y, groups, (X_holdout, y_holdout, groups_holdout), fit_params, batches)
        plan = self.holdout
        if plan is None:
            plan = ReusableHoldout(len(job.holdout.y), confidence=self.confidence, final=1.0, groups=held)
        lines: list[Line] = []
        winners: list[Line] = []
        grid: Grid = self.param_grid
        for number in range(1, rounds + 1):
            of_round = self._round(job, grid, number, {line.name for line in lines})
            lines += of_round
            scored = [line for line in of_round if line.fitted.error is None]
            if not scored:
                break
            if batches:
                winners.append(_winner(plan, job.metric, scored))
                if number < rounds:
                    grid = self._next_grid(number + 1, winners[-1].params, grid, lines)
            else:
                winners = scored
        self._report_failed_fits(lines)
        self._lines, self._winners, self._job_metric = lines, winners, job.metric
        self.metric_, self.holdout_, self.n_candidates_ = job.metric, plan, len(lines)
        self._publish(winners[-1] if batches else None, None)
        return self if self.holdout is not None else self.finish()

    def finish(self) -> Self:
        """End the plan with a final between the winners of the rounds. If the search made the plan itself, `fit` has
        already done this.
        """
        check_is_fitted(self, "holdout_")
        chosen = self._job_metric
        found = {line.name: line.fitted.evidence for line in sorted(self._winners, key=lambda one: one.name)}
        finalists = chosen.finalists(found, self.holdout_.n)
        final = self.holdout_.final(
            finalists, self.claims, greater_is_better=chosen.greater_is_better, **chosen.declared
        )
        winner = next(line for line in self._winners if line.name == final.winner)
        self._publish(winner, final)
        return self

    def _check(self, y: Any) -> int:
        if not callable(self.guess):
            arguments.choice("guess", self.guess, GUESSES)
        split_of(self.claims)
        if self.refine is not None and not callable(self.refine):
            raise InvalidParameter(f"refine must be a function, got a {type(self.refine).__name__}")
        if isinstance(self.holdout, PlanElsewhere):
            raise InvalidParameter(
                "holdout must be given again after unpickling, because a pickle does not contain the plan: two "
                "copies would spend one confidence twice; hand a plan over with state() and "
                "ReusableHoldout.from_state()"
            )
        if self.holdout is not None and not isinstance(self.holdout, ReusableHoldout):
            raise InvalidParameter(f"holdout must be a ReusableHoldout or None, got a {type(self.holdout).__name__}")
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")  # scikit-learn's own words
        return arguments.whole("rounds", self.rounds, at_least=1)

    def _prepare(
        self, X: Any, y: Any, groups: Any, holdout: tuple[Any, Any, Any], fit_params: dict[str, Any], guesses: bool
    ) -> tuple[Job, Any]:
        """What every candidate needs, and the groups of the holdout's rows."""
        X_holdout, y_holdout, held = holdout
        if groups is not None and len(groups) != len(y):
            raise InvalidParameter(f"groups must have one label per row, {len(y)} in all, got {len(groups)}")
        chosen = self.metric if isinstance(self.metric, Metric) else metric(self.metric)
        if (X_holdout is None) != (y_holdout is None):
            raise InvalidParameter("X_holdout and y_holdout must be given together")
        if X_holdout is None:
            if self.holdout is not None:
                raise InvalidParameter(
                    "X_holdout must be given together with a holdout, and its rows must be the same each time"
                )
            if held is not None:
                raise InvalidParameter("groups_holdout must be left out unless X_holdout is given")
            X, X_holdout, y, y_holdout, groups, held, fit_params = self._split(X, y, groups, "holdout_size", fit_params)
        elif (groups is None) != (held is None) and self.holdout is None:
            raise InvalidParameter("groups and groups_holdout must be given together, or both left out")
        elif groups is not None and held is not None and set(np.unique(groups)) & set(np.unique(held)):
            raise InvalidParameter(
                "groups must not share a group with groups_holdout, because a certified model must not have seen the "
                "holdout's groups"
            )
        elif overlap(X, X_holdout):
            raise InvalidParameter(
                "X must not share rows with X_holdout, because a certified model must not have seen the holdout's rows"
            )
        rows = len(y_holdout)
        if self.holdout is not None and self.holdout.n != rows:
            raise InvalidParameter(f"y_holdout must have the holdout's {self.holdout.n} rows, got {rows}")
        chosen.check_labels(y)  # here and not while scoring, where errors may quote guarded rows
        validation = None
        if guesses and self.guess == "validation":
            X, X_guess, y, y_guess, groups, _, fit_params = self._split(X, y, groups, "validation_size", fit_params)
            validation = Rows(X_guess, y_guess)
        plain = GroupKFold() if groups is not None and self.cv is None else self.cv
        cv = check_cv(plain, y, classifier=is_classifier(self.estimator))
        job = Job(
            Rows(X, y),
            validation,
            Rows(X_holdout, y_holdout),
            chosen,
            self.guess if guesses else None,
            cv,
            fit_params,
            self.error_score == "raise",
            groups,
        )
        return job, held

    def _round(self, job: Job, grid: Grid, number: int, known: set[str]) -> list[Line]:
        """The candidates of one round, fitted; those that were tried before are not tried again."""
        draws = None if self.n_iter is None else arguments.whole("n_iter", self.n_iter, at_least=1)
        if draws is None or (number > 1 and not _has_distributions(grid) and len(ParameterGrid(grid)) <= draws):
            tried = list(ParameterGrid(grid))
        else:
            tried = list(ParameterSampler(grid, draws, random_state=self.random_state))
        unfitted = Fitted(None, math.nan, None, 0.0, 0.0)
        fresh = {Line(params, number, unfitted).name: params for params in tried}
        fresh = {name: params for name, params in fresh.items() if name not in known}
        fitted = self._fit_all(job, list(fresh.values()))
        return [Line(params, number, candidate) for params, candidate in zip(fresh.values(), fitted, strict=True)]

    def _next_grid(self, number: int, winner: Mapping[str, Any], grid: Grid, lines: Sequence[Line]) -> Grid:
        if self.refine is not None:
            return self.refine(number, dict(winner))
        if _has_distributions(grid):  # neighbours of the winner are among what was drawn
            grid = {name: [line.params[name] for line in lines if name in line.params] for name in winner}
        return narrow(grid, winner)

    def _split(self, X: Any, y: Any, groups: Any, name: str, fit_params: dict[str, Any]) -> Any:
        """Rows for the first part and for the second, their groups, and what `fit` gets one entry per row of."""
        size = _share_or_count(name, getattr(self, name), len(y))
        per_row = [name for name, value in fit_params.items() if _one_a_row(value, len(y))]
        # Not stratified: a stratified holdout would not be independent rows of the population.
        if groups is None:
            parts = train_test_split(
                X, y, *(fit_params[name] for name in per_row), test_size=size, random_state=self.random_state
            )
            return *parts[:4], None, None, fit_params | dict(zip(per_row, parts[4::2], strict=True))
        share = size if isinstance(size, float) else size / len(y)
        first, second = next(GroupShuffleSplit(1, test_size=share, random_state=self.random_state).split(X, y, groups))
        labels = np.asarray(groups)
        halves = [_safe_indexing(values, part) for values in (X, y) for part in (first, second)]
        taken = {name: _safe_indexing(fit_params[name], first) for name in per_row}
        return *halves, labels[first], labels[second], fit_params | taken

    def _fit_all(self, job: Job, candidates: Sequence[Mapping[str, Any]]) -> Iterator[Fitted]:
        base = clone(self.estimator)
        candidates_to_fit = (clone(base).set_params(**clone(dict(params), safe=False)) for params in candidates)
        run: Iterator[Fitted] = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(job.run)(estimator) for estimator in candidates_to_fit
        )
        return run

    def _report_failed_fits(self, scored: Sequence[Line]) -> None:
        failed = [line.refused for line in scored if line.refused.startswith("fit failed")]
        if len(failed) == len(scored):
            kind = TypeError if failed[0].startswith("fit failed: TypeError") else ValueError
            raise kind(f"all {len(failed)} candidates failed; the first error was: {failed[0]}")
        if failed:
            text = f"{len(failed)} of {len(scored)} candidates failed; the first: {failed[0]}"
            warnings.warn(text, FitFailedWarning, stacklevel=3)

    def _publish(self, winner: Line | None, final: FinalResult | None) -> None:
        """What the search shows: the winner's name before the run has ended, and everything after that."""
        best = self._lines.index(winner) if winner is not None else 0
        failed = math.nan if self.error_score == "raise" else float(self.error_score)
        reserves = self.holdout_.explored < self.holdout_.units
        self.cv_results_ = results(self._job_metric, self._lines, best, final, failed, reserves)
        self.result_ = final
        self.best_interval_ = self.loss_at_most_ = self.ranks_ = None
        if winner is None:
            return
        self.best_index_, self.best_estimator_ = best, winner.fitted.estimator
        self.best_params_ = dict(winner.params)
        self.best_score_ = float(self.cv_results_["mean_test_score"][best])
        if final is not None:
            if final.winner_interval is not None:
                low, high = sorted(self._job_metric.signed(end) for end in final.winner_interval)
                self.best_interval_ = low, high
            self.loss_at_most_, self.ranks_ = final.loss_at_most, final.ranks

    def score(self, X: Any, y: Any = None) -> float:
        """Return the plain score of the winner on rows of your own. It costs nothing and carries no guarantee."""
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
        """The class labels of the winner."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """The number of features with which the winner was fitted."""
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} object has no n_features_in_ attribute before fit")
        return int(self.best_estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """The names of the features with which the winner was fitted, if they had names."""
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} object has no feature_names_in_ attribute before fit")
        return self.best_estimator_.feature_names_in_

    def __getstate__(self) -> dict[str, Any]:
        # A pickled search predicts and reports; its budget stays here, because a copy would spend it twice.
        # What candidates showed on the holdout stays here too, while the run has not ended.
        state = dict(super().__getstate__())
        for name in ("holdout_", "_lines", "_winners"):
            state.pop(name, None)
        if state.get("holdout") is not None:
            state["holdout"] = PlanElsewhere()
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


def _winner(plan: ReusableHoldout, chosen: Metric, lines: Sequence[Line]) -> Line:
    """The winner of a round: the only thing that the round shows."""
    ordered = sorted(lines, key=lambda line: line.name)
    if len(ordered) == 1:
        return ordered[0]
    candidates = chosen.finalists({line.name: line.fitted.evidence for line in ordered}, plan.n)
    guesses = {line.name: line.fitted.guess for line in ordered if not math.isnan(line.fitted.guess)}
    range_ = {name: value for name, value in chosen.declared.items() if name != "binary"}
    answer = plan.best(candidates, guesses, greater_is_better=chosen.greater_is_better, **range_)
    return next(line for line in ordered if line.name == answer.value)
