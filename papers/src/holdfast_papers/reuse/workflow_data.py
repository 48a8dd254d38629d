"""The data of the workflows: sixty candidates on Adult, 29 models on MMLU-Pro, and a simulated contest."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from holdfast_papers.real_data import data_file, load_mmlu

Right = NDArray[np.bool_]
ADULT = "adult"

LEARNING_RATES = (0.02, 0.05, 0.1, 0.2, 0.4)
LEAVES = (7, 15, 31, 63)
TREES = (40, 80, 160)
GRID = tuple(product(LEARNING_RATES, LEAVES, TREES))
"""Sixty candidates as users tune gradient boosting: learning rate, leaves a tree, number of trees."""
TRAINED = 15_000
"""Rows of Adult that the candidates are fitted on."""
_NUMBERS = (0, 2, 4, 10, 11, 12)


@dataclass(frozen=True)
class Candidates:
    """Which candidate is right on which row that none was fitted on: one line a candidate."""

    names: tuple[str, ...]
    right: Right


def adult_candidates(seed: int = 0, grid: tuple[tuple[float, int, int], ...] = GRID) -> Candidates:
    """Fit the grid on part of Adult, and judge it on the rest. Needs scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    features, income = _adult()
    order = np.random.default_rng(seed).permutation(len(income))
    fitted, rest = order[:TRAINED], order[TRAINED:]
    names, columns = [], []
    for rate, leaves in sorted({(rate, leaves) for rate, leaves, _ in grid}):
        model = HistGradientBoostingClassifier(
            learning_rate=rate, max_leaf_nodes=leaves, max_iter=max(TREES), early_stopping=False, random_state=0
        ).fit(features[fitted], income[fitted])
        wanted = {trees for r, k, trees in grid if (r, k) == (rate, leaves)}
        for trees, predicted in enumerate(model.staged_predict(features[rest]), 1):
            if trees in wanted:
                names.append(f"rate={rate} leaves={leaves} trees={trees}")
                columns.append(predicted == income[rest])
    return Candidates(tuple(names), np.array(columns))


def _adult() -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    lines: list[list[str]] = []
    for name in ("adult.data", "adult.test"):
        with data_file(ADULT, name).open(encoding="utf-8") as file:
            lines += [[cell.strip() for cell in line] for line in csv.reader(file) if len(line) == 15]
    table = np.array(lines)
    columns = []
    for place in range(14):
        if place in _NUMBERS:
            columns.append(table[:, place].astype(np.float64))
        else:
            columns.append(np.unique(table[:, place], return_inverse=True)[1].astype(np.float64))
    return np.column_stack(columns), np.char.startswith(table[:, 14], ">50K")


def mmlu_right() -> Right:
    """Which of 29 models is right on which question of MMLU-Pro; an unanswered question counts as wrong."""
    import csv as reader

    load_mmlu()  # raises where the data are absent
    with data_file("mmlu-pro-correctness", "mmlu_pro_correctness.csv").open(newline="", encoding="utf-8") as file:
        _, *lines = reader.reader(file)
    return np.array([[cell == "1" for cell in line[3:]] for line in lines]).T.copy()


TEAMS, ROWS, SUBMISSIONS = 43, 809, 152
LEAST, MOST = 0.35, 0.64


@dataclass(frozen=True)
class Contest:
    """One simulated contest: which team's last chosen submission is right on which row, and how good it truly is."""

    right: Right
    true: NDArray[np.float64]
    improvements: int


def contest(seed: int, explored: NDArray[np.intp], rows: int = ROWS) -> Contest:
    """Forty-three teams that climb on the plain scores of the explored rows; all rows of what they chose.

    Rows differ in difficulty and teams in skill, so that errors go together as in a real contest. A team submits two to
    five times. Each further submission changes part of the predictions, sometimes for the better; the team keeps what
    scored best on the explored rows.
    """
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(0.0, 1.6, rows)
    skill = _skills(np.linspace(LEAST, MOST, TEAMS), difficulty)
    tries = rng.multinomial(SUBMISSIONS - 2 * TEAMS, np.full(TEAMS, 1 / TEAMS)) + 2
    kept, true, better = [], [], 0
    for team in range(TEAMS):
        chance = 1 / (1 + np.exp(difficulty - skill[team]))
        right = rng.random(rows) < chance
        score = right[explored].mean()
        for _ in range(int(tries[team]) - 1):
            chance_now = np.clip(chance + rng.normal(0.004, 0.01), 0.0, 1.0)
            changed = rng.random(rows) < 0.3
            attempt = np.where(changed, rng.random(rows) < chance_now, right)
            if attempt[explored].mean() > score:
                right, score, chance, better = attempt, attempt[explored].mean(), chance_now, better + 1
        kept.append(right)
        true.append(float(chance.mean()))
    return Contest(np.array(kept), np.array(true), better)


def _skills(accuracies: NDArray[np.float64], difficulty: NDArray[np.float64]) -> NDArray[np.float64]:
    """The skill at which a team is right on the wanted part of the rows, by halving."""
    low, high = np.full(len(accuracies), -20.0), np.full(len(accuracies), 20.0)
    for _ in range(60):
        middle = (low + high) / 2
        mean = (1 / (1 + np.exp(difficulty[None, :] - middle[:, None]))).mean(axis=1)
        low, high = np.where(mean < accuracies, middle, low), np.where(mean < accuracies, high, middle)
    return (low + high) / 2
