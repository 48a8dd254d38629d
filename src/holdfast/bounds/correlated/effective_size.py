"""How many independent rows dependent rows are worth, for a question that is fixed before the data.

A question is a mean of `n` values in [0, 1], one a row; the i-th is a function of row i and may depend on i. Its mean
over the sample is within `sqrt(ln(2/p)/(2 n_eff))` of its expectation except with probability `p`, for every `p`. The
declared model of the rows fixes `n_eff`, before anybody looks. Every bound here is sub-Gaussian with proxy
`n^2/(4 n_eff)` for the sum, so `n_eff` may go into Hoeffding's width and into no other: not into a binomial, a
Bernstein or a Chernoff-KL width (one exception: equal independent blocks, whose means are independent [0, 1] values).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.bounds.correlated.mixing import HORIZON, Tail, lags_that_count, mixing_coefficients, tail_sum
from holdfast.bounds.exact import down
from holdfast.bounds.holdout.ranges import count
from holdfast.bounds.registry import theorem

Sums = NDArray[np.float64]
_EVERY = 64  # run lengths up to this are all tried; longer ones on a grid of 2 per cent
_SLACK = 1e-12


@theorem(
    "correlated.effective-n-blocks",
    statement="Effective number of rows of independent blocks with anything inside: n^2 / sum k_g^2.",
    source="Hoeffding 1963, Theorem 2, on block sums",
    conditions="blocks independent of each other and fixed before the data; values in [0, 1]",
    unit="rows",
    provenance="derived",
)
def effective_n_blocks(sizes: Sequence[float]) -> float:
    """Return `n^2 / sum k_g^2`; equal blocks of size `k` give `n/k`.

    The sum of block `g` is one independent value in `[0, k_g]`, so Hoeffding's inequality has `sum k_g^2` in place of
    `n`. Derived, reviewed. One block gives 1, which no width survives.

    Parameters
    ----------
    sizes : sequence of float
        The number of rows in each block.

    Returns
    -------
    float
        Rounded down.

    Examples
    --------
    >>> round(effective_n_blocks([10] * 50 + [1] * 500), 7)
    181.8181818
    """
    counts = [count(f"sizes[{i}]", size) for i, size in enumerate(check.reals("sizes", sizes, at_least=1))]
    return down(sum(counts) ** 2 / sum(k * k for k in counts))


@theorem(
    "correlated.effective-n-colours",
    statement="Effective number of rows of a dependency graph with a colouring: n over the number of colours.",
    source="Hoeffding 1963, section 5d; Janson 2004 for fractional colourings",
    conditions="rows of one colour mutually independent; values in [0, 1]; m-dependent rows: m + 1 colours",
    unit="rows",
    provenance="derived",
)
def effective_n_colours(n: int, colours: float) -> float:
    """Return `n/colours`; rows that are independent beyond `m` steps have `m + 1` colours, the residues.

    Let class `C` have `k_C` rows and give it weight `p_C` proportional to `sqrt(k_C)`. By convexity `E exp(l S) <= sum
    p_C E exp(l S_C/p_C) <= exp(l^2 (sum sqrt(k_C))^2/8)`, and `(sum sqrt(k_C))^2 <= colours n`. Derived, reviewed. A
    fractional chromatic number may be given (Janson; recalled).

    Parameters
    ----------
    n : int
        Rows.
    colours : float
        Colours of a proper colouring of the dependency graph, at least 1.

    Returns
    -------
    float
        Rounded down.

    Examples
    --------
    >>> effective_n_colours(1000, 4)
    249.99...
    """
    n = count("n", n)
    return down(n / check.real("colours", colours, at_least=1, at_most=1e18))


@theorem(
    "correlated.effective-n-chain",
    statement="Effective number of rows of a Markov chain with any start: max over s of n^2 / sum_b (s_b + G_b)^2.",
    source="Holdfast; Doob martingale over runs of s rows, Azuma-Hoeffding (compare Paulin 2015, Cor. 2.10)",
    conditions="Markov chain of complete rows (tail markov) or any process (tail hold); values in [0, 1]; coefficients "
    "declared before the data",
    unit="rows",
    provenance="derived",
)
def effective_n_chain(n: int, deltas: Sequence[float], tail: Tail = "markov", run: int | None = None) -> float:
    """Effective rows of a chain from its mixing coefficients; also inhomogeneous or non-reversible, any start.

    Cut the rows into consecutive runs of `s`; run `b` has `s_b` rows, ends at `e_b`, and `G_b = sum_{t=1}^{n-e_b}
    delta_t`. Given the past, the increment of the Doob martingale over run `b` is (own sum), in an interval of length
    `s_b`, plus (expected rest), which depends on the last state alone and moves by at most `G_b`. Azuma-Hoeffding gives
    `n_eff = n^2/sum_b (s_b + G_b)^2` for every `s`; the best is taken, which depends on the model only. Derived,
    reviewed against exact laws. `s = n` gives 1, so the value is at least 1.

    Parameters
    ----------
    n : int
        Rows.
    deltas : sequence of float
        Bounds on `delta_1, delta_2, ...`: the total variation between the laws of row `i + t` given two values of row
        `i`. For a process that is no Markov chain: given two pasts.
    tail : str
        How coefficients go on after the declared ones: "markov" by sub-multiplicativity, "hold" by repetition.
    run : int
        One run length instead of the best.

    Returns
    -------
    float
        Rounded down. Time: milliseconds; up to a second for a chain that needs a million lags to forget. Lags
        beyond those enter by their sum.

    Examples
    --------
    >>> round(effective_n_chain(4000, [0.9]), 7), round(effective_n_chain(4000, [0.9], run=1), 8)
    (111.4469945, 40.1378418)
    """
    n = count("n", n)
    all_lags = tail_sum(deltas, tail)
    coefficients = mixing_coefficients(deltas, min(n - 1, lags_that_count(deltas, tail)), tail)
    near = np.concatenate([[0.0], np.cumsum(coefficients)]) * (1 + _SLACK)
    last = float(coefficients[-1]) if len(coefficients) else 1.0
    far = min(all_lags, float(near[-1]) + (n - len(near)) * last) * (1 + _SLACK)
    return _over_runs(n, near, far, run)


@theorem(
    "correlated.effective-n-chain-summary",
    statement="Effective number of rows of a Markov chain from G, the sum of its mixing coefficients, alone.",
    source="Holdfast; correlated.effective-n-chain with G_b <= min(G, n - e_b)",
    conditions="as correlated.effective-n-chain; G declared before the data",
    unit="rows",
    provenance="derived",
)
def effective_n_chain_summary(n: int, mixing: float, run: int | None = None) -> float:
    """Effective rows of a chain of which only `G` is declared (see `mixing_sum`); about `n/(4G)`, and `n` at `G = 0`.

    Parameters
    ----------
    n : int
        Rows.
    mixing : float
        A bound on the sum of all coefficients.
    run : int
        One run length instead of the best.

    Returns
    -------
    float
        Rounded down.

    Examples
    --------
    >>> round(effective_n_chain_summary(4000, 9.0), 4)
    111.3299
    """
    n = count("n", n)
    mixing = check.real("mixing", mixing, at_least=0, at_most=1e18)
    lags = min(n, HORIZON, math.ceil(mixing) + 1)
    return _over_runs(n, np.minimum(np.arange(float(lags)), mixing) * (1 + _SLACK), mixing * (1 + _SLACK), run)


def _over_runs(n: int, near: Sums, far: float, run: int | None) -> float:
    """The best `n^2/sum (s_b + G_b)^2`; `near[r]` is G with `r` rows to come, `far` bounds it for more rows."""

    def value(s: int) -> float:
        runs = -(-n // s)
        last = n - (runs - 1) * s
        rests = near[last : min(n, len(near)) : s]  # G of the runs whose rest is short enough, from the last but one
        rests = rests[: runs - 1]
        square = float(np.sum((s + rests) ** 2)) + (runs - 1 - len(rests)) * (s + far) ** 2 + float(last) ** 2
        return n * (n / square)

    if run is not None:
        return down(value(check.whole("run", run, at_least=1, at_most=n)) * (1 - _SLACK))
    top = n if not math.isfinite(far) else min(n, 2 * math.ceil(far) + 1)
    return max(down(max(map(value, _lengths(value, top))) * (1 - _SLACK)), 1.0)


def _lengths(value: Callable[[int], float], top: int) -> list[int]:
    """Run lengths to try: all short ones, a grid of longer ones, and the neighbours of the best of these."""
    if top <= _EVERY:
        return list(range(1, top + 1))
    steps = np.arange(math.ceil(math.log(top / _EVERY) / math.log(1.02)) + 1)
    grid = sorted({*range(1, _EVERY + 1), *(min(top, round(_EVERY * 1.02**k)) for k in steps), top})
    best = max(range(len(grid)), key=lambda j: value(grid[j]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return [grid[best], *range(low, high + 1, max(1, (high - low) // 64))]


@theorem(
    "correlated.effective-n-stationary",
    statement="Effective number of rows of a stationary Markov chain: n (1 - lambda)/(1 + lambda).",
    source="Fan, Jiang, Sun 2021 (JMLR 22), Theorem 1",
    conditions="stationary Markov chain; lambda its operator norm on mean-zero functions of L2(pi), below 1 (the "
    "absolute gap); other start: start_ratio in the width and the stationary mean as target",
    unit="rows",
)
def effective_n_stationary(n: int, operator_norm: float) -> float:
    """Return `n (1 - lambda)/(1 + lambda)`.

    `lambda` is the second largest singular value of `diag(sqrt pi) P diag(1/sqrt pi)`; one minus the gap for a
    reversible chain, `|phi|` for a Gaussian AR(1), although that never forgets in total variation. The theorem says
    that the sum is sub-Gaussian with proxy `(1 + lambda)/(1 - lambda) n/4`. From the publication; checked here against
    the exact law of sums on small chains. Only the absolute gap is allowed, as questions may vary with the row. From
    another start `nu` the tail grows by at most `c = max nu/pi` (change of measure).

    Parameters
    ----------
    n : int
        Rows.
    operator_norm : float
        `lambda`, in [0, 1).

    Returns
    -------
    float
        Rounded down.

    Examples
    --------
    >>> round(effective_n_stationary(4000, 0.9), 7)
    210.5263158
    """
    n = count("n", n)
    norm = check.real("operator_norm", operator_norm, at_least=0, below=1)
    return down(n * ((1 - norm) / (1 + norm)), 8)


__all__ = [
    "effective_n_blocks",
    "effective_n_chain",
    "effective_n_chain_summary",
    "effective_n_colours",
    "effective_n_stationary",
]
