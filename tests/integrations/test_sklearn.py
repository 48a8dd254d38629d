"""The search and the scorer inside scikit-learn: conformance, one budget whatever copies are made, honest results."""

from __future__ import annotations

import copy
import math
import pickle
import traceback
from itertools import permutations
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom, randint
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, ParameterGrid, ParameterSampler, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from holdfast.bounds.one_question import blaker
from holdfast.data.values import ValuesRefused
from holdfast.errors import BudgetExhausted, HoldfastError, InvalidParameter, LedgerUnavailable
from holdfast.holdout import ReusableHoldout
from holdfast.holdout.intervals.winner import winner_limits
from holdfast.integrations.sklearn import HoldoutScorer, ReusableHoldoutSearch, RowMetric, metric
from holdfast.integrations.sklearn.search import narrow

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


def held_out(search: Any) -> tuple[Any, Any]:
    """The rows that a search of one round held out of `X, Y`: the split is the search's own, by its seed."""
    _, held, _, labels = train_test_split(X, Y, test_size=search.holdout_size, random_state=search.random_state)
    return held, labels


def exact_scores(search: Any) -> list[float]:
    """What every candidate scores on the held-out rows, from models that are fitted here once more."""
    part, held, labels, truth = train_test_split(X, Y, test_size=search.holdout_size, random_state=search.random_state)
    fitted = (clone(search.estimator).set_params(**params).fit(part, labels) for params in search.cv_results_["params"])
    return [float(np.mean(model.predict(held) == truth)) for model in fitted]


def count_limits(hits: int, n: int, lower: float, upper: float) -> tuple[float, float]:
    """Clopper and Pearson's limits with the two tails given, from the quantiles of the Beta distribution."""
    low = beta.ppf(lower, hits, n - hits + 1) if hits else 0.0
    high = beta.isf(upper, hits + 1, n - hits) if hits < n else 1.0
    return float(low), float(high)


def limits_of_winner(hits: int, n: int, candidates: int, level: float) -> tuple[float, float]:
    """The winner's interval where nine tenths of a level are for it and a tenth is for the loss of the choice."""
    limits = winner_limits(hits, n, candidates, math.log(0.9 * level), math.log(0.1 * level))
    return limits.low, limits.high


def test_a_fixed_grid_is_one_final() -> None:
    """No question is asked on the way, so the winner's limits have all of beta: 9/10 of it, and the loss the rest."""
    search = ReusableHoldoutSearch(TREE, DEPTHS, random_state=0).fit(X, Y)
    exact = exact_scores(search)
    assert (search.holdout_.asked, search.holdout_.ended) == (0, True)
    assert search.cv_results_["mean_test_score"].tolist() == pytest.approx(exact, abs=1e-12)
    best = int(np.argmax(exact))
    assert search.best_index_ == best
    assert search.best_score_ == pytest.approx(exact[best], abs=1e-12)
    assert search.cv_results_["rank_test_score"][best] == 1
    assert search.best_params_ == search.cv_results_["params"][best]
    assert search.result_.claims == {"winner": 0.9, "loss": 0.1}
    assert search.holdout_.log_prior == 0
    assert search.best_interval_ == pytest.approx(limits_of_winner(round(900 * exact[best]), 900, 4, 0.05), abs=1e-6)
    with pytest.raises(BudgetExhausted):
        search.holdout_.check(np.ones(900, dtype=bool), 0.5)


def test_the_best_estimator_is_the_model_that_was_certified() -> None:
    search = ReusableHoldoutSearch(TREE, DEPTHS, random_state=0).fit(X, Y)
    held, labels = held_out(search)
    assert np.mean(search.best_estimator_.predict(held) == labels) == pytest.approx(search.best_score_, abs=1e-12)
    assert search.best_score_ == pytest.approx(max(exact_scores(search)), abs=1e-12)
    assert search.best_estimator_.get_depth() <= search.best_params_["max_depth"]
    assert search.predict(X).shape == Y.shape
    assert search.predict_proba(X).shape == (3000, 2)
    assert 0.5 < search.score(X, Y) <= 1


