"""A guarded check against the plain score: scikit-learn's accuracy at 10,000 rows, the bare mean at a million.

The final of a grid, and all pairs of a contest, are held to a second.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import accuracy_score

from benchmarks.timing import LIMIT, Row, at_least, at_most, best_of, in_turn
from holdfast.holdout import ReusableHoldout

BEFORE = {"a check that passes": 4.4, "a check that fails": 10.8, "a check that passes, Hoeffding": 1.65}
"""How many times as long as a plain count and SciPy's exact interval each took before there was an error budget
(dc6998e), measured in turn with this version on one machine, which took 4.0, 8.9 and 1.5 times as long."""
MILLION = 4.0
"""How many times the plain mean of a million values a guarded check may take."""
SECOND = 1.0
"""How long a final may take."""


def rows() -> list[Row]:
    """Checks that pass, rows and all; both sides in one run. Then finals."""
    return [*_accuracy(10_000), *_checks(10_000), *_mean(1_000_000), *_finals()]


def _accuracy(n: int) -> list[Row]:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, n)
    predicted = np.where(rng.random(n) < 0.9, truth, 1 - truth)
    holdout = ReusableHoldout(n, questions=10**9)
    ours, mean, theirs = in_turn(
        lambda: holdout.check(truth == predicted, guess=0.9),
        lambda: holdout.check(truth == predicted, guess=0.9, family="hoeffding"),
        lambda: accuracy_score(truth, predicted),
        number=50,
    )
    if holdout.failed:
        raise RuntimeError("a benchmark check failed where it should pass")
    peer = "scikit-learn's accuracy_score"
    return [
        at_least(f"guarded accuracy, {n:,} rows, Clopper-Pearson", 1.0, ours, peer, theirs),
        at_least(f"guarded accuracy, {n:,} rows, Hoeffding", 1.0, mean, peer, theirs),
    ]


def _checks(n: int) -> list[Row]:
    """Checks against a plain count and SciPy's exact interval: no slower than before there was an error budget."""
    from scipy.special import betaincinv

    right = np.random.default_rng(4).random(n) < 0.9
    passing = ReusableHoldout(n, questions=10**9)
    started = [ReusableHoldout(n, questions=10**9) for _ in range(40 * 50)]

    def plain() -> object:
        ones = int(np.count_nonzero(right))
        return right.mean(), betaincinv(ones, n - ones + 1, 1e-9), betaincinv(ones + 1, n - ones, 1 - 1e-9)

    passes, fails, hoeffding, theirs = in_turn(
        lambda: passing.check(right, guess=0.9),
        lambda: started.pop().check(right, guess=0.5),
        lambda: passing.check(right, guess=0.9, family="hoeffding"),
        plain,
        rounds=40,
        number=50,
    )
    return [
        at_most(
            f"{name}, {n:,} rows (before the error budget {most:g} times as long)",
            most,
            ours,
            "a count and SciPy's exact interval",
            theirs,
        )
        for (name, most), ours in zip(BEFORE.items(), (passes, fails, hoeffding), strict=True)
    ]


def _mean(n: int) -> list[Row]:
    values = np.random.default_rng(2).random(n)
    holdout = ReusableHoldout(n, questions=10**9)
    ours, theirs = in_turn(lambda: holdout.check(values, guess=0.5), values.mean, rounds=15, number=5)
    if holdout.failed:
        raise RuntimeError("a benchmark check failed where it should pass")
    return [at_most(f"guarded mean, {n:,} rows", MILLION, ours, "numpy's mean of the same array", theirs)]


def _finals() -> list[Row]:
    rng = np.random.default_rng(3)
    grid = {f"candidate {k}": rng.random(10_000) < 0.85 + 0.0005 * k for k in range(60)}
    models = {f"model {k}": rng.random(12_032) < 0.5 + 0.01 * k for k in range(29)}
    found = []
    for name, n, columns, claims in (
        ("final of 60 columns of 10,000 rows, winner and loss", 10_000, grid, "winner"),
        ("all pairs and ranks of 29 models on 12,032 rows", 12_032, models, "ranks"),
    ):
        seconds = best_of(lambda n=n, columns=columns, claims=claims: ReusableHoldout(n).final(columns, claims), 3)  # type: ignore[misc]
        found.append(at_most(name, 1.0, seconds, LIMIT, SECOND))
    return found
