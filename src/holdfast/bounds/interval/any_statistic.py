"""Statistics that are not means: the posterior-shift bound holds for every statistic of bounded sensitivity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.interval.constant_noise import posterior_shift
from holdfast.bounds.interval.event_divergence import russo_zou_kl
from holdfast.bounds.interval.scheduled_noise import scheduled
from holdfast.bounds.interval.width import Width, door
from holdfast.bounds.registry import theorem

_METHODS: dict[str, Callable[..., Width]] = {
    "scheduled": scheduled,
    "posterior-shift": posterior_shift,
    "russo-zou-kl": russo_zou_kl,
}


@theorem(
    "interval.low-sensitivity",
    statement="Half-width of k adaptive statistics of sensitivity c with Gaussian noise: n c times that of means.",
    source="Holdfast: the posterior-shift bound, row by row (docs/posterior-shift.md)",
    conditions="rows independent; replacing one row moves a statistic by at most c, whatever the rows; k, beta and "
    "noise fixed in advance; Gaussian noise; nothing else computed from the rows is released",
    unit="half-width",
    provenance="derived",
)
def low_sensitivity(
    n: int,
    questions: int,
    beta: float,
    sensitivity: float,
    method: Literal["best", "scheduled", "posterior-shift", "russo-zou-kl"] = "best",
) -> Width:
    """Half-width of `k` adaptively chosen statistics `q_j(X)` of sensitivity `c`, against `E q_j(X')` on fresh rows.

    **Statement** (ours). Take the width and the noise of `k` means and multiply both by `n c`. A mean of [0,1] values
    has `c = 1/n` and gets its own width back.

    **Proof.** Given the transcript `a`, `a_j - E q_j(X') = sigma E[Z_j|a] + (E[q_j(X)|a] - E q_j(X'))`. Replace the
    rows of `X` by those of a fresh `X'` one by one. The step at row `i`, given `a`, the fresh rows before `i` and the
    rows after it, compares the means of one function `h(x) = q_j(X'_{<i}, x, X_{>i})`, whose values lie in an interval
    of length `c`, under the law of `X_i` given `(a, X_{>i})` and under `D_i`. That law is an average of the posteriors
    of an observer who also knows the other rows, so the step is at most `c E[TV(pi_i, D_i) | a, X_{>i}] <=
    c E[sqrt(S_i) | a, X_{>i}]`, and all steps together at most `n c` times the average of `E[sqrt(S_i)|a]`. The
    observer's channel about row `i` is `q_j` as a function of that row, of range `c`, plus `sigma Z_j`: the charge of a
    mean with noise `sigma/(n c)`. From here on the proofs of Theorems A and B apply, with every length times `n c`.

    For *russo-zou-kl*: the same information bound, and McDiarmid's inequality where Hoeffding's stood.

    Parameters
    ----------
    n : int
        Rows in the sample.
    questions : int
        Number of adaptive questions, fixed in advance.
    beta : float
        Probability that any answer is off by more than the half-width.
    sensitivity : float
        How far replacing one row can move any of the statistics.
    method : str
        "best": the smaller of "scheduled" and "posterior-shift".

    Returns
    -------
    Width
        In the statistics' own unit; `clip` is never needed. Time: as for means.

    Examples
    --------
    >>> mean = posterior_shift(10_000, 100, 0.05)
    >>> width = low_sensitivity(10_000, 100, 0.05, sensitivity=3e-4, method="posterior-shift")
    >>> round(width.value / mean.value, 12), round(width.sigma / mean.sigma, 12)
    (3.0, 3.0)
    """
    n, questions, beta = door(n, questions, beta, "gaussian")
    c = check.real("sensitivity", sensitivity, at_least=1e-100, at_most=1e100)
    variant = check.choice("method", method, ("best", *_METHODS))
    names = ("scheduled", "posterior-shift") if variant == "best" else (variant,)
    found = min((_METHODS[name](n, questions, beta) for name in names), key=lambda width: width.half_width)
    unit = n * c
    schedule = found.schedule
    if schedule is not None:
        scales = tuple(unit * scale for scale in schedule.scales)
        schedule = replace(schedule, half_width=up(unit * schedule.half_width, 16), scales=scales)
    return replace(
        found,
        half_width=up(unit * found.half_width, 16),
        sigma=unit * found.sigma,
        method="interval.low-sensitivity",
        variant=found.method.removeprefix("interval."),
        schedule=schedule,
        assumption=found.assumption + f"; replacing one row moves a statistic by at most {c:g}",
        tuning=dict(found.tuning) | {"sensitivity": c},
    )


__all__ = ["low_sensitivity"]