@pytest.mark.parametrize("count", [1, 2, 4, 20])
def test_the_winner_is_certified_no_wider_than_by_bonferroni(count: int) -> None:
    """On the same rows: Clopper and Pearson's interval of each candidate at beta over their number."""
    grid = {"max_depth": [1, 2, 4, 8], "min_samples_leaf": [1, 5, 20, 60, 200]}
    points = [{name: [value] for name, value in point.items()} for point in ParameterGrid(grid)][:count]
    search = ReusableHoldoutSearch(TREE, points, random_state=0).fit(X, Y)
    level = 0.05 / count / 2
    low, high = count_limits(round(900 * search.best_score_), 900, level, level)
    mine = search.best_interval_[1] - search.best_interval_[0]
    assert search.n_candidates_ == count
    assert mine <= high - low + 1e-9
    assert search.best_interval_[1] <= high + 1e-9
    if count == 20:  # and not by a hair: the upper limit is not divided by the number of candidates
        assert mine <= 0.92 * (high - low)


def test_what_the_choice_may_have_lost_is_bounded() -> None:
    """Against paired limits by simulation-free counting: the bound is above every paired difference on the rows."""
    search = ReusableHoldoutSearch(TREE, DEPTHS, random_state=0).fit(X, Y)
    exact = exact_scores(search)
    assert search.loss_at_most_ == search.result_.loss_at_most
    assert 0 < search.loss_at_most_ < 1
    assert search.loss_at_most_ >= max(other - max(exact) for other in exact)
    low = 1 - search.best_interval_[1]  # a choice cannot have lost more than what lies above the winner
    assert search.loss_at_most_ < search.best_interval_[1] - search.best_interval_[0] + low
    alone = ReusableHoldoutSearch(TREE, {"max_depth": [4]}, random_state=0).fit(X, Y)
    assert alone.loss_at_most_ == 0


def test_ranks_are_given_where_they_are_claimed() -> None:
    search = ReusableHoldoutSearch(TREE, DEPTHS, claims="ranks", random_state=0).fit(X, Y)
    assert search.best_interval_ is None
    assert search.loss_at_most_ is None
    assert len(search.ranks_) == 4
    exact = dict(zip(search.ranks_, [0.0] * 4, strict=True))
    for params, score in zip(search.cv_results_["params"], exact_scores(search), strict=True):
        exact[f"max_depth={params['max_depth']}"] = score
    for name, (first, last) in search.ranks_.items():
        better = sum(score > exact[name] for score in exact.values())
        assert 1 <= first <= 1 + better <= last <= 4  # the order on the rows is one that the claims allow
    assert min(last for _, last in search.ranks_.values()) < 4  # a stump is certainly worse than a deep tree
    both = ReusableHoldoutSearch(TREE, DEPTHS, claims=["winner", "ranks"], random_state=0).fit(X, Y)
    assert both.best_interval_ is not None
    assert both.ranks_ is not None
    assert ReusableHoldoutSearch(TREE, DEPTHS, random_state=0).fit(X, Y).ranks_ is None


def test_every_interval_of_a_grid_can_be_claimed() -> None:
    search = ReusableHoldoutSearch(TREE, DEPTHS, claims="intervals", random_state=0).fit(X, Y)
    share = 0.05 / 4
    for score, low, high in zip(
        *(search.cv_results_[name] for name in ("mean_test_score", "holdout_low", "holdout_high")), strict=True
    ):
        hits = round(900 * score)
        assert (low, high) == pytest.approx(tuple(blaker(hits, 900, np.log(share))), abs=1e-9)
        lowest, highest = count_limits(hits, 900, share / 2, share / 2)
        assert lowest - 1e-9 <= low < high <= highest + 1e-9


def test_results_are_complete_after_the_end() -> None:
    frame = pd.DataFrame(ReusableHoldoutSearch(TREE, DEPTHS, random_state=0).fit(X, Y).cv_results_)
    wanted = "params param_max_depth round guess mean_test_score holdout_low holdout_high refused".split()
    assert {*wanted, "rank_test_score", "mean_fit_time", "mean_score_time"} <= set(frame.columns)
    assert len(frame) == 4
    assert frame["mean_test_score"].notna().all()
    assert sorted(frame["rank_test_score"])[0] == 1
    assert (frame["round"] == 1).all()
    assert frame["holdout_low"].notna().sum() == 1  # the winner's; the others' were not claimed
    rounds = ReusableHoldoutSearch(TREE, DEPTHS, rounds=3, random_state=0).fit(X, Y).cv_results_
    assert not np.isnan(rounds["mean_test_score"]).any()
    assert not np.isnan(rounds["guess"]).any()
    assert sorted(set(rounds["round"])) == [1, 2, 3]


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_order_of_the_grid_changes_nothing(rounds: int) -> None:
    """Twelve orders of one grid, in which some candidates are equal on the rows: one winner, one interval."""
    grid = [{"max_depth": [depth], "min_samples_leaf": [leaf]} for depth in (4, 8) for leaf in (1, 2)]
    seen = set()
    for order in list(permutations(grid))[::2]:
        search = ReusableHoldoutSearch(TREE, list(order), rounds=rounds, random_state=0).fit(X, Y)
        ranks = tuple(
            sorted(
                zip(
                    map(str, search.cv_results_["params"]),
                    search.cv_results_["rank_test_score"].tolist(),
                    strict=True,
                )
            )
        )
        seen.add((str(sorted(search.best_params_.items())), search.best_interval_, search.loss_at_most_, ranks))
    assert len(seen) == 1


