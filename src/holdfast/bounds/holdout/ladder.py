"""The Ladder leaderboard: scores move only on clear improvements, so a run's transcript is short."""

from __future__ import annotations

import math
from typing import Literal

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.holdout.counting import log_choose
from holdfast.bounds.holdout.ranges import count
from holdfast.bounds.registry import theorem


@theorem(
    "holdout.ladder-tail",
    statement="Probability that the Ladder's best score is off by more than error + step after t submissions.",
    source="Blum and Hardt 2015 (method paper); best: transcripts counted exactly",
    conditions="holdout rows i.i.d.; losses in [0,1]; step fixed in advance; method paper: constants not "
    "checked against the paper",
    unit="probability",
    provenance="mixed",
)
def ladder_tail(
    n: int, error: float, step: float, submissions: int, method: Literal["best", "paper"] = "best"
) -> float:
    """Bound `P[|min_{i<=t} R_D(f_i) - R_t| > error + step]` for the Ladder with step size `step`.

    The Ladder keeps `R`; a submission with holdout loss below `R - step` sets `R` to that loss rounded to the nearest
    multiple of `step`, any other repeats `R`.

    *best* (derived). `R` only falls, by at least one of `G = floor(1/step + 1/2) + 1` grid values a time, so
    `C(i + G, G)` transcripts precede submission `i + 1` and, given the transcript, the submission is fixed. Summed
    over submissions: `2 C(t + G, G + 1) exp(-2 error^2 n)`. When all holdout losses are within `error` of the truth,
    the best true loss is within `error + step` of `R`.

    *paper*: `exp(-2 error^2 n + (1/step + 2) ln(4t/step) + 1)`, its constants not checked against the
    paper; it is larger than *best* in every case tried.

    Parameters
    ----------
    n : int
        Rows in the holdout.
    error : float
        Deviation allowed between holdout and true loss.
    step : float
        Step size of the Ladder.
    submissions : int
        Number of submissions.
    method : str
        "best" or "paper".

    Examples
    --------
    >>> ladder_tail(50_000, 0.1, 0.05, 1000) < 1e-300
    True
    >>> ladder_tail(50_000, 0.04, 0.05, 1000) < ladder_tail(50_000, 0.04, 0.05, 1000, method="paper")
    True
    """
    n, t = count("n", n), count("submissions", submissions)
    error, step = check.real("error", error, above=0, at_most=1), check.real("step", step, at_least=1e-9, at_most=1)
    if check.choice("method", method, ("best", "paper")) == "paper":
        log = (1 / step + 2) * math.log(4 * t / step) + 1
    else:
        grid = math.floor(1 / step + 0.5) + 1
        log = math.log(2) + log_choose(t + grid, grid + 1)
    return min(1.0, up(math.exp(min(0.0, log - 2 * error * error * n)), 16))


__all__ = ["ladder_tail"]
