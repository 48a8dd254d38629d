"""The data of the workflows: sixty candidates on Adult and on Census-Income, matrices of models, simulated contests."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.core.extras import require
from holdfast_papers.real_data import MMLU, Right, data_file
from holdfast_papers.reuse.adult_data import load_adult

CENSUS = "census-income-kdd"

LEARNING_RATES = (0.02, 0.05, 0.1, 0.2, 0.4)
LEAVES = (7, 15, 31, 63)
TREES = (40, 80, 160)
GRID = tuple(
    {"learning_rate": rate, "max_leaf_nodes": leaves, "max_iter": trees}
    for rate, leaves, trees in product(LEARNING_RATES, LEAVES, TREES)
)
"""Sixty candidates as users tune gradient boosting: learning rate, leaves a tree, number of trees."""
OTHER_GRID = tuple(
    {"max_depth": depth, "l2_regularization": l2, "max_iter": trees}
    for depth, l2, trees in product((2, 3, 4, 6, 8), (0.0, 1.0, 10.0, 100.0), (25, 50, 100))
)
"""Sixty others: depth, penalty, number of trees."""
FITTED = 15_000
"""Rows that candidates are fitted on."""
JUDGED = 33_842
"""Rows that they are judged on: all others of Adult, and as many of Census-Income."""


def adult_candidates(seed: int = 0, fitted: int = FITTED, judged: int = JUDGED) -> Right:
    """Which of the sixty candidates is right on which row of Adult that none was fitted on. Needs scikit-learn."""
    adult = load_adult()
    return _judged(adult.columns, adult.rich, GRID, seed, fitted, judged)


def census_candidates(seed: int = 0, fitted: int = FITTED, judged: int = JUDGED, *, all_year: bool = False) -> Right:
    """The same for sixty others on Census-Income, or on those of it who worked all year. Needs scikit-learn, polars."""
    columns, rich = _census(all_year)
    return _judged(columns, rich, OTHER_GRID, seed, fitted, judged)


@cache
def _census(all_year: bool) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """People as numbers, words numbered as they come, and whose income is above 50,000.

    Of all people 19 in 20 are below it, children among them, which a model that says so is right about.
    """
    require("polars")
    import polars as pl

    frame = pl.read_parquet(data_file(CENSUS, "census_income_train.parquet")).drop("instance_weight")
    if all_year:
        frame = frame.filter(pl.col("weeks_worked_in_year") == 52)
    columns = [
        column.cast(pl.Categorical).to_physical() if column.dtype == pl.String else column
        for column in frame.drop("income")
    ]
    numbers = np.column_stack([column.to_numpy().astype(np.float64) for column in columns])
    return numbers, frame["income"].str.starts_with("50000").to_numpy()


def _judged(
    features: NDArray[np.float64],
    label: NDArray[np.bool_],
    grid: Sequence[dict[str, Any]],
    seed: int,
    fitted: int,
    judged: int,
) -> Right:
    """Fit a grid on part of the rows and judge it on others; candidates that differ in trees alone share one fit."""
    require("sklearn")
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    order = np.random.default_rng(seed).permutation(len(label))
    to_fit, to_judge = order[:fitted], order[FITTED : FITTED + judged]
    columns: dict[int, NDArray[np.bool_]] = {}
    shared: dict[tuple[Any, ...], list[int]] = {}
    for place, settings in enumerate(grid):
        shared.setdefault(tuple(value for name, value in settings.items() if name != "max_iter"), []).append(place)
    for places in shared.values():
        wanted = {grid[place]["max_iter"]: place for place in places}
        model = HistGradientBoostingClassifier(
            **grid[places[0]] | {"max_iter": max(wanted)}, early_stopping=False, random_state=0
        )
        with threadpool_limits(1, user_api="openmp"):  # threads that wait for each other cost more than they bring
            model.fit(features[to_fit], label[to_fit])
            for trees, predicted in enumerate(model.staged_predict(features[to_judge]), 1):
                if trees in wanted:
                    columns[wanted[trees]] = predicted == label[to_judge]
    return np.array([columns[place] for place in range(len(grid))])


def mmlu_right() -> Right:
    """Which of 29 models is right on which question of MMLU-Pro; an unanswered question counts as wrong."""
    with data_file(MMLU, "mmlu_pro_correctness.csv").open(newline="", encoding="utf-8") as file:
        _, *lines = csv.reader(file)
    return np.array([[cell == "1" for cell in line[3:]] for line in lines]).T.copy()


# --- Contests ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """The size of a contest and how good its teams are at first.

    A few stragglers are spread evenly from `least` to `middle`, all others from there to `most`. `spread` says how much
    rows differ in difficulty, so how much errors of teams go together.
    """

    teams: int
    rows: int
    submissions: int
    stragglers: int
    least: float
    middle: float
    most: float
    spread: float

    @property
    def accuracies(self) -> NDArray[np.float64]:
        """How good each team is at first."""
        low = np.linspace(self.least, self.middle, self.stragglers, endpoint=False)
        return np.concatenate([low, np.linspace(self.middle, self.most, self.teams - self.stragglers)])


CONTEST = Shape(teams=43, rows=809, submissions=152, stragglers=3, least=0.35, middle=0.5, most=0.64, spread=1.0)
"""As large as the contest on two wells whose scores are known. Stragglers and spread are chosen, on seeds that no
experiment uses, so that "kept apart and paired Bonferroni" separates about as many pairs as it does there: 119 with
half of the rows kept apart, and 148 with six tenths. Teams spread evenly from least to most, of which it separates
337 and 378, have a final with 1.16 and 1.12 times as many pairs, and not 1.2: `workflows-validation` has them too."""
EVEN_CONTEST = Shape(teams=43, rows=809, submissions=152, stragglers=0, least=0.35, middle=0.35, most=0.64, spread=1.6)
"""The same with teams spread evenly, and rows that differ more in difficulty: many pairs are far apart."""


@dataclass(frozen=True)
class Contest:
    """One simulated contest: which team's chosen submission is right on which row, and how good it truly is."""

    right: Right
    true: NDArray[np.float64]
    improvements: int


