"""The Ladder: a leaderboard that shows a score only where it improves by a step, so that its transcripts are few."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from holdfast.bounds.numerics.binomial import log_choose
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.parameters import Domain, FailureProbability, Rows, Submissions
from holdfast.bounds.registry import theorem

_LADDER_CELLS = 10**6


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
    n: Rows,
    error: Annotated[
        float, Domain("Deviation allowed between holdout and true loss.", above=0, at_most=1, typical=0.1)
    ],
    step: Annotated[float, Domain("Step size of the Ladder.", at_least=1e-9, at_most=1, typical=0.05)],
    submissions: Submissions,
    method: Literal["best", "paper"] = "best",
) -> float:
    """Bound the probability that the Ladder's score is further than `error + step` from the best true loss so far.

    The Ladder keeps a score `R`. If the holdout loss of a submission is below `R - step`, the Ladder sets `R` to this
    loss, rounded to the nearest multiple of `step`. Otherwise it shows the old `R`. With `G = floor(1/step + 1/2) + 1`
    and `t` submissions the method selects the bound:

    - *best*: `2 C(t + G, G + 1) exp(-2 error^2 n)`.
    - *paper*: `exp(-2 error^2 n + (1/step + 2) ln(4t/step) + 1)`. It was larger than *best* in every case that we
      tried. Its constants were not checked against the paper.

    Notes
    -----
    *best* is derived. `R` only falls, by at least one of `G` grid values a time, so `C(i + G, G)` transcripts
    precede submission `i + 1` and, given the transcript, the submission is fixed. The bound is the sum over
    submissions. When all holdout losses are within `error` of the truth, the best true loss is within `error + step`
    of `R`.

    Examples
    --------
    >>> ladder_tail(50_000, 0.1, 0.05, 1000) < 1e-300
    True
    >>> ladder_tail(50_000, 0.04, 0.05, 1000) < ladder_tail(50_000, 0.04, 0.05, 1000, method="paper")
    True
    """
    t = submissions
    if method == "paper":
        log = (1 / step + 2) * math.log(4 * t / step) + 1
    else:
        grid = math.floor(1 / step + 0.5) + 1
        log = math.log(2) + log_choose(t + grid, grid + 1)
    return min(1.0, up(math.exp(min(0.0, log - 2 * error * error * n)), 16))


@dataclass(frozen=True)
class LadderWidth:
    """How near the Ladder's score is to the best true loss, and the step that makes it so.

    Examples
    --------
    >>> round(ladder_width(10_000, 0.05, 1000).step, 6)
    0.031746
    """

    value: float
    step: float
    error: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {"value": self.value, "step": self.step, "error": self.error}


@theorem(
    "holdout.ladder-width",
    statement="How far the Ladder's score is from the best true loss so far, at the best step size.",
    source="Blum and Hardt 2015 (algorithm); transcripts counted exactly, step chosen before the data",
    conditions="holdout rows i.i.d.; losses in [0,1]; number of submissions and step fixed in advance",
    unit="half-width",
    provenance="derived",
)
def ladder_width(n: Rows, beta: FailureProbability, submissions: Submissions) -> LadderWidth:
    """Return how far the Ladder's score may be from the best true loss so far, with the best step size.

    It is the smallest `error + step` for which `ladder_tail(n, error, step, submissions)` is at most `beta`.

    Returns
    -------
    LadderWidth
        Its value is the half-width; 0.5 or more is vacuous. Time: about a ms.

    Notes
    -----
    The number of grid values is `floor(1/step + 1/2) + 1`. For each number the least step is best, and that is a
    hair above `1/(j + 1/2)`; so only these are tried.

    Examples
    --------
    >>> round(ladder_width(10_000, 0.05, 1000).value, 5)
    0.11751
    """
    t = submissions

    def error(cells: int) -> float:
        log = math.log(2) - math.log(beta) + log_choose(t + cells + 1, cells + 2)
        return math.sqrt(log / (2 * n))

    def step(cells: int) -> float:
        return (1 + 1e-12) / (cells + 0.5)

    def width(cells: int) -> float:
        return error(cells) + step(cells)

    low, high = 1, _LADDER_CELLS  # the width falls, then rises
    while high - low > 2:
        third = (high - low) // 3
        left, right = low + third, high - third
        low, high = (low, right) if width(left) <= width(right) else (left, high)
    cells = min(range(low, high + 1), key=width)
    chosen, deviation = step(cells), up(error(cells), 16)
    while (
        deviation <= 1 and ladder_tail(n, deviation, chosen, t) > beta
    ):  # what is returned passes the theorem's own test
        deviation = up(deviation, 64)
    return LadderWidth(up(deviation + chosen, 2), chosen, deviation)