def test_equal_candidates_have_one_winner_in_every_order() -> None:
    """Candidates that predict the same are equal on all rows: which of them wins must not follow the order."""
    names = ["a", "b", "c", "d"]
    grid = [{"random_state": [seed]} for seed in range(4)]  # a stump does not depend on its seed here
    stump = DecisionTreeClassifier(max_depth=1)
    won = {
        ReusableHoldoutSearch(stump, list(order), random_state=0).fit(X, Y).best_params_["random_state"]
        for order in list(permutations(grid))[::2]
    }
    assert len(names) == len(grid)
    assert len(won) == 1


def test_rounds_are_best_batches_and_a_final_between_their_winners() -> None:
    grid = {"max_depth": [2, 6, 12], "min_samples_leaf": [1, 20, 90]}
    search = ReusableHoldoutSearch(TREE, grid, rounds=3, random_state=0).fit(X, Y)
    kinds = [entry["question"]["kind"] for entry in search.holdout_.state()["transcript"]]
    assert set(kinds) == {"best"}
    assert len(kinds) == 3
    assert all(not entry["spends"] for entry in search.holdout_.state()["transcript"])  # they claim nothing
    # ln Q: of each batch the weight of its winner's rank by the guesses, 1/(r(r+1)) made to add up to one.
    scores, guesses = search.cv_results_["mean_test_score"], search.cv_results_["guess"]
    log_prior, winners = 0.0, []
    for number in (1, 2, 3):
        mine = np.flatnonzero(search.cv_results_["round"] == number)
        assert len(mine) > 1
        mine = np.array(sorted(mine, key=lambda at: str(sorted(search.cv_results_["params"][at].items()))))
        best = max(mine, key=lambda at: scores[at])
        winners.append(best)
        order = sorted(mine, key=lambda at: -guesses[at])
        rank, total = order.index(best) + 1, sum(1 / (r * (r + 1)) for r in range(1, len(mine) + 1))
        log_prior -= math.log(rank * (rank + 1) * total)
    assert search.holdout_.log_prior == pytest.approx(log_prior, abs=1e-6)
    assert len(search.result_.values) == 3
    assert search.best_index_ == max(winners, key=lambda at: scores[at])
    assert scores[search.best_index_] == scores.max()
    level, hits = 0.05 * math.exp(log_prior), round(900 * search.best_score_)
    assert search.best_interval_ == pytest.approx(limits_of_winner(hits, 900, 3, level), abs=1e-6)


def test_rounds_refine_around_the_winner_or_as_they_are_told() -> None:
    told = []

    def deeper(number: int, winner: dict[str, Any]) -> dict[str, Any]:
        told.append((number, winner))
        return {"max_depth": [winner["max_depth"] + 1, winner["max_depth"] + 2]}

    search = ReusableHoldoutSearch(TREE, DEPTHS, rounds=3, refine=deeper, random_state=0).fit(X, Y)
    assert [number for number, _ in told] == [2, 3]
    assert search.n_candidates_ == 8
    scores = search.cv_results_["mean_test_score"]
    for number, winner in told:
        before = np.flatnonzero(search.cv_results_["round"] == number - 1)
        assert winner == search.cv_results_["params"][max(before, key=lambda at: scores[at])]
    assert narrow({"C": [1, 10]}, {"C": 10}) == {"C": [3, 10]}
    assert narrow({"kind": ["a", "b"]}, {"kind": "a"}) == {"kind": ["a"]}
    with pytest.raises(InvalidParameter, match="refine must be a function"):
        ReusableHoldoutSearch(TREE, DEPTHS, rounds=2, refine="finer").fit(X, Y)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="rounds must be a whole number, at least 1"):
        ReusableHoldoutSearch(TREE, DEPTHS, rounds=0).fit(X, Y)