def contest(seed: int, explored: NDArray[np.intp], shape: Shape = CONTEST) -> Contest:
    """Teams that climb on the plain scores of the explored rows; all rows of what they chose."""
    best: dict[int, float] = {}

    def is_better(team: int, right: NDArray[np.bool_], _: float) -> bool:
        score = float(right[explored].mean())
        better = team not in best or score > best[team]
        if better:
            best[team] = score
        return better

    return climb(seed, is_better, shape)


def climb(seed: int, is_better: Callable[[int, NDArray[np.bool_], float], bool], shape: Shape = CONTEST) -> Contest:
    """Teams that submit, and keep what they are told is better than what they had.

    Rows differ in difficulty and teams in skill, so that errors go together as in a real contest. A team submits at
    least twice. Each further submission changes three tenths of the predictions, sometimes for the better.
    `is_better` takes the team, on which rows its submission is right, and how good it truly is; a team's first
    submission is kept whatever is said of it.
    """
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(0.0, shape.spread, shape.rows)
    skill = _skills(shape.accuracies, difficulty)
    tries = rng.multinomial(shape.submissions - 2 * shape.teams, np.full(shape.teams, 1 / shape.teams)) + 2
    kept, true, better = [], [], 0
    for team in range(shape.teams):
        chance = 1 / (1 + np.exp(difficulty - skill[team]))
        right = rng.random(shape.rows) < chance
        is_better(team, right, float(chance.mean()))
        for _ in range(int(tries[team]) - 1):
            changed_chance = np.clip(chance + rng.normal(0.004, 0.01), 0.0, 1.0)
            changed = rng.random(shape.rows) < CHANGED
            attempt = np.where(changed, rng.random(shape.rows) < changed_chance, right)
            attempt_chance = (1 - CHANGED) * chance + CHANGED * changed_chance
            if is_better(team, attempt, float(attempt_chance.mean())):
                right, chance, better = attempt, attempt_chance, better + 1
        kept.append(right)
        true.append(float(chance.mean()))
    return Contest(np.array(kept), np.array(true), better)


CHANGED = 0.3
"""The part of the predictions that a further submission changes."""


def _skills(accuracies: NDArray[np.float64], difficulty: NDArray[np.float64]) -> NDArray[np.float64]:
    """The skill at which a team is right on the wanted part of the rows, by halving."""
    low, high = np.full(len(accuracies), -20.0), np.full(len(accuracies), 20.0)
    for _ in range(60):
        middle = (low + high) / 2
        mean = (1 / (1 + np.exp(difficulty[None, :] - middle[:, None]))).mean(axis=1)
        low, high = np.where(mean < accuracies, middle, low), np.where(mean < accuracies, high, middle)
    return np.asarray((low + high) / 2)
