"""Privacy odometers as functions of running totals: what has been lost so far, readable at any time.

With probability at least `1 - delta` the privacy loss is at most the reading **at every moment at once**, although the
analyst chooses parameters, and when to look, from the answers. Each function says whether it bounds the loss from above
(one-sided; what a privacy promise needs, once for each order of the neighbours) or its absolute value (two-sided).

What goes in. `drift` is the sum of `filters.loss_drift(epsilon_i)`, `squares` is `V`, the sum of `epsilon_i^2`, `rho`
the sum of zCDP parameters. The rounds are pure. A delta_i is allowed only if it is point-wise (the loss exceeds
epsilon_i with probability at most delta_i); ordinary (epsilon, delta)-DP is not enough, and
`conversions.approx_to_pointwise` converts. Point-wise deltas add to the failure probability and, slightly, to the
drift (`pointwise_drift`); that is the accountant's work.

What they rest on. The loss minus its drift is dominated by a process `M` for which `exp(x M - x^2 V/2)` is a
supermartingale for every real x. Each odometer is one boundary that `M` crosses with small probability.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Literal, get_args

from holdfast import check
from holdfast.bounds.exact import decimal_fraction, float_up
from holdfast.bounds.filters import loss_drift
from holdfast.bounds.odometers_boundary import (
    free_offset_reading,
    line_point,
    line_reading,
    mixture_reading,
    stitched_reading,
)
from holdfast.bounds.odometers_pointwise import pointwise_drift
from holdfast.bounds.odometers_range import (
    DeltaSplit,
    delta_split,
    factor_reading,
    inversion_factor,
    inversion_reading,
    printed_delta,
    range_of,
    rogers_reading,
    rruv16_reading,
    zcdp_reading,
)
from holdfast.bounds.odometers_renyi import RenyiReading, lecuyer_reading, renyi_reading
from holdfast.bounds.registry import theorem

Name = Literal[
    "basic",
    "rogers",
    "inversion",
    "mixture",
    "rruv16",
    "inversion-sharp",
    "free-offset",
    "zcdp",
    "line",
    "stitched",
    "combined",
]
_NAMES: tuple[str, ...] = get_args(Name)
_INVERSE_E = math.exp(-1)


@theorem(
    "odometer.reading",
    statement="the bound on the privacy loss after rounds of epsilon-DP, valid at every moment at once",
    source="Rogers-Roth-Ullman-Vadhan 2016; Rogers' dissertation 5.6; Whitehouse-Ramdas-Rogers-Wu 2023",
    conditions="pure rounds; n >= 6 and delta < 1/e where there is a range; line, stitched and zcdp are one-sided",
    unit="epsilon",
    provenance="mixed",
)
def reading(
    name: Name,
    epsilon: float,
    rounds: int,
    n: int,
    delta: float,
    gamma: float = 0.005,
    start: float = 1e-4,
    target: float = 1.0,
) -> float:
    """Return what the odometer `name` reads after `rounds` rounds of pure epsilon.

    - "basic": the sum; holds surely.
    - "rogers": the dissertation's Theorem 5.6.5 as printed, with its drift; "rruv16": the conference version;
      "free-offset": Lemma 5.6.4 at the first round's `epsilon^2`.
    - "inversion": the same inequality solved exactly, with the tight drift; "inversion-sharp": with the sharper count.
    - "zcdp": the zCDP odometer at `rounds * epsilon tanh(epsilon/2)`.
    - "mixture", "line", "stitched": boundaries with their constants `gamma`, `target`, `start` fixed in advance.
    - "combined": the smallest of basic, inversion-sharp and mixture, the last two at half of delta each. Valid, because
      the failure probabilities add and basic has none; what to report when in doubt, and what
      `accounting.default_odometer` reads. The rounds are pure, so its inversion uses the whole half (`printed_delta`)
      and is read ahead below `V = 1/n^2`.

    The others keep what is printed: "inversion" and "inversion-sharp" leave half of delta for point-wise deltas, as
    "rogers" does, so `accounting.InversionOdometer`, which counts that room apart, reads less at the same delta.

    Any single one of them may exceed the basic reading; `min(reading, basic)` is valid too. Two-sided except "line" and
    "stitched" (pass `delta/2` there for the absolute loss) and "zcdp". All are time-uniform.

    Parameters
    ----------
    name : str
        The odometer.
    epsilon : float
        Each round's epsilon, at least 0.
    rounds : int
        How many rounds so far, at least 0.
    n : int
        Sets the range of V, `[1/n^2, 1]`, for rogers, rruv16, inversion and zcdp; at least 6.
    delta : float
        The failure probability, in (0, 1/e).
    gamma : float
        The mixture's constant.
    start : float
        Where the stitched boundary begins.
    target : float
        The epsilon near which the line is sharp.

    Examples
    --------
    >>> [round(reading(name, 0.01, 1000, 10_000, 1e-6), 4) for name in ("basic", "rogers", "inversion", "mixture")]
    [10.0, 2.7684, 2.0739, 1.8447]
    """
    name = check.choice("name", name, _NAMES)  # type: ignore[assignment]
    epsilon = check.real("epsilon", epsilon, at_least=0)
    rounds = check.whole("rounds", rounds, at_least=0, at_most=10**18)
    n = check.whole("n", n, at_least=6, at_most=10**18)
    delta = check.real("delta", delta, above=0, below=_INVERSE_E)
    gamma = check.real("gamma", gamma, above=0)
    start = check.real("start", start, above=0)
    target = check.real("target", target, above=0)
    total = float_up(rounds * decimal_fraction(epsilon))
    if total == 0 or name == "basic":
        return total
    largest = sys.float_info.max
    squares = min(float_up(rounds * decimal_fraction(epsilon) ** 2), largest)
    drift = min(rounds * loss_drift(epsilon), largest)
    printed = min(rounds * loss_drift(epsilon, "paper"), largest)
    offset = min(max(epsilon * epsilon, sys.float_info.min), largest)
    readings: dict[str, Callable[[], float]] = {
        "rogers": lambda: rogers_reading(printed, squares, n, delta),
        "rruv16": lambda: rruv16_reading(printed, squares, n, delta),
        "free-offset": lambda: free_offset_reading(printed, squares, offset, delta / 2),
        "inversion": lambda: inversion_reading(drift, squares, n, delta),
        "inversion-sharp": lambda: inversion_reading(drift, squares, n, delta, "sharp"),
        "zcdp": lambda: zcdp_reading(drift, n, delta),
        "line": lambda: line_reading(drift, squares, delta, target),
        "mixture": lambda: mixture_reading(drift, squares, delta, gamma),
        "stitched": lambda: stitched_reading(drift, squares, delta, start),
        "combined": lambda: min(
            total,
            inversion_reading(drift, max(squares, 1 / n**2), n, printed_delta(delta / 2, n), "sharp"),
            mixture_reading(drift, squares, delta / 2, gamma),
        ),
    }
    return readings[name]()


__all__ = [
    "DeltaSplit",
    "Name",
    "RenyiReading",
    "delta_split",
    "factor_reading",
    "free_offset_reading",
    "inversion_factor",
    "inversion_reading",
    "lecuyer_reading",
    "line_point",
    "line_reading",
    "mixture_reading",
    "pointwise_drift",
    "printed_delta",
    "range_of",
    "reading",
    "renyi_reading",
    "rogers_reading",
    "rruv16_reading",
    "stitched_reading",
    "zcdp_reading",
]