@pytest.mark.parametrize("rounds", [1, 2])
def test_results_do_not_depend_on_the_number_of_workers(rounds: int) -> None:
    alone = ReusableHoldoutSearch(TREE, DEPTHS, rounds=rounds, random_state=0).fit(X, Y)
    together = ReusableHoldoutSearch(TREE, DEPTHS, rounds=rounds, random_state=0, n_jobs=2).fit(X, Y)
    assert alone.best_params_ == together.best_params_
    assert alone.best_interval_ == together.best_interval_
    assert alone.loss_at_most_ == together.loss_at_most_
    assert alone.result_.values == together.result_.values
    assert alone.cv_results_["mean_test_score"].tolist() == together.cv_results_["mean_test_score"].tolist()


ALARM = 1e-6
RUNS, ROWS, CANDIDATES = 400, 300, 20


class _Coin(DecisionTreeClassifier):
    """Says the label of a row with probability one half, by nothing but its seed and the row."""

    def __init__(self, random_state: int = 0) -> None:
        super().__init__(random_state=random_state)

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X: Any, check_input: bool = True) -> Any:
        return (np.modf(X[:, 0] * (self.random_state + 1) * 977.31)[0] > 0.5).astype(int)


def test_the_interval_of_a_chosen_coin_holds_and_a_plain_one_does_not() -> None:
    """Twenty coins, the best one kept: its true accuracy is one half, and its interval must say so."""
    missed = plain = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        rows, labels = rng.random((ROWS + 20, 1)), rng.integers(0, 2, ROWS + 20)
        search = ReusableHoldoutSearch(_Coin(), {"random_state": list(range(CANDIDATES))})
        search.fit(rows[ROWS:].copy(), labels[ROWS:], X_holdout=rows[:ROWS].copy(), y_holdout=labels[:ROWS])
        low, high = search.best_interval_
        missed += not low <= 0.5 <= high
        low, high = count_limits(round(ROWS * search.best_score_), ROWS, 0.025, 0.025)
        plain += not low <= 0.5 <= high
    most = int(binom.isf(ALARM, RUNS, 0.05))
    assert missed <= most
    assert plain > most  # wrong on purpose: the interval of one fixed question


def test_random_search_draws_from_distributions() -> None:
    draws = {"max_depth": randint(1, 9)}
    search = ReusableHoldoutSearch(TREE, draws, n_iter=6, random_state=0).fit(X, Y)
    drawn = {one["max_depth"] for one in ParameterSampler(draws, 6, random_state=0)}
    assert len(drawn) < 6  # what is drawn twice is tried once
    assert sorted(one["max_depth"] for one in search.cv_results_["params"]) == sorted(drawn)


def test_rounds_of_random_draws_go_on_around_the_winner() -> None:
    """By default between the winner and its neighbours among what was drawn, or as `refine` says: at most n_iter."""
    draws = {"max_depth": randint(1, 9), "min_samples_leaf": randint(1, 200)}
    search = ReusableHoldoutSearch(TREE, draws, n_iter=5, rounds=3, random_state=0).fit(X, Y)
    counts = np.bincount(search.cv_results_["round"])[1:]
    assert len(counts) == 3
    assert counts.max() <= 5
    assert counts[0] == 5

    def nearer(number: int, winner: dict[str, Any]) -> dict[str, Any]:
        return {"max_depth": [winner["max_depth"]], "min_samples_leaf": randint(1, winner["min_samples_leaf"] + 1)}

    search = ReusableHoldoutSearch(TREE, draws, n_iter=5, rounds=2, refine=nearer, random_state=0).fit(X, Y)
    assert 2 <= sum(search.cv_results_["round"] == 2) <= 5
    assert len(search.result_.values) == 2


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
    """Every search is a round of the plan, nothing of it is exact, and one of them ends it for all."""
    plan = ReusableHoldout(1000, final=1.0)
    held = {"X_holdout": X[2000:].copy(), "y_holdout": Y[2000:]}
    searches = []
    for _ in range(2):
        search = clone(ReusableHoldoutSearch(TREE, DEPTHS, holdout=plan, random_state=0))
        searches.append(search.fit(X[:2000], Y[:2000], **held))
    assert (plan.asked, plan.ended) == (2, False)
    for search in searches:
        assert np.isnan(search.cv_results_["mean_test_score"]).all()
        assert np.isnan(search.best_score_)
        assert search.best_interval_ is None
        assert search.predict(X).shape == Y.shape
    level = 0.05 * math.exp(plan.log_prior)  # one winner alone has all of it: by a choice among one nothing is lost
    searches[1].finish()
    assert plan.ended
    assert not np.isnan(searches[1].cv_results_["mean_test_score"]).any()
    hits = round(1000 * searches[1].best_score_)
    assert searches[1].best_interval_ == pytest.approx(tuple(blaker(hits, 1000, math.log(level))), abs=1e-6)
    assert searches[1].loss_at_most_ == 0
    with pytest.raises(BudgetExhausted):
        searches[0].finish()
    with pytest.raises(BudgetExhausted):
        clone(searches[0]).fit(X[:2000], Y[:2000], **held)


