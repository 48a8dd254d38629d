"""Scheduled noise: early questions cannot have overfitted much, so they take more noise and leak less."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.interval.boundary import Boundary
from holdfast.bounds.interval.constant_noise import posterior_shift
from holdfast.bounds.interval.maxima import normal_shortfall, square_shortfall
from holdfast.bounds.interval.width import MOST, Noise, Width, door, gaussian_only
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import minimise
from holdfast.errors import InvalidParameter

CELLS = 4000
MOST_CELLS = 100_000
#: Below this the search inside the boundary loses its digits (its scales could come out too large): constant noise.
LEAST_BETA = 1e-9
_COARSE = 24


@dataclass(frozen=True)
class Schedule:
    """Noise scales for `questions` answers, as runs of equal scales: `counts[i]` answers at `scales[i]`.

    `boundary` is None when constant noise (Theorem A) is as good, which happens for very few questions.

    Examples
    --------
    >>> s = Schedule(0.2, (2, 1), (0.03, 0.01), None)
    >>> s.sigma(1), s.sigma(3), s.sigmas().tolist()
    (0.03, 0.01, [0.03, 0.03, 0.01])
    """

    half_width: float
    counts: tuple[int, ...]
    scales: tuple[float, ...]
    boundary: Boundary | None

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        return tuple(itertools.accumulate(self.counts))

    def sigma(self, question: int) -> float:
        """The standard deviation for question number `question`, counted from 1."""
        question = check.whole("question", question, at_least=1, at_most=self._ends[-1])
        return self.scales[bisect.bisect_left(self._ends, question)]

    def sigmas(self) -> NDArray[np.float64]:
        """All scales in order, one a question."""
        return np.repeat(np.asarray(self.scales), self.counts)

    def summary(self) -> dict[str, Any]:
        """First, middle and last scale, and the four free numbers in units of the half-width."""
        last = self._ends[-1]
        plain: dict[str, Any] = {
            "first": self.scales[0],
            "middle": self.sigma((last + 1) // 2),
            "last": self.scales[-1],
            "runs": len(self.counts),
        }
        free = self.boundary
        if free is not None:
            plain |= {
                "horizon": free.horizon,
                "noise_level": free.noise_level,
                "noise_share": free.noise_share,
                "shift_level": free.shift_level,
            }
        return plain

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the runs are exact, so a schedule can be stored and replayed."""
        return self.summary() | {"counts": list(self.counts), "scales": list(self.scales)}


@theorem(
    "interval.scheduled",
    statement="Half-width of k adaptive means with Gaussian noise that falls along a schedule fixed in advance.",
    source="Holdfast: Theorem B of the posterior-shift bound (docs/posterior-shift.md), reviewed",
    conditions="rows independent; schedule, k, beta fixed in advance; Gaussian noise; means of [0,1] values; nothing "
    "else computed from the rows is released; question k+1 is refused",
    unit="half-width",
    provenance="derived",
)
def scheduled(
    n: int,
    questions: int,
    beta: float,
    noise: Noise = "gaussian",
    parameters: Sequence[float] | None = None,
    cells: int = CELLS,
) -> Width:
    """Half-width of `k` adaptive means whose noise falls from question to question, below Theorem A.

    **Theorem B** (ours, reviewed). Fix `V`, `c_w`, `h` in (0,1) and `z`. In units of the half-width let
    `sigma(v) = min_{0 <= x <= x1(v)} (1 - x)/(c_w + (1 - U_v(x))/lam)` (see `boundary`). Answer question `j` with
    `sigma_j <= sigma(v_j)`, `v_j = v_{j-1} + 1/(16 n^2 sigma_j^2)`, and refuse where `sigma(v_j)` is 0. Then with
    probability at least `1 - beta` every answer is within the half-width. *Why*: stop at the first bad answer; a bad
    answer forces `lam (w - c_w)_+ + U_v(x) >= 1` with `w` the conditional mean of the largest noise and `x^2` the
    mean of the rows' Hellinger-type distances; the first term has mean `h beta`, the second is a supermartingale that
    starts at `(1-h) beta`.

    The width is `const(k, beta)/sqrt(n)`, so one schedule per (k, beta) is computed and kept. The gain over constant
    noise grows with `k`: at `beta` 0.05 it is 1% for 2 questions, 9% for 10 and 12% for 1000. `sigma(v)` falls in
    `v`; it is tabulated on `cells` cells and each answer uses the value at the right end of its cell, shaved by 1e-9.
    Where constant noise is as good, and for `beta` below 1e-9, the constant schedule is returned.

    Parameters
    ----------
    n : int
        Rows in the sample.
    questions : int
        Number of adaptive questions, fixed in advance.
    beta : float
        Probability that any answer is off by more than the half-width.
    noise : str
        "gaussian"; Laplace noise is refused, the proof is about Gaussian noise.
    parameters : list of float
        `V, c_w, h, z` in units of the half-width; chosen by a search when not given. Any values are valid.
    cells : int
        Cells of the table, 16 to 100,000; more cells, slightly smaller width and more time.

    Returns
    -------
    Width
        With `schedule` set. Time: about 0.3 s for a new (questions, beta), whatever the number of questions;
        microseconds after that.

    Examples
    --------
    >>> width = scheduled(100_000, 1000, 0.05)
    >>> round(width.value, 4)
    0.0497
    >>> s = width.schedule
    >>> s.sigma(1) > s.sigma(500) > s.sigma(1000)
    True
    """
    n, questions, beta = door(n, questions, beta, noise)
    gaussian_only("interval.scheduled", noise)
    cells = check.whole("cells", cells, at_least=16, at_most=MOST_CELLS)
    free = None if parameters is None else check.reals("parameters", parameters, above=0)
    if free is not None and (len(free) != 4 or free[2] >= 1):
        raise InvalidParameter("parameters must be a list of four numbers V, c_w, h, z with h below 1")
    boundary, step, counts, shape = _normalised(questions, beta, free, cells)
    scales: tuple[float, ...]
    if boundary is None:
        constant = posterior_shift(n, questions, beta)
        tau, counts, scales = constant.half_width, (questions,), (constant.sigma,)
    else:
        raw = 0.5 / math.sqrt(n * math.sqrt(step))  # step = 1/(16 n^2 tau^4)
        tau, scales = up(raw, 16), tuple(raw * s for s in shape)
    return Width(
        tau,
        scales[0],
        "gaussian",
        "interval.scheduled",
        "best",
        n,
        questions,
        beta,
        assumption="rows independent; schedule, questions and beta fixed before the first answer; fresh noise; "
        "nothing else computed from these rows reaches the analyst",
        tuning={"smallest_sigma": scales[-1]},
        schedule=Schedule(tau, counts, scales, boundary),
    )


