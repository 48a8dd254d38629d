"""The search and the scorer inside scikit-learn: conformance, one budget whatever copies are made, honest results."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.holdout import ReusableHoldout
from holdfast.integrations.sklearn import HoldoutScorer, ReusableHoldoutSearch, RowMetric, metric
from holdfast.integrations.sklearn.results import lower_end
from holdfast.mechanisms.answer import Answer

X, Y = make_classification(3000, n_informative=5, flip_y=0.1, random_state=3)
TREE = DecisionTreeClassifier(random_state=0)
DEPTHS = {"max_depth": [1, 2, 4, 8]}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("search", "allowed"),
    [
        (ReusableHoldoutSearch(LogisticRegression(), {"C": [0.1, 1.0]}, random_state=0), set()),
        (
            ReusableHoldoutSearch(
                Ridge(), {"alpha": [0.1, 1]}, metric=metric("squared-error", bound=10), random_state=0
            ),
            {"check_regressors_train"},  # wants an R squared above 0.5; `score` is the search's own metric, a loss
        ),
    ],
)
def test_conforms_to_scikit_learn(search: Any, allowed: set[str]) -> None:
    found = check_estimator(search, on_fail=None)
    assert len(found) > 45
    assert {check["check_name"] for check in found if check["status"] == "failed"} <= allowed


def test_winner_has_the_greatest_certified_lower_end_and_is_the_certified_model() -> None:
    search = ReusableHoldoutSearch(TREE, DEPTHS, random_state=0).fit(X, Y)
    low = search.cv_results_["holdout_low"]
    assert search.best_index_ == int(np.argmax(low))
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1
    assert search.best_interval_[0] <= search.best_score_ <= search.best_interval_[1]
    assert search.best_estimator_.get_depth() <= search.best_params_["max_depth"]
    assert search.cv_results_["tied_with_best"][search.best_index_]
    assert search.holdout_.asked == 4
    assert search.predict(X).shape == Y.shape
    assert search.predict_proba(X).shape == (3000, 2)
    assert 0.5 < search.score(X, Y) <= 1


def test_results_are_a_data_frame_with_every_column_the_guide_names() -> None:
    frame = pd.DataFrame(ReusableHoldoutSearch(TREE, DEPTHS, random_state=0).fit(X, Y).cv_results_)
    wanted = "params param_max_depth guess mean_test_score holdout_low holdout_high holdout_passed refused".split()
    assert {*wanted, "tied_with_best", "rank_test_score", "mean_fit_time", "mean_score_time"} <= set(frame.columns)
    assert len(frame) == 4


def test_answers_do_not_depend_on_the_number_of_workers() -> None:
    alone = ReusableHoldoutSearch(TREE, DEPTHS, random_state=0).fit(X, Y)
    together = ReusableHoldoutSearch(TREE, DEPTHS, random_state=0, n_jobs=2).fit(X, Y)
    assert alone.answers_ == together.answers_
    assert alone.best_params_ == together.best_params_


def test_random_search_draws_from_distributions() -> None:
    from scipy.stats import randint

    search = ReusableHoldoutSearch(TREE, {"max_depth": randint(1, 9)}, n_iter=6, random_state=0).fit(X, Y)
    assert search.n_candidates_ == 6


def test_works_in_a_pipeline_with_data_frames_and_clone() -> None:
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    inner = make_pipeline(StandardScaler(), TREE).set_output(transform="pandas")
    outer = make_pipeline(
        StandardScaler(), ReusableHoldoutSearch(inner, {"decisiontreeclassifier__max_depth": [2, 4]}, random_state=0)
    ).set_output(transform="pandas")
    fitted = clone(outer).fit(frame, Y)
    assert fitted.predict(frame).shape == Y.shape
    assert list(fitted[-1].feature_names_in_) == list(frame.columns)


def test_given_holdout_rows_go_on_with_one_plan() -> None:
    plan = ReusableHoldout(1000, questions=8)
    for _ in range(2):
        search = ReusableHoldoutSearch(TREE, DEPTHS, holdout=plan, random_state=0)
        clone(search).fit(X[:2000], Y[:2000], X_holdout=X[2000:], y_holdout=Y[2000:])
    assert plan.asked == 8
    with pytest.raises(BudgetExhausted):
        clone(search).fit(X[:2000], Y[:2000], X_holdout=X[2000:], y_holdout=Y[2000:])


def test_holdout_rows_that_do_not_fit_the_plan_cost_nothing() -> None:
    plan = ReusableHoldout(1000, questions=8)
    search = ReusableHoldoutSearch(TREE, DEPTHS, holdout=plan, random_state=0)
    with pytest.raises(InvalidParameter, match="X_holdout and y_holdout must be given together"):
        search.fit(X[:2000], Y[:2000], X_holdout=X[2000:])
    with pytest.raises(InvalidParameter, match="y_holdout must have the holdout's 1000 rows, got 500"):
        search.fit(X[:2000], Y[:2000], X_holdout=X[2500:], y_holdout=Y[2500:])
    with pytest.raises(AttributeError, match="no feature_names_in_ attribute before fit"):
        _ = search.feature_names_in_
    assert plan.asked == 0


def test_refusals_are_said_and_have_no_score() -> None:
    plan = ReusableHoldout(1000, questions=2)
    search = ReusableHoldoutSearch(TREE, DEPTHS, holdout=plan, random_state=0)
    search.fit(X[:2000], Y[:2000], X_holdout=X[2000:], y_holdout=Y[2000:])
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, False, True, True]
    assert "planned questions" in search.cv_results_["refused"][2]
    assert search.best_index_ < 2


def test_failed_fits_are_recorded_and_never_quote_the_holdout() -> None:
    with pytest.warns(FitFailedWarning, match="1 of 2 candidates failed"):
        search = ReusableHoldoutSearch(TREE, {"max_depth": [2, -5]}, random_state=0).fit(X, Y)
    assert search.cv_results_["refused"][1].startswith("fit failed")
    assert search.holdout_.asked == 1


class _Quoting(DecisionTreeClassifier):
    def predict(self, X: Any, check_input: bool = True) -> Any:
        raise RuntimeError(f"row {X[0]} is odd")


def test_errors_while_scoring_show_their_kind_only() -> None:
    with pytest.raises(ValueError, match=r"RuntimeError while scoring$") as caught:
        ReusableHoldoutSearch(_Quoting(), {"max_depth": [2]}, guess=lambda *_: 0.5).fit(X, Y)
    assert "odd" not in str(caught.value)


@pytest.mark.parametrize("guess", ["train", "cross-validation", lambda model, X, y: 0.7])
def test_guesses_come_from_where_they_are_said_to(guess: Any) -> None:
    search = ReusableHoldoutSearch(TREE, {"max_depth": [3]}, guess=guess, random_state=0).fit(X, Y)
    (found,) = search.cv_results_["guess"]
    assert found == 0.7 if callable(guess) else 0.6 < found < 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"guess": "holdout"}, "guess must be one of"),
        ({"metric": "r2"}, "metric must be one of"),
        ({"holdout": ReusableHoldout(5, questions=1)}, "X_holdout must be given"),
        ({"holdout": 10}, "holdout must be a ReusableHoldout"),
        ({"holdout_size": 30.0}, r"holdout_size must be a number in \(0, 1\), got 30.0; .* counts rows"),
        ({"holdout_size": 0}, "holdout_size must be a whole number, at least 1"),
        ({"holdout_size": 3000}, "holdout_size must be a whole number, at least 1 and at most 2999"),
        ({"holdout_size": "half"}, "holdout_size must be a number"),
        ({"validation_size": 1.0}, "validation_size must be a number"),
        ({"n_iter": 0}, "n_iter must be a whole number, at least 1, got 0"),
        ({"n_iter": 2.5}, "n_iter must be a whole number"),
    ],
)
def test_wrong_input_is_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        ReusableHoldoutSearch(TREE, DEPTHS, **changes).fit(X, Y)


@pytest.mark.parametrize("name", ["f1", "roc-auc", "brier"])
def test_a_metric_of_two_classes_says_so_when_there_are_three(name: str) -> None:
    A, b = make_classification(600, n_informative=5, n_classes=3, random_state=0)
    with pytest.raises(InvalidParameter, match=f"{name} needs two, got 3"):
        ReusableHoldoutSearch(TREE, DEPTHS, metric=name, random_state=0).fit(A, b)
    scorer = HoldoutScorer(ReusableHoldout(100, questions=4), A[500:], b[500:], metric=name)
    with pytest.raises(InvalidParameter, match=f"{name} needs two, got 3"):
        scorer(TREE.fit(A[:500], b[:500]), A[:500], b[:500])
    assert scorer.holdout.asked == 0


def test_losses_are_negative_scores_with_the_interval_turned_round() -> None:
    A, b = make_regression(3000, 5, noise=5, random_state=0)
    loss = metric("absolute-error", bound=200)
    search = ReusableHoldoutSearch(DecisionTreeRegressor(random_state=0), DEPTHS, metric=loss, random_state=0).fit(A, b)
    assert search.best_interval_[0] < search.best_score_ < search.best_interval_[1] <= 0
    assert search.best_params_ == {"max_depth": 8}


def test_statistics_agree_with_scikit_learn_and_are_certified() -> None:
    model = LogisticRegression().fit(X[:1000], Y[:1000])
    predicted, scores = model.predict(X), model.decision_function(X)
    plain = {
        "roc-auc": roc_auc_score(Y, scores),
        "f1": f1_score(Y, predicted),
        "precision": precision_score(Y, predicted),
        "recall": recall_score(Y, predicted),
    }
    for name, value in plain.items():
        assert metric(name).score(model, X, Y) == pytest.approx(value, abs=1e-12)
        scorer = HoldoutScorer(ReusableHoldout(1000, questions=5), X[2000:], Y[2000:], name)
        answer = scorer.ask(model, metric(name).score(model, X[1000:2000], Y[1000:2000]))
        assert answer.interval is not None
        assert answer.interval[0] <= value <= answer.interval[1]


def test_row_metrics_stay_in_their_range() -> None:
    model = LogisticRegression().fit(X[:1000], Y[:1000])
    for chosen in (metric("brier"), metric("log-loss", bound=0.4), metric("accuracy")):
        rows = chosen.evidence(model, X, Y)
        assert rows.shape == (3000,)
        assert rows.min() >= chosen.low
        assert rows.max() <= chosen.high
    with pytest.raises(InvalidParameter, match="bound must be"):
        metric("log-loss")


def test_scorer_is_one_budget_under_clone_copy_and_threads() -> None:
    scorer = HoldoutScorer(ReusableHoldout(1000, questions=16), X[2000:], Y[2000:])
    assert copy.deepcopy(scorer) is scorer
    search = clone(GridSearchCV(TREE, DEPTHS, scoring=scorer, cv=4, n_jobs=2))
    with joblib.parallel_config("threading"):
        search.fit(X[:2000], Y[:2000])
    assert scorer.holdout.asked == 16
    assert len(scorer.answers) == 16
    assert len({answer.remaining["questions"] for answer in scorer.answers}) == 16


def test_scorer_is_not_sent_to_processes() -> None:
    scorer = HoldoutScorer(ReusableHoldout(1000, questions=16), X[2000:], Y[2000:])
    with pytest.raises(TypeError, match="spend the same confidence twice"):
        pickle.dumps(scorer)


def test_scorer_past_its_budget_gives_missing_scores() -> None:
    scorer = HoldoutScorer(ReusableHoldout(1000, questions=4), X[2000:], Y[2000:])
    search = GridSearchCV(TREE, {"max_depth": [1, 2]}, scoring=scorer, cv=4, refit=False)
    with pytest.warns(UserWarning, match=r"Scoring failed|non-finite"):
        search.fit(X[:2000], Y[:2000])
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True]


def test_scorer_refuses_a_guess_from_the_holdout() -> None:
    scorer = HoldoutScorer(ReusableHoldout(1000, questions=4), X[2000:], Y[2000:])
    model = TREE.fit(X[:2000], Y[:2000])
    with pytest.raises(InvalidParameter, match="must not share rows"):
        scorer(model, X[2500:], Y[2500:])
    assert scorer.holdout.asked == 0
    assert isinstance(scorer(model, X[:2000], Y[:2000]), float)


def test_scorer_wants_the_plan_s_rows() -> None:
    with pytest.raises(InvalidParameter, match="1000 rows, got 900"):
        HoldoutScorer(ReusableHoldout(1000, questions=4), X[2100:], Y[2100:])
    with pytest.raises(InvalidParameter, match="holdout must be a ReusableHoldout, got a int"):
        HoldoutScorer(10, X, Y)  # type: ignore[arg-type]


def test_search_pickles_without_its_budget() -> None:
    search = ReusableHoldoutSearch(TREE, DEPTHS, random_state=0).fit(X, Y)
    again = pickle.loads(pickle.dumps(search))
    assert (again.predict(X) == search.predict(X)).all()
    assert not hasattr(again, "holdout_")


def test_more_failures_than_candidates_are_no_mistake() -> None:
    search = ReusableHoldoutSearch(TREE, DEPTHS, failures=10, random_state=0).fit(X, Y)
    assert search.holdout_.failures == 4
    with pytest.raises(InvalidParameter, match="failures must be a whole number"):
        ReusableHoldoutSearch(TREE, DEPTHS, failures="ten").fit(X, Y)  # type: ignore[arg-type]


def test_own_metric() -> None:
    either = RowMetric("either", 0.0, 1.0, True, lambda model, X, y: (model.predict(X) == y) | (y == 0), binary=True)
    assert ReusableHoldoutSearch(TREE, DEPTHS, metric=either, random_state=0).fit(X, Y).best_score_ > 0.5


def test_a_fit_on_the_holdout_s_own_memory_is_refused() -> None:
    frame = pd.DataFrame(X)
    for table in (X, frame):
        rows = table[2000:]
        with pytest.raises(InvalidParameter, match="must not share rows"):
            ReusableHoldoutSearch(TREE, DEPTHS).fit(table, Y, X_holdout=rows, y_holdout=Y[2000:])
        ReusableHoldoutSearch(TREE, {"max_depth": [2]}).fit(table[:2000], Y[:2000], X_holdout=rows, y_holdout=Y[2000:])
        scorer = HoldoutScorer(ReusableHoldout(1000, questions=4), rows, Y[2000:])
        with pytest.raises(InvalidParameter, match="must not share rows"):
            scorer(TREE.fit(table[:2000], Y[:2000]), table[1500:2500], Y[1500:2500])


def test_failures_that_make_a_tolerance_too_small_do_not_throw_answers_away() -> None:
    """The first candidate fails, its cells take share, and what was enough for it is not enough for the others."""
    guesses = iter([0.02, 0.9, 0.9])
    plan = ReusableHoldout(1000, questions=3)
    right = metric("accuracy").score(TREE.fit(X[:2000], Y[:2000]), X[2000:], Y[2000:])
    tolerance = 1.02 * plan.least_tolerance(0.02, binary=True)
    search = ReusableHoldoutSearch(
        TREE, {"max_depth": [8, 7, 6]}, guess=lambda *_: next(guesses), tolerance=tolerance, holdout=plan
    )
    search.fit(X[:2000], Y[:2000], X_holdout=X[2000:], y_holdout=Y[2000:])
    assert "tolerance must be at least" in search.cv_results_["refused"][1]
    assert search.best_index_ == 0
    assert search.best_interval_[0] <= right <= search.best_interval_[1]
    assert plan.asked == 1


def test_wrong_input_of_the_first_candidate_is_said_at_once() -> None:
    with pytest.raises(InvalidParameter, match="tolerance"):
        ReusableHoldoutSearch(TREE, DEPTHS, tolerance=1e-6).fit(X, Y)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_losses_of_small_whole_numbers_do_not_wrap_around(kind: Any) -> None:
    class Constant(DecisionTreeRegressor):
        def predict(self, X: Any, check_input: bool = True) -> Any:
            return np.full(len(X), 100, dtype=kind)

    model, truth = Constant().fit(X[:3], Y[:3]), np.array([101, 100, 0], dtype=kind)
    assert metric("absolute-error", bound=1e6).score(model, X[:3], truth) == pytest.approx(-101 / 3)
    assert metric("squared-error", bound=1e6).score(model, X[:3], truth) == pytest.approx(-10001 / 3)


class _Weighed(DecisionTreeClassifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        assert (X[:, 0] == sample_weight).all()
        return super().fit(X, y)


@pytest.mark.parametrize("given", [False, True])
def test_weights_are_split_with_the_rows(given: bool) -> None:
    search = ReusableHoldoutSearch(_Weighed(), {"max_depth": [2, 3]}, error_score="raise", random_state=0)
    if given:
        held = {"X_holdout": X[2000:].copy(), "y_holdout": Y[2000:]}
        search.fit(X[:2000], Y[:2000], sample_weight=X[:2000, 0], **held)
    else:
        search.fit(X, Y, sample_weight=X[:, 0])
    assert search.holdout_.asked == 2


@pytest.mark.parametrize("guess", ["validation", "train", "cross-validation"])
def test_no_guess_comes_from_the_holdout(guess: str) -> None:
    mark = RowMetric("mark", 0.0, 1.0, True, lambda model, X, y: X[:, 0])
    unguarded, guarded = X[:2000].copy(), X[2000:].copy()
    unguarded[:, 0], guarded[:, 0] = 0.25, 0.75
    search = ReusableHoldoutSearch(TREE, {"max_depth": [2]}, metric=mark, guess=guess, random_state=0)
    search.fit(unguarded, Y[:2000], X_holdout=guarded, y_holdout=Y[2000:])
    assert search.cv_results_["guess"].tolist() == [0.25]
    assert search.best_interval_[0] <= 0.75 <= search.best_interval_[1]


def test_the_winner_is_judged_by_its_lower_end_also_for_losses() -> None:
    answer = Answer(0.2, (0.1, 0.4), Guarantee("holdout.guess-and-check-share"))
    assert lower_end(metric("accuracy"), answer) == 0.1
    assert lower_end(metric("brier"), answer) == -0.4
    assert lower_end(metric("accuracy"), None) is None