def test_a_plan_with_reserves_ends_on_them() -> None:
    """Scores are those of the finalists on the reserved rows; nothing else is shown of rows of a later phase."""
    plan = ReusableHoldout(1000, final=1.0, reserve=[0.4, 0.3], seed=5)
    held, labels = X[2000:].copy(), Y[2000:]
    search = ReusableHoldoutSearch(TREE, DEPTHS, rounds=2, holdout=plan, random_state=0)
    search.fit(X[:2000], Y[:2000], X_holdout=held, y_holdout=labels).finish()
    sides = np.frombuffer(bytes.fromhex(plan.state()["reserve"]["sides"]), dtype=np.uint8)
    right = search.best_estimator_.predict(held) == labels
    assert search.best_score_ == pytest.approx(right[sides == 1].mean(), abs=1e-12)
    assert search.best_interval_[0] < search.best_score_ < search.best_interval_[1]
    known = ~np.isnan(search.cv_results_["mean_test_score"])
    assert known.sum() == len(search.result_.values) == 2
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1
    search.finish()  # the second phase, on rows that nothing has read
    assert search.best_score_ == pytest.approx(
        (search.best_estimator_.predict(held) == labels)[sides == 2].mean(), abs=1e-12
    )
    with pytest.raises(BudgetExhausted):
        search.finish()


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


def test_failed_fits_are_recorded_and_never_quote_the_holdout() -> None:
    with pytest.warns(FitFailedWarning, match="1 of 2 candidates failed"):
        search = ReusableHoldoutSearch(TREE, {"max_depth": [2, -5]}, random_state=0).fit(X, Y)
    assert search.cv_results_["refused"][1].startswith("fit failed")
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True]
    assert list(search.result_.values) == ["max_depth=2"]


class _Quoting(DecisionTreeClassifier):
    def predict(self, X: Any, check_input: bool = True) -> Any:
        raise RuntimeError(f"row {X[0]} is odd")


def test_errors_while_scoring_show_their_kind_only() -> None:
    with pytest.raises(ValueError, match=r"RuntimeError while scoring$") as caught:
        ReusableHoldoutSearch(_Quoting(), {"max_depth": [2]}, guess=lambda *_: 0.5).fit(X, Y)
    assert "odd" not in str(caught.value)


class _Odd(DecisionTreeClassifier):
    """Raises an error on rows of the holdout, quoting one."""

    def predict(self, X: Any, check_input: bool = True) -> Any:
        if len(X) and (X[:, 0] == ODD).any():
            raise RuntimeError(f"row {X[0]} is odd")
        return super().predict(X, check_input)


ODD = float(X[2500, 0])


def _far(model: Any, X: Any, y: Any) -> Any:
    return X[:, 0] - ODD


def _charged(refused: pytest.ExceptionInfo[ValuesRefused], holdout: ReusableHoldout) -> None:
    """One message of 30 bits and a hair, in words that quote no row, and nothing is chained to it."""
    assert "missing values" in str(refused.value)
    assert "20.8 nats" in str(refused.value)
    assert "odd" not in "".join(traceback.format_exception(refused.value))
    assert refused.value.__context__ is refused.value.__cause__ is None
    assert holdout.log_prior == pytest.approx(-30 * math.log(2), abs=1e-6)