def scheduled_rows(questions: int, half_width: float, beta: float) -> int:
    """The least `n` at which `scheduled` gives `half_width`: the width is `const/sqrt(n)`.

    Examples
    --------
    >>> scheduled_rows(1000, 0.05, 0.05) < 100_000
    True
    """
    _, questions, beta = door(1, questions, beta, "gaussian")
    half_width = check.real("half_width", half_width, at_least=1e-50, at_most=1e50)
    needed = (scheduled(1, questions, beta).half_width / half_width) ** 2
    if not needed < MOST / 2:
        raise InvalidParameter(f"half_width must be large enough for fewer than 10**18 rows, got {half_width}")
    n = max(1, math.floor(needed * (1 - 1e-12)))
    while scheduled(n, questions, beta).half_width > half_width:
        n += max(1, math.floor(n * 1e-15))
    return n


_Runs = tuple[tuple[int, ...], tuple[float, ...]]


@lru_cache(maxsize=128)
def _normalised(
    questions: int, beta: float, parameters: tuple[float, ...] | None, cells: int
) -> tuple[Boundary | None, float, tuple[int, ...], tuple[float, ...]]:
    """The schedule in units of the half-width, and the largest `1/(16 n^2 tau^4)` at which `questions` fit."""
    none = (None, 0.0, (), ())
    if beta < LEAST_BETA:
        if parameters is not None:
            raise InvalidParameter(f"beta must be a number in [{LEAST_BETA:g}, 1) with parameters, got {beta}")
        return none
    boundary = Boundary(questions, beta, *(parameters or _tune(questions, beta)))
    if not boundary.usable:
        if parameters is not None:
            raise InvalidParameter("parameters must be of moderate size: V, c_w, h, z leave the floating range")
        return none
    ends = np.linspace(0.0, boundary.horizon, cells + 1)[1:]
    shape = boundary.scale(ends)
    area = float(np.sum(shape**2)) * boundary.horizon / cells
    if area <= 0:
        if parameters is not None:
            raise InvalidParameter("parameters leave no room for any question")
        return none
    rows = [(float(g), float(s)) for g, s in zip(ends, shape, strict=True) if s > 0]
    high = area / questions
    low = high / 2
    while _fill(rows, low, questions) is None:
        high, low = low, low / 2
        if low < 1e-300:
            return none
    while high > low * (1 + 1e-14):
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        low, high = (middle, high) if _fill(rows, middle, questions) is not None else (low, middle)
    counts, scales = _fill(rows, low, questions) or ((), ())
    constant = math.sqrt(normal_shortfall(questions, beta) * square_shortfall(beta) * math.sqrt(questions))
    if parameters is None and 0.5 / low**0.25 >= constant:
        return none
    return boundary, low, counts, scales


def _fill(rows: list[tuple[float, float]], step: float, questions: int) -> _Runs | None:
    """Place `questions` answers, each at the scale of the right end of the cell it ends in; None if they do not fit."""
    counts: list[int] = []
    scales: list[float] = []
    v, left = 0.0, questions
    for end, scale in rows:
        cost = step / (scale * scale)
        fits = int((end - v) / cost * (1 - 1e-12))
        if fits < 1:
            continue
        taken = min(fits, left)
        counts.append(taken)
        scales.append(scale)
        v += taken * cost
        left -= taken
        if left == 0:
            return tuple(counts), tuple(scales)
    return None


def _tune(questions: int, beta: float) -> tuple[float, float, float, float]:
    """The four numbers that make the most room, `int_0^V sigma(v)^2 dv`, by a simplex search on a coarse table."""
    points = np.arange(1, _COARSE + 1) / _COARSE  # right ends, as in the table itself

    def unpack(x: Sequence[float]) -> tuple[float, float, float, float]:
        return math.exp(x[0]), math.exp(x[1]), 1 / (1 + math.exp(-x[2])), math.exp(x[3])

    def width(x: Sequence[float]) -> float:
        boundary = Boundary(questions, beta, *unpack(x))
        if not boundary.usable:
            return math.inf
        area = float(np.mean(boundary.scale(points * boundary.horizon) ** 2)) * boundary.horizon
        return math.inf if area <= 0 else 1 / math.sqrt(math.sqrt(area))

    kappa, z = square_shortfall(beta), -float(ndtri(beta / 2))
    level = max(normal_shortfall(questions, beta) - 0.25, 0.1)
    start = [-math.log(4 * kappa * kappa), math.log(level), math.log(0.27 / 0.73), math.log(1.3 * max(z, 0.1))]
    _, point = minimise(width, [start], tolerance=1e-7, spread=1e-3, restarts=0)
    return unpack(point)


__all__ = ["CELLS", "Schedule", "scheduled", "scheduled_rows"]
