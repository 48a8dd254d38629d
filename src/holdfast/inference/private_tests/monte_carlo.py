"""The Monte Carlo engine: plus-one p-values, order statistics by exact arithmetic, redraw of inconclusive resamples.

Under the null the observed statistic and `m` fresh replicates are exchangeable, so the rank of the observed one is
uniform and `P(p <= alpha) <= alpha` for every n and every distribution of the noise (Theorem 6.1.5; ties included,
reviewed). Its randomness is a numpy generator of its own, never the source that protects the records.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.numerics.exact import decimal_fraction
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.noise_law import NoiseLaw

DEFAULT_REPLICATES = 999
"""Power grows with m: .491, .536, .555, .564 for m = 19, 59, 199, 999 where an exact threshold has .566 (spec 5.5)."""

OnNull = Literal["redraw", "skip", "fail"]
#: Draws for one conclusive resample, on average, before `redraw` gives up.
_PATIENCE = 100
#: Cells drawn at once: bounds memory at a few tens of megabytes.
BLOCK_CELLS = 1 << 21


def rank(m: int, alpha: float) -> int:
    """`ceil((m + 1)(1 - alpha))` by exact arithmetic: reject when the statistic exceeds this order statistic of m.

    Spec 7.5: in floating point the product can land above a whole number. `alpha` is read as the decimal it prints as.

    Examples
    --------
    >>> [rank(m, a) for m, a in [(19, .05), (59, .05), (99, .05), (999, .05), (999, .01), (59, .1)]]
    [19, 57, 95, 950, 990, 54]
    >>> rank(18, 0.05)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: m must be at least 19 for alpha = 0.05, got 18: with fewer simulated ...
    """
    m = arguments.whole("m", m, at_least=1)
    share = decimal_fraction(arguments.probability("alpha", alpha))
    place = m + 1 - (m + 1) * share.numerator // share.denominator  # whole numbers: fractions are slow
    if place > m:
        least = math.ceil(1 / share) - 1
        raise InvalidParameter(
            f"m must be at least {least} for alpha = {alpha:g}, got {m}: with fewer simulated replicates the test can "
            "never reject"
        )
    return place


def p_value(observed: Any, replicates: NDArray[np.float64]) -> Any:
    """`(1 + #{replicates >= observed}) / (m + 1)`, over the last axis; `observed` has the leading axes.

    It is at most alpha exactly when `observed` exceeds the `rank(m, alpha)`-th smallest replicate, ties included.

    Examples
    --------
    >>> p_value(3.0, np.array([1.0, 2.0, 3.0, 4.0]))
    0.6
    """
    above = np.count_nonzero(replicates >= np.asarray(observed)[..., None], axis=-1)
    p = (1.0 + above) / (replicates.shape[-1] + 1)
    return float(p) if np.ndim(p) == 0 else p


def critical_value(replicates: NDArray[np.float64], alpha: float) -> Any:
    """Return the `rank(m, alpha)`-th smallest replicate, over the last axis."""
    place = rank(replicates.shape[-1], alpha) - 1
    critical = np.partition(replicates, place, axis=-1)[..., place]
    return float(critical) if np.ndim(critical) == 0 else critical


def rejects(p: Any, alpha: float) -> Any:
    """Return whether `p <= alpha`, alpha read as the decimal it prints as; elementwise for arrays.

    A plus-one p-value is a fraction with a small denominator, and `3/60` must count as at most 0.05.

    Examples
    --------
    >>> rejects(3 / 60, 0.05), rejects(30 / 600, 0.05), rejects(0.0501, 0.05)
    (True, True, False)
    """
    rejected = np.asarray(p) <= alpha * (1 + 4 * np.finfo(float).eps)
    return bool(rejected) if np.ndim(rejected) == 0 else rejected


def null_counts(
    rng: np.random.Generator, n: int, p: NDArray[np.float64], noise: NoiseLaw, size: int, *, exact: bool = True
) -> NDArray[np.float64]:
    """`size` noisy histograms of `n` records drawn from `p`: multinomial counts plus fresh noise, shape `(size, d)`.

    `exact=True` draws the very distribution that a release adds; `exact=False` the ideal continuous one, several times
    faster (they are the same for discrete distributions).
    """
    draw = noise.resample if exact else noise.sample
    return rng.multinomial(n, p, size=size) + draw(rng, (size, p.size))


@dataclass(frozen=True)
class Resampled:
    """Statistics of resamples, and how many of the draws were inconclusive.

    Attributes
    ----------
    values : array
        The conclusive statistics: m of them, fewer if skipping, or none if `failed`.
    drawn, inconclusive : int
        How many resamples were drawn, and on how many the rule of thumb fired.
    failed : str or None
        Why the whole test is inconclusive.
    """

    values: NDArray[np.float64]
    drawn: int
    inconclusive: int
    failed: str | None = None


def resample(
    draw: Callable[[int], NDArray[np.float64]], m: int, *, on_null: OnNull = "redraw", patience: int = _PATIENCE
) -> Resampled:
    """Collect `m` statistics of resamples where some resamples may be inconclusive.

    Parameters
    ----------
    draw : callable
        `draw(k)` returns k statistics of fresh resamples, NaN where the rule of thumb fired.
    m : int
        How many conclusive ones are wanted.
    on_null : {"redraw", "skip", "fail"}
        "redraw" draws until m are conclusive and fails past `patience * m` draws. "skip" ranks among the conclusive
        ones of m draws. "fail" makes the whole test inconclusive at the first, as Algorithm 12 prints. None ranks an
        inconclusive resample as minus infinity: that lowers the threshold and gave a level of .134 (spec, Review).
    patience : int
        Draws allowed for each conclusive resample wanted.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> def half(k):
    ...     return np.where(rng.random(k) < 0.5, np.nan, rng.chisquare(3, k))
    >>> found = resample(half, 99)
    >>> found.values.size, found.inconclusive > 20, bool(np.isnan(found.values).any())
    (99, True, False)
    >>> resample(half, 99, on_null="fail").failed
    'the rule of thumb fired on a resample'
    """
    m = arguments.whole("m", m, at_least=1)
    arguments.choice("on_null", on_null, ("redraw", "skip", "fail"))
    values = np.asarray(draw(m), dtype=np.float64)
    keep = ~np.isnan(values)
    drawn, batches = m, [values[keep]]
    have = int(np.count_nonzero(keep))
    none = np.empty(0)
    if have < m and on_null == "fail":
        return Resampled(none, drawn, drawn - have, "the rule of thumb fired on a resample")
    if on_null == "skip" and have == 0:
        return Resampled(none, drawn, drawn, "the rule of thumb fired on every resample")
    while have < m and on_null == "redraw":
        if drawn >= patience * m:
            reason = (
                f"the rule of thumb fired on {drawn - have} of {drawn} resamples; {m} conclusive ones were not found"
            )
            return Resampled(none, drawn, drawn - have, reason)
        ask = min(math.ceil((m - have) * 1.2 * drawn / max(have, 1)) + 8, 4 * m, patience * m - drawn)
        values = np.asarray(draw(ask), dtype=np.float64)
        values = values[~np.isnan(values)]
        drawn += ask
        have += values.size
        batches.append(values)
    conclusive = np.concatenate(batches)
    return Resampled(conclusive[:m], drawn, drawn - have)


def generator(rng: np.random.Generator | None) -> np.random.Generator:
    """The stream of the resamples: a fresh unseeded one unless a simulation or a test hands in its own."""
    if rng is None:
        return np.random.default_rng()
    if not isinstance(rng, np.random.Generator):
        raise InvalidParameter(f"rng must be a numpy Generator, got a {type(rng).__name__}")
    return rng


def blocks(total: int, cells_each: int) -> list[slice]:
    """Slices of `range(total)`, each of at most `BLOCK_CELLS` cells, at least one element."""
    step = max(1, BLOCK_CELLS // max(1, cells_each))
    return [slice(start, min(start + step, total)) for start in range(0, total, step)]