@pytest.mark.parametrize("metric", ["accuracy", "f1", RowMetric("far", 0, 1, False, _far)])
def test_an_error_of_a_metric_on_guarded_rows_is_charged(metric: Any) -> None:
    """In this process, by `ask` and in another process; what goes wrong on the rows that are handed over is free."""
    model = _Odd(max_depth=2).fit(X[:2000], Y[:2000])
    for how in ("call", "ask", "away"):
        scorer = HoldoutScorer(ReusableHoldout(1000, questions=8), X[2000:], Y[2000:], metric=metric)
        called = pickle.loads(pickle.dumps(scorer)) if how == "away" else scorer
        with pytest.raises(ValuesRefused) as refused:
            called.ask(model, 0.5) if how == "ask" else called(model, X[:2000], Y[:2000])
        if how == "away":  # the error came over a line
            assert "20.8 nats" in str(refused.value)
            assert "odd" not in str(refused.value)
        else:
            _charged(refused, scorer.holdout)
        assert scorer.holdout.asked == 1
    scorer = HoldoutScorer(ReusableHoldout(1000, questions=8), X[2000:], Y[2000:])
    with pytest.raises(RuntimeError, match="odd"):
        scorer(model, X[2400:2600].copy(), Y[2400:2600])
    assert scorer.holdout.asked == 0


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_an_error_on_guarded_rows_ends_a_search_and_is_charged(metric: str) -> None:
    """Which candidate it was is not shown; the plan goes on."""
    grid = {"max_depth": [1, 2, 3]}
    for score in (math.nan, "raise"):
        plan = ReusableHoldout(1000)
        search = ReusableHoldoutSearch(_Odd(), grid, metric=metric, holdout=plan, guess="train", error_score=score)
        with pytest.raises(ValuesRefused) as refused:
            search.fit(X[:2000], Y[:2000], X_holdout=X[2000:].copy(), y_holdout=Y[2000:])
        _charged(refused, plan)
        assert "max_depth" not in str(refused.value)
        assert not plan.ended


@pytest.mark.parametrize("guess", ["train", "cross-validation", lambda model, X, y: 0.7])
def test_guesses_come_from_where_they_are_said_to(guess: Any) -> None:
    search = ReusableHoldoutSearch(TREE, {"max_depth": [3]}, rounds=2, guess=guess, random_state=0).fit(X, Y)
    (score,) = search.cv_results_["guess"]
    assert score == 0.7 if callable(guess) else 0.6 < score < 1


def test_a_search_of_one_round_needs_no_guesses() -> None:
    """So no rows are kept out of the fit for them."""

    def never(*_: Any) -> float:
        raise AssertionError

    search = ReusableHoldoutSearch(TREE, DEPTHS, guess=never, error_score="raise", random_state=0).fit(X, Y)
    assert search.best_estimator_.tree_.n_node_samples[0] == 2100
    assert np.isnan(search.cv_results_["guess"]).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"guess": "holdout"}, "guess must be one of"),
        ({"metric": "r2"}, "metric must be one of"),
        ({"holdout": ReusableHoldout(5, questions=1)}, "X_holdout must be given"),
        ({"holdout": 10}, "holdout must be a ReusableHoldout"),
        ({"holdout_size": 30.0}, r"holdout_size must be a number in \(0, 1\), got 30.0; to give a number of rows"),
        ({"holdout_size": 0}, "holdout_size must be a whole number, at least 1"),
        ({"holdout_size": 3000}, "holdout_size must be a whole number, at least 1 and at most 2999"),
        ({"holdout_size": "half"}, "holdout_size must be a number"),
        ({"validation_size": 1.0, "rounds": 2}, "validation_size must be a number"),
        ({"claims": "everything"}, "claims must be one of"),
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


@pytest.mark.parametrize("name", ["roc-auc", "f1", "precision", "recall"])
def test_a_search_by_a_statistic_ends_with_its_interval(name: str) -> None:
    search = ReusableHoldoutSearch(TREE, DEPTHS, metric=name, rounds=2, random_state=0).fit(X, Y)
    held, labels = held_out(search)
    assert search.best_score_ == pytest.approx(metric(name).score(search.best_estimator_, held, labels), abs=1e-12)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert search.best_interval_[0] < search.best_score_ < search.best_interval_[1]
    assert search.loss_at_most_ > 0


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


