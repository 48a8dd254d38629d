"""A grid search that scores through the holdout against scikit-learn's own on the same rows, models and one split.

Both fit every candidate once on the same number of rows. The plain search then predicts its test rows; ours predicts
the rows of the guess and those of the holdout, and asks. The plain search does not refit, as ours does not either.
"""

from __future__ import annotations

from typing import Any

from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit, train_test_split
from sklearn.tree import DecisionTreeClassifier

from benchmarks.timing import Row, at_most, best_of
from holdfast.integrations.sklearn import ReusableHoldoutSearch

ROWS = 20_000


def rows() -> list[Row]:
    return [
        _row("logistic regression", LogisticRegression(max_iter=200), {"C": [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30]}),
        _row("decision tree", DecisionTreeClassifier(random_state=0), {"max_depth": [2, 4, 6, 8, 10, 12, 14, 16]}),
    ]


def _row(name: str, estimator: Any, grid: dict[str, list[float]]) -> Row:
    X, y = make_classification(ROWS, n_features=30, n_informative=10, random_state=0)
    train, held, y_train, y_held = train_test_split(X, y, test_size=0.3, random_state=0)
    split = ShuffleSplit(1, test_size=0.25, random_state=0)

    def plain() -> None:
        GridSearchCV(estimator, grid, cv=split, scoring="accuracy", refit=False).fit(train, y_train)

    def guarded() -> None:
        search = ReusableHoldoutSearch(estimator, grid, random_state=0)
        search.fit(train, y_train, X_holdout=held, y_holdout=y_held)

    ours, theirs = best_of(guarded), best_of(plain)
    return at_most(f"guarded grid search, {name}", 1.2, ours, "GridSearchCV, same fits", theirs)
