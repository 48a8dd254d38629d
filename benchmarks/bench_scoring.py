"""Scoring a submission of a million rows against joining it to the labels with pandas."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.timing import Row, at_most, best_of
from holdfast.data import table
from holdfast.guard import Board, Policy, score
from holdfast.guard.questions.score import Scored

ROWS = 1_000_000
SLOWER = 1.5
"""A submission that is checked, put in order, hashed and scored may take this many times pandas' join and mean."""


def rows() -> list[Row]:
    """Accuracy by whole numbers, and log-loss by whole numbers; NumPy behind the guard, nothing on a ledger."""
    rng = np.random.default_rng(0)
    keys, chance = rng.permutation(ROWS), rng.random(ROWS)
    labels = rng.random(ROWS) < chance
    sample = table({"id": np.arange(ROWS), "y": labels}, engine="numpy")
    hidden = pd.DataFrame({"id": np.arange(ROWS), "y": labels})
    measured = []
    for metric, values in (("accuracy", chance > 0.5), ("brier", chance)):
        board = Board("b", key="id", label="y", metric=metric)  # type: ignore[arg-type]
        ours = best_of(partial(_ours, sample, board, {"keys": keys, "predictions": values}), repeats=3)
        theirs = best_of(partial(_theirs, hidden, keys, values, metric), repeats=3)
        measured.append(at_most(f"{metric} of a million predictions by key", SLOWER, ours, "pandas merge", theirs))
    return measured


def _ours(sample: Any, board: Board, given: dict[str, Any]) -> object:
    bound = score("b", given, 0.5).bind(sample.schema, sample.n, Policy(boards=[board]))
    assert isinstance(bound, Scored)
    return bound.prepare(bound.gather(sample), sample.n)


def _theirs(hidden: pd.DataFrame, keys: Any, values: Any, metric: str) -> float:
    joined = hidden.merge(pd.DataFrame({"id": keys, "prediction": values}), on="id", how="left", validate="1:1")
    if metric == "accuracy":
        return float((joined["y"] == joined["prediction"]).mean())
    return float(((joined["y"] - joined["prediction"]) ** 2).mean())


__all__ = ["rows"]