def test_scorer_is_one_budget_in_other_processes() -> None:
    """Workers compute the rows' values and ask this process: twelve scores are twelve questions, none of them twice."""
    scorer = HoldoutScorer(ReusableHoldout(1000, questions=16), X[2000:], Y[2000:])
    alone = HoldoutScorer(ReusableHoldout(1000, questions=16), X[2000:], Y[2000:])
    grid = {"max_depth": [1, 2, 4]}
    with joblib.parallel_config("loky"):
        together = GridSearchCV(TREE, grid, scoring=scorer, cv=4, n_jobs=2, refit=False).fit(X[:2000], Y[:2000])
    one_by_one = GridSearchCV(TREE, grid, scoring=alone, cv=4, refit=False).fit(X[:2000], Y[:2000])
    assert scorer.holdout.asked == alone.holdout.asked == 12
    assert len({answer.remaining["questions"] for answer in scorer.answers}) == 12
    scores = [one.cv_results_["mean_test_score"].tolist() for one in (together, one_by_one)]
    assert all(answer.passed for answer in scorer.answers)
    assert scores[0] == pytest.approx(scores[1], abs=1e-12)
    assert sorted(answer.value for answer in scorer.close()) == sorted(answer.value for answer in alone.close())


def test_a_copy_that_goes_wrong_leaves_the_others_their_budget() -> None:
    """Nonsense, an early end, evidence that does not fit: what is said quotes no row, and the next is answered."""
    scorer = HoldoutScorer(ReusableHoldout(1000, questions=4), X[2000:], Y[2000:])
    away = pickle.loads(pickle.dumps(scorer))
    for sent in (None, "nonsense", (1, 2, 3)):
        with Client(away._address, authkey=away._key) as line:
            line.send(sent)
            with pytest.raises(EOFError):
                line.recv()
    Client(away._address, authkey=away._key).close()
    with pytest.raises(AuthenticationError):
        Client(away._address, authkey=b"another")
    for evidence in (np.full(1000, 7.25), np.zeros(3), object):
        with Client(away._address, authkey=away._key) as line:
            line.send((evidence, 0.5))
            told = line.recv()
            assert isinstance(told, HoldfastError)
            assert "7.25" not in str(told)
    assert scorer.holdout.asked == 1  # values out of range are charged
    away(TREE.fit(X[:2000], Y[:2000]), X[:2000], Y[:2000])
    assert scorer.holdout.asked == 2


def test_scorer_past_its_budget_says_so_in_other_processes() -> None:
    scorer = HoldoutScorer(ReusableHoldout(1000, questions=4), X[2000:], Y[2000:])
    search = GridSearchCV(TREE, {"max_depth": [1, 2]}, scoring=scorer, cv=4, refit=False, n_jobs=2)
    with pytest.warns(UserWarning, match=r"Scoring failed|non-finite"), joblib.parallel_config("loky"):
        search.fit(X[:2000], Y[:2000])
    assert scorer.holdout.asked == 4


def test_a_scorer_that_was_stored_has_no_budget() -> None:
    """What travels has the rows and an address. Without the process that it came from it answers nothing."""
    scorer = HoldoutScorer(ReusableHoldout(1000, questions=4), X[2000:], Y[2000:])
    away = pickle.loads(pickle.dumps(scorer))
    assert not hasattr(away, "holdout")
    model = TREE.fit(X[:2000], Y[:2000])
    assert away(model, X[:2000], Y[:2000]) == scorer.answers[0].value
    assert scorer.holdout.asked == 1
    with pytest.raises(InvalidParameter, match="must not share rows"):
        away(model, away._X[500:], Y[2500:])
    away._address = "/nowhere"
    with pytest.raises(LedgerUnavailable, match="cannot be stored"):
        away(model, X[:2000], Y[:2000])
    assert scorer.holdout.asked == 1


