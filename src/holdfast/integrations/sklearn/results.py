"""The results of a search as scikit-learn lays them out, with intervals and refusals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.integrations.sklearn.metric import Metric
from holdfast.mechanisms.answer import Answer


@dataclass(frozen=True)
class Scored:
    """One candidate's public line in the results."""

    params: Mapping[str, Any]
    guess: float
    answer: Answer | None
    refused: str
    fit_time: float
    score_time: float


def lower_end(chosen: Metric, answer: Answer | None) -> float | None:
    """The certified lower end of the score, greater is better; None where nothing was certified."""
    if answer is None or answer.interval is None:
        return None
    return min(chosen.signed(answer.interval[0]), chosen.signed(answer.interval[1]))


def _ends(chosen: Metric, answer: Answer | None) -> tuple[float, float]:
    if answer is None or answer.interval is None:
        return math.nan, math.nan
    low, high = sorted(chosen.signed(end) for end in answer.interval)
    return low, high


def results(chosen: Metric, scored: Sequence[Scored], best: int, failed_score: float) -> dict[str, Any]:
    """The results as scikit-learn's searches lay them out."""
    ends = [_ends(chosen, line.answer) for line in scored]
    low, high = np.array([end[0] for end in ends]), np.array([end[1] for end in ends])
    values = [line.answer.value if line.answer is not None else None for line in scored]
    score = np.array([failed_score if value is None else chosen.signed(value) for value in values])
    results: dict[str, Any] = {
        "mean_fit_time": np.array([line.fit_time for line in scored]),
        "mean_score_time": np.array([line.score_time for line in scored]),
    }
    for name in sorted({name for line in scored for name in line.params}):
        column: npt.NDArray[Any] = np.empty(len(scored), dtype=object)
        column[:] = [line.params.get(name) for line in scored]
        missing = [name not in line.params for line in scored]
        results[f"param_{name}"] = np.ma.MaskedArray(column, mask=missing)
    certified = ~np.isnan(low)
    return results | {
        "params": [dict(line.params) for line in scored],
        "guess": np.array([chosen.signed(line.guess) for line in scored]),
        "mean_test_score": score,
        "holdout_low": low,
        "holdout_high": high,
        "holdout_passed": np.array([bool(line.answer and line.answer.passed) for line in scored]),
        "refused": np.array([line.refused for line in scored], dtype=object),
        "tied_with_best": certified & (np.nan_to_num(high, nan=-math.inf) >= low[best]),
        "rank_test_score": _ranks(np.where(certified, low, -math.inf)),
    }


def _ranks(lows: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
    """1 for the greatest certified lower end; ties share the smaller rank; what was not certified comes last."""
    order = np.sort(-lows)
    return (np.searchsorted(order, -lows, side="left") + 1).astype(np.int32)


__all__ = ["Scored", "lower_end", "results"]