def test_scores_are_exact_after_the_end() -> None:
    """Checks show a guess or a cell while they run; the end shows the value and the interval of its own share."""
    scorer = HoldoutScorer(ReusableHoldout(1000, questions=8), X[2000:].copy(), Y[2000:])
    models = [clone(TREE).set_params(max_depth=depth).fit(X[:1000], Y[:1000]) for depth in (1, 2, 4, 8)]
    for model in models:
        scorer(model, X[1000:2000], Y[1000:2000])
    scorer.ask(models[0], 0.05)  # fails
    before = scorer.answers
    exact = scorer.close()
    log_prior = 0.0
    for number, (was, now) in enumerate(zip(before, exact, strict=True)):
        model = models[number % 4]
        hits = int(np.sum(model.predict(X[2000:]) == Y[2000:]))
        assert now.value == pytest.approx(hits / 1000, abs=1e-12)
        share = 0.05 / 2 / 8 * math.exp(log_prior)  # half of beta for exploring, evenly over eight questions
        assert now.interval == pytest.approx(count_limits(hits, 1000, share / 2, share / 2), abs=1e-5)
        assert was.interval is not None
        assert was.interval[0] <= now.interval[0] <= now.value <= now.interval[1] <= was.interval[1]
        assert now.half_width < was.half_width
        log_prior += math.log((number + 7) / (number + 8))  # a pass, by the Beta mixture of the plan with a = 1, b = 7
    assert [answer.passed for answer in before] == [True] * 4 + [False]
    with pytest.raises(BudgetExhausted):
        scorer(models[0], X[1000:2000], Y[1000:2000])
    with pytest.raises(BudgetExhausted):
        scorer.close()


def test_a_scorer_ends_a_plan_that_others_have_asked_too() -> None:
    """It gives its own scores, in the order in which they were asked for."""
    plan = ReusableHoldout(1000, questions=8)
    first, second = (HoldoutScorer(plan, X[2000:].copy(), Y[2000:]) for _ in range(2))
    models = [clone(TREE).set_params(max_depth=depth).fit(X[:1000], Y[:1000]) for depth in (1, 4)]
    for scorer, model in ((first, models[0]), (second, models[1]), (first, models[1])):
        scorer(model, X[1000:2000], Y[1000:2000])
    exact = first.close()
    assert [answer.value for answer in exact] == [float(np.mean(one.predict(X[2000:]) == Y[2000:])) for one in models]


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
    assert again.best_interval_ == search.best_interval_
    assert again.cv_results_["mean_test_score"].tolist() == search.cv_results_["mean_test_score"].tolist()


def test_a_search_that_goes_on_pickles_nothing_of_the_holdout() -> None:
    """Before the end what candidates showed on the held-out rows is secret, and a pickle is anyone's to read."""
    plan = ReusableHoldout(1000, final=1.0)
    search = ReusableHoldoutSearch(TREE, DEPTHS, holdout=plan, random_state=0)
    search.fit(X[:2000], Y[:2000], X_holdout=X[2000:].copy(), y_holdout=Y[2000:])
    again = pickle.loads(pickle.dumps(search))
    assert not {"holdout_", "_lines", "_winners"} & set(vars(again))
    assert not isinstance(again.holdout, ReusableHoldout)
    assert "evidence" not in repr(search._lines)
    assert (again.predict(X) == search.predict(X)).all()
    with pytest.raises(NotFittedError):
        again.finish()
    # A copy with a plan of its own would spend one confidence twice.
    for one in (again, clone(again)):
        with pytest.raises(InvalidParameter, match="holdout must be given again"):
            one.fit(X[:2000], Y[:2000], X_holdout=X[2000:].copy(), y_holdout=Y[2000:])
    assert not plan.ended


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
    assert len(search.result_.values) == 2


@pytest.mark.parametrize("guess", ["validation", "train", "cross-validation"])
def test_no_guess_comes_from_the_holdout(guess: str) -> None:
    mark = RowMetric("mark", 0.0, 1.0, True, lambda model, X, y: X[:, 0])
    unguarded, guarded = X[:2000].copy(), X[2000:].copy()
    unguarded[:, 0], guarded[:, 0] = 0.25, 0.75
    search = ReusableHoldoutSearch(TREE, {"max_depth": [2]}, metric=mark, guess=guess, rounds=2, random_state=0)
    search.fit(unguarded, Y[:2000], X_holdout=guarded, y_holdout=Y[2000:])
    assert search.cv_results_["guess"].tolist() == [0.25]
    assert search.best_interval_[0] <= 0.75 <= search.best_interval_[1]


def test_names_of_scikit_learn_are_understood_or_the_nearest_is_named() -> None:
    from holdfast.integrations.sklearn.metric import metric

    assert metric("accuracy_score") is metric("accuracy")
    assert metric("roc_auc") is metric("roc-auc")
    assert metric("neg_mean_squared_error", bound=4).name == "squared-error"
    with pytest.raises(InvalidParameter, match="got 'f1_macro'; the nearest to it is 'f1'"):
        metric("f1_macro")
